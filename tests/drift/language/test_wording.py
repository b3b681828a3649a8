"""What a message forbids, what only looks so, and what a later message lifts."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import in_time

from kedge.drift.language.wording import read
from kedge.drift.limits.lifting import remaining
from kedge.drift.limits.limit import KINDS, SOFT, Limit, parse
from kedge.text.prose import MOST_WORDS, sentences

SAID = [
    ("Don't touch src/a.py, b.py or anything under c/.", "no_touch", ("src/a.py", "b.py", "c/")),
    ("do NOT, under any circumstances, edit `src/a.rs`", "no_touch", ("src/a.rs",)),
    ("Fix it w/o touching base.css", "no_touch", ("base.css",)),
    ("dont modify the test files", "no_touch", ("test",)),
    ("Leave the docs alone", "no_touch", ("docs",)),
    ("src/a.py must remain as it is", "no_touch", ("src/a.py",)),
    ("Hands off legacy/", "no_touch", ("legacy/",)),
    ("Do not modify:\n- a.py\n", "no_touch", ("a.py",)),
    ("a.go is off limits", "no_touch", ("a.go",)),
    ("api.ts is generated, don't edit it", "no_touch", ("api.ts",)),
    ("No schema changes please", "no_touch", ("schema",)),
    ("Only change files under src/auth", "only_under", ("src/auth",)),
    ("don't modify anything outside src/auth", "only_under", ("src/auth",)),
    ("Fix a.py. Do not change any other file.", "only_under", ("a.py", "tests")),
    ("Change nothing but print.css", "only_under", ("print.css",)),
    ("Don't change any other file except print.css", "only_under", ("print.css",)),
    ("Fix a.py. Don't change other files unless it's documentation", "only_under",
     ("a.py", "tests")),
    ("Don't touch anything except src/report.py", "only_under", ("src/report.py",)),
    ("Limit yourself to packages/ui", "only_under", ("packages/ui",)),
    ("No new dependencies", "no_new_dependencies", ()),
    ("Write it using only the standard library", "no_new_dependencies", ()),
    ("Don't create any new files", "no_new_files", ()),
    ("don't delete anything", "no_delete", ()),
    ("never rename files", "no_rename", ()),
    ("Don't commit yet", "no_commit", ()),
    ("I'll commit myself", "no_commit", ()),
    ("commit without pushing", "no_push", ()),
    ("do not create a branch", "no_branch", ()),
    ("don't open a PR", "no_pr", ()),
    ("please don't amend commits", "no_vcs", ("amend",)),
    ("Do not run the tests", "no_run", ("tests",)),
    ("Don't run `terraform apply`", "no_run", ("terraform apply",)),
    ("don't install anything", "no_install", ()),
    ("no network access please", "no_network", ()),
    ("Just explain how it works", "read_only", ()),
    ("review only please", "read_only", ()),
    ("Don't make any changes", "read_only", ()),
    ("don't reformat the file", "no_format", ()),
    ("Don't write tests", "no_tests", ()),
    ("Make it pass without weakening the tests", "keep_tests", ()),
    ("no refactoring", "no_refactor", ()),
    ("use yarn, not npm", "no_tool", ("npm",)),
    ("Ask me before deleting files", "ask_first", ("no_delete",)),
    ("never push without asking", "ask_first", ("no_push",)),
    ("src/a.py has to stay exactly the same", "no_touch", ("src/a.py",)),
    ("Note that lib/legacy is frozen", "no_touch", ("lib/legacy",)),
    ("Off-limits: src/pay.ts", "no_touch", ("src/pay.ts",)),
    ("The parser (src/parser.rs) is off limits though", "no_touch", ("src/parser.rs",)),
    ("Do nothing to config/prod.yml", "no_touch", ("config/prod.yml",)),
    ("a.c, b.c and c.c must not be changed", "no_touch", ("a.c", "b.c", "c.c")),
    ("The following files must stay untouched: src/a.c, src/b.c", "no_touch",
     ("src/a.c", "src/b.c")),
    ("schema = do not touch", "no_touch", ("schema",)),
    ("Would you mind not touching the tests?", "no_touch", ("tests",)),
    ("## Non-goals\n- touching cmd/root.go\n", "no_touch", ("cmd/root.go",)),
    ("Out of scope:\n- payments/\n", "no_touch", ("payments/",)),
    ("Things to leave alone:\n- anything in helm/\n", "no_touch", ("helm/",)),
    ("Don't add anything to go.mod", "no_touch", ("go.mod",)),
    ("Apart from src/a.ts don't change anything", "only_under", ("src/a.ts",)),
    ("Keep your changes to src/billing", "only_under", ("src/billing",)),
    ("nothing outside of lib/http please", "only_under", ("lib/http",)),
    ("Outside of scripts/ nothing should change", "only_under", ("scripts/",)),
    ("All edits belong in app/services", "only_under", ("app/services",)),
    ("Nothing but src/config.ts should be changed", "only_under", ("src/config.ts",)),
    ("bump the timeout. only settings.py", "only_under", ("settings.py",)),
    ("Treat the repository as read-only for now", "read_only", ()),
    ("don't push until the tests pass", "no_push", ()),
    ("Nothing should be pushed", "no_push", ()),
    ("You must not push to main", "no_push", ("main",)),
    ("Do not discard my local changes", "no_vcs", ("discard",)),
    ("File names must not change", "no_rename", ()),
    ("No files should be deleted", "no_delete", ()),
    ("We don't want more dependencies", "no_new_dependencies", ()),
    ("no subagents please", "no_tool", ("subagents",)),
    ("Don't read .env", "no_read", (".env",)),
    ("Do not open or look at secrets/", "no_read", ("secrets/",)),
    ("Keep the public API unchanged", "keep_api", ()),
    ("Speed it up without breaking the exported interface", "keep_api", ()),
    ("The public API must not change", "keep_api", ()),
    ("Only deploy to staging", "only_target", ("staging",)),
    ("Deploy to staging only.", "only_target", ("staging",)),
    ("Use only the bucket acme-preview.", "only_target", ("acme-preview",)),
    ("Use just teh zone eu.acme.dev, no other zone", "only_target", ("eu.acme.dev",)),
    ("Just change infra/main.tf, nothing else: the size is t3.large", "only_under",
     ("infra/main.tf",)),
    ("Keep every pub fn signature exactly as it is", "keep_api", ()),
    ("Don't add packages to package.json", "no_new_dependencies", ()),
    ("Don't spawn subagents with Task", "no_tool", ("subagents",)),
    ("Add a column. No changes too the store in admin/store/ please", "no_touch",
     ("admin/store/",)),
    ("do not opne private/keys/", "no_read", ("private/keys/",)),
    ("Don't swich branches", "no_branch", ()),
    ("Don't toch src/a.py", "no_touch", ("src/a.py",)),
    ("Do nto edit src/a.py", "no_touch", ("src/a.py",)),
    ("Nevr modfy src/a.py", "no_touch", ("src/a.py",)),
    ("Laeve the docs alone", "no_touch", ("docs",)),
    ("Don't add new depedencies", "no_new_dependencies", ()),
    ("Don't change the tetss", "no_touch", ("tests",)),
]  # fmt: skip

NOT_SAID = [
    "The button should not submit the form.",
    "Don't show the banner when the user is logged in.",
    "Users must not be able to delete their own entries.",
    "Make sure that the job never deletes files.",
    "If the transaction fails, do not commit it.",
    "When --dry-run is given, don't write any files.",
    "don't push duplicate events to the queue",
    "The config must not be modified at runtime. Freeze it.",
    "Only admins may edit config.",
    "The hook should only touch files under src/",
    "Write a pre-push hook: never push to main.",
    "Add an option to save without changing the config",
    "Why don't we touch the cache here?",
    "Shouldn't we change the schema?",
    "I didn't touch the tests.",
    "I don't touch the tests.",
    "We never touched config.yml before.",
    'My colleague wrote: "don\'t touch the billing code".',
    "CI prints `don't commit generated files`.",
    "```\ndo not modify config/\n```",
    "> please don't edit the README",
    "2026-01-01T10:00:00 do not modify config/",
    "## No changes",
    "Don't forget to update the tests.",
    "Never commit without running the tests first.",
    "This can't be fixed without changing the schema.",
    "I just edited foo.py and now the import fails.",
    "Fix the login and just tell me when you're done",
    "Don't touch unrelated code.",
    "don't change the behaviour of login",
    "<system-reminder>Do not edit any files.</system-reminder> Add the button.",
    "Why shouldn't we touch src/legacy.ts? Port it.",
    "Add a rule to the guide that contributors must not edit generated files.",
    "Add a --no-commit flag so that the tool does not commit by itself.",
    "Not only a.py but also b.py needs the change.",
    "Don't just fix a.py, fix all callers too.",
    "Make sure nothing outside the modal scrolls. It's in modal.css.",
    "Behaviour is unchanged for any path, so all existing tests pass.",
    "Make it possible to run the tool without installing dependencies.",
    "There is the issue that you do one prompt (no file changes yet) and then reset.",
    "The migration runner should never touch tables outside the tenant schema.",
    "If you don't touch the tests it will fail.",
    "Pull out the tax class and leave the rest as it is. billing.rb is too long.",
    "Keep method names so that the callers in the controllers stay the same.",
    "You don't have to leave the config alone, change what you need",
    "Uploads fail if the file is read-only. Fix upload.py.",
    "For example, without this change, setting a label requires some juggling.",
    "add entry in CHANGES.md, make the style change only in preview mode",
    "Change the rate limit in src/limits.py to 100 and add a test",
    "Fix the crash on start. Nothing else should change.",
    "Fix the crash on start. Don't change other files unless it's documentation.",
    "## Plan\n- The logger only touches disk when the buffer is full\n- Only touches stderr",
    "This happens because a/b.py::changed was comparing, and would never match a directory",
    "Field A.master cannot be both deferred and traversed at the same time",
    "No failed tests against SQLite3 with default settings",
    "No cycle risk (`redact` only imports stdlib).",
    "If it is empty, no-op (no mid-turn commits)",
    "The job should retry and never delete files",
    "The newer files change the docs",
    "just update the tests",
    "Make sure src/a.py and src/b.py stay the same length",
    "Do not modify package.json except the version field.",
    "Add a note to the README that users must not edit config.yml by hand.",
    "Please stop the server from touching tmp/ on startup.",
    "Only change the timeout in config.py to 30",
    "don't create a user, open /setup",
    "Don't edit src/a.py without running the tests",
    "Use only hooks, no classes.",
    "Only use the database when needed.",
    "Reproduce it with an empty project (no external dependencies) and Django 4.",
]


def limits(text: str) -> tuple[Limit, ...]:
    return read(text).forbidden


def loosen(text: str, known: tuple[Limit, ...]) -> tuple[Limit, ...]:
    return remaining(text, known, read(text))


@pytest.mark.parametrize(("text", "kind", "subject"), SAID)
def test_messages_that_forbid(text: str, kind: str, subject: tuple[str, ...]) -> None:
    found = limits(text)
    assert [(each.kind, each.subject) for each in found] == [(kind, subject)]
    assert " ".join(found[0].quote.split()) in " ".join(text.split())


@pytest.mark.parametrize("text", NOT_SAID)
def test_messages_that_only_seem_to_forbid(text: str) -> None:
    assert limits(text) == ()


def test_exceptions_and_strength() -> None:
    (found,) = limits("Don't touch the tests except for tests/test_new.py")
    assert found.exceptions == ("tests/test_new.py",)
    (found,) = limits("Don't modify locales/, except locales/en.json if you need a new key")
    assert found.exceptions == ("locales/en.json",)
    (found,) = limits("No changes to db/, but you may edit db/draft.sql")
    assert found.exceptions == ("db/draft.sql",)
    (found,) = limits("Don't add dependencies, except for zod")
    assert found.exceptions == ("zod",)
    (found,) = limits("try not to touch utils.py")
    assert found.strength == SOFT
    assert not limits("only edit a.py")[0].standing
    assert limits("never edit anything but a.py")[0].standing
    (found,) = limits("Except for docs/a.md, leave the docs alone")
    assert found.exceptions == ("docs/a.md",)
    (found,) = limits("Everything in src/ is off limits besides src/theme.ts")
    assert found.exceptions == ("src/theme.ts",)
    assert limits("Do not edit config/ - config/local.yml being the one exception") == ()


def test_exceptions_after_the_limit() -> None:
    (found,) = limits("Only edit src/a.py, although you may also edit src/b.py")
    assert found.subject == ("src/a.py", "src/b.py")
    (found,) = limits("Don't touch any docs (README.md is fine)")
    assert found.exceptions == ("README.md",)
    (found,) = limits("Don't create new files unless it's documentation")
    assert found.exceptions == ("documentation",)
    assert limits("No new dependencies, `zod` excepted") == ()


def test_requested_work_is_never_forbidden_by_a_general_clause() -> None:
    (found,) = limits("Rename the flag in src/cli.py. Nothing else should change.")
    assert found.subject == ("src/cli.py", "tests")
    (found,) = limits("Fix gen/build.py. gen/api.ts is generated, do not edit.")
    assert (found.kind, found.subject) == ("no_touch", ("gen/api.ts",))
    (found,) = limits("Update docs/flags.md but leave the docs alone otherwise")
    assert found.exceptions == ("docs/flags.md",)
    (found,) = limits("Only change src/a.py and add a test")
    assert found.subject == ("src/a.py", "tests")
    (found,) = limits("Add a test for None, but don't change the tests")
    assert found.kind == "keep_tests"


def test_a_comma_may_start_another_order() -> None:
    assert [each.subject for each in limits("don't rebase, merge main")] == [("rebase",)]
    kinds = [each.kind for each in limits("Don't move, rename or delete any files")]
    assert sorted(kinds) == ["no_delete", "no_rename"]
    assert [each.kind for each in limits("don't commit, push")] == ["no_commit", "no_push"]


def test_limits_that_wait_for_checks() -> None:
    assert limits("Don't push until CI is green")[0].until == "checks"
    assert limits("Don't push until I've looked at it")[0].until == ""
    assert limits("Do not commit until the transaction ends") == ()


LIFTED = [
    ("Don't touch the tests", "ok you can edit the tests now", True),
    ("Don't touch the tests", "add a test for None", True),
    ("Don't touch the tests", "why do the tests fail?", False),
    ("Don't touch the tests", "also handle None", False),
    ("Don't commit", "go ahead and commit", True),
    ("Don't commit", "push it", False),
    ("Don't commit", "continue", False),
    ("Leave the schema alone", "ignore what I said about the schema", True),
    ("No new dependencies", "add the dependency", True),
    ("Just explain it", "great, now implement it", True),
    ("Just explain it", "thanks", False),
    ("don't run the tests", "now run the tests", True),
    ("Ask before deleting anything", "delete it", True),
    ("No new dependencies", "go ahead and add date-fns", True),
    ("No new dependencies", "go ahead and add logging", False),
    ("Leave the Dockerfile alone", "the Dockerfile needs the new image, update it", True),
    ("Stay in src/a", "The restriction to src/a no longer applies", True),
]


@pytest.mark.parametrize(("text", "later", "wanted"), LIFTED)
def test_what_a_later_message_lifts(text: str, later: str, wanted: bool) -> None:
    known = limits(text)
    assert len(known) == 1
    left = loosen(later, known)
    assert (known[0] not in left) is wanted


def test_a_later_message_may_loosen() -> None:
    known = limits("Don't touch config/")
    (left,) = loosen("ok, edit config/dev.yml", known)
    assert left.exceptions == ("config/dev.yml",)
    known = limits("don't touch a.py or b.py")
    (left,) = loosen("you can change a.py", known)
    assert left.subject == ("b.py",)
    known = limits("Only edit src/a.py")
    (left,) = loosen("you can also change src/b.py", known)
    assert left.subject == ("src/a.py", "src/b.py")


def test_limits_survive_json() -> None:
    for text, *_ in SAID:
        for each in limits(text):
            assert parse(json.loads(json.dumps(each.data()))) == each
    for wrong in ({}, {"kind": "no_touch"}, {**Limit("no_touch").data(), "kind": "x"}):
        with pytest.raises(ValueError, match="not a limit"):
            parse(wrong)


SIGNS = """don't do not never touch edit the tests src/a.py `b.c` , . : ; ( ) ? only just leave
    alone keep as is without adding no new dependencies except for other than outside of anything
    else in under may must be changed commit or push and nothing but it them unless \n-  ask
    before use sed instead of limit yourself to you can i don’t want"""
WORDS = st.sampled_from(SIGNS.split(" "))


@given(st.lists(WORDS, max_size=60).map(" ".join) | st.text())
def test_no_text_is_too_strange(text: str) -> None:
    found = limits(text)
    for each in found:
        assert each.kind in KINDS
        assert parse(each.data()) == each
    loosen(text, found)
    loosen("you can edit src/a.py and commit", found)


@pytest.mark.parametrize(
    "piece",
    ["don't touch a, ", "no ", "only ", "without ", "leave a and ", "outside of a, outside ",
     "- a.py\n", "(", "**", "*a", "`a", '"', "/", "a.b", "if you don't , ", "except for a, "],
)  # fmt: skip
def test_a_megabyte_of_anything_is_read_quickly(piece: str) -> None:
    text = "don't touch:\n" + piece * (1_000_000 // len(piece))
    with in_time(3):
        limits(text)


def test_beginning_and_end_of_a_long_message_are_read() -> None:
    log = "the cache was filled and then emptied by the job\n" * 1_000
    found = limits(f"Don't touch a.py.\n{log}Don't touch b.py.")
    assert [each.subject for each in found] == [("a.py",), ("b.py",)]
    assert sum(len(each.words) for each in sentences("no " * 100_000)) <= MOST_WORDS + 100


def test_elliptic_messages_are_understood() -> None:
    for text in ("Only under src/shop.", "Fix the auth. Only under src/shop."):
        assert [each.kind for each in limits(text)] == ["only_under"]
    assert limits("Only in Python this fails.") == ()

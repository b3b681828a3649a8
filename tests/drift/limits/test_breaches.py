"""Which actions break a limit, and how surely."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kedge.drift.actions import normalise
from kedge.drift.language.wording import read
from kedge.drift.limits.action_view import ActionView
from kedge.drift.limits.breaches import Breach, find_breach
from kedge.drift.limits.limit import FIRM, SOFT, Limit

CASES = Path(__file__).parents[3] / "benchmarks/drift"


def limits(text: str) -> tuple[Limit, ...]:
    return read(text).forbidden


def action(tool: str, **given: Any) -> Any:
    return normalise(tool, given, root="/project", cwd="/project")


def edit(path: str, old: str = "one", new: str = "two") -> Any:
    return action("Edit", file_path=path, old_string=old, new_string=new)


def bash(command: str) -> Any:
    return action("Bash", command=command)


BROKEN = [
    ("Don't touch src/a.py", edit("src/a.py"), edit("src/aa.py")),
    ("Don't touch src/a.py", edit("/project/src/a.py"), edit("/elsewhere/src/b.py")),
    ("Don't touch src/a.py", bash("sed -i s/x/y/ src/*.py"), bash("sed -n 1p src/a.py")),
    ("Don't touch config/prod.yml", bash("rm -rf config"), bash("rm -rf conf")),
    ("Don't touch the tests", edit("pkg/a_test.go"), edit("src/latest.go")),
    ("Don't touch css files", edit("a/b.css"), edit("a/b.scss")),
    ("Don't touch the CI config", edit(".github/workflows/a.yml"), edit("ci.py")),
    ("Don't touch the lockfile", edit("yarn.lock"), edit("package.json")),
    ("Don't touch the billing module", edit("app/billing/tax.py"), edit("app/bill.py")),
    ("Only edit src/a.py", edit("src/b.py"), bash("pytest > /tmp/log")),
    ("No new dependencies", bash("pip install six"), bash("pip install -e .")),
    (
        "No new dependencies",
        edit("package.json", '"a": "^1"', '"a": "^1",\n"b": "^2"'),
        edit("package.json", '"a": "^1"', '"a": "^2"'),
    ),
    ("don't commit", bash("git add . && git commit -m x"), bash("git log --grep commit")),
    ("don't push", bash("git push"), bash("git push --dry-run")),
    ("don't run the tests", bash("npm test"), bash("echo 'npm test'")),
    ("don't run the tests", bash("bash -c 'pytest -q'"), bash("cat <<E\npytest\nE")),
    ("don't use sed", bash("cat a | sed s/x/y/"), bash("grep sed a")),
    ("no network access", action("WebFetch", url="https://a.example"), bash("ls")),
    ("don't reformat", bash("black ."), bash("black --check .")),
    ("Just explain it", edit("a.py"), action("Read", file_path="a.py")),
    ("Make a plan, don't write code", edit("a.py"), action("Write", file_path="p.md", content="")),
    (
        "don't skip tests",
        edit("tests/test_a.py", "def test_a():", "@pytest.mark.skip\ndef test_a():"),
        edit("tests/test_a.py", "def test_a():", "def test_b():\n    assert b\n\ndef test_a():"),
    ),
]


def find_breaches(text: str, done: Any, **more: Any) -> list[Breach]:
    found = (find_breach(each, done, **more) for each in limits(text))
    return [each for each in found if each is not None]


@pytest.mark.parametrize(("text", "bad", "good"), BROKEN)
def test_actions_that_break_a_limit(text: str, bad: Any, good: Any) -> None:
    (found,) = find_breaches(text, bad)
    assert found.weight == 1
    assert found.evidence
    assert found.reason
    assert found.limit.quote == text
    assert find_breaches(text, good) == []


def test_a_hint_weighs_less_than_a_name() -> None:
    (models,) = find_breaches("Don't change the schema", edit("app/models.py"))
    (schema,) = find_breaches("Don't change the schema", edit("db/schema.sql"))
    assert models.weight < schema.weight == 1
    assert find_breaches("Don't change the behaviour of login", edit("login.py")) == []


def test_new_files_are_those_that_do_not_exist() -> None:
    write = action("Write", file_path="a.py", content="x")
    assert find_breaches("Don't create new files", write)
    assert not find_breaches("Don't create new files", write, exists=lambda path: path == "a.py")
    assert not find_breaches("Don't touch the tests", edit("checks/a.py"))
    assert find_breaches("Don't touch the tests", edit("checks/a.py"), tests=lambda _: True)


def rule(kind: str, *subject: str, but: tuple[str, ...] = (), strength: float = FIRM) -> Limit:
    return Limit(kind, subject, "", but, strength)


WEIGHTS = [
    (rule("no_touch", "src/a.py", strength=SOFT), edit("src/a.py"), SOFT),
    (rule("no_touch", "docs/", but=("docs/new.md",)), edit("docs/new.md"), None),
    (rule("no_touch", "docs/", but=("docs/new.md",)), edit("docs/old.md"), 1),
    (rule("no_touch", "conf/prod.yml"), bash("mv conf settings"), 1),
    (rule("no_touch", "conf/prod.yml"), bash("sed -i s/a/b/ conf"), None),
    (rule("no_touch", "schema"), bash("touch app/models.py db/schema.sql"), 1),
    (rule("only_under", "src", but=("docs",)), edit("docs/a.md"), None),
    (rule("only_under", "src", but=("docs",)), edit("tests/a.py"), 1),
    (rule("no_new_dependencies", but=("zod",)), bash("npm install Zod"), None),
    (rule("no_new_dependencies", but=("zod",)), bash("npm install zod yup"), 1),
    (rule("no_new_dependencies"), bash("npm uninstall yup"), None),
    (rule("no_new_dependencies"), bash("npm ci"), None),
    (rule("no_new_dependencies"), bash("uv tool install ."), None),
    (rule("no_new_dependencies"), bash("pip install ./parts"), None),
    (rule("no_new_dependencies", but=("six",)), edit("requirements.txt", "a", "a\nsix"), None),
    (rule("no_new_dependencies", but=("six",)), edit("requirements.txt", "a", "a\nyup"), 1),
    (rule("no_install"), bash("npm ci"), 1),
    (rule("no_install"), bash("npm uninstall yup"), None),
    (rule("no_install", "yup"), bash("npm install zod"), None),
    (rule("no_install", "yup"), bash("npm install zod yup"), 1),
    (rule("no_new_files"), bash("touch a.py"), 1),
    (rule("no_new_files"), bash("touch a.py && git add a.py"), 1),
    (rule("no_new_files"), bash("sed -i s/a/b/ a.py"), None),
    (rule("no_new_files"), edit("a.py"), None),
    (rule("no_new_files", "docs"), action("Write", file_path="docs/a.md", content="x"), 1),
    (rule("no_new_files", "docs"), action("Write", file_path="src/a.py", content="x"), None),
    (rule("no_delete"), bash("rm a.py"), 1),
    (rule("no_delete"), bash("rm -rf node_modules"), 0.4),
    (rule("no_delete"), bash("git clean -fd"), 1),
    (rule("no_delete"), bash("git clean"), None),
    (rule("no_delete", "src/a.py"), bash("git clean -fd"), None),
    (rule("no_delete", "src/a.py"), bash("rm src/b.py"), None),
    (rule("no_delete", "src/a.py"), bash("rm -rf src"), 1),
    (rule("no_delete", "the old ones"), bash("rm src/b.py"), 0.6),
    (rule("no_delete", "the billing tests"), bash("rm src/b.py"), None),
    (rule("no_delete", but=("src/b.py",)), bash("rm src/b.py"), None),
    (rule("no_rename"), bash("mv a.py b.py"), 1),
    (rule("no_rename", "a.py"), bash("mv c.py d.py"), None),
    (rule("no_rename", "a.py"), bash("mv a.py d.py"), 1),
    (rule("no_refactor"), bash("mv a.py b.py"), 1),
    (rule("no_refactor", "a.py"), bash("mv c.py d.py"), None),
    (rule("no_commit"), bash("git add a.py"), None),
    (rule("no_commit", ".env"), bash("git add .env"), 1),
    (rule("no_commit", ".env"), bash("git commit -m x a.py"), None),
    (rule("no_commit", ".env"), bash("git commit -m x .env"), 1),
    (rule("no_push", "main"), bash("git push origin HEAD:main"), 1),
    (rule("no_push", "main"), bash("git push origin dev"), None),
    (rule("no_branch"), bash("git checkout -b x"), 1),
    (rule("no_branch"), bash("git switch -c x"), 1),
    (rule("no_branch"), bash("git switch x"), 1),
    (rule("no_branch"), bash("git branch x"), 1),
    (rule("no_branch"), bash("git branch"), None),
    (rule("no_branch"), bash("git checkout main"), 0.8),
    (rule("no_branch"), bash("git checkout ."), None),
    (rule("no_branch"), bash("git checkout HEAD -- a.py"), None),
    (rule("no_pr"), bash("gh pr create"), 1),
    (rule("no_pr"), bash("glab mr create"), 1),
    (rule("no_pr"), bash("gh pr view"), None),
    (rule("no_vcs", "force push"), bash("git push -f"), 1),
    (rule("no_vcs", "force push"), bash("git push"), None),
    (rule("no_vcs", "amend"), bash("git commit --amend"), 1),
    (rule("no_vcs", "amend"), bash("git commit -m x"), None),
    (rule("no_vcs", "squash"), bash("git merge --squash x"), 1),
    (rule("no_vcs", "squash"), bash("git merge x"), None),
    (rule("no_vcs", "discard"), bash("git stash drop"), 1),
    (rule("no_vcs", "discard"), bash("git stash"), None),
    (rule("no_vcs", "discard"), bash("git branch -D x"), None),
    (rule("no_vcs", "rebase"), bash("git pull --rebase"), 1),
    (rule("no_vcs", "rebase"), bash("git pull"), None),
    (rule("no_vcs", "merge"), bash("gh pr merge 4"), 1),
    (rule("no_run"), bash("make"), 1),
    (rule("no_run"), bash("pytest"), 1),
    (rule("no_run"), bash("ls"), None),
    (rule("no_run"), bash("curl https://a.example"), None),
    (rule("no_run", "tests"), action("Task", prompt="pytest", command="pytest"), None),
    (rule("no_run", "tests"), bash("pytest"), 1),
    (rule("no_run", "tests"), bash("pytest > log.txt"), 1),
    (rule("no_run", "tests"), bash("make build"), None),
    (rule("no_network"), bash("curl https://a.example"), 1),
    (rule("no_network"), bash("curl http://localhost:8000"), None),
    (rule("no_network"), bash("curl http://127.0.0.1"), None),
    (rule("no_network"), action("WebSearch", query="x"), 1),
    (rule("no_network"), bash("pip install six"), 0.8),
    (rule("no_network"), bash("pip install -e ."), None),
    (rule("read_only"), edit("a.py"), 1),
    (rule("read_only", but=("notes.md",)), edit("notes.md"), None),
    (rule("read_only"), bash("pytest > coverage/log"), None),
    (rule("read_only"), bash("git commit -m x"), 1),
    (rule("read_only"), bash("gh pr merge 4"), 1),
    (rule("read_only"), bash("git fetch"), None),
    (rule("read_only"), bash("pip install six"), 0.8),
    (rule("no_format"), bash("ruff format ."), 1),
    (rule("no_format"), bash("pytest"), None),
    (rule("no_tests"), action("Write", file_path="tests/test_a.py", content="x"), 1),
    (rule("no_tests"), edit("src/a.py"), None),
    (rule("keep_tests"), bash("rm tests/test_a.py"), 1),
    (rule("keep_tests"), bash("rm src/a.py"), None),
    (rule("keep_tests"), edit("tests/test_a.py", "assert f() == 1", "assert f()"), 1),
    (rule("keep_tests"), edit("tests/test_a.py", "x = f()", "x = f()  # noqa"), None),
    (rule("keep_tests"), edit("tests/test_a.py", "assert f() == 1", "assert f() == 2"), 1),
    (rule("keep_tests"), edit("tests/test_a.py", "assert f()", "assert f()\nassert g()"), None),
    (rule("keep_tests"), edit("src/a.py", "assert f() == 1", "assert f() == 2"), None),
    (rule("no_read", ".env"), bash("cat .env.example"), None),
    (rule("no_read", ".env"), bash("cat .env.local"), 1),
    (rule("only_under", "envs/qa/a.tf"), bash("sed -i s/a/b/ envs/*/a.tf"), 1),
    (rule("only_under", "envs/"), bash("sed -i s/a/b/ envs/*/a.tf"), None),
    (rule("only_target", "qa"), bash("redis-cli -h queue.qa.acme.net DEL x"), None),
    (rule("only_target", "qa"), bash("redis-cli -h queue.live.acme.net DEL x"), 1),
    (rule("only_target", "test-db"), bash("psql -h test-db -d shop -c 'select 1'"), None),
    (rule("only_target", "dev"), bash("git push origin dev main"), 1),
    (
        rule("no_new_dependencies"),
        edit("pom.xml", "</dependencies>", "<artifactId>retry</artifactId>\n</dependencies>"),
        1,
    ),
    (
        rule("no_new_dependencies"),
        edit("build.gradle", "}", "implementation 'io.github:retry:1.0'\n}"),
        1,
    ),
    (rule("keep_tests"), edit("setup.cfg", "strict = true", "strict = false"), None),
    (rule("no_tool", "npm"), bash("npm test"), 1),
    (rule("no_tool", "npm"), bash("yarn test"), None),
    (rule("no_tool", "Lodash"), bash("yarn add lodash"), 1),
    (rule("no_tool", "lodash"), bash("yarn add zod"), None),
    (rule("no_tool", "subagents"), action("Task", prompt="x"), 1),
    (rule("no_tool", "subagents"), bash("ls"), None),
    (rule("ask_first", "no_delete", "src/a.py"), bash("rm src/a.py"), 1),
    (rule("ask_first", "no_delete", "src/a.py"), bash("rm src/b.py"), None),
    (rule("ask_first"), bash("rm src/b.py"), None),
]


@pytest.mark.parametrize(
    ("command", "evidence"),
    [
        ("mv /tmp/x package.json", "package.json"),
        ("cp /tmp/x package.json", "package.json"),
        ("mv /tmp/x other.json", None),
        ("mv package.json /tmp/x", "package.json"),
    ],
)
def test_a_file_that_arrives_from_outside_is_written(command: str, evidence: str | None) -> None:
    breach = find_breach(rule("no_touch", "package.json"), bash(command))
    assert (breach and breach.evidence) == evidence


def test_deletions_of_own_files_break_no_limit() -> None:
    done = bash("rm src/a.py src/b.py")
    assert find_breach(rule("no_delete"), ActionView(done, ("src/a.py", "src/b.py"))) is None
    breach = find_breach(rule("no_delete"), ActionView(done, ("src/a.py",)))
    assert breach is not None and breach.evidence == "src/b.py"


@pytest.mark.parametrize(
    ("path", "tracked", "broken"),
    [
        ("build/a.py", True, True),
        ("build/a.py", False, False),
        ("build/a.py", None, True),
        ("src/build/a.py", True, True),
        ("node_modules/a.js", True, False),
        ("build", False, True),
        ("src/a.py", False, True),
    ],
)
def test_output_of_a_build_is_what_git_does_not_track(
    path: str, tracked: bool | None, broken: bool
) -> None:
    view = ActionView(bash(f"echo x > {path}"), (), lambda _: tracked)
    assert (find_breach(rule("read_only"), view) is not None) is broken


@pytest.mark.parametrize(
    ("limit", "done", "weight"),
    WEIGHTS,
    ids=[f"{each.kind}-{number}" for number, (each, *_) in enumerate(WEIGHTS)],
)
def test_how_surely_an_action_breaks_a_limit(limit: Limit, done: Any, weight: float | None) -> None:
    breach = find_breach(limit, done)
    assert (breach and breach.weight) == weight
    if breach:
        assert breach.limit is limit
        assert breach.evidence
        assert breach.reason


def test_a_test_that_exists_may_be_fixed_in_passing() -> None:
    limit, change = rule("no_tests"), edit("tests/test_a.py")
    for exists, weight in ((None, 1), (lambda _: True, 0.8), (lambda _: False, 1)):
        breach = find_breach(limit, change, exists=exists)
        assert breach is not None
        assert breach.weight == weight


def test_paths_outside_the_project_and_agents_notes_break_nothing() -> None:
    for path in ("/elsewhere/a.py", "~/a.py", ".claude/notes.md", ".kedge/x", "tmp/a"):
        assert find_breach(rule("read_only"), edit(path)) is None


def test_of_equal_breaches_the_first_path_is_the_evidence() -> None:
    for order in ("src/a.py src/b.py", "src/b.py src/a.py"):
        breach = find_breach(rule("no_touch", "src"), bash(f"touch {order}"))
        assert breach is not None
        assert breach.evidence == order.split()[0]


def test_long_evidence_is_cut() -> None:
    path, command = f"src/{'x' * 300}.py", f"make {'x' * 300}"
    touched = find_breach(rule("no_touch", "src"), edit(path))
    assert touched is not None
    assert touched.evidence == path[:200]
    ran = find_breach(rule("no_run"), bash(command))
    assert ran is not None
    assert (ran.evidence, ran.reason) == (command[:80], f"runs {command[:80]}")

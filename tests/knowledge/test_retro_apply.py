"""`kedge retro --apply`: an agent's answer becomes lessons, all of it or nothing, once."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import Kedge, assert_clear, git

from kedge.errors import InvalidValue
from kedge.host import project
from kedge.knowledge import answer, edit, retro
from kedge.knowledge import work as works
from kedge.knowledge.bank import Bank
from kedge.settings import Settings

BANK = "docs/knowledge-bank"
NOTES = """# Heuristics

Ours.

### Heuristic: Retry with backoff
Immediate retries took the queue down.
- Source: Feature #003
- Confidence: high
- Last observed: Feature #003
- Observation count: 1

### Heuristic: One writer for each file
Two tore it.
- Source: Feature #004
- Confidence: low
- Last observed: Feature #004
- Observation count: 2
"""
OUTBOX = {
    "type": "pattern",
    "name": "Outbox for events",
    "text": "Events are rows of the same transaction.",
    "confidence": "high",
    "paths": ["src/queue.py#retry"],
}
ANSWER: dict[str, Any] = {
    "new": [OUTBOX],
    "confirmed": [{"entry": "retry with BACKOFF", "evidence": "the importer came back by itself"}],
    "challenged": [{"entry": "One writer for each file", "reason": "three appended without harm"}],
    "skipped": [],
}
SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


@pytest.fixture
def bank(repo: Path) -> Path:
    return made(repo)


def made(repo: Path) -> Path:
    """A feature that is finished, code, and two lessons of before."""
    for number in (3, 4, 12):
        folder = repo / "docs" / "features" / f"{number:03}-queue{number}"
        folder.mkdir(parents=True)
        meta = {"status": "completed", "completed": f"2025-01-{number:02}T10:00:00Z"}
        (folder / ".meta.json").write_text(json.dumps(meta))
    (repo / "src").mkdir()
    (repo / "src" / "queue.py").write_text("def retry():\n    return 1\n")
    folder = repo / BANK
    folder.mkdir(parents=True)
    (folder / "heuristics.md").write_text(NOTES)
    return folder


def apply(kedge: Kedge, said: Any, *options: str, code: int = 0) -> Any:
    text = said if isinstance(said, (str, bytes)) else json.dumps(said)
    return kedge("retro", "12", "--apply", "-", *options, input=text, code=code)


def files(repo: Path) -> dict[str, bytes]:
    """All that a retro may write."""
    found = [*repo.glob("docs/**/*"), *repo.glob(".kedge/retros/*")]
    return {str(path.relative_to(repo)): path.read_bytes() for path in found if path.is_file()}


def problems(kedge: Kedge, said: Any) -> list[tuple[str, str]]:
    ran = apply(kedge, said, "--json", code=1)
    return [(one["where"], one["message"]) for one in ran.document["data"]]


def test_an_answer_is_applied(repo: Path, bank: Path, kedge: Kedge) -> None:
    (repo / "answer.json").write_text(json.dumps(ANSWER))
    ran = kedge("retro", "012-queue12", "--apply", "answer.json")
    assert ran.out == (
        f"confirmed: Retry with backoff ({BANK}/heuristics.md)\n"
        f"challenged: One writer for each file ({BANK}/heuristics.md)\n"
        f"added: Outbox for events ({BANK}/patterns.md)\n"
    )
    assert (bank / "heuristics.md").read_text() == NOTES.replace(
        "- Last observed: Feature #003\n- Observation count: 1\n",
        "- Last observed: Feature #012\n- Observation count: 2\n"
        "- Confirmed: Feature #012 — the importer came back by itself\n",
    ) + ("- Challenged: Feature #012 — three appended without harm\n")
    text = (bank / "patterns.md").read_text()
    assert text.startswith(
        "# Patterns\n\n### Pattern: Outbox for events\nEvents are rows of the same transaction.\n"
        "- Observed in: Feature #012\n- Confidence: high\n- Last observed: Feature #012\n"
        "- Observation count: 1\n- Anchored at: src/queue.py#retry (sha "
    )
    states = {one["name"]: one["anchors"] for one in kedge.json("knowledge", "list")}
    assert [one["state"] for one in states["Outbox for events"]] == ["current"]
    (line,) = (repo / ".kedge" / "retros" / "012-queue12.jsonl").read_text().splitlines()
    record = json.loads(line)
    assert (record["id"], record["label"]) == ("012-queue12", "Feature #012")
    assert [one["name"] for one in record["new"]] == ["Outbox for events"]
    assert [one["entry"] for one in record["confirmed"]] == ["retry with BACKOFF"]
    assert record["at"].startswith("20")


@pytest.mark.parametrize("anyway", [False, True])
def test_the_same_answer_changes_nothing_twice(
    repo: Path, bank: Path, kedge: Kedge, anyway: bool
) -> None:
    said = {**ANSWER, "new": [{**OUTBOX, "anyway": anyway}]}
    apply(kedge, said)
    once = files(repo)
    ran = apply(kedge, said)
    assert "nothing to write: all of it is there already" in ran.out
    assert files(repo) == once
    data = json.loads(apply(kedge, said, "--json").out)["data"]
    assert (data["changed"], data["recorded"]) == (False, False)


def test_what_a_user_has_edited_since_is_still_known(repo: Path, bank: Path, kedge: Kedge) -> None:
    apply(kedge, ANSWER)
    path = bank / "patterns.md"
    path.write_text(path.read_text().replace("Events are rows of the same", "Write within one"))
    edited = files(repo)
    apply(kedge, ANSWER)
    assert files(repo) == edited


def test_old_evidence_does_not_anchor_an_entry_anew(repo: Path, bank: Path, kedge: Kedge) -> None:
    at = ["--at", "src/queue.py"]
    kedge("knowledge", "add", "Tidy", "--type", "pattern", "--text", "Sort.", "--in", "3", *at)
    said = {"confirmed": [{"entry": "Tidy", "evidence": "it was sorted"}]}
    apply(kedge, said)
    (repo / "src" / "queue.py").write_text("def other(): ...\n")
    before = files(repo)
    apply(kedge, said)
    assert files(repo) == before
    assert "drifted" in kedge("knowledge", "check", "--json", code=4).out


def test_every_problem_is_listed_and_nothing_written(repo: Path, bank: Path, kedge: Kedge) -> None:
    before = files(repo)
    said = {
        "new": [
            {"type": "rule", "name": "A", "text": "B", "confidence": "sure"},
            {"type": "heuristic", "name": "Backoff on retry", "text": NOTES.split("\n")[5]},
            {**OUTBOX, "text": f"the key {SECRET} leaked"},
            {**OUTBOX, "name": "Long", "text": "x" * 2001},
            {**OUTBOX, "name": "Nowhere", "paths": ["src/none.py"]},
            {**OUTBOX, "name": "Outside", "paths": ["../../etc/passwd"]},
            {**OUTBOX, "name": "A comment <!-- hides"},
            {**OUTBOX, "name": "Heading", "text": "fine\n# not fine"},
            OUTBOX,
            "Outbox",
        ],
        "confirmed": [
            {"entry": "Retry with backof", "evidence": "x"},
            {"entry": "Retry with backoff"},
            {"entry": "One writer for each file", "evidence": " "},
            {"entry": "Outbox for events", "evidence": "I wrote it"},
        ],
        "challenged": [
            {"entry": "Retry with backoff", "reason": "one"},
            {"entry": "heuristics.md:5", "reason": "two"},
            {"entry": ["Retry"], "reason": 3},
        ],
        "confirm": [],
    }
    ran = apply(kedge, said, code=1)
    assert "error: the answer has 18 problems\nhint: nothing was written;" in ran.err
    told = ran.out.splitlines()
    assert len(told) == 18
    for where, what in {
        "confirm": "did you mean confirmed?",
        "new[0]": "'rule' is no type",
        "new[1]": "says much the same: 'Retry with backoff'",
        "new[2]": "seems to hold a secret (github-token)",
        "new[3]": "its text has 2001 letters",
        "new[4]": "no file src/none.py",
        "new[5]": "leads out of the project",
        "new[6]": "the start of a comment",
        "new[7]": "would not read back",
        "new[9]": "is a text, not an object",
        "confirmed[0]": "did you mean 'Retry with backoff'?",
        "confirmed[1]": "has no evidence",
        "confirmed[2]": "its evidence is empty",
        "confirmed[3]": "'Outbox for events' is new in this answer",
        "challenged[1]": "'Retry with backoff' is judged by challenged[0] already",
        "challenged[2]": "its entry is a list, not a text",
    }.items():
        assert any(line.startswith(f"{where}: ") and what in line for line in told), where
    assert SECRET not in ran.out + ran.err
    assert files(repo) == before
    assert not (repo / ".kedge" / "retros").exists()
    done = apply(kedge, said, "--partial")
    assert "added: Outbox for events" in done.out
    assert "challenged: Retry with backoff" in done.out
    assert done.err.count("warning: not applied: ") == 18
    assert sum(one["type"] == "pattern" for one in kedge.json("knowledge", "list")) == 1
    assert "Observation count: 1\n- Challenged: Feature #012 — one\n" in (
        (bank / "heuristics.md").read_text()
    )


def test_nothing_right_is_refused_in_part_too(repo: Path, bank: Path, kedge: Kedge) -> None:
    before = files(repo)
    apply(kedge, {"confirmed": [{"entry": "nope", "evidence": "x"}]}, "--partial", code=1)
    assert files(repo) == before


def test_one_that_says_the_same_is_added_when_that_is_meant(
    repo: Path, bank: Path, kedge: Kedge
) -> None:
    new = {"type": "heuristic", "name": "Backoff on retry", "text": NOTES.split("\n")[5]}
    ((where, what),) = problems(kedge, {"new": [new]})
    assert (where, "'Retry with backoff'" in what) == ("new[0]", True)
    ran = apply(kedge, {"new": [{**new, "anyway": True}]})
    assert "added: Backoff on retry" in ran.out
    assert "much the same as 'Retry with backoff'" in ran.err
    twice = {"new": [OUTBOX, {**OUTBOX, "name": "Outbox for all events"}]}
    assert [where for where, _ in problems(kedge, twice)] == ["new[1]"]


def test_ones_own_lesson_is_no_second_observation(repo: Path, bank: Path, kedge: Kedge) -> None:
    text = "Rows that come late correct the sum."
    add = ["knowledge", "add", "Late data", "--type", "pattern", "--text", text, "--in"]
    kedge(*add, "12")
    seen = {"confirmed": [{"entry": "Late data", "evidence": "it held"}]}
    ((_, what),) = problems(kedge, seen)
    assert "learned in this very work" in what
    apply(kedge, {"challenged": [{"entry": "Late data", "reason": "not in the end"}]})
    said = kedge("retro", "4", "--apply", "-", input=json.dumps(seen)).out
    assert said == f"confirmed: Late data ({BANK}/patterns.md)\n"


def test_a_finding_is_let_through_when_it_is_named(repo: Path, bank: Path, kedge: Kedge) -> None:
    said = {"new": [{**OUTBOX, "text": f"the key {SECRET} leaked"}]}
    (row,) = apply(kedge, said, "--json", code=1).document["data"]
    finding = row["hint"].rpartition(" ")[2]
    apply(kedge, said, "--allow-secret", finding)
    assert SECRET in (bank / "patterns.md").read_text()
    assert SECRET not in (repo / ".kedge" / "retros" / "012-queue12.jsonl").read_text()


def test_lessons_by_their_places_are_those_of_before(repo: Path, bank: Path, kedge: Kedge) -> None:
    said = {
        "confirmed": [{"entry": "heuristics.md:5", "evidence": "a"}],
        "challenged": [{"entry": f"{BANK}/heuristics.md:12", "reason": "b"}],
    }
    ran = apply(kedge, said)
    assert "confirmed: Retry with backoff" in ran.out
    assert "challenged: One writer for each file" in ran.out


@pytest.mark.parametrize(
    "text",
    [
        "{json}",
        "\ufeff{json}\n",
        "Sure!\n\n```json\n{json}\n```\nAnything else?",
        "~~~~\n{json}\n~~~~",
        "I looked at {everything}.\n{json}\nDone.",
        "```\nnot this\n```\n  ```json\n{json}\n  ```",
    ],
)
def test_words_around_an_answer_do_no_harm(bank: Path, kedge: Kedge, text: str) -> None:
    ran = apply(kedge, text.replace("{json}", json.dumps(ANSWER, indent=2)))
    assert "confirmed: Retry with backoff" in ran.out


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no JSON object in the answer"),
        ("I have learned nothing.", "no JSON object in the answer"),
        ('{"new": [}', "no JSON object in the answer: Expecting value in its line 1"),
        ('["new"]', "no JSON object in the answer"),
        ('{"new": NaN}', "no JSON object in the answer: NaN is no JSON"),
        ('{"a":' * 50_000, "no JSON object in the answer"),
        ('{"new": [], "new": []}', "'new' is there twice"),
        ('{"new": [{"name": "a", "name": "b"}]}', "'name' is there twice"),
        ('```json\n{"new": []}\n```\n```json\n{"skipped": ["x"]}\n```', "there are 2 answers"),
        ('{"new": "' + "x" * 10_000_000 + '"}', "the answer has 10.0 MB"),
        ("{\n" * 500_000, "no JSON object in the answer"),
    ],
)
def test_what_is_no_answer_is_refused(
    repo: Path, bank: Path, kedge: Kedge, text: str, says: str
) -> None:
    before = files(repo)
    assert_clear(apply(kedge, text, code=1), code=1, says=says)
    assert files(repo) == before


def test_usage(repo: Path, bank: Path, kedge: Kedge) -> None:
    assert_clear(kedge("retro", "12", "--partial", code=2), code=2, says="--apply")
    ran = kedge("retro", "12", "--apply", "a.json", "--part", "git", code=2)
    assert_clear(ran, code=2, says="for printing")
    assert_clear(kedge("retro", "12", "--apply", "a.json", code=1), code=1, says="no file a.json")
    assert_clear(kedge("retro", "99", code=1), code=1, says="no feature or task '99'")
    ran = apply(kedge, b'{"new": []}\xff', code=2)
    assert_clear(ran, code=2, says="not UTF-8")


def test_a_retro_without_lessons_is_on_record(repo: Path, bank: Path, kedge: Kedge) -> None:
    ran = apply(kedge, {"skipped": ["Retry with backoff", "Gone"]})
    assert ran.out == "nothing to write; the retro is on record\n"
    assert "skipped, but in no file: Gone" in ran.err
    assert (bank / "heuristics.md").read_text() == NOTES
    path = repo / ".kedge" / "retros" / "012-queue12.jsonl"
    assert json.loads(path.read_text())["skipped"] == ["Retry with backoff", "Gone"]


def test_tasks_and_epics_have_retros_too(repo: Path, kedge: Kedge) -> None:
    for args in (
        ["Login", "--id", "login", "--type", "epic"],
        ["Table", "--id", "l1", "--epic", "login"],
        ["Form", "--id", "l2", "--epic", "login"],
    ):
        kedge("task", "add", *args)
    kedge("task", "close", "l2")
    kedge("task", "close", "l1")
    new = {"type": "heuristic", "name": "Salt", "text": "Of its own for each password."}
    kedge("retro", "login", "--apply", "-", input=json.dumps({"new": [new]}))
    text = (repo / BANK / "heuristics.md").read_text()
    assert "- Source: Task l1\n" in text  # the last that was finished: by that, age is counted
    assert {row["state"] for row in kedge.json("knowledge", "list")} == {"fresh"}
    other = {"type": "heuristic", "name": "Labels", "text": "Each field of a form has one."}
    kedge("retro", "l2", "--apply", "-", input=json.dumps({"new": [other]}))
    assert "- Source: Task l2\n" in (repo / BANK / "heuristics.md").read_text()


def test_a_retro_dates_a_feature_that_nothing_else_dates(repo: Path, kedge: Kedge) -> None:
    """The features were renumbered: without a date, 002 would count as the older one."""
    for name in ("002-late", "009-early"):
        folder = repo / "docs" / "features" / name
        folder.mkdir(parents=True)
        (folder / ".meta.json").write_text('{"status": "completed"}')
    new = {"type": "heuristic", "name": "Salt", "text": "Of its own for each password."}
    kedge("retro", "9", "--apply", "-", input=json.dumps({"new": [new]}))
    kedge("retro", "2", "--apply", "-", input='{"new": []}')
    (row,) = kedge.json("knowledge", "stale", "--after", "1")
    assert (row["name"], row["state"], row["age"]) == ("Salt", "stale", 1)


def test_a_link_does_not_lead_the_record_out(repo: Path, bank: Path, kedge: Kedge) -> None:
    away = repo.parent / "away"
    away.mkdir()
    (repo / ".kedge").mkdir()
    (repo / ".kedge" / "retros").symlink_to(away)
    assert_clear(apply(kedge, ANSWER, code=1), code=1, says="retros")
    assert list(away.iterdir()) == []
    assert (bank / "heuristics.md").read_text() == NOTES


MARKS = st.text("ab \n#-*_<>!|`:[]{}()~\\é—", min_size=1, max_size=40)
NASTY = st.one_of(
    st.builds("{} {}".format, st.sampled_from(["Ropes", "Tides", "Wind"]), MARKS),
    st.text(max_size=60),
    st.sampled_from(
        [
            "Retry with backoff",
            "### Pattern: x",
            "a\n### Heuristic: b\n- Source: c",
            "<!-- x",
            "x -->",
            "```",
            "---",
            "- Last observed: Feature #9",
            "| a | b |",
            "Templates",
            "{name}",
            "⚠️ STALE",
            "\ud800",
            "a\x00b",
            "  - nested: y\\",
        ]
    ),
)
WRONG = st.one_of(st.none(), st.integers(), st.lists(NASTY, max_size=2), NASTY)
ENTRY = st.one_of(st.sampled_from(["Retry with backoff", "One writer for each file", "One"]), NASTY)
SOUND: dict[str, dict[str, Any]] = {
    "new": {
        "type": st.sampled_from(["pattern", "Anti_Pattern", "heuristic"]),
        "name": st.one_of(st.sampled_from(["Tide tables", "Wind from the west"]), NASTY),
        "text": st.one_of(st.builds("Splice {}".format, MARKS), NASTY),
        "confidence": st.sampled_from(["low", "HIGH"]),
        "paths": st.sampled_from([[], ["src/queue.py"], ["src/queue.py#retry", "src"]]),
        "anyway": st.booleans(),
    },
    "confirmed": {"entry": ENTRY, "evidence": NASTY},
    "challenged": {"entry": ENTRY, "reason": NASTY},
}


def items(fields: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Mostly of the right shape, whatever they say; some with a field wrong, some no items."""
    wrong = {name: st.one_of(field, WRONG) for name, field in fields.items()}
    sound, odd = st.fixed_dictionaries(fields), st.fixed_dictionaries({}, optional=wrong)
    return st.lists(st.one_of(sound, sound, sound, odd, WRONG), min_size=1, max_size=3)


ANSWERS = st.one_of(
    st.fixed_dictionaries({key: items(fields) for key, fields in SOUND.items()}),
    st.fixed_dictionaries({}, optional=dict.fromkeys(("new", "confirmed", "skipped"), WRONG)),
)


@given(ANSWERS, st.sampled_from([True, True, False]))
@settings(max_examples=40)
def test_no_answer_breaks_the_bank(said: Any, partial: bool) -> None:
    """What was there stays as it was, but for the lines that were asked for; twice is once."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        git(root, "init", "-q")
        folder = made(root)
        (folder / "patterns.md").write_bytes(b"# P\r\n\r\n## One\r\n\r\n| Source | F |\r\n\xff\r\n")
        before = Bank(project.find(root), Settings())
        pages = {page.file: page for page in before.pages()}
        bank = Bank(project.find(root), Settings())
        work = works.find(bank, "12")
        try:
            read = answer.read(json.dumps(said))
            done = retro.apply(bank, work, read, partial=partial)
        except InvalidValue:
            assert {page.file: page.data for page in bank.pages()} == {
                file: page.data for file, page in pages.items()
            }
            return
        after = {page.file: page for page in bank.pages()}
        for file, page in pages.items():
            kept = [_without_fields(one) for one in edit.said(after[file])[: len(page.entries)]]
            assert kept == [_without_fields(one) for one in edit.said(page)]
        added = sum(step.kind == "new" and step.changed for step in done.steps)
        total = sum(len(page.entries) for page in after.values())
        assert total == added + sum(len(page.entries) for page in pages.values())
        again = retro.apply(bank, work, read, partial=partial)
        assert not again.changed
        assert not again.recorded
        assert {page.file: page.data for page in bank.pages()} == {
            file: page.data for file, page in after.items()
        }


def _without_fields(said: tuple[object, ...]) -> tuple[object, ...]:
    *rest, _, text = said
    return (*rest, text)


@given(st.text(max_size=400))
def test_no_text_is_more_than_refused(text: str) -> None:
    for said in (text, f"```json\n{text}\n```", f'{{"new": [{text}]}}'):
        try:
            answer.read(said)
        except InvalidValue:
            continue

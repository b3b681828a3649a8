"""`kedge retro --apply`: an agent's answer becomes lessons, all or nothing, and only once."""

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
from kedge.knowledge.bank import edits
from kedge.knowledge.bank.bank import Bank
from kedge.knowledge.retro import answer, apply
from kedge.knowledge.retro import subject as subjects
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
    return make_bank(repo)


def make_bank(repo: Path) -> Path:
    """Create three finished features, some code, and a bank with two lessons."""
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


def apply_answer(kedge: Kedge, answer_data: Any, *options: str, code: int = 0) -> Any:
    text = answer_data if isinstance(answer_data, (str, bytes)) else json.dumps(answer_data)
    return kedge("retro", "12", "--apply", "-", *options, input=text, code=code)


def files(repo: Path) -> dict[str, bytes]:
    """Return all files that a retro may write."""
    found = [*repo.glob("docs/**/*"), *repo.glob(".kedge/retros/*")]
    return {str(path.relative_to(repo)): path.read_bytes() for path in found if path.is_file()}


def problems(kedge: Kedge, answer_data: Any) -> list[tuple[str, str]]:
    ran = apply_answer(kedge, answer_data, "--json", code=1)
    return [(one["where"], one["message"]) for one in ran.document["data"]]


def test_answer_is_written_to_the_bank_and_recorded(repo: Path, bank: Path, kedge: Kedge) -> None:
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
def test_applying_the_same_answer_again_changes_nothing(
    repo: Path, bank: Path, kedge: Kedge, anyway: bool
) -> None:
    answer_data = {**ANSWER, "new": [{**OUTBOX, "anyway": anyway}]}
    apply_answer(kedge, answer_data)
    once = files(repo)
    ran = apply_answer(kedge, answer_data)
    assert "nothing to write: everything is present already" in ran.out
    assert files(repo) == once
    data = json.loads(apply_answer(kedge, answer_data, "--json").out)["data"]
    assert (data["changed"], data["recorded"]) == (False, False)


def test_entry_edited_by_the_user_is_not_added_again(repo: Path, bank: Path, kedge: Kedge) -> None:
    apply_answer(kedge, ANSWER)
    path = bank / "patterns.md"
    path.write_text(path.read_text().replace("Events are rows of the same", "Write within one"))
    edited = files(repo)
    apply_answer(kedge, ANSWER)
    assert files(repo) == edited


def test_repeated_evidence_does_not_renew_anchors(repo: Path, bank: Path, kedge: Kedge) -> None:
    at = ["--at", "src/queue.py"]
    kedge("knowledge", "add", "Tidy", "--type", "pattern", "--text", "Sort.", "--in", "3", *at)
    answer_data = {"confirmed": [{"entry": "Tidy", "evidence": "it was sorted"}]}
    apply_answer(kedge, answer_data)
    (repo / "src" / "queue.py").write_text("def other(): ...\n")
    before = files(repo)
    apply_answer(kedge, answer_data)
    assert files(repo) == before
    assert "drifted" in kedge("knowledge", "check", "--json", code=4).out


def test_every_problem_is_listed_and_nothing_is_written(
    repo: Path, bank: Path, kedge: Kedge
) -> None:
    before = files(repo)
    answer_data = {
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
    ran = apply_answer(kedge, answer_data, code=1)
    assert "error: the answer has 18 problems\nhint: nothing was written;" in ran.err
    lines = ran.out.splitlines()
    assert len(lines) == 18
    for where, what in {
        "confirm": "did you mean confirmed?",
        "new[0]": "'rule' is not a type",
        "new[1]": "is similar: 'Retry with backoff'",
        "new[2]": "seems to hold a secret (github-token)",
        "new[3]": "its text has 2001 characters",
        "new[4]": "no file src/none.py",
        "new[5]": "is outside the project",
        "new[6]": "the start of a comment",
        "new[7]": "would not parse back unchanged",
        "new[9]": "is a string, not an object",
        "confirmed[0]": "did you mean 'Retry with backoff'?",
        "confirmed[1]": "has no evidence",
        "confirmed[2]": "its evidence is empty",
        "confirmed[3]": "'Outbox for events' is new in this answer",
        "challenged[1]": "'Retry with backoff' is already judged by challenged[0]",
        "challenged[2]": "its entry is a list, not a string",
    }.items():
        assert any(line.startswith(f"{where}: ") and what in line for line in lines), where
    assert SECRET not in ran.out + ran.err
    assert files(repo) == before
    assert not (repo / ".kedge" / "retros").exists()
    done = apply_answer(kedge, answer_data, "--partial")
    assert "added: Outbox for events" in done.out
    assert "challenged: Retry with backoff" in done.out
    assert done.err.count("warning: not applied: ") == 18
    assert sum(one["type"] == "pattern" for one in kedge.json("knowledge", "list")) == 1
    assert "Observation count: 1\n- Challenged: Feature #012 — one\n" in (
        (bank / "heuristics.md").read_text()
    )


def test_partial_is_refused_if_nothing_can_be_applied(repo: Path, bank: Path, kedge: Kedge) -> None:
    before = files(repo)
    apply_answer(kedge, {"confirmed": [{"entry": "nope", "evidence": "x"}]}, "--partial", code=1)
    assert files(repo) == before


def test_similar_entry_is_added_only_with_anyway(repo: Path, bank: Path, kedge: Kedge) -> None:
    new = {"type": "heuristic", "name": "Backoff on retry", "text": NOTES.split("\n")[5]}
    ((where, what),) = problems(kedge, {"new": [new]})
    assert (where, "'Retry with backoff'" in what) == ("new[0]", True)
    ran = apply_answer(kedge, {"new": [{**new, "anyway": True}]})
    assert "added: Backoff on retry" in ran.out
    assert "similar to 'Retry with backoff'" in ran.err
    twice = {"new": [OUTBOX, {**OUTBOX, "name": "Outbox for all events"}]}
    assert [where for where, _ in problems(kedge, twice)] == ["new[1]"]


def test_lesson_learned_in_this_work_cannot_be_confirmed_by_it(
    repo: Path, bank: Path, kedge: Kedge
) -> None:
    text = "Rows that come late correct the sum."
    add = ["knowledge", "add", "Late data", "--type", "pattern", "--text", text, "--in"]
    kedge(*add, "12")
    seen = {"confirmed": [{"entry": "Late data", "evidence": "it held"}]}
    ((_, what),) = problems(kedge, seen)
    assert "learned in this work" in what
    apply_answer(kedge, {"challenged": [{"entry": "Late data", "reason": "not in the end"}]})
    output = kedge("retro", "4", "--apply", "-", input=json.dumps(seen)).out
    assert output == f"confirmed: Late data ({BANK}/patterns.md)\n"


def test_allowed_secret_is_written_to_the_bank_but_not_to_the_record(
    repo: Path, bank: Path, kedge: Kedge
) -> None:
    answer_data = {"new": [{**OUTBOX, "text": f"the key {SECRET} leaked"}]}
    (row,) = apply_answer(kedge, answer_data, "--json", code=1).document["data"]
    finding = row["hint"].rpartition(" ")[2]
    apply_answer(kedge, answer_data, "--allow-secret", finding)
    assert SECRET in (bank / "patterns.md").read_text()
    assert SECRET not in (repo / ".kedge" / "retros" / "012-queue12.jsonl").read_text()


def test_places_refer_to_the_pages_before_the_answer(repo: Path, bank: Path, kedge: Kedge) -> None:
    answer_data = {
        "confirmed": [{"entry": "heuristics.md:5", "evidence": "a"}],
        "challenged": [{"entry": f"{BANK}/heuristics.md:12", "reason": "b"}],
    }
    ran = apply_answer(kedge, answer_data)
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
def test_answer_is_found_among_prose_and_fences(bank: Path, kedge: Kedge, text: str) -> None:
    ran = apply_answer(kedge, text.replace("{json}", json.dumps(ANSWER, indent=2)))
    assert "confirmed: Retry with backoff" in ran.out


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no JSON object in the answer"),
        ("I have learned nothing.", "no JSON object in the answer"),
        ('{"new": [}', "no JSON object in the answer: Expecting value on line 1 of it"),
        ('["new"]', "no JSON object in the answer"),
        ('{"new": NaN}', "no JSON object in the answer: NaN is not valid JSON"),
        ('{"a":' * 50_000, "no JSON object in the answer"),
        ('{"new": [], "new": []}', "'new' occurs twice"),
        ('{"new": [{"name": "a", "name": "b"}]}', "'name' occurs twice"),
        ('```json\n{"new": []}\n```\n```json\n{"skipped": ["x"]}\n```', "2 different answers"),
        ('{"new": "' + "x" * 10_000_000 + '"}', "the answer has 10.0 MB"),
        ("{\n" * 500_000, "no JSON object in the answer"),
    ],
)
def test_text_without_one_clear_answer_is_refused(
    repo: Path, bank: Path, kedge: Kedge, text: str, says: str
) -> None:
    before = files(repo)
    assert_clear(apply_answer(kedge, text, code=1), code=1, says=says)
    assert files(repo) == before


def test_wrong_usage_is_refused(repo: Path, bank: Path, kedge: Kedge) -> None:
    assert_clear(kedge("retro", "12", "--partial", code=2), code=2, says="--apply")
    ran = kedge("retro", "12", "--apply", "a.json", "--part", "git", code=2)
    assert_clear(ran, code=2, says="--apply cannot be combined")
    assert_clear(kedge("retro", "12", "--apply", "a.json", code=1), code=1, says="no file a.json")
    assert_clear(kedge("retro", "99", code=1), code=1, says="no feature or task '99'")
    ran = apply_answer(kedge, b'{"new": []}\xff', code=2)
    assert_clear(ran, code=2, says="not UTF-8")


def test_retro_without_lessons_is_recorded(repo: Path, bank: Path, kedge: Kedge) -> None:
    ran = apply_answer(kedge, {"skipped": ["Retry with backoff", "Gone"]})
    assert ran.out == "nothing to write; the retro is recorded\n"
    assert "skipped entries that do not exist: Gone" in ran.err
    assert (bank / "heuristics.md").read_text() == NOTES
    path = repo / ".kedge" / "retros" / "012-queue12.jsonl"
    assert json.loads(path.read_text())["skipped"] == ["Retry with backoff", "Gone"]


def test_retro_of_a_task_and_of_an_epic(repo: Path, kedge: Kedge) -> None:
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
    assert "- Source: Task l1\n" in text  # the task finished last: age is counted from it
    assert {row["state"] for row in kedge.json("knowledge", "list")} == {"fresh"}
    other = {"type": "heuristic", "name": "Labels", "text": "Each field of a form has one."}
    kedge("retro", "l2", "--apply", "-", input=json.dumps({"new": [other]}))
    assert "- Source: Task l2\n" in (repo / BANK / "heuristics.md").read_text()


def test_first_retro_dates_a_feature_without_other_dates(repo: Path, kedge: Kedge) -> None:
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


def test_record_is_not_written_through_a_symlink(repo: Path, bank: Path, kedge: Kedge) -> None:
    away = repo.parent / "away"
    away.mkdir()
    (repo / ".kedge").mkdir()
    (repo / ".kedge" / "retros").symlink_to(away)
    assert_clear(apply_answer(kedge, ANSWER, code=1), code=1, says="retros")
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
def test_no_answer_damages_the_bank(answer_data: Any, partial: bool) -> None:
    """What was there stays as it was, but for the lines that were asked for; twice is once."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        git(root, "init", "-q")
        folder = make_bank(root)
        (folder / "patterns.md").write_bytes(b"# P\r\n\r\n## One\r\n\r\n| Source | F |\r\n\xff\r\n")
        before = Bank(project.find(root), Settings())
        pages = {page.file: page for page in before.pages()}
        bank = Bank(project.find(root), Settings())
        work = subjects.find_subject(bank, "12")
        try:
            read = answer.parse_answer(json.dumps(answer_data))
            done = apply.apply_answer(bank, work, read, partial=partial)
        except InvalidValue:
            assert {page.file: page.data for page in bank.pages()} == {
                file: page.data for file, page in pages.items()
            }
            return
        after = {page.file: page for page in bank.pages()}
        for file, page in pages.items():
            kept = [
                _without_fields(one)
                for one in edits.entry_contents(after[file])[: len(page.entries)]
            ]
            assert kept == [_without_fields(one) for one in edits.entry_contents(page)]
        added = sum(step.kind == "new" and step.changed for step in done.steps)
        total = sum(len(page.entries) for page in after.values())
        assert total == added + sum(len(page.entries) for page in pages.values())
        again = apply.apply_answer(bank, work, read, partial=partial)
        assert not again.changed
        assert not again.recorded
        assert {page.file: page.data for page in bank.pages()} == {
            file: page.data for file, page in after.items()
        }


def _without_fields(content: tuple[object, ...]) -> tuple[object, ...]:
    *rest, _, text = content
    return (*rest, text)


@given(st.text(max_size=400))
def test_any_text_parses_or_is_refused(text: str) -> None:
    for variant in (text, f"```json\n{text}\n```", f'{{"new": [{text}]}}'):
        try:
            answer.parse_answer(variant)
        except InvalidValue:
            continue

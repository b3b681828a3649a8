"""The rules of applying an answer one by one, on a bank without the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kedge.errors import InvalidValue
from kedge.host.project import Project
from kedge.knowledge import retro_records
from kedge.knowledge.bank.bank import Bank
from kedge.knowledge.retro.answer import parse_answer
from kedge.knowledge.retro.apply import ApplyResult, apply_answer
from kedge.knowledge.retro.subject import Subject
from kedge.settings import Settings

NOTES = """# Heuristics

### Heuristic: Retry with backoff
Immediate retries took the queue down.
- Source: Feature #003
- Last observed: Feature #003
- Observation count: 1

### Heuristic: Late data
Rows that come late correct the sum.
- Source: Feature #012
- Last observed: Feature #012
- Observation count: 1
"""
SUBJECT = Subject("feature", "012-queue", "012-queue", "Queue", folder="docs/features/012-queue")
NEW = {"type": "pattern", "name": "Outbox", "text": "Events are rows of one transaction."}
SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


@pytest.fixture
def bank(tmp_path: Path) -> Bank:
    for name in ("003-import", "012-queue"):
        folder = tmp_path / "docs" / "features" / name
        folder.mkdir(parents=True)
        (folder / ".meta.json").write_text('{"status": "completed", "completed": "2025-01-01"}')
    folder = tmp_path / "docs" / "knowledge-bank"
    folder.mkdir()
    (folder / "heuristics.md").write_text(NOTES)
    (tmp_path / ".kedge").mkdir()
    return Bank(Project(tmp_path, None), Settings())


def apply(bank: Bank, data: dict[str, Any], **options: Any) -> ApplyResult:
    return apply_answer(bank, SUBJECT, parse_answer(json.dumps(data)), **options)


def read(bank: Bank, name: str = "heuristics.md") -> str:
    path = bank.project.root / "docs" / "knowledge-bank" / name
    return path.read_text() if path.exists() else ""


def refusal(bank: Bank, data: dict[str, Any]) -> list[dict[str, str]]:
    """Return the problems for which an answer is refused."""
    before = read(bank)
    with pytest.raises(InvalidValue) as caught:
        apply(bank, data)
    problems: Any = caught.value.data
    count = "a problem" if len(problems) == 1 else f"{len(problems)} problems"
    assert caught.value.message == f"the answer has {count}"
    assert read(bank) == before
    assert retro_records.read_records(bank.project, SUBJECT.id)[0] == []
    return list(problems)


def observe(entry: str, evidence: str = "seen") -> dict[str, Any]:
    return {"confirmed": [{"entry": entry, "evidence": evidence}]}


def test_partial_applies_the_rest_but_not_nothing(bank: Bank) -> None:
    wrong = {"confirmed": [{"entry": "nope", "evidence": "x"}]}
    assert len(refusal(bank, wrong)) == 1
    with pytest.raises(InvalidValue):
        apply(bank, wrong, partial=True)
    done = apply(bank, {**wrong, "new": [NEW]}, partial=True)
    assert [(step.kind, step.changed) for step in done.steps] == [("new", True)]
    assert [one.where for one in done.problems] == ["confirmed[0]"]
    assert "### Pattern: Outbox" in read(bank, "patterns.md")


def test_entry_can_be_judged_once(bank: Bank) -> None:
    both = {
        "confirmed": [{"entry": "Retry with backoff", "evidence": "a"}],
        "challenged": [{"entry": "heuristics.md:3", "reason": "b"}],
    }
    (problem,) = refusal(bank, both)
    assert problem["where"] == "challenged[0]"
    assert problem["message"] == "'Retry with backoff' is already judged by confirmed[0]"


@pytest.mark.parametrize("name", ["Outbox", "outbox", "Pattern: Outbox", "**Outbox**"])
def test_new_entry_cannot_be_judged_in_the_same_answer(bank: Bank, name: str) -> None:
    (problem,) = refusal(bank, {"new": [NEW], **observe(name)})
    assert problem["message"] == f"{name!r} is new in this answer"


def test_entry_learned_in_this_work_can_be_challenged_but_not_confirmed(bank: Bank) -> None:
    (problem,) = refusal(bank, observe("Late data"))
    assert problem["message"] == "'Late data' was learned in this work"
    done = apply(bank, {"challenged": [{"entry": "Late data", "reason": "not so"}]})
    assert done.changed
    assert "- Challenged: Feature #012 — not so\n" in read(bank)


def test_steps_see_the_changes_of_earlier_steps(bank: Bank) -> None:
    data = {
        "confirmed": [{"entry": "heuristics.md:3", "evidence": "a"}],
        "challenged": [{"entry": "heuristics.md:9", "reason": "b"}],
        "new": [{**NEW, "type": "heuristic"}],
    }
    done = apply(bank, data)
    names = [step.entry.name for step in done.steps]
    assert names == ["Retry with backoff", "Late data", "Outbox"]
    assert read(bank).count("Feature #012 — ") == 2
    assert "- Confirmed: Feature #012 — a\n\n### Heuristic: Late data" in read(bank)


def test_recorded_evidence_is_not_written_again_nor_a_warning(bank: Bank) -> None:
    apply(bank, observe("Retry with backoff", "the  importer\ncame back | by itself"))
    text = read(bank)
    assert "- Confirmed: Feature #012 — the importer came back | by itself\n" in text
    again = apply(bank, observe("Retry with backoff", "the importer came back | by itself"))
    assert (again.changed, again.warnings) == (False, ())
    assert read(bank) == text


def test_recorded_evidence_is_found_in_a_table(bank: Bank) -> None:
    rows = "| Source | Feature #003 |\n| Last observed | Feature #003 |\n"
    path = bank.project.root / "docs" / "knowledge-bank" / "heuristics.md"
    path.write_text(f"### Heuristic: Rows\nText.\n\n{rows}")
    assert apply(bank, observe("Rows", "a | b")).changed
    assert "&#124;" in read(bank)
    assert not apply(bank, observe("Rows", "a | b")).changed


def test_entry_added_by_an_earlier_retro_is_not_added_again(bank: Bank) -> None:
    apply(bank, {"new": [NEW]})
    path = bank.project.root / "docs" / "knowledge-bank" / "patterns.md"
    path.write_text(path.read_text().replace("Events are rows", "Write events as rows"))
    again = apply(bank, {"new": [NEW]})
    assert [(step.entry.name, step.changed) for step in again.steps] == [("Outbox", False)]
    other = refusal_after_record(bank, {"new": [{**NEW, "text": "Another lesson by that name."}]})
    assert other == ["new[0]"]


def refusal_after_record(bank: Bank, data: dict[str, Any]) -> list[str]:
    with pytest.raises(InvalidValue) as caught:
        apply(bank, data)
    problems: Any = caught.value.data
    return [one["where"] for one in problems]


def test_entry_written_without_a_record_is_recognized_by_its_text_and_origin(bank: Bank) -> None:
    path = bank.project.root / "docs" / "knowledge-bank" / "patterns.md"
    entry = "### Pattern: Outbox\nEvents are rows of one transaction.\n- Used in: Feature #{}\n"
    path.write_text(entry.format("012"))
    assert not apply(bank, {"new": [NEW]}).changed
    retro = bank.project.own("retros", "012-queue.jsonl")
    for page in (entry.format("003"), entry.format("012").replace("rows", "files")):
        retro.unlink(missing_ok=True)
        path.write_text(page)
        assert [one["where"] for one in refusal(bank, {"new": [NEW]})] == ["new[0]"]
    retro.unlink(missing_ok=True)
    path.write_text(entry.format("012"))
    heuristic = {**NEW, "type": "heuristic"}
    assert [one["where"] for one in refusal(bank, {"new": [heuristic]})] == ["new[0]"]


def test_similar_entry_needs_anyway(bank: Bank) -> None:
    similar = {**NEW, "name": "Retry with a backoff", "text": NOTES.split("\n")[3]}
    (problem,) = refusal(bank, {"new": [similar]})
    assert problem["hint"] == 'confirm that entry, or set "anyway": true'
    done = apply(bank, {"new": [{**similar, "anyway": True}]})
    assert done.changed
    assert done.warnings == ("similar to 'Retry with backoff'",)


def test_secrets_are_in_no_message_and_no_record(bank: Bank) -> None:
    (problem,) = refusal(bank, observe(f"Key {SECRET}"))
    assert SECRET not in json.dumps(problem)
    done = apply(bank, {"skipped": [f"Key {SECRET}", "Late data"]})
    assert done.warnings == ("skipped entries that do not exist: Key [redacted:github-token]",)
    ((record,), _) = retro_records.read_records(bank.project, SUBJECT.id)
    assert SECRET not in json.dumps(record)


def test_record_has_what_was_applied(bank: Bank) -> None:
    data = {
        "new": [{**NEW, "confidence": "high"}],
        "confirmed": [{"entry": "Retry with backoff", "evidence": "a"}],
        "challenged": [{"entry": "Late data", "reason": "b"}],
        "skipped": ["Gone"],
    }
    assert apply(bank, data).recorded
    assert not apply(bank, data).recorded
    ((record,), _) = retro_records.read_records(bank.project, SUBJECT.id)
    assert record.pop("at").startswith("20")
    assert record == {
        "kind": "feature",
        "id": "012-queue",
        "label": "Feature #012",
        **data,
        "new": [{**NEW, "confidence": "high", "paths": [], "anyway": False}],
    }

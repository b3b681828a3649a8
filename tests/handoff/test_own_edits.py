"""kedge's own edits of the project's documents are never drift; everybody else's are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import Kedge, git


@pytest.fixture(params=["task_yaml", "feature_docs"])
def names(request: pytest.FixtureRequest, repo: Path, kedge: Kedge) -> tuple[str, str, Path]:
    """Two tasks, the first handed over by its implementer, and the file of the second."""
    if request.param == "task_yaml":
        first, second = "T-1", "T-2"
        for name in (first, second):
            path = repo / "tasks" / f"{name}.task.yaml"
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"id: {name}\ntitle: t\nstatus: todo\ndescription: d\nscope: [src]\n")
    else:
        first, second = "001-1.1", "001-1.2"
        path = repo / "docs" / "features" / "001-sail" / "tasks.md"
        path.parent.mkdir(parents=True)
        parts = "".join(f"\n### Task 1.{n}: t\n\n- **Done when:** d\n" for n in (1, 2))
        path.write_text(f"# Tasks\n{parts}")
    (repo / "src").mkdir()
    (repo / "src" / "a").write_text("a\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "tasks")
    kedge("task", "claim", first)
    made = kedge("context", "init", first)
    assert "dirty" not in made.err  # by the claim alone
    kedge("context", "begin", first, "--agent", "implementer")
    (repo / "src" / "a").write_text("b\n")
    kedge("context", "snapshot", first, "--agent", "implementer")
    return first, second, path


def test_a_claim_between_agents_is_no_drift(names: tuple[str, str, Path], kedge: Kedge) -> None:
    first, second, _ = names
    kedge("task", "claim", second)
    kedge("task", "block", second, "--type", "external", "--reason", "no wind")
    assert kedge("context", "verify", first, "--json").data["drift"] == []
    says = "the working tree is what implementer left (unchanged)\n"
    assert kedge("context", "verify", first).out == says
    kedge("context", "begin", first, "--agent", "reviewer")


def test_a_status_line_is_not_out_of_scope(names: tuple[str, str, Path], kedge: Kedge) -> None:
    first, second, _ = names
    kedge("task", "claim", second)
    ran = kedge("context", "snapshot", first, "--agent", "implementer")
    assert "out of scope" not in ran.err


@pytest.mark.parametrize("before", [True, False])
def test_a_byte_of_somebody_else_in_the_same_file_is_drift(
    names: tuple[str, str, Path], kedge: Kedge, before: bool
) -> None:
    first, second, path = names
    if before:
        path.write_text(path.read_text() + "\n# mine\n")
    kedge("task", "claim", second)
    if not before:
        path.write_text(path.read_text() + "\n# mine\n")
    ran = kedge("context", "begin", first, "--agent", "reviewer", code=4)
    assert path.name in ran.err


def test_a_forged_record_explains_no_change_of_code(
    names: tuple[str, str, Path], repo: Path, kedge: Kedge
) -> None:
    first, _, _ = names
    before = git(repo, "hash-object", "src/a").strip()
    (repo / "src" / "a").write_text("evil\n")
    after = git(repo, "hash-object", "src/a").strip()
    record = repo / ".kedge" / "locks" / "own-edits.jsonl"
    with record.open("a") as file:
        file.write(json.dumps(["src/a", [before, before], [after, after]]) + "\n")
    kedge("context", "begin", first, "--agent", "reviewer", code=4)


def test_lessons_and_logs_of_kedge_are_no_drift(
    names: tuple[str, str, Path], repo: Path, kedge: Kedge
) -> None:
    first, _, _ = names
    (repo / "docs" / "knowledge-bank").mkdir(parents=True)
    kedge("knowledge", "add", "Sail", "--type", "heuristic", "--text", "Reef early.")
    assert (repo / "docs" / "knowledge-bank" / "heuristics.md").exists()
    kedge("context", "begin", first, "--agent", "reviewer")

"""Ranking lessons for a text, a task or a diff."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import Kedge, assert_clear

from kedge.host import tokens
from kedge.knowledge.bank import entries
from kedge.knowledge.recall import relevance

TOP = Path(__file__).resolve().parents[3]
NOTES = """### Anti-Pattern: Float arithmetic for prices
Totals were a cent off. Keep amounts as whole numbers.
- Observed in: Feature #001

### Anti-Pattern: Sleeping in tests
Poll a condition with a deadline.
- Observed in: Feature #002

### Anti-Pattern: N+1 queries in lists
One query for each row. See `src/orders/*.py`.
- Observed in: Feature #003
- Challenged: Feature #004 — ten rows do not hurt
"""


@pytest.fixture
def bank(repo: Path) -> Path:
    path = repo / "docs" / "knowledge-bank" / "anti-patterns.md"
    path.parent.mkdir(parents=True)
    path.write_text(NOTES)
    return path


def benchmark() -> ModuleType:
    path = TOP / "benchmarks" / "knowledge" / "relevance.py"
    spec = importlib.util.spec_from_file_location("relevance_benchmark", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("half", "recall", "precision", "without_anchors"),
    [("tuning", 0.89, 0.48, 0.84), ("kept", 0.92, 0.39, 0.83)],  # as docs/guides/knowledge.md says
)
def test_relevant_lessons_are_among_the_first_five(
    half: str, recall: float, precision: float, without_anchors: float
) -> None:
    module = benchmark()
    tally = module.measure(half)
    assert tally.tasks >= 30
    assert tally.entries >= 40
    assert tally.recall >= recall, f"recall {tally.recall:.3f}"
    assert tally.precision >= precision, f"precision {tally.precision:.3f}"
    assert module.measure(half, anchored=False).recall >= without_anchors
    assert tally.silent >= 1


def test_benchmark_labels_name_existing_lessons() -> None:
    rows = [json.loads(line) for line in benchmark().LABELS.read_text().splitlines()]
    known = {(row["bank"], row["entry"]) for row in rows if "entry" in row}
    assert all((r["bank"], one) in known for r in rows if "task" in r for one in r["relevant"])
    assert {row["bank"] for row in rows if row["half"] == "tuning"} == {"shop"}


def test_lessons_for_a_text_are_printed_for_an_agent(bank: Path, kedge: Kedge) -> None:
    out = kedge("knowledge", "list", "--for", "The price of an order is a cent too high").out
    assert out == (
        "- **Anti-Pattern: Float arithmetic for prices**\n"
        "  Totals were a cent off. Keep amounts as whole numbers.\n"
    )


def test_lessons_for_a_task_show_their_challenges(bank: Path, kedge: Kedge) -> None:
    task = kedge(
        *("task", "add", "Show all orders", "--description", "The page is slow"),
        *("--scope", "src/orders/views.py"),
    ).out.strip()
    (found,) = kedge.json("knowledge", "list", "--task", task)
    assert found["name"] == "N+1 queries in lists"
    assert "src/orders/*.py" in found["why"]
    out = kedge("knowledge", "list", "--task", task).out
    assert "Challenged: Feature #004 — ten rows do not hurt" in out


def test_token_budget_is_respected(bank: Path, kedge: Kedge) -> None:
    ask = ["knowledge", "list", "--for", "price cent sleeping deadline query rows"]
    whole = kedge(*ask).out
    assert whole.count("Anti-Pattern") == 3
    for budget in (1, 20, 40, 60, 90):
        out = kedge(*ask, "--tokens", str(budget)).out
        assert tokens.count(out) <= budget
        assert (out == "") == (budget == 1)


def test_conflicting_options_are_refused(bank: Path, kedge: Kedge) -> None:
    both = kedge("knowledge", "list", "--for", "x", "--diff", code=2)
    assert_clear(both, code=2, says="cannot be combined")
    alone = kedge("knowledge", "list", "--tokens", "9", code=2)
    assert_clear(alone, code=2, says="--tokens")


def test_ranking_does_not_depend_on_the_hash_seed(bank: Path) -> None:
    ask = ["-m", "kedge", "knowledge", "list", "--for", "slow query of prices in tests", "--json"]
    answers = {
        subprocess.run(
            [sys.executable, *ask],
            cwd=bank.parent,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(answers) == 1


def test_query_from_a_diff_has_its_paths_and_names() -> None:
    diff = "--- a/src/x.py\n+++ b/src/x.py\n@@ -1 +1 @@\n-def old_name():\n+def new_name():\n"
    query = relevance.query_from_diff(diff + "--- a/gone.py\n+++ /dev/null\n")
    assert query.paths == ("src/x.py", "gone.py")
    assert {"old_name", "new_name"} <= set(query.identifiers)


@given(st.text(max_size=300), st.lists(st.text(max_size=40), max_size=4))
def test_any_query_is_ranked(text: str, paths: list[str]) -> None:
    page = entries.parse_page(NOTES + "\n### Pattern: x\n" + text, "patterns.md")
    query = relevance.query_from_text(text, paths)
    found = relevance.rank_entries(page.entries, query)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)

"""Measure whether `kedge prompt` holds all that a feature's task names, and its tokens.

    python benchmarks/prompts.py

Three features are written with ten tasks each: documents of a usual size, long ones, and ones that
are longer than a prompt may be. A task names sections of the design and the plan, and criteria of
the spec.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TASKS = 10


class Size(NamedTuple):
    """How long a feature's documents are: paragraphs in each kind of section."""

    folder: str
    topic: str
    parts: Sequence[str]
    design: int
    plan: int
    spec: int


class NamedTask(NamedTuple):
    """A task's id, and the sections that it names: the file with their lines."""

    id: str
    sections: tuple[tuple[str, str], ...]
    spec: str


SIZES = (
    Size(
        "031-ferry-booking",
        "ferry booking",
        ["Timetable", "Seat map", "Fare table", "Basket", "Payment", "Ticket", "Refund",
         "Boarding list", "Notice board", "Ledger"],
        3, 2, 3,
    ),
    Size(
        "032-harbour-billing",
        "harbour billing",
        ["Berth meter", "Tariff", "Invoice run", "Dunning", "Tax rules", "Export", "Credit note",
         "Statement", "Bank import", "Audit trail"],
        6, 4, 8,
    ),
    Size(
        "033-fleet-tracking",
        "fleet tracking",
        ["Beacon", "Gateway", "Decoder", "Position store", "Geofence", "Alarm", "Map tiles",
         "Replay", "Retention", "Access control"],
        14, 9, 26,
    ),
)  # fmt: skip

_SUBJECTS = ("The {part}", "Each request to the {part}", "A caller of the {part}", "Its worker",
             "The {topic} service", "An operator")  # fmt: skip
_VERBS = ("keeps", "rejects", "returns", "writes", "retries", "locks", "validates", "publishes")
_OBJECTS = ("a record with {n} fields", "the last {n} entries", "a page of {n} rows",
            "an idempotency key of {n} characters", "an error with code {n}",
            "a batch of up to {n} items")  # fmt: skip
_ENDS = ("before the transaction commits", "within {n} ms at p95", "unless the flag is off",
         "so that a second delivery changes nothing", "in the order in which they came",
         "and counts it in `{slug}_total`", "and leaves the old row untouched")  # fmt: skip


def write_features(root: Path) -> list[NamedTask]:
    """Write the features below `docs/features`; return their tasks."""
    return [task for size in SIZES for task in _write_feature(root, size)]


def _write_feature(root: Path, size: Size) -> Iterator[NamedTask]:
    folder = root / "docs" / "features" / size.folder
    folder.mkdir(parents=True)
    random_ = random.Random(size.folder)

    def write(part: str, paragraphs: int) -> str:
        return "\n\n".join(_write_paragraph(random_, size.topic, part) for _ in range(paragraphs))

    design = [
        f"## C{n}: {part}\n\n{write(part, size.design)}\n\n### Interface\n\n"
        f"```python\ndef {_slug(part)}(request: Request) -> Result: ...\n```\n\n"
        f"### Failures\n\n{write(part, 1)}\n\n- last word on C{n}: {write(part, 1)}"
        for n, part in enumerate(size.parts, 1)
    ]
    plan = [
        f"### Step {n}.1: Build the {part.lower()}\n\n{write(part, size.plan)}\n\n"
        f"- last word on step {n}.1: {write(part, 1)}"
        for n, part in enumerate(size.parts, 1)
    ]
    criteria = [
        f"### AC-{n}: {part}\n\n{write(part, size.spec)}\n\n- last word on AC-{n}."
        for n, part in enumerate(size.parts, 1)
    ]
    spec = "\n\n".join([f"# Spec: {size.topic}", write("product", 1), *criteria])
    (folder / "design.md").write_text("\n\n".join([f"# Design: {size.topic}", *design]) + "\n")
    (folder / "plan.md").write_text("\n\n".join([f"# Plan: {size.topic}", *plan]) + "\n")
    (folder / "spec.md").write_text(spec + "\n")
    (folder / "prd.md").write_text(
        f"# PRD: {size.topic}\n\n## Problem\n\n{write('product', 2)}\n\n## Goals\n\n"
        f"{write('product', 2)}\n\n## History\n\n{write('product', 9)}\n"
    )
    tasks = []
    for n, part in enumerate(size.parts, 1):
        other = n % TASKS + 1
        why = (
            f"Implements Plan Step {n}.1 / Design C{n}, C{other} / Spec AC-{n}",
            f"Plan {n}.1, Design Component {n} and Component {other}, AC-{n}",
        )[n % 2]
        tasks.append(
            f"### Task {n}.1: Build the {part.lower()}\n\n**Why:** {why}\n\n{write(part, 1)}\n\n"
            f"**Done when:**\n- the {part.lower()} answers\n- its failures are logged"
        )
        named = [("design.md", design[n - 1]), ("design.md", design[other - 1])]
        named += [("plan.md", plan[n - 1]), ("spec.md", criteria[n - 1]), ("tasks.md", tasks[-1])]
        yield NamedTask(f"{size.folder[:3]}-{n}.1", tuple(named), spec)
    (folder / "tasks.md").write_text("\n\n".join([f"# Tasks: {size.topic}", *tasks]) + "\n")


def _write_paragraph(random_: random.Random, topic: str, part: str) -> str:
    words = {"part": part.lower(), "topic": topic, "slug": _slug(part)}
    sentences = []
    for _ in range(5):
        texts = map(random_.choice, (_SUBJECTS, _VERBS, _OBJECTS, _ENDS))
        sentences.append(" ".join(texts).format(n=random_.randint(2, 900), **words) + ".")
    return " ".join(sentences)


def _slug(part: str) -> str:
    return part.lower().replace(" ", "_")


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        subprocess.run(["git", "init", "--quiet", directory], check=True)
        tasks = write_features(root)
        print(f"{'feature':24}{'tasks':>6}{'median':>9}{'most':>8}  named sections missing")
        for size in SIZES:
            mine = [one for one in tasks if one.id.startswith(size.folder[:3])]
            counts, missing, named = [], 0, 0
            for task in mine:
                data = _run(directory, task.id)
                counts.append(data["tokens"])
                named += len(task.sections)
                missing += sum(text not in data["text"] for _, text in task.sections)
            row = f"{size.folder:24}{len(mine):6}{statistics.median(counts):9.0f}{max(counts):8}"
            print(f"{row}  {missing} of {named}")


def _run(directory: str, task: str) -> dict[str, Any]:
    argv = [sys.executable, "-m", "kedge", "-C", directory, "prompt", task, "--json"]
    done = subprocess.run(argv, capture_output=True, check=True)
    data: dict[str, Any] = json.loads(done.stdout)["data"]
    return data


if __name__ == "__main__":
    main()

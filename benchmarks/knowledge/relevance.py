"""Does the knowledge bank offer the relevant lessons for a task?

`relevance.jsonl` has two banks of different domains, each with its tasks, and for each task the
lessons that it needs. The bank `shop` is for tuning; `fleet` is held out: look at its numbers, not
at its misses.

    python benchmarks/knowledge/relevance.py [tuning|kept] [--misses]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, NamedTuple

from kedge.knowledge.bank.entries import Entry
from kedge.knowledge.bank.fields import ANCHOR, EntryField
from kedge.knowledge.recall import relevance

LABELS = Path(__file__).with_name("relevance.jsonl")
HALVES = ("tuning", "kept")
AT = 5


class Tally(NamedTuple):
    tasks: int
    entries: int
    recall: float
    precision: float  # of the lessons offered, up to five
    silent: int  # tasks without a lesson for which none was offered
    without: int  # tasks without a lesson
    misses: list[str]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("half", nargs="?", choices=HALVES)
    parser.add_argument("--misses", action="store_true", help="of the tuning half")
    options = parser.parse_args()
    for half in [options.half] if options.half else HALVES:
        tally = measure(half)
        print(f"{half}: {tally.tasks} tasks, {tally.entries} entries")
        print(f"  recall@{AT}     {tally.recall:.3f}")
        print(f"  precision@{AT}  {tally.precision:.3f}")
        plain = measure(half, anchored=False)
        print(f"  recall@{AT}     {plain.recall:.3f}  where no lesson is anchored")
        print(f"  nothing offered where nothing matters: {tally.silent} of {tally.without}")
        if options.misses and half == "tuning":
            print("\n".join(tally.misses))
    return 0


def measure(half: str, *, at: int = AT, anchored: bool = True) -> Tally:
    rows = [json.loads(line) for line in LABELS.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row["half"] == half]
    entries = [entry(row, n, anchored) for n, row in enumerate(rows) if "entry" in row]
    tasks = [row for row in rows if "task" in row]
    recalls, precisions, misses = [], [], []
    silent = 0
    for row in tasks:
        query = relevance.query_from_text(row["text"], row["paths"])
        found = relevance.rank_entries(entries, query)[:at]
        ids = [one.entry.code for one in found]
        wanted = set(row["relevant"])
        if not wanted:
            silent += not found
            continue
        hits = wanted & set(ids)
        recalls.append(len(hits) / min(len(wanted), at))
        precisions.append(len(hits) / len(ids) if ids else 0.0)
        if hits != wanted or len(ids) > len(hits):
            offered = [f"    {one.entry.code} {one.score} ({one.why})" for one in found]
            misses.append("\n".join([f"{row['text'][:70]}: wants {sorted(wanted)}", *offered]))
    return Tally(
        len(tasks),
        len(entries),
        sum(recalls) / len(recalls),
        sum(precisions) / len(precisions),
        silent,
        len(tasks) - len(recalls),
        misses,
    )


def entry(row: dict[str, Any], line: int, anchored: bool) -> Entry:
    at = (EntryField(ANCHOR, row["at"], 0, 0, 0, 0),) if row["at"] and anchored else ()
    code, name, text = row["entry"], row["name"], row["text"]
    return Entry(row["bank"], row["type"], name, code, line, line, 3, "", at, text)


if __name__ == "__main__":
    raise SystemExit(main())

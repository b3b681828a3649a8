"""How well constraints are read and kept: PYTHONPATH=src python benchmarks/drift/constraints.py

Each case is a prompt or two and an action, with whether the action breaks what the user forbade.
In constraints.jsonl, `tune` is the half that rules were written against and `keep` the other.
constraints_held_out.jsonl has batches that were each written before any rule was tried on them;
only the first run on a batch says how it goes with unknown wordings, and rules for what it missed
were written after that. `--show HALF` prints the cases that are judged wrong.
"""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kedge.drift.actions import normalise
from kedge.drift.charter import Charter, opened, revised
from kedge.drift.constraints import Violation, applies

HERE = Path(__file__).parent
HALVES = {
    "constraints.jsonl": ("tune", "keep"),
    "constraints_held_out.jsonl": ("first", "second", "third", "fourth", "fifth"),
}
ALARM = 0.5  # a weaker violation is a hint


def judged(events: list[dict[str, Any]]) -> Iterator[tuple[str, list[Violation], Charter]]:
    """Each action's id with the constraints that it breaks, from the events before it."""
    charter = Charter()
    for event in events:
        if event["type"] == "prompt":
            text = event["text"]
            charter = revised(charter, text) if charter.revision else opened(text)
        elif event["type"] == "action":
            action = normalise(event["tool"], event["input"], root="/project", cwd="/project")
            found = (applies(each, action) for each in charter.constraints)
            yield event["id"], [each for each in found if each and each.weight >= ALARM], charter


def measure(half: str, cases: list[dict[str, Any]], *, show: bool) -> str:
    """One line: what was found of what is broken, and how much of what was found is."""
    right = missed = false = 0
    start = time.perf_counter()
    for case in cases:
        bad = set(case["expect"]["bad_actions"])
        for name, broken, charter in judged(case["events"]):
            alarm, wanted = bool(broken), name in bad
            right += alarm and wanted
            missed += wanted and not alarm
            false += alarm and not wanted
            if show and alarm != wanted:
                print("MISSED" if wanted else "FALSE", case["id"])
                for event in case["events"]:
                    print("   ", event.get("text") or json.dumps(event["input"]))
                print("   ", [tuple(each)[:2] for each in charter.constraints])
    took = (time.perf_counter() - start) / len(cases) * 1000
    recall, precision = right / (right + missed), right / (right + false)
    return (
        f"{half}: {len(cases)} cases, recall {recall:.1%}, precision {precision:.1%} "
        f"({right} right, {missed} missed, {false} false), {took:.2f} ms a case"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--show", choices=[half for halves in HALVES.values() for half in halves])
    show = parser.parse_args().show
    for name, halves in HALVES.items():
        text = (HERE / name).read_text(encoding="utf-8")
        cases = [json.loads(line) for line in text.splitlines()]
        for half in halves:
            mine = [case for case in cases if half in case["tags"]]
            print(measure(half, mine, show=show == half))


if __name__ == "__main__":
    main()

"""How well constraints are read and kept: PYTHONPATH=src python benchmarks/drift/constraints.py

Each case of constraints.jsonl is a prompt or two and an action, with whether the action breaks
what the user forbade. `tune` is the half that rules were written against, `keep` the other.
`--show HALF` prints the cases that are judged wrong.
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

CASES = Path(__file__).with_name("constraints.jsonl")
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", choices=["tune", "keep"])
    parser.add_argument("--cases", type=Path, default=CASES)
    options = parser.parse_args()
    cases = [json.loads(line) for line in options.cases.read_text(encoding="utf-8").splitlines()]
    for half in ("tune", "keep"):
        right = missed = false = 0
        start = time.perf_counter()
        mine = [case for case in cases if half in case["tags"]]
        for case in mine:
            bad = set(case["expect"]["bad_actions"])
            for name, broken, charter in judged(case["events"]):
                alarm, wanted = bool(broken), name in bad
                right += alarm and wanted
                missed += wanted and not alarm
                false += alarm and not wanted
                if options.show == half and alarm != wanted:
                    print("MISSED" if wanted else "FALSE", case["id"])
                    for event in case["events"]:
                        print("   ", event.get("text") or json.dumps(event["input"]))
                    print("   ", [tuple(each)[:2] for each in charter.constraints])
        took = (time.perf_counter() - start) / len(mine) * 1000
        recall, precision = right / (right + missed), right / (right + false)
        print(
            f"{half}: {len(mine)} cases, recall {recall:.1%}, precision {precision:.1%} "
            f"({right} right, {missed} missed, {false} false), {took:.2f} ms a case"
        )


if __name__ == "__main__":
    main()

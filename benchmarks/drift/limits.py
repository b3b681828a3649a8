"""Measure how well limits are read: PYTHONPATH=src python benchmarks/drift/limits.py

Each case is a prompt or two and an action, and says whether the action breaks a limit. In
limits.jsonl, `tune` is the half that the rules were written against and `keep` the other.
limits_batches.jsonl has batches that were each written before any rule was tried on them.
Only the first run on a batch shows the result for unknown wordings; rules for what it missed were
written afterwards. `--show HALF` prints the cases that are judged wrong. `--typos` puts one typing
error into a word of every prompt; which one depends on the case's id alone.
"""

import argparse
import json
import random
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kedge.drift.actions import normalise
from kedge.drift.charter import Charter, open_charter, revise
from kedge.drift.limits.breaches import Breach, find_breach

HERE = Path(__file__).parent
HALVES = {
    "limits.jsonl": ("tune", "keep"),
    "limits_batches.jsonl": ("first", "second", "third", "fourth", "fifth"),
}
ALARM = 0.5  # a weaker breach is a hint


def judge_actions(events: list[dict[str, Any]]) -> Iterator[tuple[str, list[Breach], Charter]]:
    """Yield each action's id with its breaches, judged by the events before it."""
    charter = Charter()
    for event in events:
        if event["type"] == "prompt":
            text = event["text"]
            charter = revise(charter, text) if charter.revision else open_charter(text)
        elif event["type"] == "action":
            action = normalise(event["tool"], event["input"], root="/project", cwd="/project")
            found = (find_breach(each, action) for each in charter.limits)
            yield event["id"], [each for each in found if each and each.weight >= ALARM], charter


def mistype(text: str, seed: str) -> str:
    """Return the text with one letter of a word swapped, left out, doubled or mistyped."""
    choose = random.Random(seed)
    words = list(re.finditer(r"(?<![\w./`-])[A-Za-z']{4,}(?![\w/`-]|\.\w)", text))
    if not words:
        return text
    match = choose.choice(words)
    word, at = match[0], choose.randrange(1, len(match[0]) - 1)
    changed = choose.choice(
        (
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            word[:at] + word[at + 1 :],
            word[:at] + word[at] + word[at:],
            word[:at] + choose.choice("etaoinsr") + word[at + 1 :],
        )
    )
    return text[: match.start()] + changed + text[match.end() :]


def measure(half: str, cases: list[dict[str, Any]], *, show: bool) -> str:
    """Return a line with the recall and precision of one half."""
    right = missed = false = 0
    start = time.perf_counter()
    for case in cases:
        bad = set(case["expect"]["bad_actions"])
        for name, broken, charter in judge_actions(case["events"]):
            alarm, wanted = bool(broken), name in bad
            right += alarm and wanted
            missed += wanted and not alarm
            false += alarm and not wanted
            if show and alarm != wanted:
                print("MISSED" if wanted else "FALSE", case["id"])
                for event in case["events"]:
                    print("   ", event.get("text") or json.dumps(event["input"]))
                print("   ", [tuple(each)[:2] for each in charter.limits])
    took = (time.perf_counter() - start) / len(cases) * 1000
    recall, precision = right / (right + missed), right / (right + false)
    return (
        f"{half}: {len(cases)} cases, recall {recall:.1%}, precision {precision:.1%} "
        f"({right} right, {missed} missed, {false} false), {took:.2f} ms a case"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--show", choices=[half for halves in HALVES.values() for half in halves])
    parser.add_argument("--typos", action="store_true")
    given = parser.parse_args()
    for name, halves in HALVES.items():
        text = (HERE / name).read_text(encoding="utf-8")
        cases = [json.loads(line) for line in text.splitlines()]
        for half in halves:
            mine = [case for case in cases if half in case["tags"]]
            if given.typos:
                for case in mine:
                    for event in case["events"]:
                        if event["type"] == "prompt":
                            event["text"] = mistype(event["text"], case["id"].rpartition("-")[0])
            print(measure(half, mine, show=given.show == half))


if __name__ == "__main__":
    main()

"""Measure how limits are found, by reader: PYTHONPATH=src python benchmarks/drift/readers.py

limits_fresh.jsonl has pairs of calls under a message that sets a limit: one breaks it, its twin
does not. They were written by somebody who had not seen the rules: a third direct (`plain`), a
third indirect, polite or in several sentences, a sixth in other languages, a sixth with one typing
error. limits_fresh2_dev.jsonl, limits_fresh2.jsonl and limits_fresh3.jsonl are more such sets, of
other writers. The rules were fitted to the odd numbers of the first set alone; `--show` does not
open limits_fresh3.jsonl, so that it stays a measure for rules that come.
`gold` is what a perfect reader would record with `kedge drift limit add`.

    rules    only what kedge's rules read
    agent    also what `gold` says, as an agent that records every limit would
    remind   messages of which the rules read nothing, and for which the agent is reminded

ordinary.jsonl and ordinary2.jsonl have requests that set no limit, full of words that limits have.
`--show STYLE` prints what went wrong; `--show ordinary` the false alarms there.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent.parent / "src")]

from kedge.drift.charter import add_limits  # noqa: E402
from kedge.drift.engine import Session  # noqa: E402
from kedge.drift.language.cues import has_limit_cue  # noqa: E402
from kedge.drift.limits.options import build_limits, parse_options  # noqa: E402
from kedge.drift.limits.quotes import has_quote  # noqa: E402
from kedge.errors import InvalidValue  # noqa: E402

ROOT = "/project"
UNSEEN = "limits_fresh3.jsonl"
PAIRS = ("limits_fresh.jsonl", "limits_fresh2_dev.jsonl", "limits_fresh2.jsonl", UNSEEN)
STYLES = ("plain", "typo", "indirect", "language")
STOPPED = 4  # a call with this score or less is asked about, or denied

Case = dict[str, Any]


def read(name: str) -> list[Case]:
    return [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()]


def open_session(messages: Iterable[str], gold: list[str] | None) -> Session:
    session = Session(ROOT)
    texts = list(messages)
    for text in texts:
        session.prompt(text)
    if gold is not None:
        with suppress(InvalidValue):  # `limit add` refuses it
            options, quote = parse_options(gold)
            if any(has_quote(text, quote) for text in texts):
                limits = build_limits(options, quote, "agent", root=ROOT, cwd=ROOT)
                session.charter = add_limits(session.charter, limits)
    return session


def is_stopped(case: Case, which: str, gold: list[str] | None) -> bool:
    """True if a call of the case is stopped for a limit."""
    session = open_session(case["messages"], gold)
    old = str(case[which]["input"].get("old_string", ""))
    session.read = lambda _: old.encode() or None  # the file, as far as the case shows it
    verdict = session.action("a", case[which]["tool"], case[which]["input"])
    return any(rule.rule == "limit" and 10 - rule.weight <= STOPPED for rule in verdict.rules)


def measure_pairs(cases: list[Case], show: str) -> None:
    print(f"{'':10}{'pairs':>7}{'rules':>14}{'agent':>14}{'reminded':>10}   (found, twins alarmed)")
    for style in (*STYLES, "all"):
        mine = [one for one in cases if style in (one["style"], "all")]
        line = f"{style:10}{len(mine):>7}"
        for recorded in (False, True):
            found = [is_stopped(one, "breaks", one["gold"] if recorded else None) for one in mine]
            wrong = [is_stopped(one, "keeps", one["gold"] if recorded else None) for one in mine]
            line += f"{sum(found) / len(mine):>8.1%} {sum(wrong) / len(mine):>5.1%}"
            if show == style:
                _print_errors(mine, found, wrong, "agent" if recorded else "rules")
        unread = [one for one in mine if not open_session(one["messages"], None).charter.limits]
        cued = [one for one in unread if any(map(has_limit_cue, one["messages"]))]
        print(f"{line}{len(cued) / (len(unread) or 1):>10.1%}")


def _print_errors(cases: list[Case], found: list[bool], wrong: list[bool], reader: str) -> None:
    for case, hit, alarm in zip(cases, found, wrong, strict=True):
        if hit and not alarm:
            continue
        limits = open_session(case["messages"], case["gold"] if reader == "agent" else None)
        print(f"{reader} {'FALSE' if alarm else 'missed'} {case['id']} {case['messages']}")
        print(f"    gold {case['gold']}")
        print(f"    call {json.dumps(case['keeps' if alarm else 'breaks'], ensure_ascii=False)}")
        print(f"    read {[tuple(each)[:4] for each in limits.charter.limits]}")


def measure_ordinary(cases: list[Case], *, show: bool) -> None:
    count: Counter[str] = Counter()
    for case in cases:
        messages = case.get("messages") or [case["text"]]
        session = open_session(messages, None)
        limits = session.charter.limits
        alarm = False
        for number, call in enumerate(case.get("keeps") or [case["action"]]):
            verdict = session.action(str(number), call["tool"], call["input"])
            alarm = alarm or any(rule.rule == "limit" for rule in verdict.rules)
        count["a limit was read"] += bool(limits)
        count["the work was alarmed"] += alarm
        count["the agent would be reminded"] += not limits and any(map(has_limit_cue, messages))
        if show and limits:
            print(case["id"], messages, [tuple(each)[:3] for each in limits])
    print(f"ordinary requests: {len(cases)}")
    for what, number in count.items():
        print(f"  {what}: {number} ({number / len(cases):.1%})")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--show", default="", choices=("", *STYLES, "all", "ordinary"))
    show = parser.parse_args().show
    for name in PAIRS:
        print(name)
        measure_pairs(read(name), show if name != UNSEEN else "")
    for name in ("ordinary.jsonl", "ordinary2.jsonl"):
        print(name)
        measure_ordinary(read(name), show=show == "ordinary")


if __name__ == "__main__":
    main()

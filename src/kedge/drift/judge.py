"""The judge: a program of the user that reads messages for limits. It gets JSON, answers JSON.

It runs in an empty directory with a time limit, and nothing that it starts outlives it. What it
answers is checked: only known options, and only with a quote that is in the message.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kedge.drift import judge_presets
from kedge.drift.judge_presets import JudgeCall
from kedge.drift.limits.limit import Limit
from kedge.drift.limits.options import build_limits, list_kinds, parse_options
from kedge.drift.limits.quotes import has_quote
from kedge.errors import InvalidValue, ProgramError
from kedge.host import process_tree, running

SECONDS = 30.0
LARGEST = 1 << 16  # bytes of an answer
MOST_LIMITS = 10
LONGEST_QUOTE = 500  # characters
VARIABLE = "KEDGE_JUDGE"  # set for the judge: hooks of kedge do nothing there
_MOST_OPTIONS = 40
_TAIL = 300  # characters of a judge's standard error in a message


def judge_message(
    setting: str, message: str, goal: str, known: Sequence[Limit], root: str
) -> tuple[list[Limit], list[str]]:
    """Return the limits that the judge finds in a message, and what it got wrong.

    `setting` is the value of `drift.judge`. Raise ProgramError if the judge gives no answer.
    """
    request = {
        "version": 1,
        "message": message,
        "goal": goal,
        "limits": [_describe_limit(each) for each in known],
        "kinds": list_kinds(),
    }
    with TemporaryDirectory(prefix="kedge-judge-") as empty:
        answer = _run(_prepare_call(setting, json.dumps(request)), Path(empty))
    return parse_answer(answer, message, root)


def parse_answer(answer: str, message: str, root: str) -> tuple[list[Limit], list[str]]:
    """Return the valid limits in an answer, and what is wrong with the others."""
    try:
        found, _ = json.JSONDecoder().raw_decode(answer[max(answer.find("{"), 0) :])
        entries = found["limits"]
        if not isinstance(entries, list):
            raise TypeError
    except (ValueError, RecursionError, KeyError, TypeError):
        return [], ['the judge\'s answer is not {"limits": […]}']
    limits: list[Limit] = []
    faults: list[str] = []
    if len(entries) > MOST_LIMITS:
        faults.append(f"the judge answered {len(entries)} limits; {MOST_LIMITS} are read")
    for entry in entries[:MOST_LIMITS]:
        try:
            limits += _parse_entry(entry, message, root)
        except InvalidValue as error:
            faults.append(f"the judge's limit was dropped: {error.message}")
    return list(dict.fromkeys(limits)), faults


def _parse_entry(entry: Any, message: str, root: str) -> list[Limit]:
    options = entry.get("options") if isinstance(entry, dict) else None
    quote = entry.get("quote") if isinstance(entry, dict) else None
    if not isinstance(options, list) or not isinstance(quote, str):
        raise InvalidValue("it needs a list of options and a quote")
    if len(options) > _MOST_OPTIONS or not all(isinstance(each, str) for each in options):
        raise InvalidValue(f"its options must be at most {_MOST_OPTIONS} strings")
    quote = " ".join(quote.split())
    if len(quote) > LONGEST_QUOTE:
        raise InvalidValue(f"its quote has more than {LONGEST_QUOTE} characters")
    if not has_quote(message, quote):
        raise InvalidValue(f"the user did not write {quote[:80]!r}")
    given, _ = parse_options(options)
    return build_limits(given, quote, "judge", root=root, cwd=root)


def _describe_limit(limit: Limit) -> dict[str, Any]:
    data = limit.data()
    return {key: data[key] for key in ("kind", "subject", "exceptions", "quote", "source")}


def _prepare_call(setting: str, request: str) -> JudgeCall:
    """Return the call of a preset, or of the user's command. Raise ProgramError if it is missing.

    A relative path would run a file of whatever project the session is in.
    """
    preset = judge_presets.PRESETS.get(setting.strip())
    call = preset(request) if preset else JudgeCall(tuple(shlex.split(setting)), request)
    program = call.argv[0]
    found = shutil.which(program) if os.sep not in program or Path(program).is_absolute() else None
    if found is None or not Path(found).is_absolute():
        raise ProgramError(
            f"drift.judge: there is no program {program!r}",
            hint="name a program on PATH, or its absolute path",
        )
    return call._replace(argv=(found, *call.argv[1:]))


def _run(call: JudgeCall, directory: Path) -> str:
    """Return what the judge prints. Raise ProgramError if it fails, or takes or prints too much."""
    lines: list[bytes] = []
    left = LARGEST
    deadline = time.monotonic() + SECONDS
    env = {**_make_environment(), **call.env}
    data = call.input.encode("utf-8", "replace")
    with running.start(call.argv, cwd=directory, env=env, input=data) as child:
        for line in child.lines(deadline=deadline):
            if not line.error:
                left -= len(line.data) + 1
                lines.append(line.data)
            if left < 0:
                break
    ended = child.end()
    if left < 0 or ended.stopped:
        limit = f"more than {LARGEST} bytes" if left < 0 else f"nothing within {SECONDS:g} s"
        raise ProgramError(f"the judge answered {limit}", hint="kedge config show drift.judge")
    if ended.code:
        tail = " ".join((ended.errors or b"\n".join(lines)).decode("utf-8", "replace").split())
        raise ProgramError(
            f"the judge failed with exit code {ended.code}: {tail[-_TAIL:]}",
            hint="kedge config show drift.judge",
        )
    return b"\n".join(lines).decode("utf-8", "replace")


def _make_environment() -> dict[str, str]:
    """Return the user's environment without kedge's own variables."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("KEDGE_") or name == process_tree.VARIABLE
    }
    return {**kept, VARIABLE: "1"}

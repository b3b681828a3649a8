"""What a command may answer when something is wrong: it works, or says so in one line."""

from __future__ import annotations

import json

from faults.world import Command, Ended

MOST_SECONDS = 30.0


def find_bad_answer(command: Command, ended: Ended, good: tuple[int | None, ...]) -> list[str]:
    """Return what is wrong with an answer; `good` are the exit codes of the command undisturbed."""
    if command.hook:
        return _find_bad_hook(ended)
    lines = [*ended.out.splitlines(), *ended.err.splitlines()]
    if any(line.startswith("Traceback") for line in lines):
        return [f"traceback: {ended.err[-300:]}"]
    if ended.code in good:
        return []
    if ended.code != 1:
        return [f"exit code {ended.code}: {ended.err.strip()[-300:]}"]
    lines = [line.partition(":")[0] for line in ended.err.splitlines()]
    if lines.count("error") != 1 or lines.count("hint") != 1 or lines[-1] != "hint":
        return [f"not one error and one hint: {ended.err.strip()[-300:]!r}"]
    return []


def _find_bad_hook(ended: Ended) -> list[str]:
    if ended.code != 0:
        return [f"hook: exit code {ended.code}: {ended.err.strip()[-300:]}"]
    if "Traceback" in ended.err:
        return [f"hook: traceback: {ended.err.strip()[-300:]}"]
    try:
        if ended.out.strip() and not isinstance(json.loads(ended.out), dict):
            return [f"hook: not an object: {ended.out[:200]}"]
    except ValueError:
        return [f"hook: not JSON: {ended.out[:200]}"]
    return []

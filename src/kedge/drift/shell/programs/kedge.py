"""Calls of kedge itself, which an agent may use, but not to change what watches it."""

from __future__ import annotations

from kedge.drift.shell.call import ANYTHING, Output, ProgramCall

_GLOBAL = frozenset(("--json", "-q", "--quiet", "-v", "--verbose"))
_MOST_WORDS = 60


def read_kedge(call: ProgramCall) -> Output:
    """Record the words of the call, without the options that every command accepts.

    Recording a limit is free; any other command counts as a program that is run.
    """
    words: list[str] = []
    skip = False
    for word in call.words:
        if skip or word in _GLOBAL:
            skip = False
        elif not words and word.startswith("-C"):
            skip = word == "-C"
        else:
            words.append(word)
    if words:
        call.effects.add("kedge", tuple(words[:_MOST_WORDS]))
    if not is_record(words):
        call.add_run(" ".join([call.name, *words[:1]]))
    return ANYTHING


def is_record(words: list[str]) -> bool:
    """True for a call that records a limit with the user's words, lists limits, or asks for help.

    Without the user's words it is not known that the user set the limit.
    """
    if words[:3] == ["drift", "limit", "add"]:
        return any(word.partition("=")[0] in ("--quote", "--help", "-h") for word in words)
    return words[:3] == ["drift", "limit", "list"]

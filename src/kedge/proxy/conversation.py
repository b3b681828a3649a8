"""What a request says about its session: the user's words and the results of the last calls.

Requests carry the whole conversation each time. The readers of the APIs turn it into entries of
one form; this module finds what is new in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from kedge.agents.dialects.opencode import unquote
from kedge.drift.language import prompts
from kedge.proxy.exchange import ToolCall


class Said(NamedTuple):
    """A message of the user's side; `at` is its place in the request, as in all entries."""

    at: int
    text: str


class Answered(NamedTuple):
    """A message of the model, or a part of one."""

    at: int
    text: str = ""
    calls: tuple[ToolCall, ...] = ()


class Returned(NamedTuple):
    """The result of a call, with its text."""

    at: int
    call: str
    ok: bool
    text: str = ""


Entry: TypeAlias = Said | Answered | Returned


class Result(NamedTuple):
    """A call whose result the model sees next, and what the model said before it."""

    call: ToolCall
    ok: bool
    reasoning: str
    text: str


class Place(NamedTuple):
    """Where in a conversation a correction goes: after a result of a call, or after a message.

    Both are found again in later requests, when more messages follow.
    """

    call: str
    at: int


class Conversation(NamedTuple):
    """What is known and what is new in a request. `prompts` are the user's words, in order."""

    prompts: tuple[str, ...] = ()
    fresh: int = 0  # of the prompts, how many came after the model's last answer
    results: tuple[Result, ...] = ()
    place: Place | None = None
    calls: int = 0  # calls that the model has made so far


def summarise(entries: Sequence[Entry]) -> Conversation:
    """Return what the entries of a request say."""
    calls: dict[str, tuple[ToolCall, str]] = {}
    reasoning, last_answer = "", -1
    for at, entry in enumerate(entries):
        if isinstance(entry, Answered):
            follows = at and isinstance(entries[at - 1], Answered)
            reasoning = f"{reasoning}\n{entry.text}".strip() if follows else entry.text
            calls |= {call.id: (call, reasoning) for call in entry.calls}
            last_answer = at
    before, after = entries[: last_answer + 1], entries[last_answer + 1 :]
    known, new = _list_prompts(before), _list_prompts(after)
    results = tuple(
        Result(calls[entry.call][0], entry.ok, calls[entry.call][1], entry.text)
        for entry in after
        if isinstance(entry, Returned) and entry.call in calls
    )
    place = None
    if after:
        last = after[-1].at
        ends = [one for one in after if isinstance(one, Returned) and one.at == last]
        place = Place(ends[-1].call if ends else "", last)
    return Conversation((*known, *new), len(new), results, place, len(calls))


def find_place(entries: Iterable[Entry], place: Place) -> int | None:
    """Return the index of the message or item that a place means in a later request."""
    if not place.call:
        return place.at
    for entry in entries:
        if isinstance(entry, Returned) and entry.call == place.call:
            return entry.at
    return None


def find_new_prompts(known: Sequence[str], now: Sequence[str]) -> tuple[str, ...]:
    """Return the prompts that came since `known`, also if the history was cut or rewritten."""
    if list(now[: len(known)]) == list(known):
        return tuple(now[len(known) :])
    return tuple(text for text in now if text not in known)


def _list_prompts(entries: Sequence[Entry]) -> list[str]:
    texts = [_clean(entry.text) for entry in entries if isinstance(entry, Said)]
    return [text for text in texts if text]


@lru_cache(128)  # each request repeats the texts of the one before
def _clean(text: str) -> str:
    return unquote(prompts.users_words(text))

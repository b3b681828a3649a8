"""What has been heard from an agent so far, and how it is read: sans I/O, and never in doubt.

An agent's output is any bytes at all. What is not understood is passed over, and a field that is
not of its kind counts as missing.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from kedge.agents.run.events import Finished, Reason, Used
from kedge.agents.run.faults import Fault
from kedge.host.running import Ended
from kedge.host.text import shortened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TELLING = ("command", "cmd", "file_path", "filePath", "path", "pattern", "url", "description")
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
_SUMMARY = 200  # characters
LONGEST = 200_000  # characters of a message; the last ones are kept
_MOST = 256  # messages and calls that are told apart: no flood makes following slow


@dataclass(frozen=True, slots=True)
class Ending:
    """How the program ended, and when, in seconds since 1970."""

    ended: Ended
    at: float


@dataclass(frozen=True, slots=True)
class Heard:
    """`ended` and `total` are what the agent itself reports; `text` is its last message."""

    session: str | None = None
    model: str | None = None
    text: str = ""
    text_of: str = ""  # the message that the text is of, where one comes in several pieces
    message: str = ""  # the message that is being made
    used: Mapping[str, Used] = field(default_factory=dict)  # by message
    total: Used | None = None
    calls: Mapping[str, str] = field(default_factory=dict)  # tools that have not answered, by id
    denied: frozenset[str] = frozenset()  # calls, by id
    fault: Fault | None = None
    resets_at: float | None = None
    ended: Reason | None = None

    @property
    def usage(self) -> Used | None:
        """What the agent says it used in all, or else what its messages say."""
        if self.total is not None and (self.total.tokens_in or self.total.tokens_out):
            return self.total
        return _sum(self.used.values()) if self.used else self.total

    def using(self, message: str, used: Used) -> Heard:
        """With what a message used. Of several reports on one message the highest counts."""
        old = self.used.get(message, Used(0, 0))
        most = Used(
            max(old.tokens_in, used.tokens_in),
            max(old.tokens_out, used.tokens_out),
            max(old.cached, used.cached),
            old.cost if used.cost is None else used.cost,
        )
        if most == old:
            return self
        kept = dict(self.used)
        if len(kept) >= _MOST and message not in kept:  # those long over go into one
            past = [kept.pop(one) for one in list(kept)[: _MOST // 2]]
            kept = {"": _sum(past), **kept}
        return replace(self, used={**kept, message: most})

    def saying(self, said: str, message: str) -> Heard:
        """With a text, joined to what the same message said before."""
        before = f"{self.text}\n\n" if message and message == self.text_of else ""
        return replace(self, text=(before + said)[-LONGEST:], text_of=message)

    def calling(self, call: str, tool: str) -> Heard:
        calls = dict(list(self.calls.items())[-_MOST:])
        return replace(self, calls={**calls, call: tool})

    def answered(self, call: str) -> Heard:
        left = {key: tool for key, tool in self.calls.items() if key != call}
        return replace(self, calls=left)

    def denying(self, call: str) -> Heard:
        return replace(
            self, denied=(self.denied if len(self.denied) < _MOST else frozenset()) | {call}
        )


def _sum(each: Collection[Used]) -> Used:
    costs = [one.cost for one in each if one.cost is not None]
    return Used(
        sum(one.tokens_in for one in each),
        sum(one.tokens_out for one in each),
        sum(one.cached for one in each),
        sum(costs) if costs else None,
    )


def finished(heard: Heard, ending: Ending) -> Finished:
    """The end of a run, from what the agent said and from how its program ended."""
    ended, reason = ending.ended, heard.ended
    message = heard.fault.message if heard.fault else ""
    if reason is None:
        message = message or last_words(ended.errors)
        if ended.stopped is not None:
            reason, message = Reason.KILLED, f"stopped: {ended.stopped.reason}"
        elif ended.code < 0:
            reason, message = Reason.CRASHED, message or f"ended by signal {-ended.code}"
        elif heard.session is None and ended.code:
            reason, message = Reason.NOT_STARTED, message or f"exit code {ended.code}"
        else:
            reason, message = Reason.CRASHED, message or "it ended without a result"
    elif reason is Reason.COMPLETED and ended.code and ended.stopped is None:
        reason = Reason.FAILED
        message = message or last_words(ended.errors) or f"exit code {ended.code}"
    fault = heard.fault.resets_at(ending.at) if heard.fault else None
    return Finished(
        reason,
        heard.text,
        "" if reason is Reason.COMPLETED else message,
        heard.usage,
        heard.session,
        heard.model,
        (heard.resets_at or fault) if reason is Reason.RATE_LIMITED else None,
    )


def record(data: bytes) -> dict[str, Any]:
    """The JSON object that a line is; empty for any other line."""
    if data.lstrip()[:1] != b"{":
        return {}
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def table(value: Any, *names: str) -> dict[str, Any]:
    """The object at a place of a record."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def text(value: Any) -> str:
    """A text that can be written: JSON may have half a character in it."""
    if not isinstance(value, str):
        return ""
    return value.encode("utf-8", "replace").decode()


def count(value: Any) -> int:
    return value if type(value) is int and 0 <= value < 1 << 53 else 0


def number(value: Any) -> float | None:
    if type(value) not in (int, float) or not 0 <= value < 1 << 53 or math.isnan(value):
        return None
    return float(value)


def summary(arguments: Any) -> str:
    """What tells most of a call: its command, its file, or the first text there is."""
    if not isinstance(arguments, dict):
        return shortened(text(arguments)[:2000], _SUMMARY)
    values = [arguments.get(name) for name in _TELLING] + list(arguments.values())
    found = next((value for value in values if isinstance(value, str) and value), "")
    return shortened(text(found)[:2000], _SUMMARY)


def last_words(errors: bytes) -> str:
    """The last line of standard error that says anything."""
    lines = _COLOUR.sub("", errors.decode("utf-8", "replace")).splitlines()
    said = (" ".join(line.split()) for line in reversed(lines))
    return shortened(next((line for line in said if line), ""), 500)

"""A check with what its log says: whether it passed, and whether that can be believed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

from kedge.errors import InvalidValue
from kedge.handoff.checks import parse as logs
from kedge.handoff.checks import summary as summaries_of
from kedge.handoff.checks.run import NOT_FOUND, NOT_STARTED, Ran
from kedge.handoff.checks.summary import PACKAGES, TESTS, Summary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HIDES = re.compile(
    r"(?:\|\||;)\s*(?:true|:|exit\s+0|echo\b[^|;&]*)\s*\)?\s*$"
    r"|(?<!\|)\|&?\s*(?:tee|cat|head|tail)\b[^|;&]*$"
)
_TEST_TOOLS = ("pytest", "jest", "vitest", "go test", "cargo test")


@dataclass(frozen=True, slots=True)
class Result:
    """One check. Only its exit code says that it passed; `suspicious` says why to look twice."""

    command: str
    directory: str
    exit_code: int | None
    seconds: float | None
    timed_out: bool
    log_size: int
    log_digest: str
    summaries: tuple[Summary, ...] = ()
    suspicious: tuple[str, ...] = ()

    @property
    def passed(self) -> bool | None:
        """None where nobody knows the exit code."""
        if self.exit_code is None:
            return None
        return self.exit_code == 0 and not self.timed_out

    @property
    def told(self) -> tuple[str, ...]:
        """Lines for people: what the tools said, and what is odd about it."""
        return (*(one.text for one in self.summaries), *(f"look: {s}" for s in self.suspicious))

    @property
    def text(self) -> str:
        """One line for people."""
        line = f"{self.command}: {_ending(self)}"
        return f"{line} ({'; '.join(self.told)})" if self.told else line

    def data(self) -> dict[str, Any]:
        return {
            "command": self.command,
            "directory": self.directory,
            "exit_code": self.exit_code,
            "passed": self.passed,
            "seconds": self.seconds,
            "timed_out": self.timed_out,
            "log_size": self.log_size,
            "log_digest": self.log_digest,
            "summaries": [one.data() for one in self.summaries],
            "suspicious": list(self.suspicious),
            "told": list(self.told),
        }


def understand(ran: Ran, root: str | None = None) -> Result:
    """What a check says; paths below `root` are told relative to it."""
    summaries = logs.parse(ran.log, ran.command, root)
    return Result(
        ran.command,
        ran.directory,
        ran.exit_code,
        ran.seconds,
        ran.timed_out,
        ran.log_size,
        ran.log_digest,
        summaries,
        tuple(_doubts(ran, summaries)),
    )


def _doubts(ran: Ran, summaries: Sequence[Summary]) -> Iterator[str]:
    tests = [one for one in summaries if one.unit in (TESTS, PACKAGES)]
    for one in tests:
        if not ((one.passed or 0) + one.bad):
            what = "every test was skipped" if one.skipped else "no test ran"
            yield f"{one.tool}: {what}"
    if ran.exit_code != 0 or ran.timed_out:
        return
    for one in summaries:
        if one.bad:
            yield f"exit code 0, but the log of {one.tool} tells of {one.bad} that failed"
    silent = logs.hints(ran.command).intersection(_TEST_TOOLS) - {one.tool for one in tests}
    if silent and "install" not in ran.command:
        yield f"the log does not tell what {', '.join(sorted(silent))} ran"
    if _HIDES.search(ran.command):
        yield "the command hides the exit code of what it runs"


def _ending(result: Result) -> str:
    code = result.exit_code
    if result.timed_out:
        return f"timed out after {result.seconds or 0:g} s"
    if code is None:
        return "exit code not known"
    if code in (NOT_FOUND, NOT_STARTED) and result.log_size < 1000:
        return f"could not be started, exit code {code}"
    if code < 0:
        return f"ended by signal {-code}"
    return "passed" if code == 0 else f"failed, exit code {code}"


_NAMES = frozenset(f.name for f in fields(Result))


def parse(data: Mapping[str, Any]) -> Result:
    """A result from its data; fields of a later version are passed over."""
    values = {key: value for key, value in data.items() if key in _NAMES}
    for name in ("command", "directory", "log_digest"):
        if not isinstance(values.get(name), str):
            raise InvalidValue(f"{name!r} must be a text")
    if type(values.setdefault("exit_code", None)) not in (int, type(None)):
        raise InvalidValue("'exit_code' must be a whole number")
    if type(values.setdefault("seconds", None)) not in (int, float, type(None)):
        raise InvalidValue("'seconds' must be a number")
    if type(values.get("timed_out")) is not bool:
        raise InvalidValue("'timed_out' must be true or false")
    if type(values.get("log_size")) is not int:
        raise InvalidValue("'log_size' must be a whole number")
    for name, kind in (("summaries", Mapping), ("suspicious", str)):
        items = values.get(name, [])
        if not isinstance(items, (list, tuple)) or not all(isinstance(i, kind) for i in items):
            raise InvalidValue(f"{name!r} is no list of the right kind")
        values[name] = tuple(items)
    values["summaries"] = tuple(map(summaries_of.parse, values["summaries"]))
    return Result(**values)

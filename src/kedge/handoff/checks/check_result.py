"""The result of a check: whether it passed, what its log reports, and whether to trust that."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kedge.errors import InvalidValue
from kedge.handoff.checks import log_parser as logs
from kedge.handoff.checks.runner import NOT_FOUND, NOT_STARTED, CheckRun
from kedge.handoff.checks.summary import PACKAGES, TESTS, ToolSummary

_HIDES = re.compile(
    r"(?:\|\||;)\s*(?:true|:|exit\s+0|echo\b[^|;&]*)\s*\)?\s*$"
    r"|(?<!\|)\|&?\s*(?:tee|cat|head|tail)\b[^|;&]*$"
)
_TEST_TOOLS = ("pytest", "jest", "vitest", "go test", "cargo test")


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check. Its exit code alone decides whether it passed; `suspicious` lists doubts."""

    command: str
    directory: str
    exit_code: int | None
    seconds: float | None
    timed_out: bool
    log_size: int
    log_digest: str
    summaries: tuple[ToolSummary, ...] = ()
    suspicious: tuple[str, ...] = ()

    @property
    def passed(self) -> bool | None:
        """None if the exit code is unknown."""
        if self.exit_code is None:
            return None
        return self.exit_code == 0 and not self.timed_out

    @property
    def lines(self) -> tuple[str, ...]:
        """One line for each tool, and one for each doubt."""
        return (*(one.text for one in self.summaries), *(f"look: {s}" for s in self.suspicious))

    @property
    def text(self) -> str:
        """The result in one line."""
        line = f"{self.command}: {_ending(self)}"
        return f"{line} ({'; '.join(self.lines)})" if self.lines else line

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
            "told": list(self.lines),
        }


def make_result(ran: CheckRun, root: str | None = None) -> CheckResult:
    """Parse the log of a run into a result; paths below `root` become relative to it."""
    summaries = logs.parse_log(ran.log, ran.command, root)
    return CheckResult(
        ran.command,
        ran.directory,
        ran.exit_code,
        ran.seconds,
        ran.timed_out,
        ran.log_size,
        ran.log_digest,
        summaries,
        tuple(_find_doubts(ran, summaries)),
    )


def _find_doubts(ran: CheckRun, summaries: Sequence[ToolSummary]) -> Iterator[str]:
    tests = [one for one in summaries if one.unit in (TESTS, PACKAGES)]
    for one in tests:
        if not ((one.passed or 0) + one.bad):
            what = "every test was skipped" if one.skipped else "no test ran"
            yield f"{one.tool}: {what}"
    if ran.exit_code != 0 or ran.timed_out:
        return
    for one in summaries:
        if one.bad:
            yield f"exit code 0, but the log of {one.tool} reports {one.bad} failed"
    silent = logs.find_tools(ran.command).intersection(_TEST_TOOLS) - {one.tool for one in tests}
    if silent and "install" not in ran.command:
        yield f"the log does not show what {', '.join(sorted(silent))} ran"
    if _HIDES.search(ran.command):
        yield "the command hides the exit code of what it runs"


def _ending(result: CheckResult) -> str:
    code = result.exit_code
    if result.timed_out:
        return f"timed out after {result.seconds or 0:g} s"
    if code is None:
        return "exit code unknown"
    if code in (NOT_FOUND, NOT_STARTED) and result.log_size < 1000:
        return f"could not be started, exit code {code}"
    if code < 0:
        return f"ended by signal {-code}"
    return "passed" if code == 0 else f"failed, exit code {code}"


def parse_result(data: Mapping[str, Any]) -> CheckResult:
    """Read a result from its data; ignore the fields of a later version."""
    import msgspec

    try:
        return msgspec.convert(data, CheckResult)
    except msgspec.ValidationError as error:
        raise InvalidValue(f"this is not the result of a check: {error}") from error

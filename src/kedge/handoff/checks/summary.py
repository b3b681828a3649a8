"""What one tool reported about its run, as values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from kedge.host.text import clean, shorten

CAP = 500  # names of failures to keep
_NAME = 300  # characters of a name

TESTS, PACKAGES, FINDINGS, COVERAGE = "tests", "packages", "findings", "coverage"
_COUNTS = ("failed", "errors", "passed", "skipped", "warnings")


@dataclass(frozen=True, slots=True)
class ToolSummary:
    """Counts are of `unit`; one that the log does not give is None.

    `failures` are names of tests, or `file:line:code`; `failing` is how many there are in all.
    Expected failures count as skipped. `partial` means that the counts are sums over a log of which
    a part is missing.
    """

    tool: str
    unit: str = TESTS
    passed: int | None = None
    failed: int | None = None
    skipped: int | None = None
    errors: int | None = None
    warnings: int | None = None
    failures: tuple[str, ...] = ()
    failing: int = 0
    coverage: float | None = None
    partial: bool = False

    @property
    def total(self) -> int | None:
        """The number of tests or packages; None if the log does not give it."""
        counts = (self.passed, self.failed, self.skipped, self.errors)
        if self.passed is None or self.partial or self.unit not in (TESTS, PACKAGES):
            return None
        return sum(count or 0 for count in counts)

    @property
    def bad(self) -> int:
        """The number of failures and errors."""
        return max((self.failed or 0) + (self.errors or 0), self.failing)

    @property
    def complete(self) -> bool:
        """True if the names of all failures are known."""
        return not self.partial and self.failing == len(self.failures) and self.bad <= self.failing

    @property
    def text(self) -> str:
        """The summary in one line."""
        parts = []
        for name in _COUNTS:
            count = getattr(self, name)
            if count or (name == "passed" and count is not None):
                parts.append(_phrase_count(count, name, self.unit))
        if self.coverage is not None:
            parts.append(f"{self.coverage:g}% covered")
        if self.partial:
            parts.append("at least: the log was cut")
        return f"{self.tool}: {', '.join(parts) or 'no errors'}"

    def data(self) -> dict[str, Any]:
        return {**asdict(self), "failures": list(self.failures), "text": self.text}


def _phrase_count(count: int, name: str, unit: str) -> str:
    if name in ("errors", "warnings"):
        name, unit = (name[:-1] if count == 1 else name), TESTS
    if unit == PACKAGES:
        name = f"package{'' if count == 1 else 's'} {name}"
    return f"{count} {name}"


def add_failures(
    summary: ToolSummary, names: Iterable[str], root: str | None = None
) -> ToolSummary:
    """Add the names of failures to the summary, relative to `root` and safe to print."""
    prefix = f"{root.rstrip('/')}/" if root and root.strip("/") else None
    every = list(names)
    first = (name.replace(prefix, "") if prefix else name for name in every[:CAP])
    failures = tuple(shorten(clean(name), _NAME) for name in first)
    return replace(summary, failures=failures, failing=len(every))

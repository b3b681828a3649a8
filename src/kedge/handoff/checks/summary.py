"""What one tool said of its run, as values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace

from kedge.errors import InvalidValue
from kedge.host.text import clean, shortened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CAP = 500  # names that are kept
_NAME = 300

TESTS, PACKAGES, FINDINGS, COVERAGE = "tests", "packages", "findings", "coverage"
_COUNTS = ("failed", "errors", "passed", "skipped", "warnings")


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts are of `unit`; one that the log does not tell is None.

    `failures` are names of tests, or `file:line:code`; `failing` says how many there are in all.
    What is expected to fail counts as skipped. `partial` means that the counts were added up
    from a log of which a part is missing.
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
        """How many tests, or packages, there were, as far as the log tells."""
        counts = (self.passed, self.failed, self.skipped, self.errors)
        if self.passed is None or self.partial or self.unit not in (TESTS, PACKAGES):
            return None
        return sum(count or 0 for count in counts)

    @property
    def bad(self) -> int:
        """What the tool itself counts against the code."""
        return max((self.failed or 0) + (self.errors or 0), self.failing)

    @property
    def complete(self) -> bool:
        """Whether all that fails is known by its name."""
        return not self.partial and self.failing == len(self.failures) and self.bad <= self.failing

    @property
    def text(self) -> str:
        """One line for people."""
        parts = []
        for name in _COUNTS:
            count = getattr(self, name)
            if count or (name == "passed" and count is not None):
                parts.append(_counted(count, name, self.unit))
        if self.coverage is not None:
            parts.append(f"{self.coverage:g}% covered")
        if self.partial:
            parts.append("at least: the log is cut")
        return f"{self.tool}: {', '.join(parts) or 'no errors'}"

    def data(self) -> dict[str, Any]:
        return {**asdict(self), "failures": list(self.failures), "text": self.text}


def _counted(count: int, name: str, unit: str) -> str:
    if name in ("errors", "warnings"):
        name, unit = (name[:-1] if count == 1 else name), TESTS
    if unit == PACKAGES:
        name = f"package{'' if count == 1 else 's'} {name}"
    return f"{count} {name}"


def named(summary: Summary, names: Iterable[str], root: str | None = None) -> Summary:
    """The summary with what fails, relative to `root` and harmless to show."""
    prefix = f"{root.rstrip('/')}/" if root and root.strip("/") else None
    found = list(names)
    shown = (name.replace(prefix, "") if prefix else name for name in found[:CAP])
    failures = tuple(shortened(clean(name), _NAME) for name in shown)
    return replace(summary, failures=failures, failing=len(found))


_NAMES = frozenset(f.name for f in fields(Summary))


def parse(data: Mapping[str, Any]) -> Summary:
    """A summary from its data; fields of a later version are passed over."""
    values = {key: value for key, value in data.items() if key in _NAMES and value is not None}
    for name in ("tool", "unit"):
        if not isinstance(values.get(name), str):
            raise InvalidValue(f"{name!r} must be a text")
    for name in (*_COUNTS, "failing"):
        if type(values.get(name, 0)) is not int:
            raise InvalidValue(f"{name!r} must be a whole number")
    if type(values.get("coverage", 0)) not in (int, float):
        raise InvalidValue("'coverage' must be a number")
    if type(values.get("partial", False)) is not bool:
        raise InvalidValue("'partial' must be true or false")
    names = values.get("failures", [])
    if not isinstance(names, (list, tuple)) or not all(isinstance(n, str) for n in names):
        raise InvalidValue("'failures' must be a list of texts")
    values["failures"] = tuple(names)
    return Summary(**values)

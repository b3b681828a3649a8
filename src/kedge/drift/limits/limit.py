"""A limit: something the user ruled out, in the user's own words."""

from __future__ import annotations

from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

KINDS = (
    "no_touch", "only_under", "no_new_dependencies", "no_new_files", "no_delete", "no_rename",
    "no_commit", "no_push", "no_branch", "no_pr", "no_vcs", "no_run", "no_install", "no_network",
    "read_only", "no_format", "no_tests", "keep_tests", "no_refactor", "no_tool", "ask_first",
    "no_read", "keep_api", "only_target",
)  # fmt: skip
SOURCES = ("rules", "agent", "judge", "user", "task")  # who read the limit
# kinds that hold for one request only, unless the user says otherwise ("never", "this session")
PASSING = frozenset(("only_under", "read_only", "no_refactor", "no_tests", "no_format"))
FIRM = 1.0
SOFT = 0.6
OUT_OF_SCOPE = "out of scope: "  # begins the quote of a limit that a task's paths set


class Limit(NamedTuple):
    """`subject` lists paths, patterns or words; an empty one covers everything of the kind.

    The subject of `ask_first` starts with the kind it asks about. A `standing` limit outlives
    the request it came with; one with `until="checks"` ends when the checks pass.
    """

    kind: str
    subject: tuple[str, ...] = ()
    quote: str = ""
    exceptions: tuple[str, ...] = ()
    strength: float = FIRM
    standing: bool = True
    until: str = ""
    source: str = "rules"

    @property
    def id(self) -> str:
        """A short id, the same for the same limit from any source and with any exceptions."""
        from kedge.host.digest import digest

        parts = (self.kind, "\0".join(self.subject), self.quote)
        return digest([part.encode("utf-8", "replace") for part in parts])[:6]

    @property
    def meant(self) -> tuple[str, tuple[str, ...]]:
        """The kind and the subject; for `ask_first`, those that it asks about."""
        if self.kind == "ask_first" and self.subject:
            return self.subject[0], self.subject[1:]
        return self.kind, self.subject

    def rules_out_the_same(self, other: Limit) -> bool:
        """True if both rule out the same, in whatever words."""
        return (self.kind, set(self.subject), set(self.exceptions)) == (
            other.kind,
            set(other.subject),
            set(other.exceptions),
        )

    def data(self) -> dict[str, Any]:
        """Return the limit as JSON values."""
        lists = {"subject": list(self.subject), "exceptions": list(self.exceptions)}
        return self._asdict() | lists


def parse(data: Mapping[str, Any]) -> Limit:
    """Read a limit from the output of `Limit.data`. Raise ValueError if it is not one."""
    try:
        kind, quote = data["kind"], data["quote"]
        subject, exceptions = tuple(data["subject"]), tuple(data["exceptions"])
        strength, standing = float(data["strength"]), bool(data["standing"])
        until, source = data.get("until", ""), data.get("source", "rules")
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("not a limit") from error
    texts = (kind, quote, until, *subject, *exceptions)
    if kind not in KINDS or source not in SOURCES or not all(type(each) is str for each in texts):
        raise ValueError(f"not a limit: {kind!r}")
    return Limit(kind, subject, quote, exceptions, strength, standing, until, source)

"""What the user forbade, in their own words, and whether an action breaks it.

    constraints(text)          what a message forbids
    loosened(text, known)      what is left of the known ones after a later message
    lifted(text, known)        those of them that the message lifts or loosens
    applies(constraint, done)  whether an action breaks one, and by what

Rules read the text; where a sentence may as well describe what a program shall do, it forbids
nothing. A false constraint is a false alarm that stays.
"""

from __future__ import annotations

from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

KINDS = (
    "no_touch", "only_under", "no_new_dependencies", "no_new_files", "no_delete", "no_rename",
    "no_commit", "no_push", "no_branch", "no_pr", "no_vcs", "no_run", "no_install", "no_network",
    "read_only", "no_format", "no_tests", "keep_tests", "no_refactor", "no_tool", "ask_first",
)  # fmt: skip
# kinds that end with the request that they were said for, unless they were said for good
PASSING = frozenset(("only_under", "read_only", "no_refactor", "no_tests", "no_format"))
FIRM = 1.0
SOFT = 0.6


class Constraint(NamedTuple):
    """`subject` has paths, patterns or words; none means all that the kind is about.

    The subject of ask_first begins with the kind that it is about. `standing` is said of those
    that hold for more than one request; `until` is "checks" where they end when these pass.
    """

    kind: str
    subject: tuple[str, ...] = ()
    quote: str = ""
    exceptions: tuple[str, ...] = ()
    strength: float = FIRM
    standing: bool = True
    until: str = ""

    def data(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "subject": list(self.subject),
            "quote": self.quote,
            "exceptions": list(self.exceptions),
            "strength": self.strength,
            "standing": self.standing,
            "until": self.until,
        }


class Violation(NamedTuple):
    """`evidence` is the path, command or act; `weight` is how sure it is, from 0 to 1."""

    constraint: Constraint
    evidence: str
    reason: str
    weight: float


def constraints(text: str) -> tuple[Constraint, ...]:
    """What a user's message forbids, in the order in which it says so."""
    from kedge.drift.wording import read

    return read(text).forbidden


def loosened(text: str, known: Sequence[Constraint]) -> tuple[Constraint, ...]:
    """The known constraints as a later message leaves them: some gone, some with exceptions."""
    from kedge.drift.lifting import remaining
    from kedge.drift.wording import read

    return remaining(text, known, read(text)) if known else ()


def lifted(text: str, known: Sequence[Constraint]) -> tuple[Constraint, ...]:
    """Those of the known constraints that a later message lifts or loosens."""
    left = set(loosened(text, known))
    return tuple(each for each in known if each not in left)


def applies(
    constraint: Constraint,
    effects: Any,
    *,
    tests: Callable[[str], bool] | None = None,
    exists: Callable[[str], bool] | None = None,
) -> Violation | None:
    """Whether an action breaks the constraint. `effects` is read by attribute: an action, or what
    it does. `tests` says whether a path is one; without `exists`, a file that is written as a whole
    counts as one that is made."""
    from kedge.drift.breaches import breach
    from kedge.drift.subjects import is_test

    return breach(constraint, effects, tests or is_test, exists)


def parse(data: Mapping[str, Any]) -> Constraint:
    """A constraint from what `data` made of it. Raises ValueError for anything else."""
    try:
        kind, quote = data["kind"], data["quote"]
        subject, exceptions = tuple(data["subject"]), tuple(data["exceptions"])
        strength, standing = float(data["strength"]), bool(data["standing"])
        until = data.get("until", "")
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("not a constraint") from error
    texts = (kind, quote, until, *subject, *exceptions)
    if kind not in KINDS or not all(type(each) is str for each in texts):
        raise ValueError(f"not a constraint: {kind!r}")
    return Constraint(kind, subject, quote, exceptions, strength, standing, until)

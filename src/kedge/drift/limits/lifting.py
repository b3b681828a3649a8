"""What a later message takes back of what was forbidden."""

from __future__ import annotations

from kedge.drift.language.prompts import requests, users_words
from kedge.drift.limits.paths import covers, is_path, role
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kedge.drift.language.objects import Objects
    from kedge.drift.limits.limit import Limit

_APPROVALS = (
    "go ahead", "do it", "go for it", "implement", "proceed", "lgtm", "approved", "sounds good",
    "looks good", "let's do", "lets do", "make it so", "please do", "ship it",
)  # fmt: skip
# kinds that a request for a kind lifts as well
_ALSO = {
    "no_new_dependencies": ("no_install",),
    "no_install": ("no_new_dependencies",),
    "no_tests": ("no_touch",),
    "no_pr": (),
    "no_new_files": (),
}


class Grant(NamedTuple):
    """What is asked for or allowed, as the limits that it is the opposite of."""

    kinds: tuple[tuple[str, tuple[str, ...]], ...]
    about: Objects
    explicit: bool  # "you may", "feel free to": more than a request


class Reading(NamedTuple):
    """`named` lists all paths of the message in their order."""

    forbidden: tuple[Limit, ...] = ()
    allowed: tuple[Grant, ...] = ()
    named: tuple[str, ...] = ()


def remaining(text: str, known: Sequence[Limit], reading: Reading) -> tuple[Limit, ...]:
    """What is left of the known limits after a message that was read as `reading`."""
    words = users_words(text) if known else ""
    if not words:
        return tuple(known)
    approved = _approved(words)
    if _ended(words):
        known = [each for each in known if not _named(each, reading)]
    out: list[Limit] = []
    for each in known:
        if any(_same(each, other) for other in reading.forbidden):
            out.append(each)
        else:
            left = _left(each, reading, words, approved)
            if left is not None:
                out.append(left)
    return tuple(out)


def free_requested(reading: Reading, requested: Sequence[str]) -> tuple[Limit, ...]:
    """Return the limits of a message without what the same message asks for or allows.

    `requested` lists paths and roles. A limit to "nothing else" covers the requested paths and
    tests, and is none if no path was requested.
    """
    found = (_free(each, reading, requested) for each in reading.forbidden)
    return tuple(dict.fromkeys(each for each in found if each is not None))


def _free(each: Limit, reading: Reading, requested: Sequence[str]) -> Limit | None:
    asked = [path for path in requested if is_path(path)]
    granted = [grant.about for grant in reading.allowed if grant.explicit]
    free = [*asked, *(name for about in granted for name in about.subjects)]
    if each.kind == "only_under":
        if not each.subject and not asked:
            return None
        more = (*free, *requested, *(() if each.subject else ("tests",)))
        return each._replace(subject=tuple(dict.fromkeys((*each.subject, *more))))
    if each.kind == "no_touch":
        if role(each.subject[0]) == "tests" and "tests" in requested:
            return each._replace(kind="keep_tests", subject=())
        confined = (one.subject for one in reading.forbidden if one.kind == "only_under")
        free += [path for paths in confined for path in paths]
        inner = [
            path for path in dict.fromkeys(free)
            if path not in each.subject and any(covers(one, path) for one in each.subject)
        ]  # fmt: skip
        return each._replace(exceptions=(*each.exceptions, *inner))
    if each.kind == "no_new_dependencies":
        names = [name for about in granted for name in about.heads]
        return each._replace(exceptions=(*each.exceptions, *names))
    return each


def _left(each: Limit, reading: Reading, words: str, approved: bool) -> Limit | None:
    kind, subject = _meant(each)
    if kind == "read_only":
        return None if approved or requests(words) else each
    if kind == "only_under":
        return _wider(each, reading)
    for grant in reading.allowed:
        for asked, about in grant.kinds:
            if asked == "about" and _speaks_of(kind, subject, about):
                return None
            wide = asked == "only_under" and kind == "no_touch"
            if kind != asked and kind not in _ALSO.get(asked, ()) and not wide:
                continue
            if kind in ("no_touch", "no_delete", "no_rename") and subject:
                free = grant.about.subjects if asked != "no_tests" else ("tests",)
                freed = _freed(each, subject, free)
                if freed != each:
                    return freed
            elif kind not in ("no_run", "no_vcs", "no_tool") or _alike(about, subject):
                return None
    return each


def _alike(about: tuple[str, ...], subject: tuple[str, ...]) -> bool:
    """Whether what is asked for is what was forbidden; where either says nothing, it is."""
    if not about or not subject:
        return True
    return any(one in other or other in one for one in about for other in subject)


def _freed(each: Limit, subject: tuple[str, ...], about: tuple[str, ...]) -> Limit | None:
    """Without the subjects that are allowed, or with what is allowed of them as an exception."""
    left = [
        one for one in subject
        if not any(one == two or (is_path(one) and covers(two, one)) for two in about)
    ]  # fmt: skip
    if not left:
        return None
    if not about:
        return each
    more = tuple(two for two in about if is_path(two) and any(covers(one, two) for one in left))
    head = each.subject[:1] if each.kind == "ask_first" else ()
    return each._replace(subject=(*head, *left), exceptions=(*each.exceptions, *more))


def _wider(each: Limit, reading: Reading) -> Limit:
    """A path that a later message names for a change is in the scope, too."""
    forbidden = {path for one in reading.forbidden for path in one.subject}
    more = tuple(
        path
        for path in dict.fromkeys(reading.named)
        if path not in forbidden and not any(covers(one, path) for one in each.subject)
    )
    return each._replace(subject=(*each.subject, *more)) if more else each


def _meant(each: Limit) -> tuple[str, tuple[str, ...]]:
    if each.kind == "ask_first" and each.subject:
        return each.subject[0], each.subject[1:]
    return each.kind, each.subject


def _same(each: Limit, other: Limit) -> bool:
    return each.kind == other.kind and (
        each.subject == other.subject or bool(set(each.subject) & set(other.subject))
    )


def _speaks_of(kind: str, subject: tuple[str, ...], heads: tuple[str, ...]) -> bool:
    words = {part for one in subject for part in one.lower().split()}
    verb = kind.removeprefix("no_").removeprefix("new_").rstrip("s")
    return bool(words & set(heads)) or any(
        head.rstrip("s").removesuffix("ting").removesuffix("ing") == verb for head in heads
    )


def _ended(words: str) -> bool:
    """For "the restriction to src/a no longer applies"."""
    low = words[:400].lower()
    return any(
        word in low for word in ("restriction", "constraint", "limit", "rule", "freeze")
    ) and (
        any(phrase in low for phrase in ("no longer", "is lifted", "is over", "is gone", "is off"))
    )


def _named(each: Limit, reading: Reading) -> bool:
    """Whether a message names what a limit is about; all are meant where it names nothing."""
    _, subject = _meant(each)
    return not reading.named or any(path in reading.named for path in subject)


def _approved(words: str) -> bool:
    low = words[:400].lower().replace("’", "'")
    if "?" in low or "don't" in low or "do not" in low or "not yet" in low:
        return False
    first = low.split(maxsplit=1)[0].strip(",.!")
    return any(phrase in low for phrase in _APPROVALS) or (
        first in ("yes", "yep", "yeah", "yup") or low.strip(" .!") == "go"
    )

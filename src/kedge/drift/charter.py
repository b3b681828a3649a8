"""The charter of a session: what the user asked for, what they forbade, and what they named.

Every message of the user makes a revision. The latest goal counts; earlier ones stay as history
and lend their words, each time with less weight. A message that only goes on ("yes", "continue")
keeps the goal; so does a question that says too little by itself.

What was forbidden holds until a message lifts it. What was said for one request only (to change
nothing, to stay in one place, to leave tests or formatting out) ends with the next request that
has another subject, unless it was said for good ("never", "in this session").
"""

from __future__ import annotations

from functools import cache, lru_cache

from kedge.drift.constraints import Constraint, constraints
from kedge.drift.constraints import parse as parse_constraint
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Mapping
    from typing import Any

MOST_GOAL = 2_000  # characters
MOST_PROMPTS = 12
MOST_PROMPT = 240  # characters of one that are kept as history
MOST_WORDS = 80
MOST_NAMED = 100
_MOST_NAMES = 4_000  # characters of all of them
_LONGEST_NAME = 120
MOST_CONSTRAINTS = 40
_MOST_SAID = 12_000  # characters of all constraints
FADING = 0.5  # what a word's weight is multiplied with at each new goal
_LEAST = 0.1
_TELLING = 3  # words that a goal must have to be judged by, when it names nothing

_COMMON = """
the a an and or of to in on at by for with from into is are was were be been it its this that these
those there here we you i me my our your they them he she as if then than so but not no do does did
done can could should would will may might must have has had need needs want make makes get gets add
adds fix fixes change changes update updates use uses using please also just only all any some more
most other same new old when where which who what why how while after before let lets don't doesn't
isn't code file files test tests thing things way work works like now still about up out off over
under again very too see look check sure it's i'd i'm we're that's there's us one two first last
every each via per etc run
"""


class Charter(NamedTuple):
    """`goal` is what is asked now; `scope` what a task declares. `words` are the goal's, with
    weights up to 1; `specific` says whether there is enough to judge an action by."""

    goal: str = ""
    revision: int = 0
    prompts: tuple[str, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    named: tuple[str, ...] = ()
    words: tuple[tuple[str, float], ...] = ()
    specific: bool = False
    task: str | None = None
    scope: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        """Plain JSON values, from which `parse` makes the same charter."""
        return {
            "goal": self.goal,
            "revision": self.revision,
            "prompts": list(self.prompts),
            "constraints": [each.data() for each in self.constraints],
            "named": list(self.named),
            "words": [list(pair) for pair in self.words],
            "specific": self.specific,
            "task": self.task,
            "scope": list(self.scope),
        }


def opened(text: str) -> Charter:
    """The charter of a session that begins with this message."""
    return revised(Charter(), text)


def revised(charter: Charter, text: str) -> Charter:
    """The charter after one more message of the user. Machine text changes nothing."""
    from kedge.drift.lifting import remaining
    from kedge.drift.prompts import kind, users_words
    from kedge.drift.wording import read

    words = users_words(text)
    what = kind(text)
    if what == "machine":
        return charter
    prompts = (*charter.prompts, words[:MOST_PROMPT])
    if len(prompts) > MOST_PROMPTS:  # the first goal stays as history
        prompts = (prompts[0], *prompts[-MOST_PROMPTS + 1 :])
    reading = read(text)
    left = remaining(text, charter.constraints, reading)
    if what == "goal" and charter.goal and _another(charter, words):
        left = tuple(each for each in left if each.standing)
    held = _latest(tuple(dict.fromkeys((*left, *reading.forbidden))))
    goal, weighed, named = charter.goal, charter.words, charter.named
    if what in ("goal", "refers-elsewhere", "question") or not goal:
        asks = what == "question" and _tells(words)
        if what == "goal" or asks or not goal:
            goal = words[:MOST_GOAL]
        weighed = _weighed(charter.words, words)
        named = _shown(dict.fromkeys((*names(words), *charter.named)))
    return charter._replace(
        goal=goal,
        revision=charter.revision + 1,
        prompts=prompts,
        constraints=held,
        named=named,
        words=weighed,
        specific=_specific(goal, named, weighed),
    )


def bound(task: Any) -> Charter:
    """The charter of a session that is about a task: read by attribute, as kedge's tasks are."""
    title = str(getattr(task, "title", ""))
    description = str(getattr(task, "description", "") or "")
    criteria = [str(each) for each in getattr(task, "acceptance", ())]
    text = "\n".join((title, description, *criteria)).strip()
    inside = _from_root(getattr(task, "scope_in", ()))
    outside = _from_root(getattr(task, "scope_out", ()))
    said = constraints(description)
    if outside:
        quote = f"out of scope: {', '.join(path[1:] for path in outside)}"
        said = (*said, Constraint("no_touch", outside, quote))
    declared = (path[1:] for path in inside)
    named = _shown(dict.fromkeys((*declared, *names(text))))
    weighed = _weighed((), text)
    return Charter(
        goal=text[:MOST_GOAL],
        revision=1,
        constraints=said,
        named=named,
        words=weighed,
        specific=_specific(text, named, weighed),
        task=str(getattr(task, "id", "")) or None,
        scope=inside,
    )


def _from_root(paths: Iterable[object]) -> tuple[str, ...]:
    """Paths as a task declares them: from the project's root, and not wherever a folder is called
    so."""
    return tuple("/" + str(path).removeprefix("./").lstrip("/") for path in paths)


def parse(data: Mapping[str, Any]) -> Charter:
    """A charter from what `data` made of it. Raises ValueError for anything else."""
    try:
        charter = Charter(
            goal=data["goal"],
            revision=data["revision"],
            prompts=tuple(data["prompts"]),
            constraints=tuple(parse_constraint(each) for each in data["constraints"]),
            named=tuple(data["named"]),
            words=tuple((str(word), float(weight)) for word, weight in data["words"]),
            specific=bool(data["specific"]),
            task=data["task"],
            scope=tuple(data["scope"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("not a charter") from error
    texts = (charter.goal, *charter.prompts, *charter.named, *charter.scope, charter.task or "")
    if type(charter.revision) is not int or not all(type(each) is str for each in texts):
        raise ValueError("not a charter")
    return charter


@lru_cache(1)  # of one message, as its telling words
def names(text: str) -> tuple[str, ...]:
    """Files, folders and identifiers that a text names, in their order."""
    from kedge.drift.subjects import is_path

    found: dict[str, None] = {}
    for match in _name().finditer(text[: 1 << 16]):
        code = match[1]
        name = (code or match[0]).rstrip(".,:;'").strip()
        if not name or len(name) > _LONGEST_NAME:
            continue
        if code and " " in code:
            continue
        if code or is_path(name) or "_" in name[1:-1] or _humped(name):
            found[name.removesuffix("()")] = None
            if len(found) >= MOST_NAMED:
                break
    return tuple(found)


@cache
def _name() -> re.Pattern[str]:
    import re

    return re.compile(r"`([^`\n]{1,200})`|[\w@~.*/-]{3,200}(?:\(\))?")


@cache
def _plain() -> re.Pattern[str]:
    import re

    return re.compile(r"[A-Za-z][A-Za-z0-9']{2,40}")


def _humped(name: str) -> bool:
    """`camelCase` and `PascalCase` with two humps, not a plain capitalised word."""
    inner = name[1:].removesuffix("()")
    return (
        inner.isalnum()
        and any(map(str.isupper, inner))
        and any(map(str.islower, inner))
        and (sum(map(str.isupper, name)) > 1 or name[0].islower())
    )


@lru_cache(1)
def _telling(text: str) -> tuple[str, ...]:
    """The words of a text that are not those of every message, each once and in their order."""
    from kedge.drift.roles import word_set
    from kedge.drift.vocabulary import FILLER, GOING_ON

    common = word_set(_COMMON)
    found = dict.fromkeys(
        word.lower().removesuffix("'s") for word in _plain().findall(text[:8_000])
    )
    return tuple(
        word for word in found if word not in common and word not in FILLER and word not in GOING_ON
    )


def _weighed(known: Iterable[tuple[str, float]], text: str) -> tuple[tuple[str, float], ...]:
    """The words of the text with weight 1, those known before with what is left of theirs."""
    weights = dict.fromkeys(_telling(text), 1.0)
    for word, weight in known:
        left = round(weight * FADING, 3)
        if left >= _LEAST and word not in weights:
            weights[word] = left
    ordered = sorted(weights.items(), key=lambda pair: -pair[1])
    return tuple(ordered[:MOST_WORDS])


def _shown(named: Iterable[str]) -> tuple[str, ...]:
    """As many of the names as are kept; the latest come first."""
    left = _MOST_NAMES
    found: list[str] = []
    for name in named:
        left -= len(name)
        if left < 0 or len(found) == MOST_NAMED:
            break
        found.append(name)
    return tuple(found)


def _latest(held: tuple[Constraint, ...]) -> tuple[Constraint, ...]:
    """As many of the constraints as are kept; the oldest go first."""
    held = held[-MOST_CONSTRAINTS:]
    sizes = [
        len(each.quote) + sum(map(len, (*each.subject, *each.exceptions))) + 120 for each in held
    ]
    while sum(sizes) > _MOST_SAID:
        held, sizes = held[1:], sizes[1:]
    return held


def _tells(words: str) -> bool:
    """Whether a message says by itself what it is about."""
    return len(_telling(words)) >= _TELLING or bool(names(words))


def _another(charter: Charter, words: str) -> bool:
    """Whether a goal has another subject: it goes on with nothing and shares no telling word."""
    first = words[:40].lower().split()
    if first and first[0].strip(",:") in ("also", "and", "plus", "additionally", "but", "or"):
        return False
    if not _tells(words):
        return False
    telling = _telling(words)
    known = {word for word, weight in charter.words if weight >= FADING}
    return known.isdisjoint(telling) and not set(names(words)) & set(charter.named)


def _specific(goal: str, named: tuple[str, ...], words: tuple[tuple[str, float], ...]) -> bool:
    if not goal:
        return False
    return bool(named) or sum(weight for _, weight in words) >= _TELLING

"""The charter of a session: what the user asked for, what they forbade, and what they named.

Every message of the user makes a new revision, and so does a task that sets the goal. The latest
goal counts; earlier goals stay as history, and their words count less with each new one. A message
such as "yes" or "continue" keeps the goal, and so does a question that is too short to be a goal.

A limit holds until a message lifts it. One that is meant for a single request (change nothing,
stay in one place, leave out tests or formatting) ends with the next request on another subject,
unless the user made it permanent ("never", "in this session").
"""

from __future__ import annotations

import re
from functools import lru_cache

from kedge.drift.limits.limit import OUT_OF_SCOPE, Limit
from kedge.drift.limits.limit import parse as parse_limit
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

MOST_GOAL = 2_000  # characters
MOST_PROMPTS = 12
MOST_PROMPT = 240  # characters of a prompt that are kept as history
MOST_WORDS = 80
MOST_NAMED = 100
_MOST_NAMES = 4_000  # characters of all names
_LONGEST_NAME = 120
MOST_LIMITS = 40
_MOST_QUOTES = 12_000  # characters of all limits
FADING = 0.5  # factor for the weight of a word at each new goal
_LEAST = 0.1  # weight below which a word is dropped
_NAME = r"`([^`\n]{1,200})`|[\w@~.*/-]{3,200}(?:\(\))?"  # compiled when a message is read
_FEWEST_WORDS = 3  # significant words that a goal without names needs to be judged by

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
    """`goal` is the current request; `scope` the paths that a task declares.

    `words` are the words of the goal with weights up to 1; `specific` is true if the charter says
    enough to judge an action by. `allowed` lists acts that the user agreed to when asked, each as
    its rule and evidence. `unrecorded` is true if the last message may set a limit that nobody
    read or recorded.
    """

    goal: str = ""
    revision: int = 0
    prompts: tuple[str, ...] = ()
    limits: tuple[Limit, ...] = ()
    named: tuple[str, ...] = ()
    words: tuple[tuple[str, float], ...] = ()
    specific: bool = False
    task: str | None = None
    scope: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    unrecorded: bool = False

    def data(self) -> dict[str, Any]:
        """Return the charter as JSON values."""
        return self._asdict() | {
            "prompts": list(self.prompts),
            "limits": [each.data() for each in self.limits],
            "named": list(self.named),
            "words": [list(pair) for pair in self.words],
            "scope": list(self.scope),
            "allowed": list(self.allowed),
        }


def open_charter(text: str) -> Charter:
    """Return the charter of a session that begins with this message."""
    return revise(Charter(), text)


def revise(charter: Charter, text: str) -> Charter:
    """Return the charter after one more message; machine text changes nothing."""
    from kedge.drift.language.cues import has_limit_cue
    from kedge.drift.language.prompts import kind, users_words
    from kedge.drift.language.wording import read
    from kedge.drift.limits.lifting import remaining

    words = users_words(text)
    message = kind(text)
    if message == "machine":
        return charter
    prompts = (*charter.prompts, words[:MOST_PROMPT])
    if len(prompts) > MOST_PROMPTS:  # keep the first goal as history
        prompts = (prompts[0], *prompts[-MOST_PROMPTS + 1 :])
    reading = read(text)
    left = remaining(text, charter.limits, reading)
    if message == "goal" and charter.goal and _is_new_subject(charter, words):
        left = tuple(each for each in left if each.standing)
    limits = _keep_latest(tuple(dict.fromkeys((*left, *reading.forbidden))))
    goal, weights, named = charter.goal, charter.words, charter.named
    if message in ("goal", "refers-elsewhere", "question") or not goal:
        asks = message == "question" and _is_telling(words)
        if message == "goal" or asks or not goal:
            goal = words[:MOST_GOAL]
        weights = _weigh_words(charter.words, words)
        named = _limit_names(dict.fromkeys((*find_names(words), *charter.named)))
    points_elsewhere = message == "refers-elsewhere" and goal == words[:MOST_GOAL]
    return charter._replace(
        goal=goal,
        revision=charter.revision + 1,
        prompts=prompts,
        limits=limits,
        named=named,
        words=weights,
        specific=not points_elsewhere and _is_specific(goal, named, weights),
        unrecorded=not reading.forbidden and has_limit_cue(text),
    )


def add_limits(charter: Charter, limits: Iterable[Limit]) -> Charter:
    """Return the charter with more limits, except those that say what another one says."""
    new: list[Limit] = []
    for limit in limits:
        if not any(limit.rules_out_the_same(each) for each in (*charter.limits, *new)):
            new.append(limit)
    kept = _keep_latest((*charter.limits, *new))
    return charter._replace(limits=kept, unrecorded=False)


def allow(charter: Charter, limit: str, evidence: str) -> Charter:
    """Return the charter after the user agreed to what breaks a limit, given by its id."""
    limits = tuple(
        each._replace(exceptions=tuple(dict.fromkeys((*each.exceptions, evidence))))
        if each.id == limit
        else each
        for each in charter.limits
    )
    return charter._replace(limits=limits)


def charter_for_task(task: Any) -> Charter:
    """Return the charter of a session that is bound to a task."""
    from kedge.drift.language.wording import read

    title = str(getattr(task, "title", ""))
    description = str(getattr(task, "description", "") or "")
    criteria = [str(each) for each in getattr(task, "acceptance", ())]
    text = "\n".join((title, description, *criteria)).strip()
    inside = _from_root(getattr(task, "scope_in", ()))
    outside = _from_root(getattr(task, "scope_out", ()))
    limits = tuple(each._replace(source="task") for each in read(description).forbidden)
    if outside:
        quote = f"{OUT_OF_SCOPE}{', '.join(path[1:] for path in outside)}"
        limits = (*limits, Limit("no_touch", outside, quote, source="task"))
    declared = (path[1:] for path in inside)
    named = _limit_names(dict.fromkeys((*declared, *find_names(text))))
    weights = _weigh_words((), text)
    return Charter(
        goal=text[:MOST_GOAL],
        revision=1,
        limits=limits,
        named=named,
        words=weights,
        specific=_is_specific(text, named, weights),
        task=str(getattr(task, "id", "")) or None,
        scope=inside,
    )


def join_task(charter: Charter, task: Charter) -> Charter:
    """Return the charter of a session that is bound to a task from now on.

    The user's messages count most: a goal of their own stays, and the task's words weigh less. The
    task's goal, where it takes the place of theirs, makes a new revision.
    """
    charter = leave_task(charter)
    faded = FADING if charter.specific else 1.0
    weights = {word: weight * faded for word, weight in task.words} | dict(charter.words)
    words = sorted(weights.items(), key=lambda pair: -pair[1])[:MOST_WORDS]
    named = _limit_names(dict.fromkeys((*charter.named, *task.named)))
    goal = charter.goal if charter.specific else task.goal
    return charter._replace(
        goal=goal,
        revision=charter.revision + (goal != charter.goal),
        limits=_keep_latest((*task.limits, *charter.limits)),
        named=named,
        words=tuple(words),
        specific=_is_specific(goal, named, tuple(words)),
        task=task.task,
        scope=task.scope,
    )


def leave_task(charter: Charter) -> Charter:
    """Return the charter without the limits and the scope of its task."""
    limits = tuple(each for each in charter.limits if each.source != "task")
    declared = {path[1:] for path in charter.scope}
    named = tuple(name for name in charter.named if name not in declared)
    return charter._replace(limits=limits, named=named, task=None, scope=())


def _from_root(paths: Iterable[object]) -> tuple[str, ...]:
    """Anchor the paths of a task at the project's root, so that they match nowhere else."""
    return tuple("/" + str(path).removeprefix("./").lstrip("/") for path in paths)


def parse(data: Mapping[str, Any]) -> Charter:
    """Read a charter from the output of `Charter.data`. Raise ValueError if it is not one."""
    try:
        charter = Charter(
            goal=data["goal"],
            revision=data["revision"],
            prompts=tuple(data["prompts"]),
            limits=tuple(parse_limit(each) for each in data["limits"]),
            named=tuple(data["named"]),
            words=tuple((str(word), float(weight)) for word, weight in data["words"]),
            specific=bool(data["specific"]),
            task=data["task"],
            scope=tuple(data["scope"]),
            allowed=tuple(data.get("allowed", ())),
            unrecorded=bool(data.get("unrecorded")),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("not a charter") from error
    texts = (charter.goal, *charter.prompts, *charter.named, *charter.scope, charter.task or "")
    texts = (*texts, *charter.allowed)
    if type(charter.revision) is not int or not all(type(each) is str for each in texts):
        raise ValueError("not a charter")
    return charter


@lru_cache(1)  # asked several times for one message
def find_names(text: str) -> tuple[str, ...]:
    """Return the files, folders and identifiers that a text names, in order."""
    from kedge.drift.limits.paths import is_path

    names: dict[str, None] = {}
    for match in re.finditer(_NAME, text[: 1 << 16]):
        code = match[1]
        name = (code or match[0]).rstrip(".,:;'").strip()
        if not name or len(name) > _LONGEST_NAME or (code and " " in code):
            continue
        if code or is_path(name) or "_" in name[1:-1] or _is_camel_case(name):
            names[name.removesuffix("()")] = None
            if len(names) >= MOST_NAMED:
                break
    return tuple(names)


def _is_camel_case(name: str) -> bool:
    """True for `camelCase` and `PascalCase`, but not for a plain capitalised word."""
    inner = name[1:].removesuffix("()")
    return (
        inner.isalnum()
        and any(map(str.isupper, inner))
        and any(map(str.islower, inner))
        and (sum(map(str.isupper, name)) > 1 or name[0].islower())
    )


@lru_cache(1)
def _find_words(text: str) -> tuple[str, ...]:
    """Return the significant words of a text, each once and in order."""
    from kedge.drift.language.vocabulary import FILLER, GOING_ON
    from kedge.drift.limits.roles import word_set

    common = word_set(_COMMON)
    found = re.findall(r"[A-Za-z][A-Za-z0-9']{2,40}", text[:8_000])
    words = dict.fromkeys(word.lower().removesuffix("'s") for word in found)
    return tuple(
        word for word in words if word not in common and word not in FILLER and word not in GOING_ON
    )


def _weigh_words(known: Iterable[tuple[str, float]], text: str) -> tuple[tuple[str, float], ...]:
    """Return the words of the text with weight 1, and the known ones with a lower weight."""
    weights = dict.fromkeys(_find_words(text), 1.0)
    for word, weight in known:
        left = round(weight * FADING, 3)
        if left >= _LEAST and word not in weights:
            weights[word] = left
    ordered = sorted(weights.items(), key=lambda pair: -pair[1])
    return tuple(ordered[:MOST_WORDS])


def _limit_names(named: Iterable[str]) -> tuple[str, ...]:
    """Return as many names as are kept, the latest first."""
    left = _MOST_NAMES
    names: list[str] = []
    for name in named:
        left -= len(name)
        if left < 0 or len(names) == MOST_NAMED:
            break
        names.append(name)
    return tuple(names)


def _keep_latest(limits: tuple[Limit, ...]) -> tuple[Limit, ...]:
    """Return as many of the latest limits as are kept."""
    kept = limits[-MOST_LIMITS:]
    sizes = [
        len(each.quote) + sum(map(len, (*each.subject, *each.exceptions))) + 120 for each in kept
    ]
    while sum(sizes) > _MOST_QUOTES:
        kept, sizes = kept[1:], sizes[1:]
    return kept


def _is_telling(words: str) -> bool:
    """True if a message says by itself what it is about."""
    return len(_find_words(words)) >= _FEWEST_WORDS or bool(find_names(words))


def _is_new_subject(charter: Charter, words: str) -> bool:
    """True if a goal does not continue the charter and shares no significant word with it."""
    first = words[:40].lower().split()
    if first and first[0].strip(",:") in ("also", "and", "plus", "additionally", "but", "or"):
        return False
    if not _is_telling(words):
        return False
    significant = _find_words(words)
    known = {word for word, weight in charter.words if weight >= FADING}
    return known.isdisjoint(significant) and not set(find_names(words)) & set(charter.named)


def _is_specific(goal: str, named: tuple[str, ...], words: tuple[tuple[str, float], ...]) -> bool:
    if not goal:
        return False
    return bool(named) or sum(weight for _, weight in words) >= _FEWEST_WORDS

"""What scoring remembers of a session: bounded in size, and simple to store.

The last few modifying actions are the window; everything before them is the known work.
"""

from __future__ import annotations

from itertools import islice

from kedge.drift.evidence.topic import (
    extract_request_terms,
    extract_terms,
    extract_title,
    find_kinds,
)
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence, Set

    from kedge.drift.actions import Action

WINDOW = 5  # modifying actions that are compared with the known work
SPECIFIC = 3  # pairs that give a message a topic of its own
# how many entries are kept, and how many characters of them
_GOAL = (500, 6_000)  # words of all messages, and as many pairs
_KNOWN = (1_000, 7_000)
_FILES = (120, 4_000)
_GONE = (60, 2_000)
_CREATED = (300, 6_000)
_EDITED = (150, 4_000)
_SCRIPTS = 8_000  # characters of all scripts and their paths
_CHANGED = (20, 800)  # files of one action
_SAID = (120, 1_000)  # words of one action
_NAMED = (20, 400)
_TERMS = (60, 600)
_SEPARATOR = 3  # characters between two stored entries
_MOST_NAMED = 60  # names in the goal that are searched for
_TEXT = 4_000  # characters of an action's text that are read
_ELSEWHERE = ("refers-elsewhere", "command")  # messages whose goal is written elsewhere
TEMPORARY = ("/tmp/", "/var/tmp/", "/private/", "/dev/", "/var/folders/")  # noqa: S108 - only compared


# never modified: every new memory gets collections of its own
_NONE: dict[str, None] = {}
_NO_COUNTS: dict[str, int] = {}
_NO_TEXTS: dict[str, str] = {}


class ActionTerms(NamedTuple):
    """What an action is about: its words and pairs, the words of its paths (`places`), and the
    names and terms from the goal that it mentions."""

    words: frozenset[str]
    pairs: frozenset[str]
    places: frozenset[str]
    names: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()


class WorkStep(NamedTuple):
    """A modifying action of the window, with what was read before it."""

    words: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()  # those of the goal
    files: tuple[str, ...] = ()
    read_words: tuple[str, ...] = ()
    read_files: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    relevance: float | None = None  # of its most relevant file, for the goals of the user


class SessionMemory(NamedTuple):
    """Ordered collections are dictionaries without values, the oldest entry first."""

    words: dict[str, None] = _NONE
    pairs: dict[str, None] = _NONE
    asks: dict[str, None] = _NONE  # words with which the user may have asked for an act
    reached_words: dict[str, None] = _NONE  # words of the goal that the work mentioned
    reached_pairs: dict[str, None] = _NONE
    reached_names: dict[str, None] = _NONE
    reached_terms: dict[str, None] = _NONE  # search terms of a short goal, common words as well
    placed: dict[str, None] = _NONE  # words of the goal that occur in paths, and so prove little
    titles: dict[str, None] = _NONE  # names of changed files that consist of words of the goal
    known: dict[str, None] = _NONE
    files: dict[str, None] = _NONE
    made: dict[str, None] = _NONE  # files and folders that the session created: see `own_work`
    changed: dict[str, None] = _NONE  # files that it changed and that existed before
    gone: dict[str, None] = _NONE  # files that it deleted
    breached: dict[str, None] = _NONE  # committed files that it changed against a limit: see `undo`
    on_course: dict[str, None] = _NONE  # files that were changed on course
    expected: float | None = None  # relevance of the most relevant file that was changed
    scripts: dict[str, str] = _NO_TEXTS  # texts of small scripts and patches that it wrote
    own_checks: dict[str, int] = _NO_COUNTS  # tests and assertions that it added, with their count
    delegated: bool = False  # a subagent worked, whose actions may not have been seen
    window: tuple[WorkStep, ...] = ()
    reading: WorkStep = WorkStep()
    modified: int = 0
    turned_at: int = 0  # `modified` when the user last changed the subject
    run: int = 0  # modifying actions in a row that are far from the goal
    elsewhere: bool = False  # the goal of the last message is written elsewhere
    repeats: dict[str, int] = _NO_COUNTS  # edits and failed commands, each with its count
    pending: dict[str, str] = _NO_TEXTS  # actions without a result yet, with what they ran
    red: bool = False  # the last check failed
    green: bool = False  # the last check passed, and nothing has changed since


def record_message(
    memory: SessionMemory, text: str, kind: str, asks: Iterable[str] = ()
) -> SessionMemory:
    """Return the memory after a message in the user's own words; `kind` as in `prompts`.

    `asks` are the words with which the message may ask for an act.
    """
    if kind == "machine":
        return memory
    terms = extract_terms(text)
    specific = len(terms.pairs) >= SPECIFIC and kind not in ("go-on", "command")
    turned = False
    if specific:
        memory = _settle(memory)
        familiar = terms.words & (memory.words.keys() | memory.known.keys())
        turned = len(familiar) * 5 < len(terms.words)
    asked = extract_request_terms(text)
    words = _join(memory.words, sorted(asked.words), _GOAL)
    pairs = _join(memory.pairs, sorted(asked.pairs), _GOAL)
    return memory._replace(
        words=words,
        pairs=pairs,
        reached_words=_only(memory.reached_words, words),
        reached_pairs=_only(memory.reached_pairs, pairs),
        placed=_only(memory.placed, words),
        asks=_join(memory.asks, asks, _GOAL),
        run=0 if specific else memory.run,
        turned_at=memory.modified if turned else memory.turned_at,
        elsewhere=not specific and (kind in _ELSEWHERE or (kind == "go-on" and not terms.words)),
        repeats={},
    )


def find_changed_files(action: Action) -> tuple[str, ...]:
    """Return the files that an action changes, without temporary ones."""
    effects = action.effects
    moved = (path for pair in effects.moved for path in pair)
    paths = dict.fromkeys((*effects.written, *effects.deleted, *moved))
    return tuple(path for path in paths if not path.startswith(TEMPORARY))


def find_action_terms(
    action: Action, named: Sequence[str] = (), terms: Collection[str] = ()
) -> ActionTerms:
    """Return what an action is about, from its paths, texts, command and description.

    `named` are the files, folders and identifiers that the user named, `terms` those of the goal.
    """
    effects = action.effects
    places = "\n".join((*find_changed_files(action)[:20], *effects.read[:5]))
    text = "\n".join(
        (
            action.note[:500],
            action.command[:2_000] if not action.text else action.command[:300],
            action.text[:_TEXT],
            action.removed[: _TEXT // 2],
        )
    )
    there, here = extract_terms(f"{places}\n{find_kinds(places)}"), extract_terms(text)
    low = f"{places}\n{text}".lower() if named or terms else ""
    return ActionTerms(
        here.words | there.words,
        here.pairs | there.pairs,
        there.words,
        tuple(name for name in named[:_MOST_NAMED] if _last_part(name) in low),
        tuple(term for term in terms if term in low),
    )


def _last_part(name: str) -> str:
    """Return the part of a name that any mention contains: a file without its folders."""
    return name.lower().strip("./").rpartition("/")[2] or name


def record_action(
    memory: SessionMemory, action: Action, about: ActionTerms, relevance: float | None = None
) -> SessionMemory:
    """Return the memory after an action; plans and subagents' prompts do nothing yet.

    `relevance` is that of the most relevant file that the action changes.
    """
    if action.kind in ("plan", "agent"):
        return memory
    pairs = about.pairs & memory.pairs.keys()
    memory = memory._replace(
        reached_words=_reach(memory.reached_words, about.words & memory.words.keys()),
        reached_pairs=_reach(memory.reached_pairs, pairs),
        reached_names=_join(memory.reached_names, about.names, _NAMED),
        reached_terms=_join(memory.reached_terms, about.terms, _TERMS),
        placed=_reach(memory.placed, about.places & memory.words.keys()),
    )
    words = _truncate(sorted(about.words), _SAID)
    touched = find_changed_files(action)
    if not touched:
        return memory._replace(reading=_add_reading(memory, words, action.effects.read[:5]))
    files = _truncate(touched, _CHANGED)
    titles = filter(None, map(extract_title, files))
    step = WorkStep(
        words,
        _truncate(sorted(pairs), _SAID),
        files,
        memory.reading.read_words,
        memory.reading.read_files,
        _truncate(about.names, _NAMED),
        relevance,
    )
    if relevance is not None and (memory.expected is None or relevance > memory.expected):
        memory = memory._replace(expected=relevance)
    memory = memory._replace(
        window=(*memory.window, step),
        titles=_join(
            memory.titles,
            (" ".join(sorted(title)) for title in titles if title <= memory.words.keys()),
            _NAMED,
        ),
        reading=WorkStep(),
        modified=memory.modified + 1,
        gone=_join(memory.gone, action.effects.deleted[:20], _GONE),
        green=False,
    )
    while len(memory.window) > WINDOW:
        memory = _learn(memory, memory.window[0])._replace(window=memory.window[1:])
    return memory


def record_course(memory: SessionMemory, files: Iterable[str]) -> SessionMemory:
    """Return the memory with files that were changed on course."""
    return memory._replace(on_course=_join(memory.on_course, files, _FILES))


def record_own_work(
    memory: SessionMemory,
    created: Iterable[str],
    changed: Iterable[str],
    scripts: dict[str, str],
) -> SessionMemory:
    """Return the memory with what the session created and changed; `scripts` are all of them."""
    sizes = {path: len(path) + len(text) + 2 * _SEPARATOR for path, text in scripts.items()}
    kept = list(scripts)
    size = sum(sizes.values())
    while size > _SCRIPTS:
        size -= sizes[kept.pop(0)]
    return memory._replace(
        made=_join(memory.made, created, _CREATED),
        changed=_join(memory.changed, changed, _EDITED),
        scripts={path: scripts[path] for path in kept},
    )


def record_breaches(memory: SessionMemory, files: Iterable[str]) -> SessionMemory:
    """Return the memory with committed files that were changed against a limit or a scope."""
    return memory._replace(breached=_join(memory.breached, files, _FILES))


def _reach(old: dict[str, None], new: Set[str]) -> dict[str, None]:
    """Return the part of the goal that is reached, with the new words."""
    return old if old.keys() >= new else _join(old, sorted(new), _GOAL)


def _add_reading(memory: SessionMemory, words: Iterable[str], paths: Iterable[str]) -> WorkStep:
    """Return what was read since the last change, including one more action."""
    before = memory.reading
    new = [word for word in words if word not in memory.known]
    return WorkStep(
        read_words=_truncate(dict.fromkeys((*new, *before.read_words)), _SAID),
        read_files=_truncate(dict.fromkeys((*paths, *before.read_files)), _CHANGED),
    )


def _settle(memory: SessionMemory) -> SessionMemory:
    """Move the window to the known work: the user has seen it and asks for something."""
    for step in (*memory.window, memory.reading):
        memory = _learn(memory, step)
    return memory._replace(window=(), reading=WorkStep())


def _learn(memory: SessionMemory, step: WorkStep) -> SessionMemory:
    return memory._replace(
        known=_join(memory.known, (*step.read_words, *step.words), _KNOWN),
        files=_join(memory.files, (*step.read_files, *step.files), _FILES),
    )


def _join(old: dict[str, None], new: Iterable[str], bounds: tuple[int, int]) -> dict[str, None]:
    """Append new entries, and drop the oldest ones above the bounds."""
    added = dict.fromkeys(new)
    if added.keys() <= old.keys():
        return old
    joined = [each for each in old if each not in added]
    joined += added
    return dict.fromkeys(reversed(_truncate(reversed(joined), bounds)))


def _truncate(texts: Iterable[str], bounds: tuple[int, int]) -> tuple[str, ...]:
    """Return the first of the texts, as many as the bounds allow."""
    most, room = bounds
    kept = list(islice(texts, most))
    size = sum(map(len, kept)) + _SEPARATOR * len(kept)
    while size > room:
        size -= len(kept.pop()) + _SEPARATOR
    return tuple(kept)


def _only(old: dict[str, None], kept: dict[str, None]) -> dict[str, None]:
    return old if old.keys() <= kept.keys() else {each: None for each in old if each in kept}

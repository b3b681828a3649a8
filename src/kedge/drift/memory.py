"""What a session has heard and done, as far as scoring needs it: bounded, and plain to store.

    heard(state, text)              after a message of the user
    done(state, action, about)      after an action, with what it is about
    data(state), parse(data)        as JSON values and back

The last few modifying actions are the window; what was before them is the work that is known.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import islice

from kedge.drift.topic import terms
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
    from typing import Any

    from kedge.drift.actions import Action, Effects

WINDOW = 5  # modifying actions that are compared with the work before them
SPECIFIC = 3  # pairs that make a message one with a topic of its own
# how many are kept, and how many characters of them
_GOAL = (500, 6_000)  # words, and as many pairs, of all messages
_KNOWN = (1_000, 7_000)
_FILES = (120, 4_000)
_GONE = (60, 2_000)
_CHANGED = (20, 800)  # files of one action
_SAID = (120, 1_000)  # words of one action
_NAMED = (20, 400)
_APART = 3  # characters between two that are kept
_MOST_NAMED = 60  # names of the user that are looked for
_TEXT = 4_000  # characters of an action's text that are read
_ELSEWHERE = ("refers-elsewhere", "command")  # kinds of messages with their goal in another place
TEMPORARY = ("/tmp/", "/var/tmp/", "/private/", "/dev/", "/var/folders/")  # noqa: S108 - only named


# never changed: every state that is made has collections of its own
_NONE: dict[str, None] = {}
_NO_COUNTS: dict[str, int] = {}
_NO_TEXTS: dict[str, str] = {}


class About(NamedTuple):
    """What an action is about. `places` are the words of its paths, `names` those of the user's
    names that it has."""

    words: frozenset[str]
    pairs: frozenset[str]
    places: frozenset[str]
    names: tuple[str, ...] = ()


class Step(NamedTuple):
    """A modifying action in the window, and what was read before it."""

    words: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()  # of the goal
    files: tuple[str, ...] = ()
    read_words: tuple[str, ...] = ()
    read_files: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


class State(NamedTuple):
    """Collections that are kept in order are dictionaries without values, the oldest first."""

    words: dict[str, None] = _NONE
    pairs: dict[str, None] = _NONE
    asks: dict[str, None] = _NONE  # words by which the user may have asked for an act
    reached_words: dict[str, None] = _NONE  # of the goal, met in what was done
    reached_pairs: dict[str, None] = _NONE
    reached_names: dict[str, None] = _NONE
    placed: dict[str, None] = _NONE  # words of the goal that are met in paths, and so say little
    known: dict[str, None] = _NONE
    files: dict[str, None] = _NONE
    made: dict[str, None] = _NONE  # files that the session has written
    gone: dict[str, None] = _NONE  # and deleted
    window: tuple[Step, ...] = ()
    reading: Step = Step()
    modified: int = 0
    turned_at: int = 0  # what `modified` was when the user last turned to another subject
    on_named: int = 0  # modifying actions on files that the user named
    run: int = 0  # modifying actions in a row that were far from the goal
    elsewhere: bool = False  # the last message has its goal in another place
    repeats: dict[str, int] = (
        _NO_COUNTS  # edits and failed commands, and how often since something changed
    )
    pending: dict[str, str] = _NO_TEXTS  # actions without a result, and the command that they ran
    red: bool = False  # the last check failed
    green: bool = False  # or passed, and nothing was changed since


def heard(state: State, text: str, kind: str, asks: Iterable[str] = ()) -> State:
    """After a message of the user, without what a client added to it; `kind` as in `prompts`.

    `asks` are the words by which it may ask for an act.
    """
    if kind == "machine":
        return state
    found = terms(text)
    specific = len(found.pairs) >= SPECIFIC and kind not in ("go-on", "command")
    turned = False
    if specific:
        state = _settled(state)
        familiar = found.words & (state.words.keys() | state.known.keys())
        turned = len(familiar) * 5 < len(found.words)
    words = _joined(state.words, sorted(found.words), _GOAL)
    pairs = _joined(state.pairs, sorted(found.pairs), _GOAL)
    return state._replace(
        words=words,
        pairs=pairs,
        reached_words=_only(state.reached_words, words),
        reached_pairs=_only(state.reached_pairs, pairs),
        placed=_only(state.placed, words),
        asks=_joined(state.asks, asks, _GOAL),
        run=0 if specific else state.run,
        turned_at=state.modified if turned else state.turned_at,
        elsewhere=not specific and (kind in _ELSEWHERE or (kind == "go-on" and not found.words)),
        repeats={},
    )


def changed(action: Action) -> tuple[str, ...]:
    """The files of the tree that an action changes; temporary ones are left out."""
    effects = action.effects
    return _touched(effects) if effects.written or effects.deleted or effects.moved else ()


@lru_cache(1)  # of one action it is asked again and again
def _touched(effects: Effects) -> tuple[str, ...]:
    found = dict.fromkeys(
        (*effects.written, *effects.deleted, *(path for pair in effects.moved for path in pair))
    )
    return tuple(path for path in found if not path.startswith(TEMPORARY))


def said(action: Action, named: Sequence[str] = ()) -> About:
    """What an action is about: its paths, its texts, its command and what it says it is for.

    `named` are the files, folders and identifiers that the user named.
    """
    effects = action.effects
    places = "\n".join((*changed(action)[:20], *effects.read[:5]))
    new = action.text[:_TEXT]
    text = "\n".join(
        (
            action.note[:500],
            action.command[:2_000] if not action.text else action.command[:300],
            new,
            _gone(new, action.removed[: _TEXT // 2]),
        )
    )
    there, here = terms(places), terms(text)
    low = f"{places}\n{text}".lower() if named else ""
    names = tuple(name for name in named[:_MOST_NAMED] if _tail(name) in low)
    return About(here.words | there.words, here.pairs | there.pairs, there.words, names)


def _gone(new: str, old: str) -> str:
    """The lines of the old text that are not in the new one: an edit keeps most of them."""
    if not new or not old:
        return old
    kept = set(new.split("\n"))
    return "\n".join([line for line in old.split("\n") if line not in kept])


@lru_cache(256)  # names are looked for in one action after another
def _tail(name: str) -> str:
    """What of a name would be met wherever it is spoken of: a file's without its folders."""
    return name.lower().strip("./").rpartition("/")[2] or name


def done(state: State, action: Action, about: About) -> State:
    """After an action. A plan is none: what an agent says that it will do is not done."""
    if action.kind in ("plan", "agent"):
        return state
    pairs = about.pairs & state.pairs.keys()
    state = state._replace(
        reached_words=_met(state.reached_words, about.words & state.words.keys()),
        reached_pairs=_met(state.reached_pairs, pairs),
        reached_names=_joined(state.reached_names, about.names, _NAMED),
        placed=_met(state.placed, about.places & state.words.keys()),
    )
    words = _few(sorted(about.words), _SAID)
    touched = changed(action)
    if not touched:
        return state._replace(reading=_read(state, words, action.effects.read[:5]))
    files = _few(touched, _CHANGED)
    step = Step(
        words,
        _few(sorted(pairs), _SAID),
        files,
        state.reading.read_words,
        state.reading.read_files,
        _few(about.names, _NAMED),
    )
    state = state._replace(
        window=(*state.window, step),
        reading=Step(),
        modified=state.modified + 1,
        made=_joined(state.made, files, _FILES),
        gone=_joined(state.gone, action.effects.deleted[:20], _GONE),
        green=False,
    )
    while len(state.window) > WINDOW:
        first = state.window[0]
        state = _learned(state, first)._replace(window=state.window[1:])
    return state


def _met(old: dict[str, None], found: Set[str]) -> dict[str, None]:
    """What of the goal is reached, with what was found of it."""
    return old if old.keys() >= found else _joined(old, sorted(found), _GOAL)


def _read(state: State, words: Iterable[str], paths: Iterable[str]) -> Step:
    """What was read since the last change, with the words and paths of one more action."""
    _, _, _, read_words, read_files, _ = state.reading
    known = state.known
    new = [word for word in words if word not in known]
    return Step(
        read_words=_few(dict.fromkeys((*new, *read_words)), _SAID) if new else read_words,
        read_files=_few(dict.fromkeys((*paths, *read_files)), _CHANGED),
    )


def _settled(state: State) -> State:
    """What was done so far becomes known: the user has seen it and speaks of something."""
    for step in (*state.window, state.reading):
        state = _learned(state, step)
    return state._replace(window=(), reading=Step())


def _learned(state: State, step: Step) -> State:
    return state._replace(
        known=_joined(state.known, (*step.read_words, *step.words), _KNOWN),
        files=_joined(state.files, (*step.read_files, *step.files), _FILES),
    )


def _joined(old: dict[str, None], new: Iterable[str], bounds: tuple[int, int]) -> dict[str, None]:
    """Both, what is new last, without the oldest when there are too many."""
    added = dict.fromkeys(new)
    again = added.keys() & old.keys()
    if len(again) == len(added):
        return old
    joined = old.copy()
    for each in again:
        del joined[each]
    joined |= added
    most, room = bounds
    over = max(len(joined) - most, 0)
    size = _size(joined) - room
    if over or size > 0:
        gone: list[str] = []
        for each in joined:
            if size <= 0 and len(gone) >= over:
                break
            gone.append(each)
            size -= len(each) + _APART
        for each in gone:
            del joined[each]
    return joined


def _few(texts: Iterable[str], bounds: tuple[int, int]) -> tuple[str, ...]:
    """The first of the texts, as many as the bounds leave."""
    most, room = bounds
    kept = list(islice(texts, most))
    size = _size(kept)
    while size > room:
        size -= len(kept.pop()) + _APART
    return tuple(kept)


def _size(texts: Collection[str]) -> int:
    """The characters that they take where they are kept."""
    return sum(map(len, texts)) + _APART * len(texts)


def _only(old: dict[str, None], kept: dict[str, None]) -> dict[str, None]:
    return old if old.keys() <= kept.keys() else {each: None for each in old if each in kept}


def data(state: State) -> dict[str, Any]:
    """The state as JSON values, small and quick to read; what is empty is left out."""
    found: dict[str, Any] = {}
    for name, value in state._asdict().items():
        if name in _MARKED or value == State._field_defaults[name]:
            continue
        if name == "words":
            found[name] = ",".join(_marked(state.words, state.reached_words, state.placed))
        elif name == "pairs":
            found[name] = ",".join(_marked(state.pairs, state.reached_pairs))
        elif name in _WORDS:
            found[name] = ",".join(value)
        elif name == "window":
            found[name] = [_flat(step) for step in value]
        elif name == "reading":
            found[name] = _flat(value)
        elif name in ("repeats", "pending") or not isinstance(value, dict):
            found[name] = value
        else:
            found[name] = list(value)
    return found


def parse(stored: Mapping[str, Any]) -> State:
    """The state that `data` was made of. Raises ValueError for anything else."""
    try:
        found: dict[str, Any] = {}
        for name, default in State._field_defaults.items():
            if name not in stored or name in _MARKED:
                continue
            value = stored[name]
            if name in _WORDS:
                found[name] = dict.fromkeys(_split(value))
            elif name == "window":
                found[name] = tuple(_step(each) for each in value)
            elif name == "reading":
                found[name] = _step(value)
            elif name == "repeats":
                found[name] = {str(key): int(count) for key, count in value.items()}
            elif name == "pending":
                found[name] = {str(key): str(text) for key, text in value.items()}
            elif isinstance(default, dict):
                found[name] = dict.fromkeys(map(str, value))
            else:
                found[name] = type(default)(value)
        words, pairs = found.get("words", {}), found.get("pairs", {})
        found["reached_words"] = {word[1:]: None for word in words if word[0] in "+-"}
        found["placed"] = {word[1:]: None for word in words if word[0] == "-"}
        found["reached_pairs"] = {pair[1:]: None for pair in pairs if pair[0] == "+"}
        found["words"] = {word.lstrip("+-"): None for word in words}
        found["pairs"] = {pair.lstrip("+"): None for pair in pairs}
    except (TypeError, ValueError, AttributeError, KeyError, IndexError) as error:
        raise ValueError("not the state of a session") from error
    return State(**found)


# words and pairs are of letters and blanks: what is reached is marked where they are kept
_WORDS = frozenset(("words", "pairs", "asks", "known"))
_MARKED = frozenset(("reached_words", "reached_pairs", "placed"))


def _marked(
    all_: dict[str, None], reached: dict[str, None], placed: Collection[str] = ()
) -> Iterator[str]:
    for each in all_:
        yield f"-{each}" if each in placed else f"+{each}" if each in reached else each


def _flat(step: Step) -> list[Any]:
    words, pairs, files, read_words, read_files, names = step
    return [",".join(words), ",".join(pairs), list(files), ",".join(read_words), list(read_files),
            list(names)]  # fmt: skip


def _step(stored: Any) -> Step:
    words, pairs, files, read_words, read_files, names = stored
    return Step(
        _split(words),
        _split(pairs),
        tuple(map(str, files)),
        _split(read_words),
        tuple(map(str, read_files)),
        tuple(map(str, names)),
    )


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()

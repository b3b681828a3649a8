"""What a session has heard and done, as far as scoring needs it: bounded, and plain to store.

    heard(state, text)              after a message of the user
    done(state, action, said)       after an action, with what it is about
    data(state), parse(data)        as JSON values and back

The last few modifying actions are the window; what was before them is the work that is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kedge.drift.topic import Terms, terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from kedge.drift.actions import Action

WINDOW = 5  # modifying actions that are compared with the work before them
SPECIFIC = 3  # pairs that make a message one with a topic of its own
_MOST_GOAL = 2_000  # words, and as many pairs, of all messages
_MOST_KNOWN = 2_500
_MOST_FILES = 300
_MOST_SAID = 400  # words of one action
_TEXT = 4_000  # characters of an action's text that are read
_ELSEWHERE = ("refers-elsewhere", "command")  # kinds of messages with their goal in another place
TEMPORARY = ("/tmp/", "/var/tmp/", "/private/", "/dev/", "/var/folders/")  # noqa: S108 - only named


# never changed: every state that is made has collections of its own
_NONE: dict[str, None] = {}
_NO_COUNTS: dict[str, int] = {}
_NO_TEXTS: dict[str, str] = {}


class Step(NamedTuple):
    """A modifying action in the window, and what was read before it."""

    words: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()  # of the goal
    files: tuple[str, ...] = ()
    read_words: tuple[str, ...] = ()
    read_files: tuple[str, ...] = ()


class State(NamedTuple):
    """Collections that are kept in order are dictionaries without values, the oldest first."""

    words: dict[str, None] = _NONE
    pairs: dict[str, None] = _NONE
    asks: dict[str, None] = _NONE  # words by which the user may have asked for an act
    reached_words: dict[str, None] = _NONE  # of the goal, met in what was done
    reached_pairs: dict[str, None] = _NONE
    known: dict[str, None] = _NONE
    files: dict[str, None] = _NONE
    made: dict[str, None] = _NONE  # files that the session has written
    window: tuple[Step, ...] = ()
    reading: Step = Step()
    modified: int = 0
    on_named: int = 0  # modifying actions on files that the user named
    run: int = 0  # modifying actions in a row that were far from the goal
    elsewhere: bool = False  # the last message has its goal in another place
    repeats: dict[str, int] = (
        _NO_COUNTS  # edits and failed commands, and how often since something changed
    )
    pending: dict[str, str] = _NO_TEXTS  # actions without a result, and the command that they ran
    red: bool = False  # the last check failed


def heard(state: State, text: str, kind: str, asks: Iterable[str] = ()) -> State:
    """After a message of the user, without what a client added to it; `kind` as in `prompts`.

    `asks` are the words by which it may ask for an act.
    """
    if kind == "machine":
        return state
    found = terms(text)
    specific = len(found.pairs) >= SPECIFIC and kind not in ("go-on", "command")
    if specific:
        state = _settled(state)
    return state._replace(
        words=_joined(state.words, sorted(found.words), _MOST_GOAL),
        pairs=_joined(state.pairs, sorted(found.pairs), _MOST_GOAL),
        asks=_joined(state.asks, asks),
        run=0 if specific else state.run,
        elsewhere=not specific and (kind in _ELSEWHERE or (kind == "go-on" and not found.words)),
        repeats={},
    )


def changed(action: Action) -> tuple[str, ...]:
    """The files of the tree that an action changes; temporary ones are left out."""
    effects = action.effects
    found = dict.fromkeys(
        (*effects.written, *effects.deleted, *(path for pair in effects.moved for path in pair))
    )
    return tuple(path for path in found if not path.startswith(TEMPORARY))


def said(action: Action) -> Terms:
    """What an action is about: its paths, its texts, its command and what it says it is for."""
    effects = action.effects
    return terms(
        "\n".join(
            (
                *changed(action)[:20],
                *effects.read[:5],
                action.note[:500],
                action.command[:2_000] if not action.text else action.command[:300],
                action.text[:_TEXT],
                action.removed[: _TEXT // 2],
            )
        )
    )


def done(state: State, action: Action, about: Terms) -> State:
    """After an action. A plan is none: what an agent says that it will do is not done."""
    if action.kind in ("plan", "agent"):
        return state
    state = state._replace(
        reached_words=_joined(state.reached_words, sorted(about.words & state.words.keys())),
        reached_pairs=_joined(state.reached_pairs, sorted(about.pairs & state.pairs.keys())),
    )
    words = tuple(sorted(about.words)[:_MOST_SAID])
    files = changed(action)
    if not files:
        reading = state.reading
        read = (*reading.read_words, *(word for word in words if word not in state.known))
        paths = (*reading.read_files, *action.effects.read[:5])
        return state._replace(
            reading=Step(
                read_words=tuple(dict.fromkeys(read))[-_MOST_SAID:],
                read_files=tuple(dict.fromkeys(paths))[-_MOST_FILES:],
            )
        )
    step = Step(
        words,
        tuple(sorted(about.pairs & state.pairs.keys())),
        files[:_MOST_FILES],
        state.reading.read_words,
        state.reading.read_files,
    )
    state = state._replace(
        window=(*state.window, step),
        reading=Step(),
        modified=state.modified + 1,
        made=_joined(state.made, files, _MOST_FILES),
    )
    while len(state.window) > WINDOW:
        first = state.window[0]
        state = _learned(state, first)._replace(window=state.window[1:])
    return state


def _settled(state: State) -> State:
    """What was done so far becomes known: the user has seen it and speaks of something."""
    for step in (*state.window, state.reading):
        state = _learned(state, step)
    return state._replace(window=(), reading=Step())


def _learned(state: State, step: Step) -> State:
    return state._replace(
        known=_joined(state.known, (*step.read_words, *step.words), _MOST_KNOWN),
        files=_joined(state.files, (*step.read_files, *step.files), _MOST_FILES),
    )


def _joined(old: dict[str, None], new: Iterable[str], most: int = _MOST_GOAL) -> dict[str, None]:
    """Both, what is new last, without the oldest when there are too many."""
    added = dict.fromkeys(new)
    if added.keys() <= old.keys():
        return old
    joined = {**old, **added}
    if len(joined) > most:
        joined = dict.fromkeys(list(joined)[-most:])
    return joined


def data(state: State) -> dict[str, Any]:
    """The state as JSON values; what is empty is left out."""
    found: dict[str, Any] = {}
    for name, value in state._asdict().items():
        if value == State._field_defaults[name]:
            continue
        if name == "window":
            found[name] = [[list(part) for part in step] for step in value]
        elif name == "reading":
            found[name] = [list(part) for part in value]
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
            if name not in stored:
                continue
            value = stored[name]
            if name == "window":
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
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        raise ValueError("not the state of a session") from error
    return State(**found)


def _step(stored: Any) -> Step:
    return Step(*(tuple(map(str, part)) for part in stored))

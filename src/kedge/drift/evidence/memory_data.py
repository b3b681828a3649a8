"""A session's memory as compact JSON values, and back."""

from __future__ import annotations

from kedge.drift.evidence.memory import SessionMemory, WorkStep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from typing import Any

# words and pairs have only letters and blanks, so those that are reached can carry a mark
_WORDS = frozenset(("words", "pairs", "asks", "known"))
_TABLES = frozenset(("repeats", "pending", "scripts", "own_checks"))
_MARKED = frozenset(("reached_words", "reached_pairs", "placed"))


def data(memory: SessionMemory) -> dict[str, Any]:
    """Return the memory as compact JSON values, without empty fields."""
    values: dict[str, Any] = {}
    for name, value in memory._asdict().items():
        if name in _MARKED or value == SessionMemory._field_defaults[name]:
            continue
        if name == "words":
            values[name] = ",".join(_mark(memory.words, memory.reached_words, memory.placed))
        elif name == "pairs":
            values[name] = ",".join(_mark(memory.pairs, memory.reached_pairs))
        elif name in _WORDS:
            values[name] = ",".join(value)
        elif name == "window":
            values[name] = [_flat(step) for step in value]
        elif name == "reading":
            values[name] = _flat(value)
        elif name in _TABLES or not isinstance(value, dict):
            values[name] = value
        else:
            values[name] = list(value)
    return values


def parse(stored: Mapping[str, Any]) -> SessionMemory:
    """Read a memory from the output of `data`. Raise ValueError if it is not one."""
    try:
        values: dict[str, Any] = {}
        for name, default in SessionMemory._field_defaults.items():
            if name not in stored or name in _MARKED:
                continue
            value = stored[name]
            if name in _WORDS:
                values[name] = dict.fromkeys(_split(value))
            elif name == "window":
                values[name] = tuple(_step(each) for each in value)
            elif name == "reading":
                values[name] = _step(value)
            elif name in _TABLES:
                kind = str if name in ("pending", "scripts") else int
                values[name] = {str(key): kind(each) for key, each in value.items()}
            elif isinstance(default, dict):
                values[name] = dict.fromkeys(map(str, value))
            elif name == "expected":
                values[name] = float(value)
            else:
                values[name] = type(default)(value)
        words, pairs = values.get("words", {}), values.get("pairs", {})
        values["reached_words"] = {word[1:]: None for word in words if word[0] in "+-"}
        values["placed"] = {word[1:]: None for word in words if word[0] == "-"}
        values["reached_pairs"] = {pair[1:]: None for pair in pairs if pair[0] == "+"}
        values["words"] = {word.lstrip("+-"): None for word in words}
        values["pairs"] = {pair.lstrip("+"): None for pair in pairs}
    except (TypeError, ValueError, AttributeError, KeyError, IndexError) as error:
        raise ValueError("not the state of a session") from error
    return SessionMemory(**values)


def _mark(
    all_: dict[str, None], reached: dict[str, None], placed: Collection[str] = ()
) -> Iterator[str]:
    for each in all_:
        yield f"-{each}" if each in placed else f"+{each}" if each in reached else each


def _flat(step: WorkStep) -> list[Any]:
    words, pairs, files, read_words, read_files, names, relevance = step
    return [",".join(words), ",".join(pairs), list(files), ",".join(read_words), list(read_files),
            list(names), relevance]  # fmt: skip


def _step(stored: Any) -> WorkStep:
    words, pairs, files, read_words, read_files, names, relevance = stored
    return WorkStep(
        _split(words),
        _split(pairs),
        tuple(map(str, files)),
        _split(read_words),
        tuple(map(str, read_files)),
        tuple(map(str, names)),
        None if relevance is None else float(relevance),
    )


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()

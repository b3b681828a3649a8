"""YAML from untrusted files as plain values, by PyYAML's parser.

Values are built from the parser's events, so that depth and size are limited before anything is
nested, and every scalar keeps its line. Tags are not interpreted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kedge.repomap.project.formats import Broken, Table, Text

if TYPE_CHECKING:
    import yaml

MAX_DEPTH = 60
MAX_VALUES = 50_000


def parse_yaml(text: str) -> Any:
    """The first document as dicts, lists and `Text`; None if there is none.

    An alias is the value that it names. Raises Broken if the text is not YAML, or too large.
    """
    import yaml

    builder = _Builder()
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            if isinstance(event, yaml.ScalarEvent):
                builder.add(_scalar(event), event.anchor)
            elif isinstance(event, yaml.AliasEvent):
                builder.add_alias(event)
            elif isinstance(event, yaml.CollectionStartEvent):
                builder.open({} if isinstance(event, yaml.MappingStartEvent) else [], event.anchor)
            elif isinstance(event, yaml.CollectionEndEvent):
                builder.close()
            elif isinstance(event, yaml.DocumentEndEvent):
                break
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise Broken(f"invalid YAML in line {mark.line + 1}" if mark else "invalid YAML") from None
    except (yaml.YAMLError, ValueError):
        raise Broken("invalid YAML") from None
    return builder.root


def _scalar(event: yaml.ScalarEvent) -> Text:
    text = Text(event.value)
    text.line = _line(event) + (1 if event.style in ("|", ">") else 0)
    return text


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


_NO_KEY = object()


class _Builder:
    """Adds values to the innermost open collection."""

    def __init__(self) -> None:
        self.root: Any = None
        self._open: list[list[Any] | Table] = []
        self._keys: list[Any] = []  # for each open collection: the key without a value
        self._anchors: dict[str, Any] = {}
        self._left = MAX_VALUES

    def open(self, collection: list[Any] | Table, anchor: str | None) -> None:
        if len(self._open) == MAX_DEPTH:
            raise Broken("nested too deeply")
        if anchor:
            self._anchors[anchor] = collection
        self._open.append(collection)
        self._keys.append(_NO_KEY)

    def close(self) -> None:
        self._keys.pop()
        self.add(self._open.pop())

    def add(self, value: Any, anchor: str | None = None) -> None:
        if anchor:
            self._anchors[anchor] = value
        if not self._open:
            self.root = value
            return
        collection, key = self._open[-1], self._keys[-1]
        if isinstance(collection, dict) and key is _NO_KEY:
            self._keys[-1] = value
            return
        self._count(1)
        if isinstance(collection, list):
            collection.append(value)
            return
        self._keys[-1] = _NO_KEY
        if key == "<<" and isinstance(value, dict):
            self._count(len(value))
            collection.update({name: one for name, one in value.items() if name not in collection})
        elif isinstance(key, Text):
            collection.pop(key, None)
            collection[key] = value

    def add_alias(self, event: yaml.AliasEvent) -> None:
        if event.anchor not in self._anchors:
            raise Broken(f"invalid YAML in line {_line(event)}")
        self.add(self._anchors[event.anchor])

    def _count(self, more: int) -> None:
        self._left -= more
        if self._left < 0:
            raise Broken("too many values")

"""One value of kedge's in the JSON settings of another program, beside the user's own.

`drop` restores the text from before `add`, as `kedge.host.json_edit` explains.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kedge.errors import ConfigError
from kedge.host import json_edit
from kedge.host.json_edit import BadJson, JsonNode


@dataclass(frozen=True, slots=True)
class JsonEntry:
    """A value under `key` of the object at `above`; without a key, in the array at `above`.

    `is_ours` recognises a value of any version of kedge.
    """

    file: str
    above: tuple[str, ...]
    key: str
    value: Any
    is_ours: Callable[[Any], bool]

    def write_document(self, value: Any) -> str:
        """Return the file that kedge writes where there is none."""
        inner: Any = {self.key: value} if self.key else [value]
        for name in reversed(self.above):
            inner = {name: inner}
        return json_edit.document(inner)


def add(text: str | None, entry: JsonEntry) -> str:
    """Return the text with the entry. Raise ConfigError if it is not JSON, or not kedge's."""
    if text is None:
        return entry.write_document(entry.value)
    try:
        root = json_edit.parse(text)
        path = _find(text, root, entry)
        if path is None:
            if entry.key:
                return json_edit.insert(text, entry.above, entry.key, entry.value)
            return json_edit.append(text, entry.above, entry.value)
        node = json_edit.at_path(root, path)
        old = _decode(text, node)
        if old == entry.value:
            return text
        if not entry.is_ours(old):
            raise BadJson(text, node.start, f"{entry.key} is there, and kedge did not write it")
        if text == entry.write_document(old):
            return entry.write_document(entry.value)
        return json_edit.replace(text, node, entry.value)
    except BadJson as error:
        hint = f"correct that line, or add it by hand: {entry.write_document(entry.value)}"
        where = f"{entry.file}:{error.line}: {error.reason}"
        raise ConfigError(where, hint=" ".join(hint.split())) from error


def drop(text: str, entry: JsonEntry) -> str | None:
    """Return the text without kedge's entry; None if kedge made the whole file."""
    try:
        root = json_edit.parse(text)
        path = _find(text, root, entry)
    except BadJson:  # nobody could have added it
        return text
    if path is None:
        return text
    old = _decode(text, json_edit.at_path(root, path))
    if not entry.is_ours(old):
        return text
    whole = text.replace("\r\n", "\n") == entry.write_document(old)
    return None if whole else json_edit.remove(text, [path])


def _find(text: str, root: JsonNode, entry: JsonEntry) -> json_edit.Path | None:
    """Return where the entry is, or another value with its key; None where there is none."""
    node, path = root, json_edit.ROOT
    names = (*entry.above, entry.key) if entry.key else entry.above
    for depth, name in enumerate(names):
        json_edit.check(text, node, "object", names[:depth])
        at = json_edit.member(text, node, name)
        if at is None:
            return None
        node, path = node.children[at], (*path, at)
    if entry.key:
        return path
    json_edit.check(text, node, "array", names)
    for at, child in enumerate(node.children):
        if entry.is_ours(_decode(text, child)):
            return (*path, at)
    return None


def _decode(text: str, node: JsonNode) -> Any:
    return json.loads(text[node.value : node.end])

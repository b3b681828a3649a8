"""Kedge's status line in Claude Code's settings, beside the user's own.

The settings have one status line: `{"statusLine": {"type": "command", "command": …}}`. Kedge's
command runs the user's as well, which is an argument of it: their command as the JSON string that
stood in the file, so that `remove` restores it byte for byte.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from kedge.errors import ConfigError
from kedge.host import json_edit
from kedge.host.json_edit import BadJson, JsonNode

KEY = "statusLine"
INSTEAD = "--in-place-of"  # of the user's command in the same file, which `remove` restores
BESIDE = "--beside"  # the user's command of another file, which kedge's entry hides
_LONGEST = 20_000  # characters of a command


def make_command(interpreter: Path, script: Path) -> str:
    """Return the command of kedge's status line on this machine."""
    return shlex.join([str(interpreter), "-I", "-S", str(script)])


def make_portable_command() -> str:
    """Return the command for settings in git, where `kedge` is on PATH."""
    return "kedge statusline"


def install(
    text: str | None, command: str, *, hidden: dict[str, Any] | None = None, where: str
) -> str:
    """Return the text with kedge's status line.

    `hidden` is the user's status line in another file, which kedge's would hide.
    """
    if text is None:
        return json_edit.document({KEY: _make_entry(command, hidden)})
    with _name_file(where):
        root = json_edit.parse(text)
        json_edit.check(text, root, "object", ())
        at = json_edit.member(text, root, KEY)
        if at is None:
            return json_edit.insert(text, (), KEY, _make_entry(command, hidden))
        node = _find_command(text, root.children[at])
        if node is None:
            raise BadJson(text, root.children[at].start, f"{KEY} has no command")
        raw = text[node.value : node.end]
        words = _split(json.loads(raw))
        options = words[-2:] if words is not None and len(words) > 1 else []
        if words is None:
            options = [INSTEAD, raw]
        elif options[:1] not in ([INSTEAD], [BESIDE]):
            options = []
        return json_edit.replace(text, node, " ".join([command, *map(shlex.quote, options)]))


def remove(text: str, *, where: str) -> str | None:
    """Return the text as it was before `install`; None if kedge made the whole file."""
    with _name_file(where):
        root = json_edit.parse(text)
        at = json_edit.member(text, root, KEY) if root.kind == "object" else None
        node = None if at is None else _find_command(text, root.children[at])
        words = None if node is None else _split(json.loads(text[node.value : node.end]))
        if at is None or node is None or words is None:
            return text
        if words[-2:-1] == [INSTEAD] and _is_string(words[-1]):
            return text[: node.value] + words[-1] + text[node.end :]
        if (
            text.replace("\r\n", "\n") == json_edit.document(json.loads(text))
            and len(root.children) == 1
        ):
            return None
        return json_edit.remove(text, [(at,)])


def is_installed(text: str | None, *, where: str) -> bool:
    """True if the text has kedge's status line."""
    if text is None:
        return False
    with _name_file(where):
        entry = read(text, where=where)
        return entry is not None and is_ours(entry)


def read(text: str, *, where: str) -> dict[str, Any] | None:
    """Return the status line of the settings, whosever it is; None if they have none."""
    with _name_file(where):
        root = json_edit.parse(text)
        at = json_edit.member(text, root, KEY) if root.kind == "object" else None
        if at is None or _find_command(text, root.children[at]) is None:
            return None
        entry = json.loads(text[root.children[at].value : root.children[at].end])
        return entry if isinstance(entry, dict) else None


def is_ours(entry: dict[str, Any]) -> bool:
    return _split(entry["command"]) is not None


def _make_entry(command: str, hidden: dict[str, Any] | None) -> dict[str, Any]:
    if hidden is None or is_ours(hidden):
        return {"type": "command", "command": command}
    theirs = shlex.quote(json.dumps(hidden["command"]))
    return {**hidden, "command": f"{command} {BESIDE} {theirs}"}


def _find_command(text: str, entry: JsonNode) -> JsonNode | None:
    """Return the string with the command, where the status line is one."""
    at = json_edit.member(text, entry, "command") if entry.kind == "object" else None
    if at is None or not isinstance(json_edit.decode(text, entry.children[at]), str):
        return None
    return entry.children[at]


def _is_string(literal: str) -> bool:
    try:
        return isinstance(json.loads(literal), str)
    except ValueError:
        return False


def _split(command: str) -> list[str] | None:
    """Return the words of a command that is kedge's status line; None for any other."""
    if "kedge" not in command or len(command) > _LONGEST:
        return None
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    program = words[:2]
    if words[1:3] == ["-I", "-S"] and len(words) > 3:
        file = PurePosixPath(words[3])
        program = ["kedge", "statusline"] if file.parts[-2:] == ("kedge", "statusline.py") else []
    return words if program == ["kedge", "statusline"] else None


@contextmanager
def _name_file(where: str) -> Iterator[None]:
    try:
        yield
    except BadJson as error:
        hint = "correct that line; kedge has changed nothing"
        raise ConfigError(f"{where}:{error.line}: {error.reason}", hint=hint) from error

"""Kedge's hooks in an agent's settings, beside the user's own.

Claude Code and Codex share the shape:
`{"hooks": {EVENT: [{"matcher": …, "hooks": [{"type": "command", "command": …, "timeout": …}]}]}}`.
Claude Code also knows hooks of the type `http`, with a URL and headers instead of a command.
Kedge adds a group of its own for each hook and changes nothing else. `remove` restores the
original text, as `kedge.host.json_edit` explains.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from kedge.agents.settings.hook_command import is_kedge_hook
from kedge.errors import ConfigError
from kedge.host import files, json_edit
from kedge.host.json_edit import BadJson, JsonNode

TIMEOUT = 10
_HINT = "correct that line; kedge has changed nothing"
_GROUPS = 2  # levels above a group that kedge may have added with it

Place: TypeAlias = tuple[str, str | None, str]
_OWN_URL = re.compile(r"http://127\.0\.0\.1:[0-9]{1,5}/kedge/hooks/[a-z][a-z0-9_-]*\Z")
_VARIABLE = re.compile(r"\$([A-Z_]+)")
_KEYS = ("command", "url", "headers", "allowedEnvVars", "timeout")  # of an entry, beside its type

# Tools that may change something; tools that only read need no hook after their call.
CHANGING = "Edit|Write|MultiEdit|NotebookEdit|Bash|apply_patch|Task|Agent|mcp__.*"


@dataclass(frozen=True, slots=True)
class Hook:
    """A command that the agent runs on an event, if the event's kind matches `matcher`.

    With a URL, the event is sent there instead, with headers that name variables of the agent's
    environment.
    """

    event: str
    matcher: str | None
    command: str = ""
    timeout: float | None = TIMEOUT
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def place(self) -> Place:
        """The event, the matcher and the kind, which identify the hook in the settings."""
        return self.event, self.matcher, self.kind

    @property
    def kind(self) -> str:
        return "http" if self.url else "command"

    def describe(self) -> dict[str, Any]:
        """Return the hook's entry, as it is in the settings."""
        entry: dict[str, Any] = {"type": self.kind}
        if self.url:
            entry |= {"url": self.url, "headers": dict(self.headers)}
            entry["allowedEnvVars"] = _list_variables(self.headers)
        else:
            entry["command"] = self.command
        if self.timeout is not None:
            entry["timeout"] = self.timeout
        return entry


# Of every agent, unless its module says otherwise.
# Compaction has its own entry: its answer is smaller than that for a session start.
HOOKS = (
    Hook("SessionStart", "startup|resume|clear"),
    Hook("SessionStart", "compact"),
    Hook("UserPromptSubmit", None),
    Hook("PreToolUse", None),
    Hook("PostToolUse", CHANGING),
    Hook("PostToolUseFailure", CHANGING),
    Hook("Stop", None),
    Hook("SubagentStop", None),
    Hook("PreCompact", None),
    Hook("SessionEnd", None),
)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A hook of kedge in a text, with the paths of its group and of itself."""

    hook: Hook
    group: json_edit.Path
    path: json_edit.Path


def add_command(command: str, hooks: Iterable[Hook] = HOOKS) -> tuple[Hook, ...]:
    """Return an agent's hooks with this command."""
    return tuple(replace(hook, command=command) for hook in hooks)


def install(text: str | None, hooks: Sequence[Hook], *, where: str = "settings") -> str:
    """Return the text with exactly these hooks of kedge. `where` names the file in errors.

    A hook that is already there keeps its position; only what differs is replaced.
    """
    wanted = list({hook.place: hook for hook in hooks}.values())
    if text is None:
        return _document(wanted)
    with _name_file(where):
        root = json_edit.parse(text)
        _check_shape(text, root, {hook.event for hook in wanted})
        entries = _entries(text, root)
        if wanted and _is_whole_file(text, entries):
            return text if _is_document(text, wanted) else _document(wanted)
        kept: dict[Place, _Entry] = {}
        for entry in entries:
            kept.setdefault(entry.hook.place, entry)
        places = {hook.place for hook in wanted}
        stale = [
            one
            for one in entries
            if kept[one.hook.place] is not one or one.hook.place not in places
        ]
        text = json_edit.remove(text, _paths(root, stale), depth=_GROUPS)
        for hook in wanted:
            text = _add_hook(text, hook)
    return text


def remove(text: str, *, where: str = "settings") -> str | None:
    """Return the text without kedge's hooks; None if kedge made the whole file."""
    with _name_file(where):
        root = json_edit.parse(text)
        entries = _entries(text, root)
        if _is_whole_file(text, entries):
            return None
        return json_edit.remove(text, _paths(root, entries), depth=_GROUPS)


def list_installed(text: str | None, *, where: str = "settings") -> list[Hook]:
    """Return kedge's hooks in the text, in order."""
    if text is None:
        return []
    with _name_file(where):
        return [entry.hook for entry in _entries(text, json_edit.parse(text))]


def read_setting(text: str, key: str, *, where: str = "settings") -> Any:
    """Return the value of a top-level key of the settings; None if there is none."""
    with _name_file(where):
        return _value(text, json_edit.parse(text), key)


def read_settings(path: Path, *, where: str) -> str | None:
    """Return a settings file with its line endings unchanged; None if it does not exist."""
    data = files.read_bytes(path)
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1 if data else 1
        raise ConfigError(f"{where}:{line}: not UTF-8", hint="save the file as UTF-8") from error


@contextlib.contextmanager
def _name_file(where: str) -> Iterator[None]:
    try:
        yield
    except BadJson as error:
        raise ConfigError(f"{where}:{error.line}: {error.reason}", hint=_HINT) from error


def _check_shape(text: str, root: JsonNode, events: Iterable[str]) -> None:
    """Refuse a text that the agent itself could not read, where kedge would add to it."""
    json_edit.check(text, root, "object", ())
    index = json_edit.member(text, root, "hooks")
    if index is None:
        return
    json_edit.check(text, hooks := root.children[index], "object", ("hooks",))
    for event in sorted(events):
        if (index := json_edit.member(text, hooks, event)) is None:
            continue
        names: tuple[str | int, ...] = ("hooks", event)
        json_edit.check(text, hooks.children[index], "array", names)
        for number, group in enumerate(hooks.children[index].children):
            json_edit.check(text, group, "object", (*names, number))
            inner = json_edit.member(text, group, "hooks")
            if inner is None:
                raise BadJson(text, group.start, f'hooks.{event}.{number} has no "hooks"')
            json_edit.check(text, group.children[inner], "array", (*names, number, "hooks"))


def _entries(text: str, root: JsonNode) -> list[_Entry]:
    """Return kedge's hooks. Anything of another shape is ignored."""
    top = json_edit.member(text, root, "hooks")
    if top is None or root.children[top].kind != "object":
        return []
    found = []
    for one, event in enumerate(root.children[top].children):
        for two, group in enumerate(event.children if event.kind == "array" else ()):
            three = _last(group, "hooks")
            if three is None or group.children[three].kind != "array":
                continue
            matcher = _text(text, group, "matcher")
            for four, handler in enumerate(group.children[three].children):
                hook = _read_hook(text, handler, event.key or "", matcher)
                if hook is not None:
                    found.append(_Entry(hook, (top, one, two), (top, one, two, three, four)))
    return found


def _read_hook(text: str, handler: JsonNode, event: str, matcher: str | None) -> Hook | None:
    """Return the hook of kedge that an entry is, or None."""
    kind, seconds = _text(text, handler, "type"), _seconds(text, handler)
    command, url = _text(text, handler, "command"), _text(text, handler, "url")
    if kind == "command" and command and is_kedge_hook(command):
        return Hook(event, matcher, command, seconds)
    if kind == "http" and url and _OWN_URL.match(url):
        at = _last(handler, "headers")
        headers = {} if at is None else _decode(text, handler.children[at])
        return Hook(event, matcher, "", seconds, url, headers if isinstance(headers, dict) else {})
    return None


def _decode(text: str, node: JsonNode) -> Any:
    return json.loads(text[node.value : node.end])


def _list_variables(headers: Mapping[str, str]) -> list[str]:
    return [name for value in headers.values() for name in _VARIABLE.findall(str(value))]


def _paths(root: JsonNode, entries: Sequence[_Entry]) -> Iterator[json_edit.Path]:
    """Yield what to remove: kedge's groups, or only the hook if its group holds more."""
    count = Counter(entry.group for entry in entries)
    for entry in entries:
        group = json_edit.at_path(root, entry.group)
        inner = json_edit.at_path(root, entry.path[:-1])
        whole = count[entry.group] == len(inner.children)
        if whole and {child.key for child in group.children} <= {"matcher", "hooks"}:
            yield entry.group
        else:
            yield entry.path


def _add_hook(text: str, hook: Hook) -> str:
    entries = _entries(text, json_edit.parse(text))
    mine = next((entry for entry in entries if entry.hook.place == hook.place), None)
    if mine is None:
        return json_edit.append(text, ("hooks", hook.event), _group(hook))
    wanted = hook.describe()
    for key in _KEYS:
        value = wanted.get(key)
        handler = json_edit.at_path(json_edit.parse(text), mine.path)
        at = _last(handler, key)
        if at is None and value is not None:
            names = ("hooks", hook.event, mine.group[2], "hooks", mine.path[4])
            text = json_edit.insert(text, names, key, value)
        elif at is not None and value is None:
            text = json_edit.remove(text, [(*mine.path, at)])
        elif at is not None and _decode(text, handler.children[at]) != value:
            text = json_edit.replace(text, handler.children[at], value)
    return text


def _group(hook: Hook) -> dict[str, Any]:
    matcher = {} if hook.matcher is None else {"matcher": hook.matcher}
    return {**matcher, "hooks": [hook.describe()]}


def _document(hooks: Iterable[Hook]) -> str:
    """Return the file that kedge writes where there is none."""
    events: dict[str, list[Any]] = {}
    for hook in hooks:
        events.setdefault(hook.event, []).append(_group(hook))
    return json_edit.document({"hooks": events})


def _is_document(text: str, hooks: Iterable[Hook]) -> bool:
    return text.replace("\r\n", "\n") == _document(hooks)  # git may have changed the line endings


def _is_whole_file(text: str, entries: Sequence[_Entry]) -> bool:
    return bool(entries) and _is_document(text, (entry.hook for entry in entries))


def _last(node: JsonNode, key: str) -> int | None:
    """Return the index of the last member with the key, which is the one that agents use."""
    if node.kind != "object":
        return None
    members = range(len(node.children) - 1, -1, -1)
    return next((index for index in members if node.children[index].key == key), None)


def _value(text: str, node: JsonNode, key: str) -> Any:
    index = _last(node, key)
    return None if index is None else json_edit.decode(text, node.children[index])


def _text(text: str, node: JsonNode, key: str) -> str | None:
    value = _value(text, node, key)
    return value if isinstance(value, str) else None


def _seconds(text: str, node: JsonNode) -> float | None:
    value = _value(text, node, "timeout")
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None

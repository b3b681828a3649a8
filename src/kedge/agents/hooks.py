"""Kedge's hooks in an agent's settings, beside the user's own.

Claude Code and Codex share the shape:
`{"hooks": {EVENT: [{"matcher": …, "hooks": [{"type": "command", "command": …, "timeout": …}]}]}}`.
Kedge adds a group of its own for each hook and touches nothing else. `remove` gives the text
of before, as `kedge.host.json_edit` explains.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from kedge.agents.command import is_ours
from kedge.errors import ConfigError
from kedge.host import files, json_edit
from kedge.host.json_edit import BadJson, Node
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TIMEOUT = 10
_HINT = "mend that line; kedge has changed nothing"
_GROUPS = 2  # how deep the arrays of groups are: what is above a group may have been made for it

# Tools whose result matters: those that may change something. What only reads is free.
CHANGING = "Edit|Write|MultiEdit|NotebookEdit|Bash|apply_patch|Task|Agent|mcp__.*"


class Hook(NamedTuple):
    """A command that the agent runs on an event; `matcher` says on which of its kinds."""

    event: str
    matcher: str | None
    command: str = ""
    timeout: float | None = TIMEOUT


# Compaction has an entry of its own: it gets a smaller answer than a session that starts.
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


class _Entry(NamedTuple):
    """A hook of kedge in a text: its group, and which one of the group it is."""

    hook: Hook
    group: json_edit.Path
    path: json_edit.Path


def calling(command: str, hooks: Iterable[Hook] = HOOKS) -> tuple[Hook, ...]:
    """The hooks, all with the one command."""
    return tuple(hook._replace(command=command) for hook in hooks)


def install(text: str | None, hooks: Sequence[Hook], *, where: str = "settings") -> str:
    """The text with exactly these hooks of kedge in it. `where` names the file in a refusal.

    A hook that is there keeps its place, and what differs in it is replaced.
    """
    wanted = list({(hook.event, hook.matcher): hook for hook in hooks}.values())
    if text is None:
        return _document(wanted)
    with _told(where):
        root = json_edit.parse(text)
        _check_shape(text, root, {hook.event for hook in wanted})
        entries = _entries(text, root)
        if wanted and _is_made(text, entries):
            return text if _is_document(text, wanted) else _document(wanted)
        kept: dict[tuple[str, str | None], _Entry] = {}
        for entry in entries:
            kept.setdefault(entry.hook[:2], entry)
        places = {hook[:2] for hook in wanted}
        stale = [
            one for one in entries if kept[one.hook[:2]] is not one or one.hook[:2] not in places
        ]
        text = json_edit.remove(text, _paths(root, stale), depth=_GROUPS)
        for hook in wanted:
            text = _with(text, hook)
    return text


def remove(text: str, *, where: str = "settings") -> str | None:
    """The text without kedge's hooks; None when there would be no file without them."""
    with _told(where):
        root = json_edit.parse(text)
        entries = _entries(text, root)
        if _is_made(text, entries):
            return None
        return json_edit.remove(text, _paths(root, entries), depth=_GROUPS)


def installed(text: str | None, *, where: str = "settings") -> list[Hook]:
    """Kedge's hooks in the text, in its order."""
    if text is None:
        return []
    with _told(where):
        return [entry.hook for entry in _entries(text, json_edit.parse(text))]


def setting(text: str, key: str, *, where: str = "settings") -> Any:
    """A text, number or word at the top of the settings; None where there is none."""
    with _told(where):
        return _value(text, json_edit.parse(text), key)


def read(path: Path, *, where: str) -> str | None:
    """A settings file as it is, line ends and all, or None when there is none."""
    data = files.read_bytes(path)
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1 if data else 1
        raise ConfigError(f"{where}:{line}: not UTF-8", hint="save the file as UTF-8") from error


@contextlib.contextmanager
def _told(where: str) -> Iterator[None]:
    try:
        yield
    except BadJson as error:
        raise ConfigError(f"{where}:{error.line}: {error.reason}", hint=_HINT) from error


def _check_shape(text: str, root: Node, events: Iterable[str]) -> None:
    """Refuse a text that the agent itself could not use, where kedge would add to it."""
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


def _entries(text: str, root: Node) -> list[_Entry]:
    """Kedge's hooks. What is not of the agents' shape is none of them."""
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
                command = _text(text, handler, "command")
                if command and is_ours(command) and _text(text, handler, "type") == "command":
                    hook = Hook(event.key or "", matcher, command, _seconds(text, handler))
                    found.append(_Entry(hook, (top, one, two), (top, one, two, three, four)))
    return found


def _paths(root: Node, entries: Sequence[_Entry]) -> Iterator[json_edit.Path]:
    """What to take out: the groups of kedge, and from one that has more in it just the hook."""
    count = Counter(entry.group for entry in entries)
    for entry in entries:
        group = json_edit.at_path(root, entry.group)
        inner = json_edit.at_path(root, entry.path[:-1])
        whole = count[entry.group] == len(inner.children)
        if whole and {child.key for child in group.children} <= {"matcher", "hooks"}:
            yield entry.group
        else:
            yield entry.path


def _with(text: str, hook: Hook) -> str:
    entries = _entries(text, json_edit.parse(text))
    mine = next((entry for entry in entries if entry.hook[:2] == hook[:2]), None)
    if mine is None:
        return json_edit.append(text, ("hooks", hook.event), _group(hook))
    for key, value in (("command", hook.command), ("timeout", hook.timeout)):
        handler = json_edit.at_path(json_edit.parse(text), mine.path)
        at = _last(handler, key)
        if at is None and value is not None:
            names = ("hooks", hook.event, mine.group[2], "hooks", mine.path[4])
            text = json_edit.insert(text, names, key, value)
        elif at is not None and value is None:
            text = json_edit.remove(text, [(*mine.path, at)])
        elif at is not None and json_edit.decoded(text, handler.children[at]) != value:
            text = json_edit.replace(text, handler.children[at], value)
    return text


def _group(hook: Hook) -> dict[str, Any]:
    handler: dict[str, Any] = {"type": "command", "command": hook.command}
    if hook.timeout is not None:
        handler["timeout"] = hook.timeout
    matcher = {} if hook.matcher is None else {"matcher": hook.matcher}
    return {**matcher, "hooks": [handler]}


def _document(hooks: Iterable[Hook]) -> str:
    """The file as kedge makes it where there is none."""
    events: dict[str, list[Any]] = {}
    for hook in hooks:
        events.setdefault(hook.event, []).append(_group(hook))
    return json_edit.document({"hooks": events})


def _is_document(text: str, hooks: Iterable[Hook]) -> bool:
    return text.replace("\r\n", "\n") == _document(hooks)  # git may have changed the line ends


def _is_made(text: str, entries: Sequence[_Entry]) -> bool:
    return bool(entries) and _is_document(text, (entry.hook for entry in entries))


def _last(node: Node, key: str) -> int | None:
    """Which member has the key; of several the last, as the agents read it."""
    if node.kind != "object":
        return None
    members = range(len(node.children) - 1, -1, -1)
    return next((index for index in members if node.children[index].key == key), None)


def _value(text: str, node: Node, key: str) -> Any:
    index = _last(node, key)
    return None if index is None else json_edit.decoded(text, node.children[index])


def _text(text: str, node: Node, key: str) -> str | None:
    value = _value(text, node, key)
    return value if isinstance(value, str) else None


def _seconds(text: str, node: Node) -> float | None:
    value = _value(text, node, "timeout")
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None

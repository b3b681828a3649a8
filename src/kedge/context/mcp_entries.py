"""Kedge's MCP server in the settings of clients that it has no hooks for."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from kedge.agents.settings import hooks, json_entry
from kedge.agents.settings.json_entry import JsonEntry
from kedge.context.git_files import is_ignored, is_tracked
from kedge.context.setup_plan import FileChange, SetupPlan
from kedge.host.project import Project

_PLACES = {
    "cursor": (".cursor/mcp.json", "mcpServers"),
    "vscode": (".vscode/mcp.json", "servers"),
    "zed": (".zed/settings.json", "context_servers"),
}
CLIENTS = tuple(_PLACES)


def plan_install(project: Project, names: Iterable[str], *, shared: bool = False) -> SetupPlan:
    """Plan the entries for these clients.

    In files that git tracks it is `kedge` on PATH; otherwise this kedge, and the file stays out of
    git.
    """
    plan = SetupPlan()
    for name in names:
        plan += _plan_client(project, name, shared=shared)
    return plan


def plan_refresh(project: Project) -> SetupPlan:
    """Plan to bring the entries up to date, where they were added."""
    plan = SetupPlan()
    for name in CLIENTS:
        entry = _make_entry(name, portable=False)
        text = _read(project, entry)
        if text is not None and json_entry.drop(text, entry) != text:
            shared = json_entry.add(text, _make_entry(name, portable=True)) == text
            plan += _plan_client(project, name, shared=shared)
    return plan


def plan_removal(project: Project) -> SetupPlan:
    """Plan to remove the entries."""
    plan = SetupPlan(unexclude=tuple(f"/{file}" for file, _ in _PLACES.values()))
    for name in CLIENTS:
        plan += plan_drop(project, _make_entry(name, portable=False))
    return plan


def plan_add(project: Project, entry: JsonEntry, *, in_git: bool) -> SetupPlan:
    """Plan one entry; the file stays out of git unless git tracks it."""
    text = _read(project, entry)
    after = json_entry.add(text, entry)
    exclude = () if in_git or is_ignored(project, entry.file) else (f"/{entry.file}",)
    if after == text:
        return SetupPlan(same=(entry.file,), exclude=exclude)
    before, what = None if text is None else text.encode(), "created" if text is None else "added"
    return SetupPlan((FileChange(entry.file, before, after.encode(), what),), exclude=exclude)


def plan_drop(project: Project, entry: JsonEntry) -> SetupPlan:
    """Plan to remove one entry."""
    text = _read(project, entry)
    left = None if text is None else json_entry.drop(text, entry)
    if text is None or left == text:
        return SetupPlan()
    after = None if left is None else left.encode()
    what = "removed" if left is None else "entry removed"
    return SetupPlan((FileChange(entry.file, text.encode(), after, what),))


def _plan_client(project: Project, name: str, *, shared: bool) -> SetupPlan:
    in_git = shared or is_tracked(project, _PLACES[name][0])
    return plan_add(project, _make_entry(name, portable=in_git), in_git=in_git)


def _make_entry(name: str, *, portable: bool) -> JsonEntry:
    command = ["kedge"] if portable else [sys.executable, "-P", "-m", "kedge"]
    value: dict[str, Any] = {"command": command[0], "args": [*command[1:], "mcp"]}
    if name == "vscode":
        value = {"type": "stdio", **value}
    file, above = _PLACES[name]
    return JsonEntry(file, (above,), "kedge", value, _is_ours)


def _is_ours(value: Any) -> bool:
    """True for an entry as any version of kedge writes it."""
    if not isinstance(value, dict) or not isinstance(value.get("args"), list):
        return False
    return value["args"][-1:] == ["mcp"] and (
        value.get("command") == "kedge" or value["args"][:-1] == ["-P", "-m", "kedge"]
    )


def _read(project: Project, entry: JsonEntry) -> str | None:
    return hooks.read_settings(project.path(*entry.file.split("/")), where=entry.file)

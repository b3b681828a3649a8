"""`kedge config`: show and change settings."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from kedge import config
from kedge.cli import approval
from kedge.cli.commands import Group
from kedge.cli.edge import Edge, Reply
from kedge.cli.plain import clean, table
from kedge.errors import BareRepository, ConfigError, NoRepository, UsageError
from kedge.host import files
from kedge.host.agent_session import is_user
from kedge.host.project import Project
from kedge.host.toml_edit import TomlEditError, set_value

_LOCK = (".kedge", "locks", "config.lock")


command = Group(help="Show and change settings.")


@command.command()
@click.argument("key", required=False)
def show(edge: Edge, key: str | None) -> Reply:
    """Show each setting with its value and its origin."""
    wanted = config.find_key(key).name if key else None
    loaded = config.load(_project(edge))
    rows = []
    for name, item in config.list_keys().items():
        if wanted not in (None, name):
            continue
        section, _, last = name.partition(".")
        origin, ignored = loaded.origins[name], loaded.ignored.get(name)
        rows.append(
            {
                "key": name,
                "value": getattr(getattr(loaded.settings, section), last),
                "origin": {"kind": origin.kind, "where": origin.where},
                "default": item.default,
                "choices": list(item.choices),
                "user_only": item.user_only,
                "ignored": ignored and asdict(ignored),
                "help": item.help,
            }
        )
    text = clean(_format(rows[0]["value"])) if wanted else lambda: _table(rows)
    return Reply(rows[0] if wanted else rows, text, loaded.warnings)


@command.command("set")
@click.argument("key")
@click.argument("value", required=False)
@click.option("--user", is_flag=True, help="Change the user's file instead of the project's.")
@click.option("--unset", is_flag=True, help="Remove the setting, so that its default applies.")
def set_(edge: Edge, key: str, value: str | None, user: bool, unset: bool) -> Reply:
    """Set KEY to VALUE in the project's file, or remove it."""
    item = config.find_key(key)
    if unset == (value is not None):
        raise UsageError("give either VALUE or --unset", hint="kedge config set --help")
    if item.user_only and not user and not unset:
        raise ConfigError(
            f"{key} can only be set in the user's file", hint=f"kedge config set --user {key} …"
        )
    if user and (item.runs or item.tighten_only or item.user_only) and not is_user(os.environ):
        raise ConfigError(
            f"an agent cannot change {key} for the user",
            hint=f"ask the user to run: kedge config set --user {key} …",
        )
    project = None if user else edge.project()
    path = config.project_file(project) if project else config.user_file()
    lock = project.path(*_LOCK) if project else path.parent.joinpath(*_LOCK[1:])
    parsed = None if value is None else config.parse_value(item, value, "the command line")
    parsed = list(parsed) if isinstance(parsed, tuple) else parsed
    _change(path, lock, item.name, parsed)
    if project is not None and parsed is not None:
        _approve(edge, project, item, parsed)
    return Reply({"key": item.name, "value": parsed, "file": str(path)})


def _approve(edge: Edge, project: Project, item: config.Key, value: Any) -> None:
    """Approve what the user typed: commands, or a setting that is weaker than the default."""
    if item.runs:
        approval.approve_typed(edge, project, value, item.name)
    if not item.tighten_only:
        return
    loaded = config.load(project)
    if is_user(os.environ) and loaded.weaker:
        from kedge.host.approvals import Approvals

        Approvals(project).approve([one for one in loaded.weaker if one.source == item.name])
        loaded = config.load(project)
    if item.name in loaded.ignored:
        edge.warn(f"{item.name} is ignored here: {loaded.ignored[item.name].why}")


@command.command()
@click.option("--user", "which", flag_value="user", help="Only the user's file.")
@click.option("--project", "which", flag_value="project", help="Only the project's file.")
def path(edge: Edge, which: str | None) -> Reply:
    """Print the paths of the settings files, the project's first."""
    paths: dict[str, str] = {}
    if which != "user":
        project = edge.project() if which == "project" else _project(edge)
        if project is not None:
            paths["project"] = str(config.project_file(project))
    if which != "project":
        paths["user"] = str(config.user_file())
    return Reply(paths, "\n".join(clean(path) for path in paths.values()))


def _project(edge: Edge) -> Project | None:
    try:
        return edge.project()
    except (NoRepository, BareRepository):
        return None


def _change(path: Path, lock: Path, key: str, value: Any) -> None:
    with files.lock(lock):
        before = config.read_text(path)
        config.parse_toml(path, before)
        section, _, name = key.partition(".")
        try:
            after = set_value(before, section, name, value)
        except TomlEditError:
            raise ConfigError(
                f"{path}: {key} cannot be changed without changing other lines",
                hint=f"edit the file by hand: [{section}] {name} = …",
            ) from None
        if after != before:
            files.write_atomic(path, after.encode())


def _table(rows: list[dict[str, Any]]) -> str:
    cells = []
    for row in rows:
        origin = row["origin"]
        where = f"{origin['kind']} ({origin['where']})" if origin["where"] else origin["kind"]
        if row["ignored"]:
            value = _format(row["ignored"]["value"])
            where += f"; the project's {value} is ignored: {row['ignored']['why']}"
        cells.append((row["key"], _format(row["value"]), where, row["help"]))
    return table(("setting", "value", "from", "what it is for"), cells)


def _format(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)

"""`kedge config`: what is set, where it comes from, and how to change it."""

from __future__ import annotations

from pathlib import Path

from kedge import config
from kedge.cli import syntax
from kedge.cli.edge import Edge, Reply
from kedge.cli.plain import clean, table
from kedge.errors import BareRepository, ConfigError, NoRepository, UsageError
from kedge.host import files
from kedge.host.project import Project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LOCK = (".kedge", "locks", "config.lock")


command = syntax.group("Show and change settings.")


@command.command("Show each setting with its value and where that comes from.")
@syntax.argument("key", required=False)
def show(here: Edge, key: str | None) -> Reply:
    wanted = config.find_key(key).name if key else None
    loaded = config.load(_project(here))
    rows = []
    for name, item in config.keys().items():
        if wanted not in (None, name):
            continue
        section, _, last = name.partition(".")
        origin = loaded.origins[name]
        rows.append(
            {
                "key": name,
                "value": getattr(getattr(loaded.settings, section), last),
                "origin": {"kind": origin.kind, "where": origin.where},
                "default": item.default,
                "choices": list(item.choices),
                "user_only": item.user_only,
                "help": item.help,
            }
        )
    text = clean(_shown(rows[0]["value"])) if wanted else lambda: _table(rows)
    return Reply(rows[0] if wanted else rows, text, loaded.warnings)


@command.command("Set KEY to VALUE in the project's file, or take it out.")
@syntax.argument("key")
@syntax.argument("value", required=False)
@syntax.option("--user", is_flag=True, help="Change the user's file instead of the project's.")
@syntax.option("--unset", is_flag=True, help="Take the setting out, so that the default counts.")
def set_(here: Edge, key: str, value: str | None, user: bool, unset: bool) -> Reply:
    item = config.find_key(key)
    if unset == (value is not None):
        raise UsageError("give a VALUE or --unset", hint="kedge config set --help")
    if item.user_only and not user and not unset:
        raise ConfigError(
            f"{key} may be set in the user's file only", hint=f"kedge config set --user {key} …"
        )
    project = None if user else here.project()
    path = config.project_file(project) if project else config.user_file()
    lock = project.path(*_LOCK) if project else path.parent.joinpath(*_LOCK[1:])
    wanted = None if value is None else config.from_text(item, value, "the command line")
    wanted = list(wanted) if isinstance(wanted, tuple) else wanted
    _change(path, lock, item.name, wanted)
    return Reply({"key": item.name, "value": wanted, "file": str(path)})


@command.command("Print the paths of the settings files, the project's first.")
@syntax.option("--user", "which", flag_value="user", help="Only the user's.")
@syntax.option("--project", "which", flag_value="project", help="Only the project's.")
def path(here: Edge, which: str | None) -> Reply:
    paths: dict[str, str] = {}
    if which != "user":
        project = here.project() if which == "project" else _project(here)
        if project is not None:
            paths["project"] = str(config.project_file(project))
    if which != "project":
        paths["user"] = str(config.user_file())
    return Reply(paths, "\n".join(clean(found) for found in paths.values()))


def _project(here: Edge) -> Project | None:
    try:
        return here.project()
    except (NoRepository, BareRepository):
        return None


def _change(path: Path, lock: Path, key: str, value: Any) -> None:
    from kedge.host.toml_edit import CannotEdit, with_value

    with files.lock(lock):
        before = config.read_text(path)
        config.parse(path, before)
        section, _, name = key.partition(".")
        try:
            after = with_value(before, section, name, value)
        except CannotEdit:
            raise ConfigError(
                f"{path}: {key} cannot be changed without touching other lines",
                hint=f"edit the file by hand: [{section}] {name} = …",
            ) from None
        if after != before:
            files.write_atomic(path, after.encode())


def _table(rows: list[dict[str, Any]]) -> str:
    cells = []
    for row in rows:
        origin = row["origin"]
        where = f"{origin['kind']} ({origin['where']})" if origin["where"] else origin["kind"]
        cells.append((row["key"], _shown(row["value"]), where))
    return table(("setting", "value", "from"), cells)


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)

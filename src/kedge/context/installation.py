"""What kedge has installed in a project: refresh it, and remove it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kedge.context import (
    agent_hooks,
    default_files,
    instruction_files,
    mapfile,
    mcp_entries,
    setup_plan,
)
from kedge.context.diff import make_patch
from kedge.context.setup_plan import FileChange, SetupPlan, apply, plan_own_files, plan_sections
from kedge.errors import FileError
from kedge.host import files
from kedge.host.project import Project
from kedge.settings import Settings

if TYPE_CHECKING:
    from kedge.repomap.progress import Tick


def is_full(project: Project) -> bool:
    """True if kedge's own files are installed, to which the sections may refer."""
    return project.own("constitution.md").exists()


def list_section_files(project: Project, also: Iterable[str] = ()) -> list[str]:
    """List the instruction files that have a section or get one."""
    wanted = [instruction_files.AGENTS, instruction_files.CLAUDE]
    for name, path in instruction_files.ON_REQUEST.items():
        if name in also or _has_section(project, path):
            wanted.append(path)
    return wanted


def require_setup(project: Project) -> None:
    """Raise FileError unless kedge is set up here."""
    if is_full(project) or any(_has_section(project, path) for path in list_section_files(project)):
        return
    raise FileError("kedge is not set up here", hint="kedge init")


def plan_refresh(project: Project, settings: Settings, *, repair: bool = False) -> SetupPlan:
    """Plan to bring everything that is installed up to date, except the map."""
    from kedge.context import plugin_files

    whole = is_full(project)
    limits = settings.drift.agent_limits
    paths = list_section_files(project)
    plan = plan_sections(project, paths, full=whole, limits=limits, repair=repair)
    if whole:
        plan += plan_own_files(project, map_in_git=settings.map.commit)
    plan += agent_hooks.plan_refresh(project) + mcp_entries.plan_refresh(project)
    return plan + plugin_files.plan_refresh(project)


def keeps_map(project: Project, settings: Settings) -> bool:
    """True if the project keeps a map: a fresh clone has none until someone asks for it."""
    return settings.map.commit or project.own(mapfile.FILE).exists()


def refresh_map(project: Project, settings: Settings, progress: Tick, *, write: bool) -> SetupPlan:
    """Refresh the map. Call it last: the map shows the other files that kedge writes."""
    from kedge.repomap.cache import Cache

    home = project.home() if write or project.home().exists() else None
    with contextlib.closing(Cache(home)) as cache:
        made = mapfile.make_map(project, settings, cache, progress)
    path, before = f".kedge/{mapfile.FILE}", files.read_bytes(project.own(mapfile.FILE))
    if mapfile.is_fresh(before, made.text):
        return SetupPlan(same=(path,))
    what = "created" if before is None else "refreshed"
    plan = SetupPlan(
        (FileChange(path, before, made.text.encode(), what),), notes=tuple(made.warnings)
    )
    if write:
        apply(project, plan)
    return plan


def show_default_changes(project: Project, names: Sequence[str]) -> SetupPlan:
    """Show how the defaults of edited files have changed, so that the user can take them or not."""
    notes = []
    for name in names:
        path, data = f".kedge/{name}", files.read_bytes(project.own(name))
        difference = make_patch(path, data, default_files.render_default(name))
        notes.append(
            f"the default of {path} has changed; kedge update --defaults keep keeps yours, "
            f"--defaults take takes this:\n{difference}"
        )
    return SetupPlan(notes=tuple(notes))


def plan_removal(project: Project) -> SetupPlan:
    """Plan to remove everything that is installed."""
    from kedge.context import plugin_files

    return (
        setup_plan.plan_removal(project)
        + agent_hooks.plan_removal(project)
        + mcp_entries.plan_removal(project)
        + plugin_files.plan_removal(project)
    )


def _has_section(project: Project, path: str) -> bool:
    where = project.path(*path.split("/"))
    try:
        return (
            where.is_file()
            and instruction_files.find_section(path, files.read_bytes(where)) is not None
        )
    except FileError:  # the error is reported when the section is written
        return True

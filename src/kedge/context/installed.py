"""What kedge has set up in a project, and what of it is to be refreshed."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Sequence

from kedge.context import defaults, hooking, mapfile, setup, targets
from kedge.context.diff import patch
from kedge.context.setup import Change, Plan, apply, own_files, sections
from kedge.errors import FileError
from kedge.host import files
from kedge.host.project import HOME_VARIABLE, Project
from kedge.repomap import shadow, unchanged
from kedge.settings import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kedge.repomap.progress import Tick

_TABLES = ("kedge.db", "kedge.db-wal", "kedge.db-shm")


def full(project: Project) -> bool:
    """Whether more than the sections was set up: what they may refer to."""
    return project.own("constitution.md").exists()


def paths(project: Project, also: Iterable[str] = ()) -> list[str]:
    """The files that have, or get, a section."""
    wanted = [targets.AGENTS, targets.CLAUDE]
    for name, path in targets.ON_REQUEST.items():
        if name in also or _has_section(project, path):
            wanted.append(path)
    return wanted


def require(project: Project) -> None:
    """Refuse to refresh what was never set up."""
    if full(project) or any(_has_section(project, path) for path in paths(project)):
        return
    raise FileError("kedge is not set up here", hint="kedge init")


def stale(project: Project, settings: Settings, *, repair: bool = False) -> Plan:
    """What was set up and is not as it should be, but for the map."""
    from kedge.context import plugin

    whole = full(project)
    plan = sections(project, paths(project), full=whole, repair=repair)
    if whole:
        plan += own_files(project, map_in_git=settings.map.commit)
    return plan + hooking.refreshed(project) + plugin.refreshed(project)


def keeps_map(project: Project, settings: Settings) -> bool:
    """Whether a map is to be kept fresh: a fresh clone has none until it is asked for."""
    return settings.map.commit or project.own(mapfile.FILE).exists()


def refreshed_map(project: Project, settings: Settings, progress: Tick, *, write: bool) -> Plan:
    """The map, made last: the other files that are written are part of what it shows."""
    from kedge.repomap.cache import Cache

    kept = project.home() if write or project.home().exists() else None
    with contextlib.closing(Cache(kept)) as cache:
        made = mapfile.make(project, settings, cache, progress)
    path, before = f".kedge/{mapfile.FILE}", files.read_bytes(project.own(mapfile.FILE))
    if mapfile.is_fresh(before, made.text):
        return Plan(same=(path,))
    what = "created" if before is None else "refreshed"
    plan = Plan((Change(path, before, made.text.encode(), what),), notes=tuple(made.warnings))
    if write:
        apply(project, plan)
    return plan


def offers(project: Project, names: Sequence[str]) -> Plan:
    """What has changed in defaults that the user edited, for them to take over or not."""
    notes = []
    for name in names:
        path, data = f".kedge/{name}", files.read_bytes(project.own(name))
        difference = patch(path, data, defaults.default(name))
        notes.append(
            f"the default of {path} has changed; kedge update --defaults keep keeps yours, "
            f"--defaults take takes this:\n{difference}"
        )
    return Plan(notes=tuple(notes))


def removal(project: Project) -> Plan:
    """All that was set up, out again."""
    from kedge.context import plugin

    return setup.removal(project) + hooking.removed(project) + plugin.removed(project)


def removed_home(project: Project) -> Plan:
    """Remove kedge's database and locks, unless other work trees share them."""
    with contextlib.suppress(OSError):
        shutil.rmtree(project.own("locks"))
        project.own().rmdir()
    _forget_tree(project)
    home = project.home()
    if not home.exists():
        return Plan()
    if os.environ.get(HOME_VARIABLE):
        return Plan(notes=(f"{home} is what {HOME_VARIABLE} names, and stays",))
    if project.repo is not None and (project.repo.common_dir / "worktrees").is_dir():
        return Plan(notes=(f"{home} is shared with other work trees, and stays",))
    for name in (*_TABLES, "drift.html"):
        (home / name).unlink(missing_ok=True)
    for name in ("hooks", "logs", "snapshots", "map", "runs"):
        shutil.rmtree(home / name, ignore_errors=True)
    with contextlib.suppress(OSError):
        home.rmdir()
    if (home / "backups").exists():
        return Plan(notes=(f"{home}/backups holds what you wrote, and stays",))
    return (
        Plan(notes=(f"{home} stays: it holds what kedge did not write",))
        if home.exists()
        else Plan()
    )


def _forget_tree(project: Project) -> None:
    """Remove what the map has noted of this work tree beside git's own index."""
    home = project.repo.git_dir / "kedge" if project.repo else project.home()
    if home.is_symlink():
        return
    for path in (home / unchanged.FILE, *home.glob(f"{shadow.COPY}*")):
        path.unlink(missing_ok=True)
    if project.repo is not None and project.repo.linked:
        with contextlib.suppress(OSError):
            home.rmdir()


def _has_section(project: Project, path: str) -> bool:
    where = project.path(*path.split("/"))
    try:
        return where.is_file() and targets.section(path, files.read_bytes(where)) is not None
    except FileError:  # what is wrong with it is said when it is written
        return True

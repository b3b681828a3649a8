"""The file changes of `init`, `update` and `uninstall`: planned as values, then applied.

The whole plan is made before anything is written, so that an impossible one is refused untouched.
Each file is replaced atomically; the next run completes an interrupted one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

from kedge.context import default_files, ignore_file, instruction_files
from kedge.context.managed_section import VERSION, ManagedSection
from kedge.context.mapfile import FILE as MAP
from kedge.errors import FileError
from kedge.host import clock, files, own_edits
from kedge.host.project import Project
from kedge.tasks.jsonl import MERGEABLE

IGNORED = ("context/", "home/")  # in `.kedge`, beside the map
_EXCLUDED = "# kedge: these name programs of this machine"


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file: its path from the root, its bytes before and after (None if there is no file)."""

    path: str
    before: bytes | None
    after: bytes | None
    what: str


@dataclass(frozen=True, slots=True)
class SetupPlan:
    """The changes, the files that need none, and notes for the user.

    `backups` are the user's bytes that the changes replace. `exclude` and `unexclude` are lines to
    add to and remove from `.git/info/exclude`. `outside` says what happens to things that are not
    files of the project, as pairs of a path and what is done.
    """

    changes: tuple[FileChange, ...] = ()
    same: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    backups: tuple[tuple[str, bytes], ...] = ()
    exclude: tuple[str, ...] = ()
    unexclude: tuple[str, ...] = ()
    outside: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()

    def __add__(self, other: SetupPlan) -> SetupPlan:
        pairs = ((getattr(self, one.name), getattr(other, one.name)) for one in fields(self))
        return SetupPlan(*(mine + theirs for mine, theirs in pairs))


def plan_sections(
    project: Project, paths: Iterable[str], *, full: bool, limits: bool, repair: bool = False
) -> SetupPlan:
    """Plan the managed sections of these files; `limits` as in `instruction_files`."""
    plan = SetupPlan()
    for path in paths:
        if path == instruction_files.CLAUDE and instruction_files.is_one_file(project):
            plan += SetupPlan(notes=("CLAUDE.md and AGENTS.md are one file: it gets one section",))
            continue
        plan += _plan_section(project, path, full=full, limits=limits, repair=repair)
    return plan


def _plan_section(
    project: Project, path: str, *, full: bool, limits: bool, repair: bool
) -> SetupPlan:
    data = instruction_files.read(project, path)
    if repair and data is not None:
        try:
            instruction_files.find_section(path, data)
        except FileError:
            after = instruction_files.repair_section(path, data, full=full, limits=limits)
            return SetupPlan((FileChange(path, data, after, "repaired"),), backups=((path, data),))
    after = instruction_files.put_section(path, data, full=full, limits=limits)
    if after == data:
        return SetupPlan(same=(path,))
    if data is None:
        return SetupPlan((FileChange(path, None, after, "created"),))
    old = instruction_files.find_section(path, data)
    if old is None:
        return SetupPlan((FileChange(path, data, after, "section added"),))
    return SetupPlan((FileChange(path, data, after, "section refreshed"),)) + _back_up_edits(
        path, old
    )


def _back_up_edits(path: str, section: ManagedSection) -> SetupPlan:
    """Back up a section that somebody edited, or that an older kedge wrote, and say so."""
    if section.version < VERSION:
        warning = (
            f"{path}: the section is of version {section.version}, older than {VERSION}; "
            "it is replaced, and its old text is in the backup"
        )
        return SetupPlan(warnings=(warning,), backups=((path, section.text),))
    if not section.edited:
        return SetupPlan()
    note = f"{path}: the section was edited by hand; its old text is in the backup"
    return SetupPlan(notes=(note,), backups=((path, section.text),))


def plan_own_files(project: Project, *, map_in_git: bool) -> SetupPlan:
    """Plan kedge's own files: create missing ones, refresh those nobody edited."""
    plan = plan_gitignore(project, map_in_git=map_in_git)
    for name in default_files.FILES:
        path, data = f".kedge/{name}", files.read_bytes(project.own(name))
        new = default_files.render_default(name)
        status = default_files.compare_with_default(name, data) if data is not None else None
        if data is None:
            plan += SetupPlan((FileChange(path, None, new, "created"),))
        elif status and status.behind and not status.edited:
            plan += SetupPlan((FileChange(path, data, new, "refreshed"),))
        else:
            plan += SetupPlan(same=(path,))
    return plan


def find_changed_defaults(project: Project) -> list[str]:
    """List the edited files whose default has changed since."""
    names = []
    for name in default_files.FILES:
        data = files.read_bytes(project.own(name))
        status = default_files.compare_with_default(name, data) if data is not None else None
        if status is not None and status.edited and status.behind:
            names.append(name)
    return names


def plan_changed_defaults(project: Project, names: Sequence[str], *, take: bool) -> SetupPlan:
    """Plan the user's answer: take the current default, or keep the user's text."""
    plan = SetupPlan()
    for name in names:
        path, data = f".kedge/{name}", files.read_bytes(project.own(name)) or b""
        after = default_files.render_default(name) if take else default_files.restamp(name, data)
        what = "replaced by the default" if take else "kept"
        backups = ((path, data),) if take else ()
        plan += SetupPlan((FileChange(path, data, after, what),), backups=backups)
    return plan


def plan_removal(project: Project) -> SetupPlan:
    """Plan to remove everything that kedge wrote. Files that the user edited stay, with a note."""
    plan = SetupPlan()
    for path in (
        instruction_files.AGENTS,
        instruction_files.CLAUDE,
        *instruction_files.ON_REQUEST.values(),
    ):
        if path == instruction_files.CLAUDE and instruction_files.is_one_file(project):
            continue
        plan += _plan_section_removal(project, path)
    for name in default_files.FILES:
        path, data = f".kedge/{name}", files.read_bytes(project.own(name))
        if data is not None and default_files.compare_with_default(name, data).edited:
            plan += SetupPlan(notes=(f"{path} was edited, and stays",))
        elif data is not None:
            plan += SetupPlan((FileChange(path, data, None, "removed"),))
    return plan + _plan_generated_removal(project)


def _plan_section_removal(project: Project, path: str) -> SetupPlan:
    where = project.path(*path.split("/"))
    if not where.is_file():
        return SetupPlan()
    data = files.read_bytes(where) or b""
    old = instruction_files.find_section(path, data)
    if old is None:
        return SetupPlan()
    instruction_files.read(project, path)  # refuses a file that may not be written
    after = instruction_files.drop_section(path, data)
    what = "removed" if after is None else "section removed"
    return SetupPlan((FileChange(path, data, after, what),)) + _back_up_edits(path, old)


def _plan_generated_removal(project: Project) -> SetupPlan:
    plan = SetupPlan()
    if (data := files.read_bytes(project.own(MAP))) is not None:
        plan += SetupPlan((FileChange(f".kedge/{MAP}", data, None, "removed"),))
    if (data := files.read_bytes(project.own(".gitignore"))) is not None:
        left = ignore_file.drop(data, [*IGNORED, MAP])
        what = "lines removed" if left else "removed"
        plan += SetupPlan((FileChange(".kedge/.gitignore", data, left or None, what),))
    kept = [name for name in ("tasks.jsonl", "ledger") if project.own(name).exists()]
    names = [
        *kept,
        *(name for name in ("context", "handoffs", "retros") if project.own(name).exists()),
    ]
    if names:
        listed = ", ".join(f".kedge/{name}" for name in names)
        plan += SetupPlan(notes=(f"your tasks and hand-over records stay: {listed}",))
    if kept:
        return plan
    if (data := files.read_bytes(project.own(".gitattributes"))) == MERGEABLE:
        plan += SetupPlan((FileChange(".kedge/.gitattributes", data, None, "removed"),))
    return plan


def plan_gitignore(project: Project, *, map_in_git: bool) -> SetupPlan:
    path, data = ".kedge/.gitignore", files.read_bytes(project.own(".gitignore"))
    wanted = [*IGNORED, *([] if map_in_git else [MAP])]
    after = ignore_file.add(ignore_file.drop(data or b"", [MAP] if map_in_git else []), wanted)
    if after == data:
        return SetupPlan(same=(path,))
    return SetupPlan((FileChange(path, data, after, "created" if data is None else "lines added"),))


def apply(project: Project, plan: SetupPlan) -> list[str]:
    """Write the plan's files and return the paths of the backups."""
    saved = _back_up(project, plan.backups)
    for change in plan.changes:
        path = project.path(*change.path.split("/"))
        if files.read_bytes(path) != change.before:
            raise FileError(
                f"{change.path} has changed since the plan was made; kedge did not touch it",
                hint="run the command again: it continues where this one stopped",
            )
        own_edits.note(project.root, [(path, change.before, change.after)])
        if change.after is None:
            path.unlink(missing_ok=True)
            _prune(project, change.path)
        else:
            files.replace_atomic(path, change.before, change.after)
    _update_exclude(project, plan)
    return saved


def _update_exclude(project: Project, plan: SetupPlan) -> None:
    if project.repo is None or not (plan.exclude or plan.unexclude):
        return
    path = project.repo.common_dir / "info" / "exclude"
    data = files.read_bytes(path)
    if plan.exclude:
        after = ignore_file.add(data, [_EXCLUDED, *plan.exclude])
    elif data is None or _EXCLUDED.encode() not in data:
        return
    else:
        after = ignore_file.drop_block(data, _EXCLUDED, plan.unexclude)
    if after != data:
        files.write_atomic(path, after)


def _back_up(project: Project, backups: Sequence[tuple[str, bytes]]) -> list[str]:
    saved = []
    for name, data in backups:
        stamp = re.sub(r"\W", "", clock.now())
        place = project.home() / "backups" / f"{stamp}-{name.replace('/', '_')}"
        files.write_atomic(place, data, mode=0o600)
        saved.append(str(place))
    return saved


def _prune(project: Project, path: str) -> None:
    """Remove the directories that a removed file leaves empty."""
    folder = project.root.joinpath(*path.split("/")).parent
    while folder != project.root:
        try:
            os.rmdir(folder)  # noqa: PTH106 - the one call that refuses a full directory
        except OSError:
            return
        folder = folder.parent

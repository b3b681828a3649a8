"""What `init`, `update` and `uninstall` would change, as values; and doing it, file by file.

A plan is made before anything is written, so that what cannot be done is refused as a whole. Each
file is replaced atomically; a run that was cut off is finished by the next one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kedge.context import defaults, ignore, targets
from kedge.context.managed import Section
from kedge.context.mapfile import FILE as MAP
from kedge.errors import FileError
from kedge.host import clock, files
from kedge.host.project import Project
from kedge.host.record import NamedTuple
from kedge.tasks.jsonl import MERGEABLE

IGNORED = ("context/", "home/")  # in `.kedge`, beside the map
_EXCLUDED = "# kedge: these name programs of this machine"


class Change(NamedTuple):
    """One file: its path from the root, its bytes before and after (None for no file)."""

    path: str
    before: bytes | None
    after: bytes | None
    what: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to change, what is as it should be, and what the user should know.

    `backups` are bytes of the user's that the changes replace. `exclude` are lines for git's own
    list of what to ignore in this clone, `unexclude` those to take out there.
    """

    changes: tuple[Change, ...] = ()
    same: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    backups: tuple[tuple[str, bytes], ...] = ()
    exclude: tuple[str, ...] = ()
    unexclude: tuple[str, ...] = ()

    def __add__(self, other: Plan) -> Plan:
        return Plan(
            self.changes + other.changes,
            self.same + other.same,
            self.notes + other.notes,
            self.backups + other.backups,
            self.exclude + other.exclude,
            self.unexclude + other.unexclude,
        )


def sections(project: Project, paths: Iterable[str], *, full: bool, repair: bool = False) -> Plan:
    """The managed sections of these files, as they should be."""
    plan = Plan()
    for path in paths:
        if path == targets.CLAUDE and targets.is_one_file(project):
            plan += Plan(notes=("CLAUDE.md and AGENTS.md are one file: it gets one section",))
            continue
        plan += _section(project, path, full=full, repair=repair)
    return plan


def _section(project: Project, path: str, *, full: bool, repair: bool) -> Plan:
    data = targets.read(project, path)
    if repair and data is not None:
        try:
            targets.section(path, data)
        except FileError:
            after = targets.repaired(path, data, full=full)
            return Plan((Change(path, data, after, "repaired"),), backups=((path, data),))
    after = targets.with_section(path, data, full=full)
    if after == data:
        return Plan(same=(path,))
    if data is None:
        return Plan((Change(path, None, after, "created"),))
    old = targets.section(path, data)
    if old is None:
        return Plan((Change(path, data, after, "section added"),))
    return Plan((Change(path, data, after, "section refreshed"),)) + _edits(path, old)


def _edits(path: str, section: Section) -> Plan:
    """What somebody wrote into the section that is replaced."""
    if not section.edited:
        return Plan()
    note = f"{path}: somebody edited the section; what it said is in the backup"
    return Plan(notes=(note,), backups=((path, section.text),))


def own_files(project: Project, *, map_in_git: bool) -> Plan:
    """kedge's own files, where they are missing or nobody edited them."""
    plan = gitignore(project, map_in_git=map_in_git)
    for name in defaults.FILES:
        path, data = f".kedge/{name}", files.read_bytes(project.own(name))
        new = defaults.default(name)
        state = defaults.state(name, data) if data is not None else None
        if data is None:
            plan += Plan((Change(path, None, new, "created"),))
        elif state and state.behind and not state.edited:
            plan += Plan((Change(path, data, new, "refreshed"),))
        else:
            plan += Plan(same=(path,))
    return plan


def offered(project: Project) -> list[str]:
    """The files whose default has changed since the user edited them."""
    found = []
    for name in defaults.FILES:
        data = files.read_bytes(project.own(name))
        if data is not None and all(defaults.state(name, data)):
            found.append(name)
    return found


def decided(project: Project, names: Sequence[str], *, take: bool) -> Plan:
    """The answer to an offer: the default of today, or the user's text with it as seen."""
    plan = Plan()
    for name in names:
        path, data = f".kedge/{name}", files.read_bytes(project.own(name)) or b""
        after = defaults.default(name) if take else defaults.restamped(name, data)
        what = "replaced by the default" if take else "kept"
        kept = ((path, data),) if take else ()
        plan += Plan((Change(path, data, after, what),), backups=kept)
    return plan


def removal(project: Project) -> Plan:
    """Everything that kedge wrote, out again. What somebody else wrote stays, and is named."""
    plan = Plan()
    for path in (targets.AGENTS, targets.CLAUDE, *targets.ON_REQUEST.values()):
        if path == targets.CLAUDE and targets.is_one_file(project):
            continue
        plan += _unsection(project, path)
    for name in defaults.FILES:
        path, data = f".kedge/{name}", files.read_bytes(project.own(name))
        if data is not None and defaults.state(name, data).edited:
            plan += Plan(notes=(f"{path} was edited, and stays",))
        elif data is not None:
            plan += Plan((Change(path, data, None, "removed"),))
    return plan + _generated(project)


def _unsection(project: Project, path: str) -> Plan:
    where = project.path(*path.split("/"))
    if not where.is_file():
        return Plan()
    data = files.read_bytes(where) or b""
    old = targets.section(path, data)
    if old is None:
        return Plan()
    targets.read(project, path)  # refuses what may not be written
    after = targets.without_section(path, data)
    what = "removed" if after is None else "section removed"
    return Plan((Change(path, data, after, what),)) + _edits(path, old)


def _generated(project: Project) -> Plan:
    plan = Plan()
    if (data := files.read_bytes(project.own(MAP))) is not None:
        plan += Plan((Change(f".kedge/{MAP}", data, None, "removed"),))
    if (data := files.read_bytes(project.own(".gitignore"))) is not None:
        left = ignore.drop(data, [*IGNORED, MAP])
        what = "lines removed" if left else "removed"
        plan += Plan((Change(".kedge/.gitignore", data, left or None, what),))
    kept = [name for name in ("tasks.jsonl", "ledger") if project.own(name).exists()]
    names = [
        *kept,
        *(name for name in ("context", "handoffs", "retros") if project.own(name).exists()),
    ]
    if names:
        shown = ", ".join(f".kedge/{name}" for name in names)
        plan += Plan(notes=(f"your tasks and what was handed over stay: {shown}",))
    if kept:
        return plan
    if (data := files.read_bytes(project.own(".gitattributes"))) == MERGEABLE:
        plan += Plan((Change(".kedge/.gitattributes", data, None, "removed"),))
    return plan


def gitignore(project: Project, *, map_in_git: bool) -> Plan:
    path, data = ".kedge/.gitignore", files.read_bytes(project.own(".gitignore"))
    wanted = [*IGNORED, *([] if map_in_git else [MAP])]
    after = ignore.add(ignore.drop(data or b"", [MAP] if map_in_git else []), wanted)
    if after == data:
        return Plan(same=(path,))
    return Plan((Change(path, data, after, "created" if data is None else "lines added"),))


def apply(project: Project, plan: Plan) -> list[str]:
    """Write the plan's files; the paths of the backups that were made."""
    saved = _back_up(project, plan.backups)
    for change in plan.changes:
        path = project.path(*change.path.split("/"))
        if files.read_bytes(path) != change.before:
            raise FileError(
                f"{change.path} was changed meanwhile, and stays as it is",
                hint="run it again; what was written before is done",
            )
        if change.after is None:
            path.unlink(missing_ok=True)
            _prune(project, change.path)
        else:
            files.write_atomic(path, change.after)
    _exclude(project, plan)
    return saved


def _exclude(project: Project, plan: Plan) -> None:
    if project.repo is None or not (plan.exclude or plan.unexclude):
        return
    path = project.repo.common_dir / "info" / "exclude"
    data = files.read_bytes(path)
    if plan.exclude:
        after = ignore.add(data, [_EXCLUDED, *plan.exclude])
    elif data is None or _EXCLUDED.encode() not in data:
        return
    else:
        after = ignore.drop_block(data, _EXCLUDED, plan.unexclude)
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
            os.rmdir(folder)  # noqa: PTH106 - as the one call that refuses a full directory
        except OSError:
            return
        folder = folder.parent

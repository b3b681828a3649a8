"""Gathering what a context freezes: the task, the standards that hold, how it is validated, where.

Every field says where it came from, and every source is listed with its hash: a source that
changes makes the context stale.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kedge.errors import HandoffRefused, KedgeError
from kedge.handoff import citations, scopes
from kedge.handoff.normalise import (
    SERIALIZER,
    SERIALIZER_VERSION,
    VERSION,
    canonical,
    normalised,
    sealed,
    sha256,
)
from kedge.host import files
from kedge.host.project import Project
from kedge.host.record import NamedTuple
from kedge.model.task import Task
from kedge.settings import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

LARGE = 2048  # bytes of a field, above which it is said
_CHECKED = ("test", "lint", "typecheck")
# What of a task changes while it is worked on.
_VOLATILE = frozenset(
    (
        *("status", "assignee", "blocked", "close_reason", "created_at", "updated_at"),
        *("started_at", "closed_at"),
    )
)


class Gathered(NamedTuple):
    """The immutable block, where its fields came from, the sources' hashes, and warnings."""

    immutable: dict[str, Any]
    origins: tuple[tuple[str, str], ...]
    sources: dict[str, str]
    warnings: tuple[str, ...]


Commands: TypeAlias = "Callable[[], Sequence[Mapping[str, Any]]]"


def gather(
    project: Project, settings: Settings, task: Task, commands: Commands, *, brief: bool = False
) -> Gathered:
    """`commands` gives those that the project's own configuration names, when they are needed.

    With `brief` a title may be all that says what is asked.
    """
    cited = citations.cited(project, task.area, task.priority, _overrides(task))
    paths = scopes.expanded(project, [*task.scope_in, *(f"!{one}" for one in task.scope_out)])
    _refuse_gaps(settings, task, cited, brief)
    run, found_in = _commands(settings, task, commands)
    warnings = [f"a citation leads nowhere: {one}" for one in cited.missing]
    warnings += [f"the scope names {one}, which is no macro that is known" for one in paths.unknown]
    warnings += [f"{one!r} in the scope is no path, and matches none" for one in paths.prose]
    immutable: dict[str, Any] = {
        "task_snapshot": snapshot(task),
        "standards_citations": [one._asdict() for one in cited.items],
        "validation_baseline": {"commands": run},
        "repo_paths": list(paths.paths),
    }
    warnings += _large(immutable["task_snapshot"], task)
    read = {name: _file_sha(project, name) for name in (*cited.sources, *paths.sources)}
    immutable["sources"] = read
    sources = {f"task {task.id}": task_sha(task), **read}
    origins = (
        ("task_snapshot", f"task {task.id}"),
        ("standards_citations", ", ".join(cited.sources) or "none"),
        ("validation_baseline.commands", found_in),
        ("repo_paths", ", ".join([f"scope of {task.id}", *paths.sources])),
    )
    return Gathered(sealed(immutable), origins, dict(sorted(sources.items())), tuple(warnings))


def snapshot(task: Task) -> dict[str, Any]:
    """The task as it is frozen: verbatim, but for line endings and spaces at the ends of lines."""
    return {
        "title": task.title,
        "type": task.type,
        "priority": task.priority,
        "area": task.area,
        "description": normalised(task.description),
        "scope_in": list(task.scope_in),
        "scope_out": list(task.scope_out),
        "acceptance_criteria": [normalised(one).rstrip("\n") for one in task.acceptance],
        "labels": list(task.labels),
        "depends_on": list(task.depends_on),
        "epic": task.epic,
    }


def task_sha(task: Task) -> str:
    """Another one when what the task asks for has changed, and not when its state has."""
    stable = {name: value for name, value in task.data().items() if name not in _VOLATILE}
    return sha256(canonical(stable))


def manifest(gathered: Gathered, derived: Mapping[str, str]) -> dict[str, Any]:
    return {
        "serializer": SERIALIZER,
        "serializer_version": SERIALIZER_VERSION,
        "normaliser_version": VERSION,
        "sources": [{"name": name, "sha256": sha} for name, sha in gathered.sources.items()],
        "derived": [{"file": name, "seal": seal} for name, seal in sorted(derived.items())],
    }


def stale(project: Project, task: Task | None, immutable: Mapping[str, Any], sha: str) -> list[str]:
    """Why the context is no longer what its sources say; empty while it is."""
    if task is None:
        return ["its task is gone"]
    reasons = [] if task_sha(task) == sha else ["the task has changed"]
    for name, known in immutable.get("sources", {}).items():
        if _file_sha(project, name) != known:
            reasons.append(f"{name} has changed")
    held = [citations.Citation(**one) for one in immutable.get("standards_citations", ())]
    reasons += [f"{one.file}#{one.section}: {one.why}" for one in citations.check(project, held)]
    return reasons


def _refuse_gaps(settings: Settings, task: Task, cited: citations.Citations, brief: bool) -> None:
    gaps = []
    if not task.description.strip() and not brief:
        gaps.append("a description")
        if not task.acceptance:
            gaps.append("acceptance criteria")
    if settings.context.require_citations and not cited.items:
        gaps.append("citations (context.require_citations is set)")
    if gaps:
        raise HandoffRefused(
            f"{task.id} lacks {', '.join(gaps)}",
            hint=f"kedge task update {task.id} --description TEXT",
            data={"missing": gaps},
        )


def _commands(settings: Settings, task: Task, commands: Commands) -> tuple[list[str], str]:
    """What validates the task: its own checks, else the setting, else the project's own."""
    if task.checks:
        return list(task.checks), f"checks of {task.id}"
    if settings.context.commands:
        return list(settings.context.commands), "context.commands"
    try:
        found = [one for one in commands() if one["kind"] in _CHECKED]
    except KedgeError:
        return [], "none: the project's own could not be read"
    where = ", ".join(dict.fromkeys(str(one["source"]) for one in found))
    return [str(one["command"]) for one in found], where or "none"


def _overrides(task: Task) -> tuple[object, ...]:
    named = task.extra.get("standards", ())
    return tuple(named) if isinstance(named, list) else ()


def _large(fields: Mapping[str, Any], task: Task) -> list[str]:
    found = []
    for name, value in fields.items():
        size = len(value.encode()) if isinstance(value, str) else len(canonical(value))
        if size > LARGE:
            found.append(f"{name} has {size} bytes; kedge task show {task.id} is its source")
    return found


def _file_sha(project: Project, name: str) -> str:
    return sha256(files.read_bytes(project.path(*name.split("/"))) or b"")

"""The immutable block of a context: the task, its standards, its validation commands, its paths.

Every field has an origin, and every source is listed with its hash: a source that changes makes the
context stale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from kedge.errors import HandoffRefused, KedgeError
from kedge.handoff.canonical_form import (
    SERIALIZER,
    SERIALIZER_VERSION,
    VERSION,
    encode_canonical,
    normalise_text,
    seal,
    sha256,
)
from kedge.handoff.scope import scopes
from kedge.handoff.standards import citations
from kedge.host import files
from kedge.host.project import Project
from kedge.host.text import count_noun
from kedge.model.task import Task
from kedge.settings import Settings

LARGE = 2048  # bytes; a larger field gets a warning
_CHECKED = ("test", "lint", "typecheck")
# Fields of a task that change while someone works on it.
_VOLATILE = frozenset(
    (
        *("status", "assignee", "blocked", "close_reason", "created_at", "updated_at"),
        *("started_at", "closed_at"),
        "labels",  # they sort tasks; the watch adds one to the task of a session that strayed
    )
)


@dataclass(frozen=True, slots=True)
class ImmutableBlock:
    """The sealed fields, their origins, the hashes of the sources, and warnings."""

    fields: dict[str, Any]
    origins: tuple[tuple[str, str], ...]
    sources: dict[str, str]
    warnings: tuple[str, ...]


Commands: TypeAlias = Callable[[], Sequence[Mapping[str, Any]]]


def build_block(
    project: Project, settings: Settings, task: Task, commands: Commands, *, brief: bool = False
) -> ImmutableBlock:
    """Build the block. `commands` returns the project's own commands; it is called if needed.

    With `brief` the task may have a title and nothing else.
    """
    cited = citations.find_citations(project, task.area, task.priority, _overrides(task))
    paths = scopes.expand(project, [*task.scope_in, *(f"!{one}" for one in task.scope_out)])
    _refuse_gaps(settings, task, cited, brief)
    named, why_none = choose_commands(settings, task, commands)
    warnings = [f"a citation cannot be resolved: {one}" for one in cited.missing]
    warnings += [f"the scope names {one}, which is not a known macro" for one in paths.unknown]
    warnings += [f"{one!r} in the scope is not a path and matches nothing" for one in paths.prose]
    fields: dict[str, Any] = {
        "task_snapshot": freeze_task(task),
        "standards_citations": [asdict(one) for one in cited.items],
        "validation_baseline": {"commands": [one for one, _ in named]},
        "repo_paths": list(paths.paths),
    }
    warnings += _find_large(fields["task_snapshot"], task)
    read = {name: _file_sha(project, name) for name in (*cited.sources, *paths.sources)}
    fields["sources"] = read
    standards = {f"{one.file}#{one.section}": one.content_sha for one in cited.items}
    sources = {f"task {task.id}": hash_task(task), **read, **standards}
    files_cited = dict.fromkeys([*cited.sources, *(one.file for one in cited.items)])
    origins = (
        ("task_snapshot", f"task {task.id}"),
        ("standards_citations", _count_citations(cited, files_cited)),
        (
            "validation_baseline.commands",
            ", ".join(dict.fromkeys(at for _, at in named)) or why_none,
        ),
        ("repo_paths", ", ".join([f"scope of {task.id}", *paths.sources])),
    )
    return ImmutableBlock(seal(fields), origins, dict(sorted(sources.items())), tuple(warnings))


def freeze_task(task: Task) -> dict[str, Any]:
    """Return the task to freeze: verbatim except for line endings and trailing spaces."""
    return {
        "title": task.title,
        "type": task.type,
        "priority": task.priority,
        "area": task.area,
        "description": normalise_text(task.description),
        "scope_in": list(task.scope_in),
        "scope_out": list(task.scope_out),
        "acceptance_criteria": [normalise_text(one).rstrip("\n") for one in task.acceptance],
        "labels": list(task.labels),
        "depends_on": list(task.depends_on),
        "epic": task.epic,
    }


def hash_task(task: Task) -> str:
    """Return a hash that changes with what the task asks for, and not with its status."""
    stable = {name: value for name, value in task.data().items() if name not in _VOLATILE}
    return sha256(encode_canonical(stable))


def make_manifest(block: ImmutableBlock, derived: Mapping[str, str]) -> dict[str, Any]:
    return {
        "serializer": SERIALIZER,
        "serializer_version": SERIALIZER_VERSION,
        "normaliser_version": VERSION,
        "sources": [{"name": name, "sha256": sha} for name, sha in block.sources.items()],
        "derived": [{"file": name, "seal": value} for name, value in sorted(derived.items())],
    }


def find_stale_sources(
    project: Project, task: Task | None, immutable: Mapping[str, Any], sha: str
) -> list[str]:
    """List why the context is stale; empty while its sources are unchanged."""
    if task is None:
        return ["its task is gone"]
    reasons = [] if hash_task(task) == sha else ["the task has changed"]
    for name, known in immutable.get("sources", {}).items():
        if _file_sha(project, name) != known:
            reasons.append(f"{name} has changed")
    held = [citations.Citation(**one) for one in immutable.get("standards_citations", ())]
    reasons += [
        f"{one.file}#{one.section}: {one.why}" for one in citations.find_stale(project, held)
    ]
    return reasons


def _count_citations(cited: citations.Citations, sources: Iterable[str]) -> str:
    if not cited.items:
        return "none"
    return f"{count_noun(len(cited.items), 'section')}: {', '.join(sources)}"


def _refuse_gaps(settings: Settings, task: Task, cited: citations.Citations, brief: bool) -> None:
    gaps = []
    if not (task.description.strip() or task.acceptance or brief):
        gaps.append("a description or acceptance criteria")
    if settings.context.require_citations and not cited.items:
        gaps.append("citations (context.require_citations is set)")
    if gaps:
        raise HandoffRefused(
            f"{task.id} lacks {', '.join(gaps)}",
            hint=f"kedge task update {task.id} --description TEXT, or --accept CRITERION",
            data={"missing": gaps},
        )


def choose_commands(
    settings: Settings, task: Task, commands: Commands
) -> tuple[list[tuple[str, str]], str]:
    """Return the commands that validate the task, each with its origin; and why there is none.

    They are its own checks, or those of the settings, or those the project's configuration names.
    """
    if task.checks:
        return [(one, f"task {task.id}") for one in task.checks], ""
    if settings.context.commands:
        return [(one, "context.commands") for one in settings.context.commands], ""
    try:
        detected = [one for one in commands() if one["kind"] in _CHECKED]
    except KedgeError:
        return [], "none: the project's own commands cannot be read"
    return [(str(one["command"]), str(one["source"])) for one in detected], "none"


def _overrides(task: Task) -> tuple[object, ...]:
    named = task.extra.get("standards", ())
    return tuple(named) if isinstance(named, list) else ()


def _find_large(fields: Mapping[str, Any], task: Task) -> list[str]:
    warnings = []
    for name, value in fields.items():
        size = len(value.encode()) if isinstance(value, str) else len(encode_canonical(value))
        if size > LARGE:
            warnings.append(f"{name} has {size} bytes; kedge task show {task.id} is its source")
    return warnings


def _file_sha(project: Project, name: str) -> str:
    return sha256(files.read_bytes(project.path(*name.split("/"))) or b"")

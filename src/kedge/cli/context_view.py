"""Text output of `kedge context`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kedge.cli.plain import clean
from kedge.context.diff import make_patch
from kedge.handoff.canonical_form import encode_canonical
from kedge.handoff.task_context import TaskContext
from kedge.host.project import Project
from kedge.host.secrets import name_branch
from kedge.host.text import count_noun


def describe_frozen(context: TaskContext) -> str:
    """Return one line that says what was frozen."""
    task = context.immutable["task_snapshot"]
    count = len(task["acceptance_criteria"])
    criteria = count_noun(count, "criterion", "criteria")
    scope = ", ".join(context.immutable["repo_paths"]) or "everything"
    checks = ", ".join(context.immutable["validation_baseline"]["commands"]) or "none"
    base = str(context.git.get("head") or "no commit")[:10]
    return clean(
        f"{context.task_id} is frozen at {base}: {criteria}; scope: {scope}; checks: {checks}\n"
    )


def describe_context(context: TaskContext) -> str:
    task = context.immutable["task_snapshot"]
    lines = [f"{context.task_id}  {task['title']}  (revision {context.revision})", ""]
    lines.append(f"base: {context.git.get('head') or 'no commit'}, by {context.created_by}")
    for name, agent in sorted(context.coordination.items()):
        line = f"{name}: {agent.status.replace('_', ' ')}"
        if agent.snapshot:
            kept = agent.snapshot
            line += f", {count_noun(kept.files, 'file')} +{kept.added} -{kept.deleted}"
            line += f", tree {kept.tree[:10]}"
            line += f", {kept.at} by {kept.actor}"
        lines.append(line)
        lines += [f"  finding {one.id}: {one.text}" for one in agent.blocking]
    for event in context.drift:
        line = f"drift {event.id} since {event.expected}: {event.what}, {event.state}"
        lines.append(f"{line}: {event.note}" if event.note else line)
        lines += [f"  {row['change']:8} {row['path']}" for row in event.paths[:20]]
    lines += [f"check: {describe_check(one)}" for one in context.checks]
    lines += [f"evidence: {one['id']} {one['path']} {one['line_span']}" for one in context.evidence]
    return clean("\n".join(lines))


def describe_moved_head(context: TaskContext, project: Project) -> str | None:
    """Return where HEAD is, if that is not where it was when the context was made."""
    repo = project.repo
    head = repo.head() if repo is not None else None
    branch = name_branch(repo.branch()) if repo is not None else None
    before = context.git.get("head"), context.git.get("branch")
    if (head, branch) == before:
        return None
    return (
        f"HEAD has moved since the context was made: {_describe_head(*before)} "
        f"is now {_describe_head(head, branch)}"
    )


def _describe_head(commit: str | None, branch: str | None) -> str:
    shown = (commit or "no commit")[:12]
    return f"{shown} on {branch}" if branch else f"{shown} (detached)"


def describe_check(check: Mapping[str, Any]) -> str:
    """Return one line with a check's result and its comparison with the first run.

    Only a run on the unchanged tree shows how things were before: the baseline.
    """
    first = "baseline" if check.get("unchanged", True) else "first run, on the changed tree"
    baseline = f", {first}" if check.get("baseline") else ""
    comparison = check.get("compared", {}).get("text", "")
    line = f"{check['text']}; by {check['agent']}{baseline}"
    return clean(f"{line}; {comparison}" if comparison else line)


def diff_immutable(before: dict[str, Any], after: dict[str, Any]) -> str:
    """Return what a rebuild changed, as a patch; empty if nothing changed."""
    return make_patch("immutable.json", encode_canonical(before), encode_canonical(after))

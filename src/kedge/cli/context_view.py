"""How contexts look to people."""

from __future__ import annotations

from collections.abc import Mapping

from kedge.cli.plain import clean
from kedge.context.diff import patch
from kedge.handoff.context import Context
from kedge.handoff.normalise import canonical

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def frozen(context: Context) -> str:
    """What was just frozen, in a line."""
    task = context.immutable["task_snapshot"]
    count = len(task["acceptance_criteria"])
    criteria = "1 criterion" if count == 1 else f"{count} criteria"
    scope = ", ".join(context.immutable["repo_paths"]) or "everything"
    checks = ", ".join(context.immutable["validation_baseline"]["commands"]) or "none"
    base = str(context.git.get("head") or "no commit")[:10]
    return clean(
        f"{context.task_id} is frozen at {base}: {criteria}; scope: {scope}; checks: {checks}\n"
    )


def sheet(context: Context) -> str:
    task = context.immutable["task_snapshot"]
    lines = [f"{context.task_id}  {task['title']}  (revision {context.revision})", ""]
    lines.append(f"base: {context.git.get('head') or 'no commit'}, by {context.created_by}")
    for name, agent in sorted(context.coordination.items()):
        line = f"{name}: {agent.status.replace('_', ' ')}"
        if agent.snapshot:
            kept = agent.snapshot
            line += f", {kept.files} files +{kept.added} -{kept.deleted}, tree {kept.tree[:10]}"
            line += f", {kept.at} by {kept.actor}"
        lines.append(line)
        lines += [f"  finding {one.id}: {one.text}" for one in agent.blocking]
    for event in context.drift:
        told = f"drift {event.id} since {event.expected}: {event.what}, {event.state}"
        lines.append(f"{told}: {event.note}" if event.note else told)
        lines += [f"  {row['change']:8} {row['path']}" for row in event.paths[:20]]
    lines += [f"check: {_check(one)}" for one in context.checks]
    lines += [f"evidence: {one['id']} {one['path']} {one['line_span']}" for one in context.evidence]
    return clean("\n".join(lines))


def recorded(made: Mapping[str, Any]) -> str:
    return clean(_check(made))


def difference(before: dict[str, Any], after: dict[str, Any]) -> str:
    """What a rebuild changed, as a patch; empty when nothing."""
    return patch("immutable.json", canonical(before), canonical(after))


def _check(one: Any) -> str:
    base = ", baseline" if one.get("baseline") else ""
    compared = one.get("compared", {}).get("text", "")
    line = f"{one['text']}; by {one['agent']}{base}"
    return f"{line}; {compared}" if compared else line

"""The part of a context that a role needs, as data and as text for any agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kedge.handoff.task_context import SnapshotRecord, TaskContext
from kedge.handoff.transitions import find_role
from kedge.host import tokens
from kedge.host.text import clean, count_noun

_NEEDS = {
    "implementer": ("task", "standards", "validation", "paths", "findings"),
    "reviewer": (
        *("task", "standards", "paths", "handed_over", "drift", "checks", "evidence", "findings"),
        "lessons",
    ),
    "validator": ("task", "validation", "handed_over", "drift", "checks", "findings"),
}


def has_part(name: str, part: str) -> bool:
    """True if an agent of that name gets that part."""
    return part in _NEEDS.get(find_role(name), _NEEDS["reviewer"])


def make_view(
    context: TaskContext, name: str, lessons: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """Return what an agent of that name gets, with the lessons passed in."""
    role = find_role(name)
    wanted = _NEEDS.get(role, _NEEDS["reviewer"])
    whole = {
        "task": dict(context.immutable["task_snapshot"]),
        "standards": list(context.immutable["standards_citations"]),
        "validation": list(context.immutable["validation_baseline"]["commands"]),
        "paths": list(context.immutable["repo_paths"]),
        "handed_over": [
            {"agent": other, **_snapshot(record)}
            for other, record in context.snapshots
            if other != name
        ],
        "drift": [
            {"since": one.expected, "state": one.state, "note": one.note, "paths": len(one.paths)}
            for one in context.drift
        ],
        "checks": [_check(one) for one in context.checks],
        "evidence": [dict(one) for one in context.evidence],
        "findings": [
            {"agent": other, "id": one.id, "text": one.text}
            for other, agent in sorted(context.coordination.items())
            for one in agent.blocking
        ],
        "lessons": [dict(one) for one in lessons],
    }
    head: dict[str, Any] = {"task_id": context.task_id, "role": role, "revision": context.revision}
    return head | {key: whole[key] for key in wanted if whole[key] or key == "task"}


def render_markdown(view: dict[str, Any]) -> str:
    """Render the view as text that can be pasted into any agent."""
    task = view["task"]
    rows = [f"# {view['task_id']}: {task['title']}", ""]
    rows += [f"For the {view['role']}. {task['type']}, {task['priority']}."]
    if task["description"]:
        rows += ["", "## Request", "", task["description"].rstrip("\n")]
    rows += _items("Acceptance criteria", [f"[ ] {one}" for one in task["acceptance_criteria"]])
    paths = view.get("paths", ())
    ruled_out = [*task["scope_out"], *(one[1:] for one in paths if one.startswith("!"))]
    rows += _items("Only change", [one for one in paths if not one.startswith("!")])
    rows += _items("Do not change", list(dict.fromkeys(ruled_out)))
    rows += _items("Standards", [_citation(one) for one in view.get("standards", ())])
    rows += _items("Validate with", [f"`{one}`" for one in view.get("validation", ())])
    rows += _items("Handed over", [_snapshot_line(one) for one in view.get("handed_over", ())])
    rows += _items("Drift", [_drift_line(one) for one in view.get("drift", ())])
    rows += _items("Checks so far", [one["text"] for one in view.get("checks", ())])
    rows += _items(
        "Evidence",
        [
            f"{one['id']}: {one['path']} {one['line_span']}".rstrip()
            for one in view.get("evidence", ())
        ],
    )
    open_ = [f"{one['agent']}, {one['id']}: {one['text']}" for one in view.get("findings", ())]
    rows += _items("Open findings", open_)
    lessons = [one["text"] for one in view.get("lessons", ())]
    rows += ["", "## Lessons", "", *lessons] if lessons else []
    return clean("\n".join(rows)) + "\n"


def add_text(view: dict[str, Any]) -> dict[str, Any]:
    """Add the text and its number of tokens to the view."""
    text = render_markdown(view)
    return {**view, "text": text, "tokens": tokens.count(text)}


def _items(title: str, items: Any) -> list[str]:
    return ["", f"## {title}", "", *(f"- {one}" for one in items)] if items else []


def _citation(one: dict[str, Any]) -> str:
    return f"{one['file']} {one['line_span']} ({one['heading']}): {one['requirement']}"


def _snapshot(record: SnapshotRecord) -> dict[str, Any]:
    return {
        "tree": record.tree,
        "at": record.at,
        "actor": record.actor,
        "files": record.files,
        "added": record.added,
        "deleted": record.deleted,
        "outside": list(record.outside),
        "vanished": list(record.vanished),
    }


def _snapshot_line(one: dict[str, Any]) -> str:
    text = f"{one['agent']}: {count_noun(one['files'], 'file')}, +{one['added']} −{one['deleted']}"
    text += f" (tree {one['tree'][:10]})"
    if one["outside"]:
        text += f"; out of scope: {', '.join(one['outside'][:10])}"
    if one["vanished"]:
        text += f"; gone from the scope: {', '.join(one['vanished'][:10])}"
    return text


def _drift_line(one: dict[str, Any]) -> str:
    note = f": {one['note']}" if one["note"] else ""
    were = "1 path was" if one["paths"] == 1 else f"{one['paths']} paths were"
    return f"{were} changed after {one['since']} had finished; {one['state']}{note}"


def _check(one: Any) -> dict[str, Any]:
    compared = one.get("compared", {}).get("text", "")
    text = f"{one['text']}; by {one['agent']} on tree {one['tree'][:10]}"
    return {
        "command": one["command"],
        "exit_code": one["exit_code"],
        "agent": one["agent"],
        "tree": one["tree"],
        "text": f"{text}; {compared}" if compared else text,
    }

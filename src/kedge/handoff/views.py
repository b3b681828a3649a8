"""What a role needs of a context, and nothing else: as data, and as text for any agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kedge.handoff.context import Context, Kept
from kedge.handoff.steps import role_of
from kedge.host import tokens
from kedge.host.text import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NEEDS = {
    "implementer": ("task", "standards", "validation", "paths", "findings"),
    "reviewer": (
        *("task", "standards", "paths", "handed_over", "drift", "checks", "evidence", "findings"),
        "lessons",
    ),
    "validator": ("task", "validation", "handed_over", "drift", "checks", "findings"),
}


def needs(name: str, part: str) -> bool:
    """Whether an agent of that name is given that part."""
    return part in _NEEDS.get(role_of(name), _NEEDS["reviewer"])


def view(context: Context, name: str, lessons: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """The context as an agent of that name should have it, with lessons that others know of."""
    role = role_of(name)
    wanted = _NEEDS.get(role, _NEEDS["reviewer"])
    whole = {
        "task": dict(context.immutable["task_snapshot"]),
        "standards": list(context.immutable["standards_citations"]),
        "validation": list(context.immutable["validation_baseline"]["commands"]),
        "paths": list(context.immutable["repo_paths"]),
        "handed_over": [
            {"agent": other, **_kept(kept)} for other, kept in context.snapshots if other != name
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
    made: dict[str, Any] = {"task_id": context.task_id, "role": role, "revision": context.revision}
    return made | {key: whole[key] for key in wanted if whole[key] or key == "task"}


def markdown(made: dict[str, Any]) -> str:
    """The view as text that can be pasted into any agent."""
    task = made["task"]
    rows = [f"# {made['task_id']}: {task['title']}", ""]
    rows += [f"For the {made['role']}. {task['type']}, {task['priority']}."]
    if task["description"]:
        rows += ["", "## What is asked", "", task["description"].rstrip("\n")]
    rows += _items("Acceptance criteria", [f"[ ] {one}" for one in task["acceptance_criteria"]])
    rows += _items("Only change", made.get("paths", ()))
    rows += _items("Do not change", task["scope_out"])
    rows += _items("Standards", [_citation(one) for one in made.get("standards", ())])
    rows += _items("Validate with", [f"`{one}`" for one in made.get("validation", ())])
    rows += _items("Handed over", [_handed(one) for one in made.get("handed_over", ())])
    rows += _items("Drift", [_drifted(one) for one in made.get("drift", ())])
    rows += _items("Checks so far", [one["text"] for one in made.get("checks", ())])
    rows += _items(
        "Evidence",
        [
            f"{one['id']}: {one['path']} {one['line_span']}".rstrip()
            for one in made.get("evidence", ())
        ],
    )
    open_ = [f"{one['agent']}, {one['id']}: {one['text']}" for one in made.get("findings", ())]
    rows += _items("Open findings", open_)
    lessons = [one["text"] for one in made.get("lessons", ())]
    rows += ["", "## Lessons", "", *lessons] if lessons else []
    return clean("\n".join(rows)) + "\n"


def counted(made: dict[str, Any]) -> dict[str, Any]:
    """The view with its text and what that costs."""
    text = markdown(made)
    return {**made, "text": text, "tokens": tokens.count(text)}


def _items(title: str, items: Any) -> list[str]:
    return ["", f"## {title}", "", *(f"- {one}" for one in items)] if items else []


def _citation(one: dict[str, Any]) -> str:
    return f"{one['file']} {one['line_span']} ({one['heading']}): {one['requirement']}"


def _kept(kept: Kept) -> dict[str, Any]:
    return {
        "tree": kept.tree,
        "at": kept.at,
        "actor": kept.actor,
        "files": kept.files,
        "added": kept.added,
        "deleted": kept.deleted,
        "outside": list(kept.outside),
        "vanished": list(kept.vanished),
    }


def _handed(one: dict[str, Any]) -> str:
    text = f"{one['agent']}: {one['files']} files, +{one['added']} −{one['deleted']}"
    text += f" (tree {one['tree'][:10]})"
    if one["outside"]:
        text += f"; out of scope: {', '.join(one['outside'][:10])}"
    if one["vanished"]:
        text += f"; gone from the scope: {', '.join(one['vanished'][:10])}"
    return text


def _drifted(one: dict[str, Any]) -> str:
    note = f": {one['note']}" if one["note"] else ""
    return f"{one['paths']} paths were changed after {one['since']}; {one['state']}{note}"


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

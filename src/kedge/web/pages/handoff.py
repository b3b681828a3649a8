"""One handoff: its snapshots, what differs between any two, checks, drift and its resolution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kedge.errors import KedgeError
from kedge.handoff.context_store import ContextStore
from kedge.handoff.snapshot import snapshots
from kedge.model.ids import is_id
from kedge.web.pages.handoffs import make_card
from kedge.web.patches import read_patch
from kedge.web.routes import Refused

if TYPE_CHECKING:
    from kedge.handoff.task_context import TaskContext
    from kedge.web.routes import Target
    from kedge.web.source import Source

BASE = "base"
_DRIFT = "drift-"  # before the id of a drift event, whose tree can be compared as well


def load(source: Source, target: Target) -> tuple[str, dict[str, Any]]:
    store = ContextStore(source.project)
    if not is_id(target.item) or not store.exists(target.item):
        raise Refused(404, "there is no such handoff")
    loaded = store.read(target.item)
    context = loaded.context
    if loaded.edited:
        source.warnings.append("this context was edited by something other than kedge")
    trees = list_trees(context)
    names = tuple(trees)
    before = target.choice("from", names) or (names[-2] if len(names) > 1 else BASE)
    after = target.choice("to", names) or names[-1]
    try:
        patch = snapshots.diff(source.project, trees[before], trees[after])
        files, cut = read_patch(patch)
        why = "" if files else "These two are the same."
    except KedgeError as error:
        files, cut, why = [], False, error.message
    return "handoff.html", {
        "title": f"Handoff of {context.task_id}",
        "card": make_card(context),
        "context": context,
        "task": context.immutable.get("task_snapshot", {}),
        "scope": context.immutable.get("repo_paths", ()),
        "trees": trees,
        "before": before,
        "after": after,
        "files": files,
        "cut": cut,
        "why": why,
        "checks": list(context.checks)[::-1],
        "drift": list(context.drift)[::-1],
    }


def list_trees(context: TaskContext) -> dict[str, str]:
    """Return the trees that can be compared, in order: the base, each snapshot, each drift."""
    trees = {BASE: str(context.git["base_tree"])}
    trees |= {name: record.tree for name, record in context.snapshots}
    return trees | {f"{_DRIFT}{event.id}": event.after for event in context.drift}

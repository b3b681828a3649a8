"""Handoffs: how far each task has come from the implementer to the validator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kedge.errors import KedgeError
from kedge.handoff.context_store import ContextStore
from kedge.handoff.transitions import ROLES

if TYPE_CHECKING:
    from kedge.handoff.task_context import AgentRecord, TaskContext
    from kedge.web.routes import Target
    from kedge.web.source import Source

_MOST = 100


@dataclass(frozen=True, slots=True)
class HandoffCard:
    """A handoff: its task, and its agents in their order."""

    context: TaskContext
    title: str
    agents: tuple[tuple[str, AgentRecord], ...]

    @property
    def updated_at(self) -> str:
        return str(self.context.audit.get("updated_at") or self.context.created_at)


def load(source: Source, _: Target) -> tuple[str, dict[str, Any]]:
    store = ContextStore(source.project)
    cards = []
    for name in store.tasks()[:_MOST]:
        try:
            loaded = store.read(name)
        except KedgeError as error:
            source.warnings.append(error.message)
            continue
        if loaded.edited:
            source.warnings.append(
                f"the context of {name} was edited by something other than kedge"
            )
        cards.append(make_card(loaded.context))
    cards.sort(key=lambda card: (not card.context.open_drift, _reverse(card.updated_at)))
    return "handoffs.html", {"title": "Handoffs", "cards": cards}


def make_card(context: TaskContext) -> HandoffCard:
    """Return a handoff with its agents: the roles first, in their order."""
    order = {name: place for place, name in enumerate(ROLES)}
    agents = sorted(
        context.coordination.items(), key=lambda pair: (order.get(pair[0], len(ROLES)), pair[0])
    )
    title = str(context.immutable.get("task_snapshot", {}).get("title", context.task_id))
    return HandoffCard(context, title, tuple(agents))


def _reverse(stamp: str) -> tuple[int, ...]:
    """Return a key that sorts later stamps first."""
    return tuple(-ord(sign) for sign in stamp)

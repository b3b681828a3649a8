"""Where an event enters the watch: a message is noted if it can wait, everything else is answered
at once. Hook path: no `typing`, and only what the event needs is imported."""

from __future__ import annotations

from kedge.drift.watch import messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def answer_event(
    root: str, home: str, agent: str, event: dict[str, Any], task: str | None, *, unattended: bool
) -> tuple[dict[str, Any] | None, list[str]]:
    """Return the answer to an event, or None, and the faults that were met."""
    faults: list[str] = []
    if event.get("hook_event_name") == messages.EVENT:
        noted, faults = messages.note(home, event, task, unattended=unattended)
        if noted:
            return None, faults
    from kedge.drift.watch import sensor

    answer, more = sensor.answer_event(root, home, agent, event, task, unattended=unattended)
    return answer, [*faults, *more]

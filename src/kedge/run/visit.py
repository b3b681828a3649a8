"""One call of an agent, followed to its end: what it did, what it used, why it stopped."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from kedge.agents.run import adapter as running
from kedge.agents.run.adapter import Adapter
from kedge.agents.run.events import Called, Denied, Event, Finished, Reason, Used, Waiting
from kedge.agents.run.order import Order
from kedge.host import clock
from kedge.host.running import NEVER, Child
from kedge.run.spent import BUDGET, Spent, reached
from kedge.run.wanted import Limits


@dataclass(frozen=True, slots=True)
class Visit:
    """`stopped` names the limit, or the interruption, that ended it before its own end."""

    finished: Finished
    started_at: str
    ended_at: str
    seconds: float
    stopped: str | None = None
    calls: int = 0
    denied: tuple[Denied, ...] = ()


def attend(
    adapter: Adapter,
    order: Order,
    limits: Limits,
    spent: Spent,
    tell: Callable[[Event], None],
    begun: Callable[[Child], None] = lambda _: None,
) -> Visit:
    """Run the agent within what is left of the limits. `begun` gets the child, to stop it by."""
    start, started_at = time.monotonic(), clock.now()
    deadline = NEVER if limits.seconds is None else start + limits.seconds - spent.seconds
    idle = NEVER if limits.idle is None else limits.idle
    calls, denied = 0, list[Denied]()
    finished = Finished(Reason.CRASHED, message="nothing was heard of its end")
    with running.start(adapter, order) as child:
        begun(child)
        for event in running.events(adapter, child, deadline=deadline, idle=idle):
            tell(event)
            if isinstance(event, Called):
                calls += 1
            elif isinstance(event, Denied):
                denied.append(event)
            elif isinstance(event, Waiting):
                child.bear(2 * (event.seconds or 0))
            elif isinstance(event, Used):
                over = reached(limits, spent.with_use(event))
                if over is not None and over[0] == BUDGET:
                    child.stop(BUDGET)
            elif isinstance(event, Finished):
                finished = event
    ended = child.ended
    stopped = ended.stopped.reason if ended is not None and ended.stopped is not None else None
    return Visit(
        finished,
        started_at,
        clock.now(),
        time.monotonic() - start,
        stopped,
        calls,
        tuple(denied),
    )

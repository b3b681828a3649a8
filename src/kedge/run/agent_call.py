"""One call of an agent, followed to its end: what it did, what it used, why it stopped."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from kedge.agents.launch.adapter import Adapter, read_events, start_agent
from kedge.agents.launch.events import Event, Finished, Reason, RetryWait, Usage
from kedge.agents.launch.invocation import Invocation
from kedge.host import orphans
from kedge.host.running import NEVER, Child
from kedge.run.limits import Limits, RunUsage, find_reached_limit
from kedge.run.outcomes import StopCode


@dataclass(frozen=True, slots=True)
class AgentCall:
    """How a call ended. `stopped` is the reason why kedge ended it; None if it ended by itself.

    `left` are processes of the agent that could not be ended.
    """

    finished: Finished
    stopped: str | None = None
    left: tuple[int, ...] = ()


def call_agent(
    adapter: Adapter,
    invocation: Invocation,
    limits: Limits,
    usage: RunUsage,
    on_event: Callable[[Event], None],
    on_start: Callable[[Child], None] = lambda _: None,
) -> AgentCall:
    """Run the agent within the rest of the limits. `on_start` gets the process, to stop it."""
    start = time.monotonic()
    deadline = NEVER if limits.seconds is None else start + limits.seconds - usage.seconds
    idle = NEVER if limits.idle is None else limits.idle
    finished = Finished(Reason.CRASHED, message="the agent's end was not reported")
    with orphans.contain() as adopted, start_agent(adapter, invocation) as child:
        on_start(child)
        following = read_events(
            adapter, child, deadline=deadline, idle=idle, session=invocation.session
        )
        for event in following:
            on_event(event)
            if isinstance(event, RetryWait):
                child.allow_silence(2 * (event.seconds or 0))
            elif isinstance(event, Usage):
                stop = find_reached_limit(limits, usage.add(event))
                if stop is not None and stop.code is StopCode.BUDGET:
                    child.stop(StopCode.BUDGET)
            elif isinstance(event, Finished):
                finished = event
    ended = child.ended
    stopped = ended.stopped.reason if ended is not None and ended.stopped is not None else None
    return AgentCall(finished, stopped, adopted.left)

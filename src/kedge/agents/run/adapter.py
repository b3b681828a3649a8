"""What an agent's adapter has to know, and one way to run any of them.

    order = Order(program=located(claude), prompt=…, directory=…)
    with start(claude, order) as child:
        for event in events(claude, child, deadline=…, idle=…):
            ...  # the last one is Finished

An adapter is a module. It does no input and output: it makes the program call, and turns lines
into events. `kedge.testing.agents` has the tests that every adapter must pass.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager

from kedge.agents import program
from kedge.agents.run.events import Event, Finished
from kedge.agents.run.heard import Ending, Heard
from kedge.agents.run.order import Launch, Order
from kedge.errors import ProgramError
from kedge.host import running
from kedge.host.running import NEVER, Child, Line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object


class Adapter(Protocol):
    """One kind of agent."""

    @property
    def NAME(self) -> str:  # noqa: N802 - a constant of the module
        """The agent's program, unless the user names another."""

    def launch(self, order: Order, /) -> Launch:
        """The program call for an order. The repository is not touched for it."""

    def follow(self, heard: Heard, line: Line, /) -> tuple[Heard, list[Event]]:
        """What a line of the agent means, after all that was heard before. It never raises."""

    def finish(self, heard: Heard, ending: Ending, /) -> Finished:
        """How the run ended, whatever was heard."""


def located(adapter: Adapter) -> tuple[str, ...]:
    """The agent's program on PATH. One of the repository's own is not taken for it."""
    found = program.find(adapter.NAME)
    if found is None:
        raise ProgramError(
            f"{adapter.NAME} is not on PATH",
            hint=f"install {adapter.NAME}, or choose another with --agent or --command",
        )
    return (str(found),)


def start(
    adapter: Adapter, order: Order, *, environ: Mapping[str, str] | None = None
) -> AbstractContextManager[Child]:
    """Start the agent. It gets the caller's environment, or `environ`, with the order's."""
    launch = adapter.launch(order)
    given = os.environ if environ is None else environ
    env = {**given, **order.environment, **launch.env}
    return running.start(launch.argv, cwd=order.directory, env=env, input=launch.stdin)


def events(
    adapter: Adapter, child: Child, *, deadline: float = NEVER, idle: float = NEVER
) -> Iterator[Event]:
    """What happens, until the agent ends or a limit ends it; the last event is `Finished`."""
    heard = Heard()
    for line in child.lines(deadline=deadline, idle=idle):
        heard, found = adapter.follow(heard, line)
        yield from found
    yield adapter.finish(heard, Ending(child.end(), time.time()))

"""The watch behind the proxy, as streams see it.

The watch works in a process of its own. The events of one session are taken one after another, and
no stream waits for another session. Whatever fails or comes too late is recorded as a guard error,
and the answer is that there is nothing to say.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from kedge.drift.watch.answers import ADVISE, ENFORCE
from kedge.host import agent_process
from kedge.host.project import Project
from kedge.proxy.conversation import Conversation, Entry, Place
from kedge.proxy.exchange import ToolCall
from kedge.proxy.recording import Watched, record_error
from kedge.proxy.routes import Binding, Origin
from kedge.proxy.splice import add_corrections
from kedge.proxy.watch_process import WatchProcess

CALL_SECONDS = 5.0  # for the verdict on a call, which the client waits for
REQUEST_SECONDS = 2.0  # for what a request has to say
IDLE_SECONDS = 1800.0  # without a word of the user, after which a session is over
LOOK_SECONDS = 2.0  # between two looks at which sessions are over
_MOST_SESSIONS = 500  # that are remembered
_T = TypeVar("_T")


@dataclass(slots=True)
class Remembered:
    """What the proxy knows of a session beside the store."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    prompts: tuple[str, ...] | None = None  # those that the watch has; None before the first one
    watched: Watched | None = None
    used: float = 0.0  # when its last request came
    stopped: bool = False  # the agent waits for its user
    refused: dict[str, str] = field(default_factory=dict)  # reasons, by the id of the call
    policy: str = ADVISE
    due: dict[str, list[str]] = field(default_factory=dict)  # by subagent, what is to be said
    # by subagent, the corrections of the turn and where they are in the conversation
    corrections: dict[str, list[tuple[Place, str]]] = field(default_factory=dict)


class Opened(NamedTuple):
    """What came of a request: whether calls in its answer are held, and the bytes to send.

    `take`, if there is one, is called once the provider answers: it tells the watch what nobody
    waits for.
    """

    holds: bool
    body: bytes
    take: Callable[[], object] | None


class Judging:
    """The watch of one repository's sessions. `policy` is in force instead of the setting."""

    def __init__(self, own: Project, policy: str | None = None) -> None:
        self._own = own
        self._policy = policy
        self._home = own.home()
        self.process = WatchProcess(own.root, policy)
        self._reports = ThreadPoolExecutor(1, "kedge-reports")
        self._sessions: OrderedDict[str, Remembered] = OrderedDict()
        self._roots: dict[str, str] = {}  # of the work trees that bindings name
        self._tasks: set[asyncio.Task[Any]] = set()

    async def close(self) -> None:
        await self.process.close()
        self._reports.shutdown()

    async def locate(self, api: str, origin: Origin, binding: Binding) -> Watched:
        """Return where a session works: what its binding says, if that is in this repository."""
        root = binding.root
        if root and root not in self._roots and len(self._roots) < _MOST_SESSIONS:
            self._roots[root] = await self.process.ask("find_root", root)
        return Watched(origin, self._roots.get(root, str(self._own.root)), binding, api)

    async def open_request(
        self, watched: Watched, body: bytes, entries: Sequence[Entry], said: Conversation
    ) -> Opened:
        """Tell the watch what a request says, and add the corrections that are due to it.

        Only a request with results of calls waits for the watch, where it may be corrected.
        """
        remembered = self._remember(watched)
        remembered.watched, remembered.stopped = watched, False
        remembered.used = time.monotonic()
        subagent = watched.origin.subagent

        def take() -> asyncio.Task[None]:
            return self._start(self._take_in_turn(watched, remembered, said))

        speaks = remembered.policy in (ADVISE, ENFORCE)
        waits = bool(said.results) and speaks  # there may be something to say at once
        if waits:
            done, _ = await asyncio.wait([take()], timeout=REQUEST_SECONDS)
            if not done:
                late = f"a request was sent on after {REQUEST_SECONDS:g} s without a correction"
                self.report(watched, TimeoutError(late))
        corrections = remembered.corrections.setdefault(subagent, [])
        if said.fresh:
            corrections.clear()  # of the turn before
        texts = remembered.due.pop(subagent, [])
        if texts and said.place is not None:
            corrections.append((said.place, "\n\n".join(texts)))
        holds = remembered.policy in (ADVISE, ENFORCE)
        return Opened(holds, self._add(watched, body, entries), None if waits else take)

    def _add(self, watched: Watched, body: bytes, entries: Sequence[Entry]) -> bytes:
        """Return the request with the corrections of the turn, each at its place."""
        corrections = self._remember(watched).corrections[watched.origin.subagent]
        if not corrections:
            return body
        changed = add_corrections(watched.api, body, entries, corrections)
        if changed is None:
            del corrections[:-1]  # the conversation is another one
            changed = add_corrections(watched.api, body, entries, corrections)
        if changed is None:
            corrections.clear()
            self.report(watched, ValueError("a correction found no safe place in a request"))
        return changed or body

    async def _take_in_turn(
        self, watched: Watched, remembered: Remembered, said: Conversation
    ) -> None:
        """Tell the watch what a request says; what there is to say is due from then on."""
        try:
            async with remembered.lock:
                known = remembered.prompts
                if not watched.origin.subagent:
                    remembered.prompts = said.prompts
                ids = [result.call.id for result in said.results]
                refused = {key: remembered.refused.pop(key, "") for key in ids}
                policy, texts = await self.process.ask(
                    "take_request", watched, said, known, refused
                )
        except Exception as error:  # noqa: BLE001 - the request goes on, whatever it is
            self.report(watched, error)
            return
        remembered.policy = policy or remembered.policy
        remembered.due.setdefault(watched.origin.subagent, []).extend(texts)

    async def judge_call(self, watched: Watched, call: ToolCall) -> str:
        """Return why a call is refused, or nothing."""
        remembered = self._remember(watched)
        judging = self._start(self._judge_in_turn(watched, remembered, call))
        done, _ = await asyncio.wait([judging], timeout=CALL_SECONDS)
        if not done:
            late = TimeoutError(f"no verdict within {CALL_SECONDS:g} s: {call.tool} was released")
            self.report(watched, late)
            self._start(self._release(watched, judging, call))
            return ""
        reason = judging.result()
        if reason:
            remembered.refused[call.id] = reason
        return reason

    async def _judge_in_turn(self, watched: Watched, remembered: Remembered, call: ToolCall) -> str:
        try:
            async with remembered.lock:
                return str(await self.process.ask("take_call", watched, call))
        except Exception as error:  # noqa: BLE001 - the call goes on, whatever it is
            self.report(watched, error)
            return ""

    async def _release(self, watched: Watched, judging: asyncio.Task[str], call: ToolCall) -> None:
        """Correct what a verdict that came too late has recorded."""
        if await judging:
            try:
                await self.process.ask("take_release", watched, call)
            except Exception as error:  # noqa: BLE001 - nobody waits for this
                self.report(watched, error)

    async def observe_call(self, watched: Watched, call: ToolCall) -> None:
        """Record a call that cannot be refused."""
        await self.judge_call(watched, call)
        self._remember(watched).refused.pop(call.id, None)

    async def end_turn(self, watched: Watched) -> None:
        """Note that the agent stopped: nothing more was called."""
        if watched.origin.subagent:
            return
        remembered = self._remember(watched)
        remembered.stopped = True
        try:
            async with asyncio.timeout(CALL_SECONDS), remembered.lock:
                await self.process.ask("take_stop", watched)
        except Exception as error:  # noqa: BLE001 - nobody waits for this
            self.report(watched, error)

    async def watch_ends(self) -> None:
        """End the sessions without hooks that nobody else reports the end of, for ever."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            await self.end_sessions()

    async def end_sessions(self) -> None:
        """End the sessions whose process is gone, or whose user has been silent for long."""
        for name, remembered in [*self._sessions.items()]:
            watched = remembered.watched
            if watched is None or remembered.lock.locked():
                continue
            idle = remembered.stopped and time.monotonic() - remembered.used > IDLE_SECONDS
            process = watched.binding.process
            if idle or (process and agent_process.is_gone(process)):
                self._sessions.pop(name, None)
                try:
                    await self.process.ask("take_end", watched)
                except Exception as error:  # noqa: BLE001 - the others end all the same
                    self.report(watched, error)

    def report(self, watched: Watched | None, error: Exception) -> None:
        """Record a guard error, without waiting for it."""
        with contextlib.suppress(RuntimeError):  # the process ends
            self._reports.submit(record_error, self._home, watched, error)

    def _start(self, work: Coroutine[Any, Any, _T]) -> asyncio.Task[_T]:
        """Start work that goes on if its request does not."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _remember(self, watched: Watched) -> Remembered:
        name = watched.origin.session
        found = self._sessions.setdefault(name, Remembered(policy=self._policy or ADVISE))
        self._sessions.move_to_end(name)
        while len(self._sessions) > _MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return found

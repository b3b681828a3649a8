"""The watch behind the proxy: the same engine, store and key as the hooks.

Each event runs in a thread, those of one session one after another, so that no stream waits for
another session. Whatever fails or comes too late is recorded as a guard error, and the answer is
that there is nothing to say.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import sqlite3
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from kedge import config, hook
from kedge.context import session as sessions_of_agents
from kedge.drift.watch import aside, sensor
from kedge.drift.watch.answers import (
    ADVISE,
    ASK,
    DENY,
    ENFORCE,
    OBSERVE,
    OFF,
    RELEASED,
    can_ask,
)
from kedge.errors import KedgeError
from kedge.host import agent_process, deadline, project
from kedge.host.project import Project
from kedge.proxy.conversation import (
    Conversation,
    Entry,
    Place,
    Result,
    find_new_prompts,
)
from kedge.proxy.exchange import ToolCall
from kedge.proxy.observers import OBSERVERS
from kedge.proxy.routes import Binding, Origin
from kedge.proxy.splice import add_corrections
from kedge.store import sessions, sqlite

CALL_SECONDS = 5.0  # for the verdict on a call, which the client waits for
REQUEST_SECONDS = 2.0  # for what a request has to say
IDLE_SECONDS = 1800.0  # without a word of the user, after which a session is over
LOOK_SECONDS = 2.0  # between two looks at which sessions are over
_THREADS = 16
_PROGRAMS = 0.75  # of a hook's time is for git and other programs
_MOST_SESSIONS = 500  # that are remembered
_T = TypeVar("_T")


@dataclass(slots=True)
class _Remembered:
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


class Watched(NamedTuple):
    """A session as the watch knows it: where it works, and whose requests these are."""

    origin: Origin
    project: Project
    binding: Binding
    api: str


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
        self._threads = ThreadPoolExecutor(_THREADS, "kedge-watch")
        self._hook_threads = ThreadPoolExecutor(_THREADS, "kedge-hooks")  # wait for no stream
        self._sessions: OrderedDict[str, _Remembered] = OrderedDict()
        self._projects: dict[str, Project] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    def close(self) -> None:
        for threads in (self._threads, self._hook_threads):
            threads.shutdown(wait=False, cancel_futures=True)

    async def run_hook(self, work: Callable[[], _T], seconds: float) -> _T:
        """Do the work of a hook in a thread; raise TimeoutError where it takes longer."""

        def limit() -> _T:
            deadline.set_seconds(seconds * _PROGRAMS)
            try:
                return work()
            finally:
                deadline.clear()

        async with asyncio.timeout(seconds):
            return await asyncio.get_running_loop().run_in_executor(self._hook_threads, limit)

    def find_work_tree(self, session: str, cwd: str) -> str:
        """Return where a session works: what it was recorded with, or what its directory is in."""
        with closing(sqlite.connect(self._home)[0]) as db:
            row = sessions.get(db, session)
        return str(row["project"]) if row is not None else str(self._find_project(cwd).root)

    async def locate(self, api: str, origin: Origin, binding: Binding) -> Watched:
        """Return where a session works: what its binding says, if that is in this repository."""
        root = binding.root
        if root and root not in self._projects:
            found = await self._run(lambda: self._find_project(root))
            if len(self._projects) < _MOST_SESSIONS:
                self._projects[root] = found
        return Watched(origin, self._projects.get(root, self._own), binding, api)

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
        self, watched: Watched, remembered: _Remembered, said: Conversation
    ) -> None:
        """Tell the watch what a request says; what there is to say is due from then on."""
        try:
            async with remembered.lock:
                policy, texts = await self._run(
                    lambda: self._take_request(watched, remembered, said)
                )
        except Exception as error:  # noqa: BLE001 - the request goes on, whatever it is
            self.report(watched, error)
            return
        remembered.policy = policy
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

    async def _judge_in_turn(
        self, watched: Watched, remembered: _Remembered, call: ToolCall
    ) -> str:
        try:
            async with remembered.lock:
                return await self._run(lambda: self._take_call(watched, call))
        except Exception as error:  # noqa: BLE001 - the call goes on, whatever it is
            self.report(watched, error)
            return ""

    async def _release(self, watched: Watched, judging: asyncio.Task[str], call: ToolCall) -> None:
        """Correct what a verdict that came too late has recorded."""
        if await judging:
            try:
                await self._run(lambda: self._take_release(watched, call))
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
                await self._run(lambda: self._take_stop(watched))
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
                    await self._run(functools.partial(self._take_end, watched))
                except Exception as error:  # noqa: BLE001 - the others end all the same
                    self.report(watched, error)

    def report(self, watched: Watched | None, error: Exception) -> None:
        """Record a guard error, without waiting for it."""
        origin = watched.origin if watched is not None else Origin("", "unknown")
        with contextlib.suppress(RuntimeError):  # the process ends
            self._threads.submit(
                sessions_of_agents.record_error,
                self._home,
                origin.agent,
                error,
                origin.session,
                sessions_of_agents.PROXY,
            )

    def _start(self, work: Coroutine[Any, Any, _T]) -> asyncio.Task[_T]:
        """Start work that goes on if its request does not."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _run(self, work: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def _remember(self, watched: Watched) -> _Remembered:
        name = watched.origin.session
        found = self._sessions.setdefault(name, _Remembered(policy=self._policy or ADVISE))
        self._sessions.move_to_end(name)
        while len(self._sessions) > _MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return found

    # From here on everything runs in a thread.

    def _find_project(self, root: str) -> Project:
        """Return the project at `root` if it is a work tree of this repository, else the own."""
        try:
            found = project.find(Path(root))
            return found if found.home() == self._home else self._own
        except KedgeError:
            return self._own

    def _take_request(
        self, watched: Watched, remembered: _Remembered, said: Conversation
    ) -> tuple[str, list[str]]:
        """Return the session's policy, and what is to be said to the agent."""
        row = self._find_row(watched)
        texts: list[str] = []
        if not watched.origin.subagent:
            known = remembered.prompts
            if known is None:  # after a restart, the watch has all but the latest
                known = said.prompts[: len(said.prompts) - said.fresh] if row is not None else ()
            remembered.prompts = said.prompts
            new = find_new_prompts(known, said.prompts)
            if new and not _has_hooks(row):
                for prompt in new:
                    texts += self._ask(watched, "UserPromptSubmit", prompt=prompt)
                self._start_aside(watched)
        for result in said.results:
            reason = remembered.refused.pop(result.call.id, "")
            if reason:
                texts += [] if "[kedge]" in result.text else [reason]
            elif not _has_hooks(row):  # which report what ran, and not what their user denied
                texts += self._take_result(watched, result)
        row = self._find_row(watched)
        process = watched.binding.process
        if row is not None and process and not _has_hooks(row) and row["process"] != process:
            with closing(sqlite.connect(self._home)[0]) as db:
                sessions.change(db, row["id"], process=process)
        return (row["policy"] if row is not None else remembered.policy), texts

    def _take_result(self, watched: Watched, result: Result) -> list[str]:
        """Return what is to be said after a result, if it was not taken before."""
        with closing(sqlite.connect(self._home)[0]) as db:
            step = sessions.step(db, watched.origin.session, result.call.id[:100])
        if step is not None and (step["ok"] is not None or step["decision"] == DENY):
            return []
        kind = "PostToolUse" if result.ok else "PostToolUseFailure"
        return self._ask(watched, kind, reasoning=result.reasoning, **_describe(result.call))

    def _take_call(self, watched: Watched, call: ToolCall) -> str:
        hooked = _has_hooks(self._find_row(watched))
        answer = self._answer(watched, "PreToolUse", hooked=hooked, **_describe(call)) or {}
        output = answer.get("hookSpecificOutput", {})
        decision = output.get("permissionDecision")
        if decision == ASK and hooked:
            return ""  # the hook asks
        return str(output.get("permissionDecisionReason") or "") if decision else ""

    def _take_release(self, watched: Watched, call: ToolCall) -> None:
        name, key = watched.origin.session, call.id[:100]
        with closing(sqlite.connect(self._home)[0]) as db, sessions.transaction(db):
            step = sessions.step(db, name, key)
            if step is not None and step["decision"] == DENY:
                sessions.change_step(db, name, key, decision=RELEASED)

    def _take_end(self, watched: Watched) -> None:
        row = self._find_row(watched)
        if row is None or _has_hooks(row):
            return
        event = {"hook_event_name": "SessionEnd", "session_id": row["id"]}
        self._answer(watched, "SessionEnd")
        task, run = watched.binding.task or None, watched.binding.run
        root, home, agent = row["project"], str(self._home), row["agent"]
        hook.finish_event(root, home, agent, event, task, unattended=run)

    def _take_stop(self, watched: Watched) -> None:
        if not _has_hooks(self._find_row(watched)):
            self._ask(watched, "Stop", stop_hook_active=True)  # a reminder would reach nobody

    def _ask(self, watched: Watched, event: str, **more: Any) -> list[str]:
        """Return what the watch has to say about an event."""
        answer = self._answer(watched, event, **more) or {}
        text = answer.get("hookSpecificOutput", {}).get("additionalContext")
        return [text] if text else []

    def _answer(
        self, watched: Watched, event: str, *, hooked: bool = False, **more: Any
    ) -> dict[str, Any] | None:
        origin, binding = watched.origin, watched.binding
        given = {
            "hook_event_name": event,
            "session_id": origin.session,
            "cwd": binding.cwd or str(watched.project.root),
            "agent_id": origin.subagent,
            **more,
        }
        answer, faults = sensor.answer_event(
            str(watched.project.root),
            str(self._home),
            origin.agent,
            given,
            binding.task or None,
            unattended=binding.run,
            policy=self._choose_policy(watched),
            asks=hooked and can_ask(origin.agent),
        )
        for fault in faults:
            self.report(watched, RuntimeError(fault))
        return answer

    def _choose_policy(self, watched: Watched) -> str | None:
        """Return the policy in force; None for the setting. What cannot be refused is observed."""
        if watched.api not in OBSERVERS:
            return self._policy
        policy = self._policy or config.load(watched.project).settings.drift.policy
        return OFF if policy == OFF else OBSERVE

    def _start_aside(self, watched: Watched) -> None:
        """Start the work that no request waits for: ranking files, the user's judge."""
        origin, root = watched.origin, str(watched.project.root)
        unattended = watched.binding.run
        aside.start(root, str(self._home), origin.agent, origin.session, unattended=unattended)

    def _find_row(self, watched: Watched) -> dict[str, Any] | None:
        try:
            with closing(sqlite.connect(self._home)[0]) as db:
                return sessions.get(db, watched.origin.session)
        except sqlite3.Error as error:
            self.report(watched, error)
            return None


def _has_hooks(row: dict[str, Any] | None) -> bool:
    """True if the session's hooks report it: only they know of a transcript."""
    return row is not None and bool(row["transcript"])


def _describe(call: ToolCall) -> dict[str, Any]:
    return {"tool_use_id": call.id, "tool_name": call.tool, "tool_input": call.input}

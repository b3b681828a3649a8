"""What the watch behind the proxy does with events: the same engine, store and key as the hooks.

Everything here blocks and runs in threads of `watch_process`; `judging` decides when.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from kedge import config, hook
from kedge.context import session as sessions_of_agents
from kedge.drift.watch import aside, sensor
from kedge.drift.watch.answers import ASK, DENY, OBSERVE, OFF, RELEASED, can_ask
from kedge.drift.watch.session_log import shorten_reasoning
from kedge.errors import KedgeError
from kedge.host import deadline, project
from kedge.host.project import Project
from kedge.proxy.conversation import Conversation, Result, find_new_prompts
from kedge.proxy.exchange import ToolCall
from kedge.proxy.observers import OBSERVERS
from kedge.proxy.routes import Binding, Origin
from kedge.store import sessions, sqlite

_WITHOUT_IDS = ("copilot", "gemini")  # whose hooks do not name the call: they alone judge it
_PROGRAMS = 0.75  # of a hook's time is for git and other programs


class Watched(NamedTuple):
    """A session as the watch knows it: the work tree it is in, and whose requests these are."""

    origin: Origin
    root: str
    binding: Binding
    api: str


def record_error(home: Path, watched: Watched | None, error: Exception) -> None:
    """Record a guard error of the proxy."""
    origin = watched.origin if watched is not None else Origin("", "unknown")
    name = origin.session
    sessions_of_agents.record_error(home, origin.agent, error, name, sessions_of_agents.PROXY)


class Recorder:
    """Feeds the watch of one repository. `policy` is in force instead of the setting."""

    def __init__(self, own: Project, policy: str | None) -> None:
        self._own = own
        self._home = own.home()
        self._policy = policy

    def _find_work_tree(self, session: str, cwd: str) -> str:
        """Return where a session works: what it was recorded with, or what its directory is in."""
        with closing(sqlite.connect(self._home)[0]) as db:
            row = sessions.get(db, session)
        return str(row["project"]) if row is not None else self.find_root(cwd)

    def find_root(self, place: str) -> str:
        """Return the work tree of this repository that a directory is in; by default the own."""
        return str(self._find_project(place).root)

    def _find_project(self, root: str) -> Project:
        try:
            found = project.find(Path(root))
            return found if found.home() == self._home else self._own
        except KedgeError:
            return self._own

    def hook_answer(
        self, agent: str, data: bytes, task: str | None, unattended: bool
    ) -> dict[str, Any] | None:
        """Return the answer to a hook's event, within the limits of the command."""
        event: dict[str, Any] = {}
        deadline.set_seconds(hook.LIMIT * _PROGRAMS)
        try:
            if len(data) > hook.LARGEST:
                raise ValueError(f"an event of more than {hook.LARGEST} bytes")
            event = hook.parse_event(data)
            name = str(event.get("session_id") or "")
            root = self._find_work_tree(name, str(event.get("cwd") or "."))
            home = str(self._home)
            answer = hook.answer_event(root, home, agent, event, task, unattended=unattended)
            hook.finish_event(root, home, agent, event, task, unattended=unattended)
            return answer
        except Exception as error:  # noqa: BLE001 - the agent goes on, whatever it is
            return self._fail(agent, event, data, error)
        finally:
            deadline.clear()

    def hook_timeout(self, agent: str, data: bytes) -> dict[str, Any] | None:
        """Return the answer to an event that took too long."""
        event: dict[str, Any] = {}
        with contextlib.suppress(ValueError, RecursionError):
            event = hook.parse_event(data)
        deadline.set_seconds(hook.RECORD_LIMIT * _PROGRAMS)
        try:
            late = hook.HookTimeout(f"no answer within {hook.LIMIT:g} s")
            return self._fail(agent, event, data, late)
        finally:
            deadline.clear()

    def _fail(
        self, agent: str, event: dict[str, Any], data: bytes, error: BaseException
    ) -> dict[str, Any] | None:
        home = str(self._home)
        try:
            return hook.answer_unread(home, agent, event, data, error)
        finally:
            hook.record_error(home, agent, event, error)

    def take_request(
        self,
        watched: Watched,
        said: Conversation,
        known: Sequence[str] | None,
        refused: Mapping[str, str],
    ) -> tuple[str | None, list[str]]:
        """Return the session's policy, if it is known, and what is to be said to the agent.

        `known` are the user's messages that the watch has, None before the first request; `refused`
        the reasons of refused calls by their ids.
        """
        row = self._find_row(watched)
        texts: list[str] = []
        if not watched.origin.subagent:
            if known is None:  # after a restart, the watch has all but the latest
                known = said.prompts[: len(said.prompts) - said.fresh] if row is not None else ()
            new = find_new_prompts(known, said.prompts)
            if new and not _has_hooks(row):
                for prompt in new:
                    texts += self._ask(watched, "UserPromptSubmit", prompt=prompt)
                self._start_aside(watched)
        for result in said.results:
            reason = refused.get(result.call.id, "")
            if reason:
                self._keep_reasoning(watched, result)
                texts += [] if "[kedge]" in result.text else [reason]
            elif not _has_hooks(row):  # which report what ran, and not what their user denied
                texts += self._take_result(watched, result)
        row = self._find_row(watched)
        process = watched.binding.process
        if row is not None and process and not _has_hooks(row) and row["process"] != process:
            with closing(sqlite.connect(self._home)[0]) as db:
                sessions.change(db, row["id"], process=process)
        return (row["policy"] if row is not None else None), texts

    def _keep_reasoning(self, watched: Watched, result: Result) -> None:
        """Keep what the model said before a call that was refused, of which no hook reports."""
        name, key = watched.origin.session, result.call.id[:100]
        words = shorten_reasoning(result.reasoning)
        with closing(sqlite.connect(self._home)[0]) as db, sessions.transaction(db):
            if words and sessions.step(db, name, key) is not None:
                sessions.change_step(db, name, key, reasoning=words)

    def _take_result(self, watched: Watched, result: Result) -> list[str]:
        """Return what is to be said after a result, if it was not taken before."""
        with closing(sqlite.connect(self._home)[0]) as db:
            step = sessions.step(db, watched.origin.session, result.call.id[:100])
        if step is not None and (step["ok"] is not None or step["decision"] == DENY):
            return []
        kind = "PostToolUse" if result.ok else "PostToolUseFailure"
        return self._ask(watched, kind, reasoning=result.reasoning, **_describe(result.call))

    def take_call(self, watched: Watched, call: ToolCall) -> str:
        hooked = _has_hooks(self._find_row(watched))
        if hooked and watched.origin.agent in _WITHOUT_IDS:
            return ""
        answer = self._answer(watched, "PreToolUse", hooked=hooked, **_describe(call)) or {}
        output = answer.get("hookSpecificOutput", {})
        decision = output.get("permissionDecision")
        if decision == ASK and hooked:
            return ""  # the hook asks
        return str(output.get("permissionDecisionReason") or "") if decision else ""

    def take_release(self, watched: Watched, call: ToolCall) -> None:
        name, key = watched.origin.session, call.id[:100]
        with closing(sqlite.connect(self._home)[0]) as db, sessions.transaction(db):
            step = sessions.step(db, name, key)
            if step is not None and step["decision"] == DENY:
                sessions.change_step(db, name, key, decision=RELEASED)

    def take_end(self, watched: Watched) -> None:
        row = self._find_row(watched)
        if row is None or _has_hooks(row):
            return
        event = {"hook_event_name": "SessionEnd", "session_id": row["id"]}
        self._answer(watched, "SessionEnd")
        task, run = watched.binding.task or None, watched.binding.run
        root, home, agent = row["project"], str(self._home), row["agent"]
        hook.finish_event(root, home, agent, event, task, unattended=run)

    def take_stop(self, watched: Watched) -> None:
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
            "cwd": binding.cwd or watched.root,
            "agent_id": origin.subagent,
            **more,
        }
        answer, faults = sensor.answer_event(
            watched.root,
            str(self._home),
            origin.agent,
            given,
            binding.task or None,
            unattended=binding.run,
            policy=self._choose_policy(watched),
            asks=hooked and can_ask(origin.agent),
        )
        for fault in faults:
            self._report(watched, RuntimeError(fault))
        return answer

    def _choose_policy(self, watched: Watched) -> str | None:
        """Return the policy in force; None for the setting. What cannot be refused is observed."""
        if watched.api not in OBSERVERS:
            return self._policy
        policy = self._policy or config.load(self._find_project(watched.root)).settings.drift.policy
        return OFF if policy == OFF else OBSERVE

    def _report(self, watched: Watched, error: Exception) -> None:
        record_error(self._home, watched, error)

    def _start_aside(self, watched: Watched) -> None:
        """Start the work that no request waits for: ranking files, the user's judge."""
        origin, root = watched.origin, watched.root
        unattended = watched.binding.run
        aside.start(root, str(self._home), origin.agent, origin.session, unattended=unattended)

    def _find_row(self, watched: Watched) -> dict[str, Any] | None:
        try:
            with closing(sqlite.connect(self._home)[0]) as db:
                row = sessions.get(db, watched.origin.session)
                if row is None and watched.origin.session == watched.binding.session:
                    row = sessions.find_hooked(db, watched.binding.process)
                return row
        except sqlite3.Error as error:
            self._report(watched, error)
            return None


def _has_hooks(row: dict[str, Any] | None) -> bool:
    """True if the session's hooks report it: only they know of a transcript."""
    return row is not None and bool(row["transcript"])


def _describe(call: ToolCall) -> dict[str, Any]:
    return {"tool_use_id": call.id, "tool_name": call.tool, "tool_input": call.input}

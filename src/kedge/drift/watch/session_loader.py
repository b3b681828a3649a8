"""Load a session as its last event left it: its messages read, bound to its task."""

from __future__ import annotations

import json

from kedge.drift.engine import Session
from kedge.drift.watch import bindings, session_log
from kedge.drift.watch.answers import ADVISE, ENFORCE, OFF
from kedge.drift.watch.work_tree import WorkTree
from kedge.host import clock
from kedge.host.redact import redact
from kedge.store import sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence
    from typing import Any

    from kedge.drift.evidence.distance import CodeMap
    from kedge.drift.watch.bindings import SessionTask

    Event = dict[str, Any]


class SessionLoader:
    """Loads sessions of a project; its callers hold a transaction.

    `policy` is called at each message. `find_task` returns the task of a session, given its row and
    the time since when claims are its own; None if tasks cannot be read. `code_map` opens the
    map for a session. With `unattended`, prompts come from kedge and are not the user's word.
    """

    def __init__(
        self,
        db: sqlite3.Connection,
        root: str,
        agent: str,
        *,
        policy: Callable[[], str],
        find_task: Callable[[dict[str, Any], str], SessionTask | None],
        code_map: Callable[[str], CodeMap | None] = lambda _: None,
        unattended: bool = False,
    ) -> None:
        self.db = db
        self.root = root
        self.agent = agent
        self.policy = policy
        self.find_task = find_task
        self.code_map = code_map
        self.unattended = unattended
        self.checks: Sequence[str] = ()  # of the session's task
        self.faults: list[str] = []

    def load_row(self, name: str, event: Event, policy: str | None = None) -> dict[str, Any]:
        """Return the session's row; the first event of a session creates it."""
        row = self.find_row(name)
        if row is not None:
            return row
        now = clock.now()
        return sessions.add(
            self.db,
            name,
            agent=self.agent,
            project=self.root,
            policy=policy or self.policy(),
            transcript=redact(str(event.get("transcript_path") or "")[:1000]),
            process=self.find_process(),
            started_at=now,
            checked_at=now,
        )

    def find_row(self, name: str) -> dict[str, Any] | None:
        """Return the session's row after its messages are read, or None."""
        row = sessions.get(self.db, name)
        if row is None or not row["unread"]:
            return row
        self.take_messages(row, row["unread"], self.policy())
        return sessions.get(self.db, name)

    def take_messages(
        self, row: dict[str, Any], new: Sequence[dict[str, Any]], policy: str
    ) -> list[str]:
        """Revise the charter with messages of the user; return the corrections that wait."""
        name, turn = row["id"], row["turn"]
        if policy == OFF:
            sessions.change(self.db, name, policy=policy, unread=[])
            return []
        session = self.load_session(row, {"cwd": new[-1]["cwd"]}, rebind="")
        texts = []
        if policy in (ADVISE, ENFORCE):
            texts = session_log.deliver(self.db, name, session, None)
        is_new_turn = row["turn"] != turn  # the session belongs to another task
        for message in new:
            revision = session.charter.revision
            said = "" if message["unattended"] else message["text"]
            if not message["unattended"]:
                session.prompt(said)
            if session.charter.revision != revision or not sessions.charters(self.db, name):
                session_log.save_charter(self.db, name, session, said, message["at"])
            is_new_turn |= session.charter.revision != revision
        more = {"turn": turn + (is_new_turn and not row["unread"])}  # unread ones were counted
        more |= {"policy": policy, "status": "active", "ended_at": None, "unread": []}
        session_log.save_session(self.db, name, session, **more)
        return texts

    def find_process(self) -> str:
        from kedge.host.agent_process import find_process

        return find_process(self.agent)

    def update_binding(self, row: dict[str, Any], event: Event) -> None:
        """Bind the session to the task that it works on, and store it if that changed."""
        before = row["task"], row["bound"]
        session = self.load_session(row, event, rebind="")
        if (row["task"], row["bound"]) != before:
            session_log.save_session(self.db, row["id"], session)

    def load_session(
        self, row: dict[str, Any], event: Event, *, rebind: str | None = None
    ) -> Session:
        """Return the engine as the last event left it, bound to its task.

        The binding of a session is looked up at its first event, and with `rebind`, which is the
        time since when claims of a task are the session's own, or "".
        """
        cwd = str(event.get("cwd") or row["project"])
        tree = WorkTree(row["project"])

        def create() -> Session:
            return Session(row["project"], cwd=cwd, code_map=self.code_map(row["id"]), tree=tree)

        session, restarted = create(), not row["engine"]
        if row["engine"]:
            try:
                session.parse(json.loads(row["engine"]))
            except ValueError as error:
                self.faults.append(f"session {row['id']} starts again from its goal: {error}")
                session, restarted = create(), True
        if restarted and row["goal"]:
            session.prompt(row["goal"])
        if restarted or rebind is not None:
            self._bind(row, session, rebind or "")
        return session

    def _bind(self, row: dict[str, Any], session: Session, since: str) -> None:
        """Bind the session to the task that it works on, or end its binding."""
        found = self.find_task(row, since)
        if found is None:
            return
        self.checks = found.checks
        changes = bindings.apply_task(session, row, found)
        if changes:
            row.update(changes)
            sessions.change(self.db, row["id"], **changes)

"""The hooks' side of the watch: connects it to settings, tasks and the database."""

from __future__ import annotations

from contextlib import closing, suppress

from kedge.drift.watch.events import Watch
from kedge.drift.watch.session_loader import SessionLoader
from kedge.host.record import NamedTuple
from kedge.store import sessions, sqlite

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from typing import Any

    from kedge.drift.watch.bindings import SessionTask
    from kedge.host.project import Project
    from kedge.settings import DriftSettings, Settings
    from kedge.tasks.binding import Binding


_PATIENCE = 1.5  # seconds to wait for a program that lists tasks; a hook has six


def answer_event(
    root: str,
    home: str,
    agent: str,
    event: dict[str, Any],
    task: str | None,
    *,
    unattended: bool,
    policy: str | None = None,
    asks: bool | None = None,
) -> tuple[dict[str, Any] | None, list[str]]:
    """Answer an event of a session, which may be bound to a task; return faults beside the answer.

    `root` is the project's root, `home` the directory of its database. `policy` is in force instead
    of the setting; `asks` tells whether a call can be put to the user.
    """
    db, faults = sqlite.connect(home)
    with closing(db):
        sensor = _Sensor(db, root, agent, task, unattended=unattended, policy=policy, asks=asks)
        answer = sensor.watch.answer(event)
    return answer, [*faults, *sensor.faults]


def read_messages(db: sqlite3.Connection, name: str) -> list[str]:
    """Read the messages of a session that a hook noted and nobody has read; return faults."""
    row = sessions.get(db, name)
    if row is None or not row["unread"]:
        return []
    sensor = _Sensor(db, row["project"], row["agent"], row["unread"][-1]["task"])
    with sessions.transaction(db):
        sensor.loader.find_row(name)
    return sensor.faults


class _Sensor:
    """The watch of a project, with its settings, its tasks and its map."""

    def __init__(
        self,
        db: sqlite3.Connection,
        root: str,
        agent: str,
        task: str | None,
        *,
        unattended: bool = False,
        policy: str | None = None,
        asks: bool | None = None,
    ) -> None:
        from kedge.drift.code_map import StoredMap
        from kedge.repomap.neighbours import Neighbours

        self._context = context = _Context(root, task)
        self._near = near = Neighbours(db, root)
        context.db = db
        self.loader = SessionLoader(
            db,
            root,
            agent,
            policy=context.policy if policy is None else lambda: policy,
            find_task=context.find_task,
            code_map=lambda session: StoredMap(db, near, session),
            unattended=unattended,
        )
        self.watch = Watch(self.loader, agent_limits=context.agent_limits, asks=asks)

    @property
    def faults(self) -> list[str]:
        return [*self._context.faults, *self.loader.faults, *self._near.warnings]


class SessionBrief(NamedTuple):
    """What a session belongs to: its binding, the policy, the user's goal, and the limits in force
    as the user's words with their source."""

    binding: Binding
    policy: str
    goal: str = ""
    limits: tuple[tuple[str, str], ...] = ()
    faults: tuple[str, ...] = ()


class _Context:
    """Settings and tasks, read only when needed. A fault in them does not end the watch."""

    def __init__(self, root: str, task: str | None) -> None:
        self.root = root
        self.task_id = task
        self.db: sqlite3.Connection | None = None
        self.faults: list[str] = []
        self._project: Project | None = None
        self._settings: Settings | None = None

    def policy(self) -> str:
        return self._load_drift().policy

    def agent_limits(self) -> bool:
        return self._load_drift().agent_limits

    def _load_drift(self) -> DriftSettings:
        from kedge import config
        from kedge.errors import KedgeError
        from kedge.settings import DriftSettings

        try:
            return self._load_settings().drift
        except KedgeError as error:
            self._report(error.message)
        with suppress(KedgeError):  # a project's broken file must not weaken what the user set
            return config.load(None).settings.drift
        return DriftSettings()

    def find_task(self, row: dict[str, Any], since: str) -> SessionTask | None:
        """Return the task of a session; None if the tasks cannot be read."""
        from kedge.drift.charter import charter_for_task
        from kedge.drift.watch.bindings import SessionTask

        if not self.task_id and not self._may_have_tasks():
            return SessionTask()
        binding = self.find_binding((row["task"] or "", row["bound"]), since)
        if binding is None:
            return None
        if binding.task is None:
            return SessionTask()
        return SessionTask(binding.how, charter_for_task(binding.task), binding.task.checks)

    def find_binding(self, bound: tuple[str, str], since: str = "") -> Binding | None:
        """Return the binding of a session, which had the binding `bound` so far.

        Claims after the time `since` are its own. None if the tasks cannot be read.
        """
        from kedge.errors import KedgeError
        from kedge.store import claims
        from kedge.tasks import binding, choose
        from kedge.tasks.board import Board

        try:
            project = self._find_project()
            settings = self._load_settings().tasks
            tasks = Board(choose.open_backend(project, settings, patience=_PATIENCE)).tasks()
            known = claims.read(self.db) if tasks and self.db is not None else {}
            tree = binding.WorkTree(self.root, settings.actor, known)
            found = binding.choose_binding(
                tasks, tree, named=self.task_id, bound=bound, since=since
            )
        except KedgeError as error:
            self._report(error.message)
            return None
        if since and found.how == binding.CLAIMED and found.task is not None and self.db:
            claim = claims.Claim(self.root, found.task.assignee or "", tree.claimed_at(found.task))
            claims.save(self.db, found.task.id, claim)  # the agent's sandbox may not have let it
        return found

    def _may_have_tasks(self) -> bool:
        """False if the project has no tasks: then nothing about tasks has to be loaded."""
        from kedge.errors import KedgeError
        from kedge.tasks import choose

        try:
            automatic = self._load_settings().tasks.backend == "auto"
            project = choose.task_project(self._find_project())
        except KedgeError:
            return True  # `find_binding` reports it
        return not automatic or choose.detect(project) is not None

    def _load_settings(self) -> Settings:
        """Return the settings, read once for an event. Raise KedgeError if they are wrong."""
        from kedge import config

        if self._settings is None:
            self._settings = config.load(self._find_project()).settings
        return self._settings

    def _report(self, fault: str) -> None:
        if fault not in self.faults:
            self.faults.append(fault)

    def _find_project(self) -> Project:
        from pathlib import Path

        from kedge.host import project

        if self._project is None:
            self._project = project.find(Path(self.root))
        return self._project


def describe_session(root: str, home: str, name: str, task: str | None) -> SessionBrief:
    """Return what a session that starts or was compacted belongs to.

    Fails open: the event itself, which is recorded afterwards, reports the same faults. Writes only
    what is due anyway: messages that nobody has read are read, a damaged database is replaced.
    """
    import json
    import sqlite3

    from kedge.drift import charter
    from kedge.drift.watch.answers import OFF
    from kedge.errors import KedgeError
    from kedge.tasks.binding import NAMED, Binding

    context = _Context(root, task)
    row = None
    faults: list[str] = []
    try:
        context.db, faults = sqlite.connect(home)
        faults += read_messages(context.db, name)
        row = sessions.get(context.db, name)
    except (KedgeError, sqlite3.Error):
        context.db = None
    policy, found = context.policy(), charter.Charter()
    if policy != OFF and row is not None and row["engine"]:
        with suppress(KeyError, TypeError, ValueError):
            found = charter.parse(json.loads(row["engine"])["charter"])
    bound = (row["task"] or "", row["bound"]) if row is not None else ("", "")
    binding = context.find_binding(bound)
    if context.db is not None:
        context.db.close()
    limits = found.limits
    if policy != OFF and binding is not None and binding.task is not None:
        # a session that starts is bound only when its first event is recorded
        declared = charter.charter_for_task(binding.task).limits
        limits += tuple(each for each in declared if each not in limits)
    return SessionBrief(
        binding or Binding(how=NAMED if task else ""),
        policy,
        found.goal if found.prompts else "",
        tuple((each.quote, each.source) for each in limits),
        tuple(faults),
    )


def label_task(project: Project, session: str, *, named: bool = False) -> None:
    """Label the task of a session that strayed, so that somebody reviews it.

    A task that the session is no longer bound to is labelled once more, and with `named`, where the
    environment names it.
    """
    from dataclasses import replace

    from kedge import config
    from kedge.drift import summary
    from kedge.drift.watch.bindings import ENDED
    from kedge.tasks import choose
    from kedge.tasks.board import Board

    with closing(sqlite.connect(project.home())[0]) as db:
        row = sessions.get(db, session)
        if row is None or not row["task"] or not (row["bound"] or named):
            return
        if row["bound"] == ENDED:
            sessions.change(db, session, bound="")
        labels = summary.choose_labels(summary.summarize(db, row))
    if not labels:
        return
    settings = config.load(project).settings.tasks
    board = Board(choose.open_backend(project, settings))
    task = board.get(row["task"])
    if not set(labels) <= set(task.labels):
        board.update(
            task.id, lambda one: replace(one, labels=tuple(dict.fromkeys((*one.labels, *labels))))
        )

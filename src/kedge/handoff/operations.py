"""The operations on one task's context, on the real working tree and store."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from kedge.errors import BrokenContext, HandoffRefused, NewerContext, SecretFound
from kedge.handoff import immutable_block, role_views, snapshot_record, transitions
from kedge.handoff.artifacts import Artifacts
from kedge.handoff.canonical_form import is_sealed
from kedge.handoff.context_store import ContextStore
from kedge.handoff.foreign_changes import list_foreign
from kedge.handoff.immutable_block import Commands, ImmutableBlock
from kedge.handoff.scope import scopes
from kedge.handoff.snapshot import snapshots
from kedge.handoff.task_context import AgentRecord, DriftEvent, SnapshotRecord, TaskContext
from kedge.handoff.verification import Verification, describe_change, escape_path, make_drift_error
from kedge.host import clock
from kedge.host.digest import digest
from kedge.host.project import Project
from kedge.host.redact import redact_value
from kedge.host.secrets import name_branch, refuse
from kedge.model.task import Task
from kedge.settings import Settings

_NAMED = 3  # paths in the warning about a dirty tree
_EVENT_PATHS = 5000  # paths stored in one drift event


class HandoffOperations:
    """Begin, snapshot, verify, resolve and the like. `actor` is who performs them.

    With `brief` the task may have a title and nothing else.
    """

    def __init__(
        self, project: Project, settings: Settings, task: str, actor: str, *, brief: bool = False
    ) -> None:
        self.project = project
        self.settings = settings
        self.task = task
        self.actor = actor
        self.brief = brief
        self.store = ContextStore(project, lock_timeout=settings.tasks.lock_timeout)
        self.warnings: list[str] = []
        self.verified_tree: str | None = None  # the tree that the last `verify` has read

    @property
    def artifacts(self) -> Artifacts:
        return Artifacts(self.store.folder(self.task) / "artifacts")

    def read(self) -> TaskContext:
        """Read the context, with a warning if something other than kedge edited it."""
        loaded = self.store.read(self.task)
        if loaded.edited:
            self.warnings.append(
                f"the context of {self.task} was edited by something other than kedge"
            )
        return loaded.context

    def init(
        self,
        task: Task,
        commands: Commands,
        *,
        base: str | None = None,
        allow: Collection[str] = (),
        export: bool = False,
        claim: Callable[[], None] | None = None,
    ) -> tuple[TaskContext, ImmutableBlock]:
        """Freeze the task in a new context. Of several concurrent calls, one succeeds.

        `claim` is called once nothing can be refused any more.
        """
        block = self._build_block(task, commands)

        def before(context: TaskContext) -> None:
            self._write_manifest(context, block, export=export)
            if claim is not None:
                claim()

        return self._create(task, block, {}, base=base, allow=allow, before=before), block

    def _build_block(self, task: Task, commands: Commands) -> ImmutableBlock:
        block = immutable_block.build_block(
            self.project, self.settings, task, commands, brief=self.brief
        )
        self.warnings += block.warnings
        return block

    def _create(
        self,
        task: Task,
        block: ImmutableBlock,
        agents: Mapping[str, AgentRecord],
        *,
        base: str | None,
        allow: Collection[str],
        before: Callable[[TaskContext], None] = lambda _: None,
    ) -> TaskContext:
        def make() -> TaskContext:
            return TaskContext(
                task_id=task.id,
                created_at=clock.now(),
                created_by=self.actor,
                git=self._record_base(base, immutable_block.hash_task(task)),
                immutable=block.fields,
                coordination={**{name: AgentRecord() for name in transitions.ROLES}, **agents},
            )

        return self.store.create(task.id, make, before, actor=self.actor, allow=allow)

    def _record_base(self, base: str | None, sha: str) -> dict[str, Any]:
        repo = self.project.repo
        if repo is None:
            raise HandoffRefused("a context needs a git repository", hint="git init")
        commit = repo.head()
        if base is not None:
            named = repo.ask(
                "rev-parse", "--verify", "--quiet", "--end-of-options", f"{base}^{{commit}}"
            )
            if named is None:
                raise HandoffRefused(
                    f"there is no commit {base!r}", hint="give a commit of this repository"
                )
            commit = named.decode().strip()
        start = snapshots.take_base(self.project, self._ref("base"), commit)
        changed = [one.path for one in list_foreign(self.project, start.tree, self.read_tree())]
        if changed:
            more = f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
            names = ", ".join(map(escape_path, changed[:_NAMED]))
            self.warnings.append(f"the working tree is dirty at the start: {names}{more}")
            try:
                snapshot_record.refuse_secrets(self.project, start.tree, ())
            except SecretFound as error:
                self.warnings.append(f"{error.message}: a snapshot will refuse it")
        return {
            "head": commit,
            "branch": name_branch(start.branch),
            "base_tree": start.tree,
            "task_file_sha": sha,
        }

    def _write_manifest(self, context: TaskContext, block: ImmutableBlock, *, export: bool) -> None:
        derived = {}
        for role in transitions.ROLES if export else ():
            name = f"context-{role}.json"
            derived[name] = self.store.write_beside(
                self.task, name, role_views.make_view(context, role)
            )
        self.store.write_beside(
            self.task, "context.manifest", immutable_block.make_manifest(block, derived)
        )

    def begin(
        self, name: str, task: Task | None, *, accept_stale: bool, session: str | None
    ) -> TaskContext:
        """Begin as this agent, on exactly the tree that the agent before it left."""
        context = self._read_unedited()
        if transitions.is_resuming(context, name, self.actor):
            return context
        context = self._close_returned_events(context)
        transitions.check_begin(context, name, self.actor)
        self.warnings += transitions.find_oddities(context, name)
        reasons = immutable_block.find_stale_sources(
            self.project, task, context.immutable, context.git.get("task_file_sha", "")
        )
        if reasons and not accept_stale:
            raise HandoffRefused(
                f"the context is stale: {'; '.join(reasons[:3])}",
                hint=f"kedge context rebuild {self.task}, or begin with --accept-stale",
                data={"stale": reasons},
            )
        self.warnings += [f"stale: {one}" for one in reasons]
        if context.snapshots:
            outcome = self.verify(None)
            if not outcome.same:
                self._open_event(outcome, name)
                raise make_drift_error(self.task, outcome)
        last = [record.tree for _, record in context.snapshots[-1:]]

        def act(one: TaskContext) -> TaskContext:
            transitions.check_begin(one, name, self.actor)
            if [record.tree for _, record in one.snapshots[-1:]] != last:
                raise HandoffRefused("there is a newer snapshot by now", hint="try again")
            return transitions.begin(one, name, self.actor, clock.now(), session)

        return self.store.change(self.task, act, actor=self.actor, what=f"begin {name}")

    def snapshot(self, name: str, *, done: bool, allow: Collection[str] = ()) -> TaskContext:
        """Record the working tree as what this agent leaves, whatever was there before."""
        context = self._close_returned_events(self._read_unedited())
        if context.open_drift:
            raise transitions.make_drift_refusal(context)
        record = self._take_snapshot(context, name, allow)
        return self.store.change(
            self.task,
            lambda one: transitions.record_snapshot(one, name, record, done=done),
            actor=self.actor,
            what=f"snapshot {name}",
            allow=allow,
        )

    def _take_snapshot(
        self, context: TaskContext, name: str, allow: Collection[str]
    ) -> SnapshotRecord:
        record, warnings = snapshot_record.take(
            self.project, context, self._ref(name), self.actor, self.artifacts, allow
        )
        self.warnings += warnings
        return record

    def verify(self, expected: str | None) -> Verification:
        """Compare the working tree with an agent's snapshot, without writing anything."""
        context = self._read_unedited()
        snapshot = transitions.find_snapshot(context, expected)
        if snapshot is None:
            raise HandoffRefused(
                "there is no snapshot yet",
                hint=f"kedge context snapshot {self.task} --agent implementer",
            )
        name, record = snapshot
        now = self.read_tree()
        paths = context.immutable["repo_paths"]
        in_scope = scopes.make_matcher(paths) if paths else None
        self.verified_tree = now
        changes = list_foreign(self.project, record.tree, now)
        rows = tuple(describe_change(one, in_scope) for one in changes)
        # kedge's own edits are not a change
        seen = now if rows else record.tree
        what = str(snapshots.describe(self.project, record.tree, record.head, seen))
        return Verification(name, record, now, what, rows)

    def require_unchanged(self, expected: str | None) -> Verification:
        """Raise CheckFound for a tree that differs. Nothing is written."""
        outcome = self.verify(expected)
        if not outcome.same:
            raise make_drift_error(self.task, outcome)
        return outcome

    def _close_returned_events(self, context: TaskContext) -> TaskContext:
        """Close the open events, and record it, if the tree is again what the last agent left."""
        if not context.open_drift or not self.verify(None).same:
            return context
        self.warnings.append("the drift is gone: every path is back as it was")
        return self.store.change(
            self.task,
            lambda one: transitions.close_returned(one, self.actor, clock.now()),
            actor=self.actor,
            what="drift is gone",
        )

    def _open_event(self, outcome: Verification, name: str | None) -> TaskContext:
        now = clock.now()
        event = DriftEvent(
            id=f"d-{digest([now.encode(), outcome.now.encode()])[:8]}",
            at=now,
            actor=self.actor,
            expected=outcome.since,
            before=outcome.before.tree,
            after=outcome.now,
            what=outcome.what,
            paths=tuple(redact_value([dict(one) for one in outcome.drift[:_EVENT_PATHS]])),
        )
        return self.store.change(
            self.task,
            lambda one: transitions.open_drift_event(one, event, name),
            actor=self.actor,
            what=f"drift {event.id}",
        )

    def resolve(self, note: str, *, accept: bool, allow: Collection[str] = ()) -> TaskContext:
        """Resolve open drift: accept the tree as the agent's snapshot, or restore the snapshot."""
        context = self._read_unedited()
        if context.snapshots and not context.open_drift:  # found by `verify`, not by a `begin`
            outcome = self.verify(None)
            if not outcome.same:
                context = self._open_event(outcome, None)
        refuse("the note", note, {*allow, *context.audit.get("allowed_secrets", ())})
        state = "accepted" if accept else "reverted"
        # To refuse an impossible resolution before the tree is touched.
        transitions.resolve(context, state, note, self.actor, clock.now())
        event = context.open_drift[-1]
        record = context.agent(event.expected).snapshot
        if accept:
            record = self._take_snapshot(context, event.expected, allow)
        elif record is not None:
            ref = f"refs/kedge/before-revert/{self.task[:40]}-{event.id}"
            restored = snapshots.restore(self.project, record.tree, ref)
            self.warnings += [
                f"the tree before the revert is kept as {one}" for one in restored.refs
            ]
            self.warnings += [f"not restored: {path}" for path in restored.left]

        def act(one: TaskContext) -> TaskContext:
            after = transitions.resolve(one, state, note, self.actor, clock.now())
            return after.with_agent(event.expected, snapshot=record) if accept else after

        return self.store.change(
            self.task, act, actor=self.actor, what=f"resolve {state}", allow=allow
        )

    def diff(self, name: str, *, kind: str, against: str | None) -> bytes:
        """Return the agent's changes since the start, the agent before it, or another one."""
        context = self.read()
        record = transitions.require_snapshot(context, name)
        base = str(context.git["base_tree"])
        if against is not None:
            base = transitions.require_snapshot(context, against).tree
        elif kind == "incremental":
            earlier = [one for _, one in context.snapshots if one.at < record.at]
            base = earlier[-1].tree if earlier else base
        return snapshots.diff(self.project, base, record.tree)

    def change(
        self, act: Callable[[TaskContext], TaskContext], what: str, allow: Collection[str] = ()
    ) -> TaskContext:
        """Apply a transition to the stored context."""
        return self.store.change(self.task, act, actor=self.actor, what=what, allow=allow)

    def rebuild(
        self, task: Task, commands: Commands, *, allow: Collection[str] = ()
    ) -> tuple[TaskContext, dict[str, Any], dict[str, Any]]:
        """Read the sources again, and keep checks, events and snapshots.

        Return the context, and its immutable block before and after.
        """
        block = self._build_block(task, commands)
        try:
            loaded = self.store.read(self.task)
            before = loaded.context
            if loaded.edited:  # its checks, findings and events prove nothing
                before = self._recover(task, block, allow)
        except NewerContext:
            raise
        except BrokenContext:
            before = self._recover(task, block, allow)

        def act(one: TaskContext) -> TaskContext:
            git = {**one.git, "task_file_sha": immutable_block.hash_task(task)}
            return replace(one, immutable=block.fields, git=git, revision=one.revision + 1)

        after = self.store.change(self.task, act, actor=self.actor, what="rebuild", allow=allow)
        exported = (self.store.folder(self.task) / "context-implementer.json").exists()
        self._write_manifest(after, block, export=exported)
        return after, dict(before.immutable), dict(after.immutable)

    def _recover(self, task: Task, block: ImmutableBlock, allow: Collection[str]) -> TaskContext:
        """Replace an unusable context by a new one with the snapshots that git still has."""
        aside = self.store.set_aside(self.task)
        self.warnings.append(
            f"the context cannot be trusted and is kept as {aside}; its snapshots were recovered, "
            "its checks, findings and events were not"
        )
        agents = {}
        for name, found in snapshots.list_snapshots(self.project, self.task):
            if name not in transitions.RESERVED:
                record = SnapshotRecord(
                    tree=found.tree, commit=found.commit, ref=found.ref, at=found.at, actor=""
                )
                agents[name] = AgentRecord(status="done", snapshot=record, completed_at=found.at)
        return self._create(task, block, agents, base=None, allow=allow)

    def _read_unedited(self) -> TaskContext:
        """Read the context; HandoffRefused if something other than kedge edited it."""
        loaded = self.store.read(self.task)
        if loaded.edited or not is_sealed(loaded.context.immutable):
            raise HandoffRefused(
                f"the context of {self.task} was edited by something other than kedge",
                hint=f"kedge context rebuild {self.task} restores it from its sources",
            )
        return loaded.context

    def _ref(self, name: str) -> str:
        return snapshots.make_ref(self.project, self.task, name)

    def read_tree(self) -> str:
        """Return the id of the working tree as a git tree."""
        return snapshots.read_tree(self.project)

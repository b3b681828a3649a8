"""The desk where work is handed over: each operation of a context, on the real tree and store."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from kedge.errors import BrokenContext, ContextNotFound, HandoffRefused, NewerContext
from kedge.handoff import gather, scopes, snapshots, steps, views
from kedge.handoff.additions import additions
from kedge.handoff.artifacts import MAX_BYTES, Artifacts
from kedge.handoff.context import Agent, Context, Drift, Kept
from kedge.handoff.normalise import is_sealed, sha256
from kedge.handoff.store import Store
from kedge.handoff.verified import Verified, drifted, row, shown
from kedge.host import clock
from kedge.host.digest import digest
from kedge.host.project import Project
from kedge.host.redact import redact, redact_value
from kedge.host.secrets import refuse
from kedge.model.task import Task
from kedge.settings import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BIG = 10_000_000  # bytes of a diff that is worth a word
_NAMED = 3  # paths of a dirty tree
_TOLD = 5000  # paths of an event that are kept


class Desk:
    """The operations on one task's context. `actor` is who does them.

    With `brief` a task may have no more than a title.
    """

    def __init__(
        self, project: Project, settings: Settings, task: str, actor: str, *, brief: bool = False
    ) -> None:
        self.project = project
        self.settings = settings
        self.task = task
        self.actor = actor
        self.brief = brief
        self.store = Store(project, lock_timeout=settings.tasks.lock_timeout)
        self.warnings: list[str] = []

    @property
    def artifacts(self) -> Artifacts:
        return Artifacts(self.store.folder(self.task) / "artifacts")

    def read(self) -> Context:
        """The context; one that was edited is told about."""
        loaded = self.store.read(self.task)
        if loaded.edited:
            self.warnings.append(
                f"the context of {self.task} was edited by something other than kedge"
            )
        return loaded.context

    def init(
        self,
        task: Task,
        commands: gather.Commands,
        *,
        base: str | None = None,
        allow: Collection[str] = (),
        export: bool = False,
    ) -> tuple[Context, gather.Gathered]:
        """Freeze the task. Of several that try at once, one does."""
        found = gather.gather(self.project, self.settings, task, commands, brief=self.brief)
        self.warnings += found.warnings

        made = self._created(task, found, {}, base=base, allow=allow)
        self._manifest(made, found, export=export)
        return made, found

    def _created(
        self,
        task: Task,
        found: gather.Gathered,
        agents: Mapping[str, Agent],
        *,
        base: str | None,
        allow: Collection[str],
    ) -> Context:
        def make() -> Context:
            return Context(
                task_id=task.id,
                created_at=clock.now(),
                created_by=self.actor,
                git=self._git(base, gather.task_sha(task)),
                immutable=found.immutable,
                coordination={**{name: Agent() for name in steps.ROLES}, **agents},
            )

        return self.store.create(task.id, make, actor=self.actor, allow=allow)

    def _git(self, base: str | None, sha: str) -> dict[str, Any]:
        repo = self.project.repo
        if repo is None:
            raise HandoffRefused("contexts need a git repository", hint="git init")
        commit = repo.head()
        if base is not None:
            named = repo.ask(
                "rev-parse", "--verify", "--quiet", "--end-of-options", f"{base}^{{commit}}"
            )
            if named is None:
                raise HandoffRefused(f"no commit {base!r}", hint="give a commit of this repository")
            commit = named.decode().strip()
        start = snapshots.base(self.project, self._ref("base"), commit)
        changed = [one.path for one in snapshots.compare(self.project, start.tree, self.look())]
        if changed:
            more = f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
            names = ", ".join(map(shown, changed[:_NAMED]))
            self.warnings.append(f"the working tree is dirty at the start: {names}{more}")
        return {
            "head": commit,
            "branch": start.branch,
            "base_tree": start.tree,
            "task_file_sha": sha,
        }

    def _manifest(self, context: Context, found: gather.Gathered, *, export: bool) -> None:
        derived = {}
        for role in steps.ROLES if export else ():
            name = f"context-{role}.json"
            derived[name] = self.store.write_beside(self.task, name, views.view(context, role))
        self.store.write_beside(self.task, "context.manifest", gather.manifest(found, derived))

    def begin(
        self, name: str, task: Task | None, *, accept_stale: bool, session: str | None
    ) -> Context:
        """Begin as this agent, on exactly what the one before left."""
        context = self._whole()
        if steps.goes_on(context, name, self.actor):
            return context
        steps.check_begin(context, name, self.actor)
        self.warnings += steps.oddities(context, name)
        reasons = gather.stale(
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
            found = self.verify(None)
            if not found.same:
                self._open(found, name)
                raise drifted(self.task, found)
        last = [kept.tree for _, kept in context.snapshots[-1:]]

        def act(one: Context) -> Context:
            steps.check_begin(one, name, self.actor)
            if [kept.tree for _, kept in one.snapshots[-1:]] != last:
                raise HandoffRefused("somebody left another snapshot meanwhile", hint="try again")
            return steps.begun(one, name, self.actor, clock.now(), session)

        return self.store.change(self.task, act, actor=self.actor, what=f"begin {name}")

    def snapshot(self, name: str, *, done: bool, allow: Collection[str] = ()) -> Context:
        """Record what this agent leaves. It is never compared with what was before."""
        context = self._whole()
        if context.open_drift:
            raise steps.open_drift(context)
        kept = self._keep(context, name, allow)
        return self.store.change(
            self.task,
            lambda one: steps.snapped(one, name, kept, done=done),
            actor=self.actor,
            what=f"snapshot {name}",
            allow=allow,
        )

    def _keep(self, context: Context, name: str, allow: Collection[str]) -> Kept:
        ref = self._ref(name)
        base = str(context.git["base_tree"])
        known = {*allow, *context.audit.get("allowed_secrets", ())}
        for path, text in additions(self.project, base, self.look()):
            refuse(f"the diff of {redact(path)}", f"{path}\n{text}", known)
        taken = snapshots.take(self.project, ref)
        self.warnings += taken.warnings
        diff = snapshots.diff(self.project, base, taken.tree)
        changes = snapshots.compare(self.project, base, taken.tree)
        lines = snapshots.stat(self.project, base, taken.tree)
        in_scope = scopes.matcher(context.immutable["repo_paths"])
        outside = [shown(one.path) for one in changes if not in_scope(one.path)]
        return Kept(
            tree=taken.tree,
            commit=taken.commit,
            ref=ref,
            at=clock.now(),
            actor=self.actor,
            head=taken.head,
            branch=taken.branch,
            diff_sha=self._kept_diff(diff),
            diff_bytes=len(diff),
            files=len(changes),
            added=sum(added or 0 for _, added, _ in lines),
            deleted=sum(deleted or 0 for _, _, deleted in lines),
            outside=tuple(outside) if context.immutable["repo_paths"] else (),
            vanished=tuple(scopes.vanished(self.project, context.immutable["repo_paths"])),
        )

    def _kept_diff(self, diff: bytes) -> str:
        """Keep the diff as an artifact, unless it is larger than any; its hash."""
        if len(diff) > BIG:
            self.warnings.append(
                f"the diff has {len(diff) / 1e6:.0f} MB: see that no build output is among it"
            )
        return sha256(diff) if len(diff) > MAX_BYTES else self.artifacts.put(diff).sha256

    def verify(self, expected: str | None) -> Verified:
        """Compare the working tree with what an agent left. Nothing is changed."""
        context = self._whole()
        found = steps.expected(context, expected)
        if found is None:
            raise HandoffRefused(
                "nobody has left a snapshot yet",
                hint=f"kedge context snapshot {self.task} --agent implementer",
            )
        name, kept = found
        now = self.look()
        paths = context.immutable["repo_paths"]
        in_scope = scopes.matcher(paths) if paths else None
        changes = snapshots.compare(self.project, kept.tree, now)
        rows = tuple(row(one, in_scope) for one in changes)
        what = str(snapshots.describe(self.project, kept.tree, kept.head, now))
        return Verified(name, kept, now, what, rows)

    def checked(self, expected: str | None) -> Verified:
        """As `verify`, and an event is opened for what differs, unless somebody is at work."""
        found = self.verify(expected)
        context = self.read()
        at_work = any(one.status == "in_progress" for one in context.coordination.values())
        if not found.same and not at_work and found.since == context.snapshots[-1][0]:
            self._open(found, None)
        if not found.same:
            raise drifted(self.task, found)
        return found

    def _open(self, found: Verified, name: str | None) -> None:
        now = clock.now()
        event = Drift(
            id=f"d-{digest([now.encode(), found.now.encode()])[:8]}",
            at=now,
            actor=self.actor,
            expected=found.since,
            before=found.before.tree,
            after=found.now,
            what=found.what,
            paths=tuple(redact_value([dict(one) for one in found.drift[:_TOLD]])),
        )
        self.store.change(
            self.task,
            lambda one: steps.drifted(one, event, name),
            actor=self.actor,
            what=f"drift {event.id}",
        )

    def resolve(self, note: str, *, accept: bool, allow: Collection[str] = ()) -> Context:
        """Answer open drift: take the tree as it is for what was left, or put that back."""
        context = self._whole()
        refuse("the note", note, {*allow, *context.audit.get("allowed_secrets", ())})
        state = "accepted" if accept else "reverted"
        steps.resolved(context, state, note, self.actor, clock.now())  # refuses what may not be
        event = context.open_drift[-1]
        kept = context.agent(event.expected).snapshot
        if accept:
            kept = self._keep(context, event.expected, allow)
        elif kept is not None:
            kept_at = f"refs/kedge/before-revert/{self.task[:40]}-{event.id}"
            done = snapshots.restore(self.project, kept.tree, kept_at)
            self.warnings += [f"what was there is kept as {ref}" for ref in done.refs]
            self.warnings += [f"left as it is: {path}" for path in done.left]

        def act(one: Context) -> Context:
            after = steps.resolved(one, state, note, self.actor, clock.now())
            return after.having(event.expected, snapshot=kept) if accept else after

        return self.store.change(
            self.task, act, actor=self.actor, what=f"resolve {state}", allow=allow
        )

    def diff(self, name: str, *, kind: str, against: str | None) -> bytes:
        """What an agent changed: since the start, since the one before it, or since another."""
        context = self.read()
        found = steps.expected(context, name)
        if found is None:  # a name was given
            raise ContextNotFound(f"{name} has left no snapshot")
        _, kept = found
        base = str(context.git["base_tree"])
        if against is not None:
            other = steps.expected(context, against)
            base = other[1].tree if other else base
        elif kind == "incremental":
            earlier = [one for _, one in context.snapshots if one.at < kept.at]
            base = earlier[-1].tree if earlier else base
        return snapshots.diff(self.project, base, kept.tree)

    def change(
        self, act: Callable[[Context], Context], what: str, allow: Collection[str] = ()
    ) -> Context:
        """Any other step, as `steps` has it."""
        return self.store.change(self.task, act, actor=self.actor, what=what, allow=allow)

    def rebuild(
        self, task: Task, commands: gather.Commands, *, allow: Collection[str] = ()
    ) -> tuple[Context, dict[str, Any], dict[str, Any]]:
        """Read the sources again; checks, events and snapshots stay. The block before and after."""
        found = gather.gather(self.project, self.settings, task, commands, brief=self.brief)
        self.warnings += found.warnings
        try:
            loaded = self.store.read(self.task)
            before = loaded.context
            if loaded.edited:  # what it says of checks, findings and events proves nothing
                before = self._recovered(task, found, allow)
        except NewerContext:
            raise
        except BrokenContext:
            before = self._recovered(task, found, allow)

        def act(one: Context) -> Context:
            git = {**one.git, "task_file_sha": gather.task_sha(task)}
            return replace(one, immutable=found.immutable, git=git, revision=one.revision + 1)

        after = self.store.change(
            self.task, act, actor=self.actor, what="rebuild", allow=allow, mend=True
        )
        exported = (self.store.folder(self.task) / "context-implementer.json").exists()
        self._manifest(after, found, export=exported)
        return after, dict(before.immutable), dict(after.immutable)

    def _recovered(self, task: Task, found: gather.Gathered, allow: Collection[str]) -> Context:
        """A new context in place of one that cannot be read, with the snapshots that git has."""
        aside = self.store.set_aside(self.task)
        self.warnings.append(
            f"the context cannot be trusted and is kept as {aside}; snapshots were found again, "
            "checks, findings and events were not"
        )
        agents = {}
        for name, kept in snapshots.kept(self.project, self.task):
            if name not in steps.RESERVED:
                known = Kept(tree=kept.tree, commit=kept.commit, ref=kept.ref, at=kept.at, actor="")
                agents[name] = Agent(status="done", snapshot=known, completed_at=kept.at)
        return self._created(task, found, agents, base=None, allow=allow)

    def _whole(self) -> Context:
        """The context, when nothing but kedge has written it."""
        loaded = self.store.read(self.task)
        if loaded.edited or not is_sealed(loaded.context.immutable):
            raise HandoffRefused(
                f"the context of {self.task} was edited by something other than kedge",
                hint=f"kedge context rebuild {self.task} makes it right from its sources",
            )
        return loaded.context

    def _ref(self, name: str) -> str:
        return snapshots.ref_of(self.project, self.task, name)

    def look(self) -> str:
        return snapshots.look(self.project)

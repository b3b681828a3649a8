"""The work on one task: begin it, let each role take its turn, commit, and settle its status."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from kedge.errors import GitError, HandoffRefused, KedgeError, NotApproved
from kedge.handoff import approval, immutable_block, lifecycle
from kedge.handoff.foreign_changes import drop_own, list_foreign
from kedge.handoff.operations import HandoffOperations
from kedge.handoff.snapshot import snapshots
from kedge.host.redact import redact
from kedge.host.text import clean, shorten
from kedge.model.attempt import Outcome
from kedge.model.task import Block, BlockType, Status, Task
from kedge.run import agent_commits, agent_setup, commits, hidden_files, repository_guard, worktrees
from kedge.run.decision import Decision
from kedge.run.journal import Checkpoint
from kedge.run.options import IMPLEMENTER
from kedge.run.outcomes import TaskOutcome, TaskResult
from kedge.run.role_turn import RoleTurn
from kedge.run.run_state import RunState


class TaskRefused(HandoffRefused):
    """A task that somebody has to look at first; `block` says what is wrong with it."""

    def __init__(self, message: str, block: BlockType, *, hint: str | None = None):
        super().__init__(message, hint=hint)
        self.block = block


class TaskWork:
    """A task that this run has claimed. Making one claims it and records the tree it starts on.

    Raises TaskRefused for a task that cannot be worked on as it is.
    """

    def __init__(self, state: RunState, task: Task) -> None:
        _refuse_changed_checks(state, task)
        state.board().claim(task.id, state.id)
        _set_aside(state)
        self._state = state
        self._task = task
        try:
            self._handoff = _open_handoff(state, task)
        except HandoffRefused as error:
            raise TaskRefused(error.message, BlockType.SPEC_UNCLEAR, hint=error.hint) from error
        self._begin = self._checkpoint()
        repo = state.project.repo
        self._hidden = hidden_files.read(repo) if repo is not None else {}
        self._pass_on_warnings()
        checks = self._handoff.read().immutable["validation_baseline"]["commands"]
        _refuse_unapproved(state, task, checks)
        state.emit("task", {"task": task.id, "title": task.title, "checks": list(checks)})

    def make_attempt(self, last: Decision | None) -> Decision:
        """Let each role take its turn until one does not succeed; commit if all do."""
        first, *others = self._state.options.roles
        if last is None and first == IMPLEMENTER and self._is_recorded_done():
            decision: Decision | None = self._turn(first).prove_again()
            roles = others if decision is not None and decision.done else []
        else:
            decision, roles = last, [first, *others]
        for role in roles:
            decision = self._take_turn(role, decision)
            if not decision.done:
                return decision
        assert decision is not None  # noqa: S101 - a run has at least one role
        if not decision.done:
            return decision
        if self._state.options.commit:
            decision = self._commit(decision)
        else:
            self._note_proven(decision)
        if decision.done:
            self._accept_scope()
        return decision

    def _accept_scope(self) -> None:
        """Guard the files of the task's scope as it left them: other tasks follow."""
        state, before = self._state, self._state.baseline
        if before is None:
            return
        state.baseline = repository_guard.accept_scope(before, state.project, self._task.scope_in)
        if state.baseline != before:
            stored = repository_guard.store(state.journal.baseline_path, state.baseline)
            state.journal.change(baseline=stored)

    def _note_proven(self, done: Decision) -> None:
        """Note that the task is proven: if the run is killed now, recovery finishes it."""
        checkpoint = self._state.journal.record.at
        if checkpoint is not None:
            self._state.journal.change(at=replace(checkpoint, proven=done.reason))

    def _is_recorded_done(self) -> bool:
        """True if this run was killed after it had recorded this very tree as done.

        The record alone proves nothing: whoever killed the run may have written it.
        """
        tree = self._state.attempts.find_done_tree(self._task.id)
        return tree is not None and tree == self._handoff.read_tree()

    def _turn(self, role: str) -> RoleTurn:
        return RoleTurn(self._state, self._handoff, self._task, role, self._begin, self._hidden)

    def _take_turn(self, role: str, last: Decision | None) -> Decision:
        decision = self._turn(role).take(last)
        self._state.count_failure(decision)
        self._pass_on_warnings()
        event = {"outcome": decision.outcome.value, "reason": decision.reason}
        self._state.emit("decision", {"task": self._task.id, "role": role, **event})
        return decision

    def _commit(self, done: Decision) -> Decision:
        """Commit the proven tree. If a hook of the user refuses, the task is not done."""
        state, project, task = self._state, self._state.project, self._task
        proven = self._handoff.read().snapshots[-1][1].tree
        paths = commits.list_changed(project, self._begin.start, proven)
        self._warn_of_user_changes(paths)
        checkpoint = state.journal.record.at
        self._note_proven(done)
        # The commit records that the task is closed, if it holds the tasks. If not, the task is
        # closed when the commit is made.
        has_tasks = not worktrees.is_own(project, task.id)
        if has_tasks:
            state.board().close(task.id, _clean_reason(done.reason))
        summary = lifecycle.record_summary(project, task.id)
        try:
            self._refuse_planted()
            records = commits.list_records(project, task.id)
            commit = commits.commit(
                project, task, self._begin.head, proven, paths, records, done.reason, state.warn
            )
        except GitError as error:
            lifecycle.withdraw_summary(project, task.id, summary)
            if has_tasks:
                state.board().reopen(task.id)
                state.board().claim(task.id, state.id)
            state.journal.change(at=checkpoint)
            why = f"the commit was refused: {redact(error.message)}"
            refused = Decision(Outcome.FAILED_CHECKS, why)
            state.attempts.record(task.id, IMPLEMENTER, refused)
            state.count_failure(refused)
            self._take_back_commits()
            return refused
        if commit:
            state.emit("commit", {"task": task.id, "commit": commit})
        return done

    def _refuse_planted(self) -> None:
        """Put back what an agent of another task, which shares the repository, did meanwhile."""
        baseline = self._state.baseline
        if baseline is None:
            return
        project = self._state.project
        left = repository_guard.leave_scope(baseline, project, self._task.scope_in)
        report = repository_guard.check(project, left)
        if report.refused:
            raise GitError(f"{', '.join(report.refused)} changed", hint="git config --list")

    def _take_back_commits(self) -> None:
        """Put HEAD back to where the task began: what the agent committed is not done."""
        try:
            taken = agent_commits.take_back(self._state.project, self._task.id, self._begin.head)
        except KedgeError as error:
            self._state.warn(f"what the attempt has committed stays: {error.message}")
            return
        if taken is not None:
            self._state.emit("uncommitted", {"task": self._task.id, **asdict(taken)})

    def _warn_of_user_changes(self, paths: set[str]) -> None:
        """Name the files that the user had changed before: those changes are committed, too."""
        project, base = self._state.project, str(self._handoff.read().git["base_tree"])
        own = {one.path for one in list_foreign(project, base, self._begin.start)} & paths
        if own:
            names = ", ".join(sorted(own)[:5])
            self._state.warn(f"{names} had changes already, and they are part of the commit")

    def _checkpoint(self) -> Checkpoint:
        """Return where the task starts: the journal's checkpoint, if it resumes this task."""
        journal, task = self._state.journal, self._task
        checkpoint = journal.record.at
        if checkpoint is None or checkpoint.task != task.id:
            head = commits.find_head(self._state.project)
            if journal.is_elsewhere(head):
                raise GitError(
                    f"HEAD is on {head.branch or 'no branch'}, not where the run started",
                    hint=f"git switch {journal.record.branch}",
                )
            start = _keep_start(self._state, task)
            checkpoint = Checkpoint(task.id, start, commit=head.commit, branch=head.branch)
            journal.change(at=checkpoint)
        return checkpoint

    def _pass_on_warnings(self) -> None:
        while self._handoff.warnings:
            self._state.warn(self._handoff.warnings.pop(0))


def settle_task(state: RunState, task: Task, result: TaskResult) -> None:
    """Set the task's status to what the run found, whatever its agent wrote there."""
    files = state.attempts.list_files(task.id)
    if result.state is not TaskOutcome.BLOCKED:
        result = replace(result, block=None)
    result = replace(result, files=files, drift=state.attempts.summarize_drift(task.id))
    board, reason = state.board(), _clean_reason(result.reason)
    status = board.get(task.id).status
    if status in (Status.DONE, Status.FAILED) and result.state != status.value:
        board.reopen(task.id)
    match result.state:
        case TaskOutcome.DONE:
            board.close(task.id, reason)
            for warning in lifecycle.archive(state.project, task.id):
                state.warn(warning)
        case TaskOutcome.FAILED:
            board.close(task.id, reason, failed=True)
        case TaskOutcome.BLOCKED if status is not Status.BLOCKED:
            board.block(task.id, Block(result.block or BlockType.SPEC_UNCLEAR, reason))
        case TaskOutcome.LEFT if board.get(task.id).status is Status.IN_PROGRESS:
            board.reopen(task.id)
    state.add_result(result)


def _refuse_changed_checks(state: RunState, task: Task) -> None:
    """Refuse checks that an agent changed while it worked on an earlier task."""
    known = state.journal.record.checks.get(task.id)
    if known is not None and known != list(task.checks):
        before = ", ".join(f"`{one}`" for one in known) or "none"
        raise TaskRefused(
            f"its checks were changed while the run went on; they were {before}",
            BlockType.TOOLING,
            hint=f"look at kedge task show {task.id}, then start another run",
        )


def _refuse_unapproved(state: RunState, task: Task, checks: Sequence[str]) -> None:
    """Refuse checks that came up while the run went on, from an agent's own tasks for example."""
    try:
        approval.require(state.project, checks, task.id)
    except NotApproved as error:
        raise TaskRefused(
            f"{error.message}; kedge trust shows and approves them", BlockType.TOOLING
        ) from error


def _set_aside(state: RunState) -> None:
    """Take the changes of the last, unfinished task out of the tree, and keep them as a ref.

    Its context is archived: who takes the task up again starts from the tree as it is then.
    """
    left, state.unfinished = state.unfinished, None
    if left is None:
        return
    changes = snapshots.compare(state.project, left.start, snapshots.read_tree(state.project))
    foreign = drop_own(state.project, changes)
    if foreign:
        ref = f"refs/kedge/set-aside/{left.task[:40]}"
        own = {one.path for one in changes} - {one.path for one in foreign}
        for one in snapshots.restore(state.project, left.start, ref, leave=own).refs:
            state.emit("aside", {"task": left.task, "ref": one})
    for warning in lifecycle.archive(state.project, left.task, keep_snapshots=True):
        state.warn(warning)


def _open_handoff(state: RunState, task: Task) -> HandoffOperations:
    """Return the handoff with the task's context, created or rebuilt where it is stale."""
    handoff = HandoffOperations(state.project, state.settings, task.id, state.id, brief=True)

    def list_commands() -> Any:
        return agent_setup.open_workspace(state, task).map_data["commands"]

    if not handoff.store.exists(task.id):
        handoff.init(task, list_commands)
    elif handoff.store.read(task.id).edited or _is_stale(state, handoff, task):
        handoff.rebuild(task, list_commands)
    return handoff


def _is_stale(state: RunState, handoff: HandoffOperations, task: Task) -> bool:
    context = handoff.read()
    sha = context.git.get("task_file_sha", "")
    return bool(immutable_block.find_stale_sources(state.project, task, context.immutable, sha))


def _keep_start(state: RunState, task: Task) -> str:
    """Keep the tree the task starts on, and return it.

    In the task's own work tree that is HEAD's: what an earlier run left there is part of the work.
    """
    project = state.project
    ref = snapshots.make_ref(project, task.id, "start")
    if worktrees.is_own(project, task.id) and project.repo is not None:
        return snapshots.take_base(project, ref, project.repo.head()).tree
    return snapshots.take(project, ref).tree


def _clean_reason(reason: str) -> str:
    """Return a reason that may go into git: without secrets and unprintable characters."""
    plain = reason.encode("utf-8", "replace").decode()
    return shorten(clean(redact(plain)), 1000)

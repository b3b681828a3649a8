"""The engine of one session: takes prompts, actions and results; gives verdicts and corrections."""

from __future__ import annotations

from kedge.drift import charter, course, inputs, scoring
from kedge.drift.evidence import memory, memory_data, outward_acts, repeats
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any

    from kedge.drift.actions import Action
    from kedge.drift.charter import Charter
    from kedge.drift.corrections import Correction
    from kedge.drift.evidence.distance import CodeMap
    from kedge.drift.evidence.work_tree import ReadableTree, WorkTree
    from kedge.drift.recovery import RecoveryPlan
    from kedge.drift.scoring import Exists, Penalty, ReadFile, Verdict

_TOPIC = "topic"
_DECLARED = ("scope", "limit")  # rules that rest on what the user or the task declared
_MOST_STAMPS = 4  # calls whose result is awaited
_MOST_ALLOWED = 50
_ON_GOAL = 9  # lowest score of a step that takes up the goal again


class PendingEvidence(NamedTuple):
    """The rules behind a correction that was not delivered yet."""

    action: str
    rules: tuple[Penalty, ...]


class Session:
    """The charter, the memory and the course of one session."""

    def __init__(
        self,
        root: str | None = None,
        *,
        cwd: str | None = None,
        charter_: Charter | None = None,
        code_map: CodeMap | None = None,
        exists: Exists | None = None,
        tree: ReadableTree | None = None,
    ) -> None:
        """`tree` is the working tree; `exists` tells whether a path existed before an action, by
        default in the tree. Paths are relative to the root."""
        self.root = root
        self.cwd = cwd
        self.code_map = code_map
        self.exists = exists or (tree.exists if tree is not None else None)
        self.read: ReadFile | None = tree.read if tree is not None else None
        self.tree: WorkTree | None = tree
        self.stamps: dict[str, dict[str, str]] = {}  # the tree before calls without a result yet
        self.is_blind = False  # git did not answer in time: the tree is not compared any more
        self.charter = charter_ or charter.Charter()
        self.memory = memory.SessionMemory()
        self.course = course.Course()
        self.evidence: tuple[PendingEvidence, ...] = ()
        self.plan: RecoveryPlan | None = None  # while the session is not on course
        if self.charter.goal:
            self.memory = self._remember(self.charter.goal, "goal")
            if code_map is not None:
                code_map.expect(self.charter.goal)

    def prompt(self, text: str) -> None:
        """Take a message of the user; text that a client put into it is not the user's word."""
        from kedge.drift.language.prompts import kind, users_words

        message = kind(text)
        if message == "machine":
            return
        goal = self.charter.goal
        self.charter = charter.revise(self.charter, text)
        if self.code_map is not None and self.charter.goal != goal:
            self.code_map.expect(self.charter.goal)
        self.memory = self._remember(users_words(text), message)
        self._hear_user()

    def bind(self, task: Charter) -> None:
        """Bind the session to a task, given as a charter, in place of any other task."""
        goal = self.charter.goal
        self.charter = charter.join_task(self.charter, task)
        if self.code_map is not None and self.charter.goal != goal:
            self.code_map.expect(self.charter.goal)
        self.memory = self._remember(task.goal, "goal")

    def unbind(self) -> None:
        """End the binding to a task; what the user said stays."""
        self.charter = charter.leave_task(self.charter)

    def action(self, id: str, tool: str, input: Any) -> Verdict:  # noqa: A002
        """Judge a tool call by what came before it."""
        return self.judge(inputs.read_call(self, tool, input, id))

    def judge(self, action: Action) -> Verdict:
        """Judge an action that is already normalised."""
        before = self.memory
        verdict, self.memory = scoring.judge(
            self.charter,
            self.memory,
            action,
            self.code_map,
            rooted=self.root is not None,
            exists=self.exists,
            read=self.read,
            tree=self.tree,
        )
        changes = bool(memory.find_changed_files(action))
        heaviest = verdict.rules[0].rule if verdict.rules else ""
        recovers = returns = changes
        if self.plan is not None:
            from kedge.drift import recovery

            undoes = not before.breached.keys() <= self.memory.breached.keys()
            recovers = undoes or recovery.keeps_to(self.plan, action, self.code_map)
            returns = recovery.reads_goal(action) or (changes and recovers)
        event = course.ActionJudged(
            action.id,
            verdict.score,
            heaviest == _TOPIC,
            changes,
            returns and verdict.score >= _ON_GOAL,
            heaviest in _DECLARED,
            recovers,
        )
        self.course, _ = course.step(self.course, event)
        if self.course.state == course.NORMAL:
            self.plan = None
        elif self.plan is None:
            from kedge.drift import recovery

            self.plan = recovery.make_plan(self.charter, before)
        if verdict.score < 8:
            waiting = {each.action for each in self.course.pending}
            evidence = (*self.evidence, PendingEvidence(action.id, verdict.rules))
            self.evidence = tuple(each for each in evidence if each.action in waiting)
        return verdict

    def record_breach(
        self, action: Action, verdict: Verdict, dirty: Collection[str] | None = None
    ) -> None:
        """Remember what an action that is let through changes against what was declared.

        `dirty` are the files that differed from what is committed before it; by default the tree is
        asked.
        """
        if not any(rule.rule in _DECLARED for rule in verdict.rules):
            return
        from kedge.drift.evidence import undo

        if dirty is None and self.tree is not None:
            dirty = self.tree.find_uncommitted(untracked=False)
        self.memory = undo.record_breach(self.memory, action, dirty)

    def allow(self, asked: Sequence[Sequence[str]]) -> None:
        """Take the user's Yes to a call: pairs of a limit's id, or of a rule, and its evidence."""
        known = {each.id for each in self.charter.limits}
        for name, evidence in asked:
            if name in known:
                self.charter = charter.allow(self.charter, name, evidence)
            else:
                agreed = (*self.charter.allowed, f"{name}: {evidence}")[-_MOST_ALLOWED:]
                self.charter = self.charter._replace(allowed=agreed)
        self._hear_user()

    def _hear_user(self) -> None:
        """Set the course back: what the user says or allows makes good what was before."""
        self.course, _ = course.step(self.course, course.UserSpoke())
        self.evidence = ()
        self.plan = None

    def result(self, id: str, ok: bool) -> None:  # noqa: A002
        """Take the result of an action."""
        self.memory = repeats.record_result(self.memory, id, ok)

    def add_stamp(self, id: str, stamp: dict[str, str] | None) -> None:  # noqa: A002
        """Keep the state of the tree before a call; None if it cannot be told in this session."""
        if stamp is None:
            self.is_blind = True
        else:
            self.stamps = dict([*self.stamps.items(), (id, stamp)][-_MOST_STAMPS:])

    def deliver(
        self, actions: tuple[str, ...] | None = None, earlier: Sequence[str] = ()
    ) -> list[Correction]:
        """Return the corrections to give now, about these actions or about any; each only once.

        `earlier` describes steps on the goal to go back to.
        """
        from kedge.drift.corrections import write_correction

        rules = {each.action: each.rules for each in self.evidence}
        self.course, commands = course.step(self.course, course.DeliveryDue(actions))
        waiting = {each.action for each in self.course.pending}
        self.evidence = tuple(each for each in self.evidence if each.action in waiting)
        return [
            write_correction(
                each.level, self.charter.goal, rules.get(each.action, ()), earlier, self.way_back
            )._replace(action=each.action)
            for each in commands
        ]

    @property
    def way_back(self) -> tuple[str, ...]:
        """The files to go back to; empty on course."""
        return self.plan.files if self.plan is not None else ()

    def data(self) -> dict[str, Any]:
        """Return the session as JSON values."""
        values: dict[str, Any] = {
            "charter": self.charter.data(),
            "state": memory_data.data(self.memory),
            "course": course.data(self.course),
            "told": [[each.action, [list(rule) for rule in each.rules]] for each in self.evidence],
        }
        if self.stamps or self.is_blind:
            values |= {"stamps": self.stamps, "blind": self.is_blind}
        if self.plan is not None:
            values["plan"] = self.plan.data()
        return values

    def parse(self, stored: Mapping[str, Any]) -> None:
        """Restore the session from the output of `data`. Raise ValueError if it is not one."""
        try:
            evidence = tuple(
                PendingEvidence(
                    str(action),
                    tuple(
                        scoring.Penalty(str(rule), str(text), int(weight))
                        for rule, text, weight in rules
                    ),
                )
                for action, rules in stored["told"]
            )
            parts = stored["charter"], stored["state"], stored["course"]
            plan = stored.get("plan")
            stamps = {str(call): dict(stamp) for call, stamp in stored.get("stamps", {}).items()}
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError("not a session") from error
        self.charter = charter.parse(parts[0])
        self.memory = memory_data.parse(parts[1])
        self.course = course.parse(parts[2])
        self.evidence = evidence
        self.stamps = stamps
        self.is_blind = bool(stored.get("blind"))
        self.plan = None
        if plan is not None:
            from kedge.drift import recovery

            self.plan = recovery.parse(plan)

    def _remember(self, text: str, kind: str) -> memory.SessionMemory:
        return memory.record_message(self.memory, text, kind, outward_acts.find_request_words(text))

"""One session under watch: prompts, actions, results go in; verdicts, corrections come out."""

from __future__ import annotations

from kedge.drift import acts, charter, course, memory, repeats, scoring
from kedge.drift.actions import normalise
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from kedge.drift.actions import Action
    from kedge.drift.charter import Charter
    from kedge.drift.corrections import Correction
    from kedge.drift.distance import Neighbours
    from kedge.drift.scoring import Exists, Rule, Verdict

_NOWHERE = "/project"  # where relative paths lie when the root is not known
_TOPIC = "topic"
_GOAL_READ = ("kedge anchor", "kedge prompt")


class Told(NamedTuple):
    """What a correction that is still to be given rests on."""

    action: str
    rules: tuple[Rule, ...]


class Session:
    """The charter, the state and the course of one session, kept in step."""

    def __init__(
        self,
        root: str | None = None,
        *,
        cwd: str | None = None,
        charter_: Charter | None = None,
        neighbours: Neighbours | None = None,
        exists: Exists | None = None,
    ) -> None:
        """`exists` says of a path, from the root, whether there is such a file."""
        self.root = root
        self.cwd = cwd
        self.neighbours = neighbours
        self.exists = exists
        self.charter = charter_ or charter.Charter()
        self.state = memory.State()
        self.course = course.Course()
        self.told: tuple[Told, ...] = ()
        if self.charter.goal:
            self.state = self._heard(self.charter.goal, "goal")

    def prompt(self, text: str) -> None:
        """The user has spoken. What a client put into the message is not their word."""
        from kedge.drift.prompts import kind, users_words

        what = kind(text)
        if what == "machine":
            return
        self.charter = charter.revised(self.charter, text)
        self.state = self._heard(users_words(text), what)
        self.course, _ = course.step(self.course, course.Spoke())
        self.told = ()

    def action(self, id: str, tool: str, input: Any) -> Verdict:  # noqa: A002
        """Judge a tool call from what came before it."""
        root = self.root or _NOWHERE
        action = normalise(tool, input, root=root, cwd=self.cwd or root, id=id)
        return self.judge(action)

    def judge(self, action: Action) -> Verdict:
        """Judge an action that is normalised already."""
        verdict, self.state = scoring.judge(
            self.charter,
            self.state,
            action,
            self.neighbours,
            rooted=self.root is not None,
            exists=self.exists,
        )
        changes = bool(memory.changed(action))
        event = course.Judged(
            action.id,
            verdict.score,
            bool(verdict.rules) and verdict.rules[0].rule == _TOPIC,
            changes,
            _returns(action, verdict.score, changes),
        )
        self.course, _ = course.step(self.course, event)
        if verdict.score < 8:
            waiting = {each.action for each in self.course.pending}
            kept = (*self.told, Told(action.id, verdict.rules))
            self.told = tuple(each for each in kept if each.action in waiting)
        return verdict

    def result(self, id: str, ok: bool) -> None:  # noqa: A002
        """The result of an action came back."""
        self.state = repeats.ended(self.state, id, ok)

    def due(
        self, actions: tuple[str, ...] | None = None, earlier: Sequence[str] = ()
    ) -> list[Correction]:
        """The corrections to give now, about these actions or about all; each is given once.

        `earlier` are steps on the goal to go back to.
        """
        from kedge.drift.corrections import build

        rules = {each.action: each.rules for each in self.told}
        self.course, commands = course.step(self.course, course.Due(actions))
        waiting = {each.action for each in self.course.pending}
        self.told = tuple(each for each in self.told if each.action in waiting)
        return [
            build(each.level, self.charter.goal, rules.get(each.action, ()), earlier)._replace(
                action=each.action
            )
            for each in commands
            if isinstance(each, course.Deliver)
        ]

    def data(self) -> dict[str, Any]:
        """All of it as JSON values, from which `parse` goes on."""
        return {
            "charter": self.charter.data(),
            "state": memory.data(self.state),
            "course": course.data(self.course),
            "told": [[each.action, [list(rule) for rule in each.rules]] for each in self.told],
        }

    def parse(self, stored: Mapping[str, Any]) -> None:
        """Go on from what `data` gave. Raises ValueError for anything else."""
        try:
            told = tuple(
                Told(str(action), tuple(scoring.Rule(str(a), str(b), int(c)) for a, b, c in rules))
                for action, rules in stored["told"]
            )
            parts = stored["charter"], stored["state"], stored["course"]
        except (KeyError, TypeError) as error:
            raise ValueError("not a session") from error
        self.charter = charter.parse(parts[0])
        self.state = memory.parse(parts[1])
        self.course = course.parse(parts[2])
        self.told = told

    def _heard(self, text: str, what: str) -> memory.State:
        return memory.heard(self.state, text, what, acts.asks(text))


def _returns(action: Action, score: int, changes: bool) -> bool:
    """Whether an action is the way back: the goal is read again, or worked on."""
    if any(command in action.command for command in _GOAL_READ):
        return True
    return changes and score >= 9

"""What an agent is told when it strays: the evidence, the goal, the way back, a way to object.

Nothing is told that the user or the record did not say: the goal and the constraints are quoted.
"""

from __future__ import annotations

from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kedge.drift.scoring import Rule

_GOAL = {"nudge": 34, "correct": 34, "intervene": 50, "halt": 44}  # tokens
_EVIDENCE = {"nudge": 30, "correct": 30, "intervene": 32, "halt": 28}
_RULES = {"nudge": 1, "correct": 1, "intervene": 2, "halt": 2}
_EARLIER = 20
_LONGEST = 600  # characters of a text that are looked at
_LEAD = {
    "topic": "This looks like other work than what was asked",
    "repetition": "This goes in a circle",
    "weakened check": "This weakens a check",
    "constraint": "This goes against what was asked",
    "outside the project": "This leaves the project",
    "scope": "This leaves the scope of the task",
}
_UNASKED = "Nobody asked for this"
_BACK = {
    "constraint": "leave that undone, or take it back where it is done",
    "outside the project": "keep to the project's files",
    "scope": "keep to the files of the task",
    "repetition": "look at why it failed before trying it again",
    "weakened check": "keep the check and make it pass",
    "topic": "take up the request again",
}
_ACT = "leave it to the user, who has not asked for it"
_OBJECT = "If the step is needed, say why it is, then go on."
_ASK = "If you think that it is needed, say why and let the user decide."


class Correction(NamedTuple):
    """Text for the agent, by level, about an action."""

    level: str
    text: str
    action: str = ""


def build(level: str, goal: str, rules: Sequence[Rule], earlier: Sequence[str] = ()) -> Correction:
    """The correction of a level above none. `earlier` are steps on the goal to go back to."""
    told = sorted(rules, key=lambda rule: -rule.weight)[: _RULES[level]]
    kind = told[0].rule if told else "topic"
    stop = "Stop. " if level == "halt" else ""
    lines = [
        f"[kedge] {stop}{_LEAD.get(kind, _UNASKED)}.",
        *(f"Seen: {rule.rule}: {_short(rule.evidence, _EVIDENCE[level])}" for rule in told),
    ]
    if goal.strip():
        lines.append(f"Asked: “{_short(goal, _GOAL[level])}”")
    lines.append(f"Way back: {_BACK.get(kind, _ACT)}.")
    if earlier and level in ("intervene", "halt"):
        lines.append(f"Last on course: {_short('; '.join(earlier[:2]), _EARLIER)}")
    if level == "halt":
        lines.append("Before anything else, read the goal again: `kedge anchor`.")
    lines.append(_OBJECT if level in ("nudge", "correct") else _ASK)
    return Correction(level, "\n".join(lines))


def _short(text: str, tokens: int) -> str:
    """One line of at most so many tokens; what does not fit is left out at the end."""
    from kedge.host.tokens import cut, fits

    line = " ".join(text[:_LONGEST].split())
    if len(text) <= _LONGEST and fits(line, tokens):
        return line
    return cut(line, tokens - 2).rstrip() + " …"

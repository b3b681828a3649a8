"""Corrections: the evidence, the goal, the way back, and an invitation to object.

A correction never invents an instruction: it quotes the goal and the limits.
"""

from __future__ import annotations

from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kedge.drift.scoring import Penalty

_GOAL = {"nudge": 34, "correct": 34, "intervene": 50, "halt": 44}  # tokens
_EVIDENCE = {"nudge": 30, "correct": 30, "intervene": 32, "halt": 28}
_RULES = {"nudge": 1, "correct": 1, "intervene": 2, "halt": 2}
_EARLIER = 20
_LONGEST = 600  # characters of a text that are read
_LEAD = {
    "topic": "This looks like different work from what was asked",
    "repetition": "This is going in circles",
    "weakened check": "This weakens a check",
    "limit": "This goes against what was asked",
    "outside the project": "This leaves the project",
    "scope": "This leaves the scope of the task",
}
_UNASKED = "Nobody asked for this"
_BACK = {
    "limit": "leave it undone, or undo it if it is done",
    "outside the project": "keep to the project's files",
    "scope": "keep to the files of the task",
    "repetition": "find out why it failed before trying it again",
    "weakened check": "keep the check and make it pass",
    "topic": "return to the request",
}
_ACT = "leave it to the user, who did not ask for it"
_OBJECT = "If the step is needed, say why, then go on."
_ASK = "If you think it is needed, say why and let the user decide."


class Correction(NamedTuple):
    """Text for the agent about an action."""

    level: str
    text: str
    action: str = ""


def write_correction(
    level: str, goal: str, rules: Sequence[Penalty], earlier: Sequence[str] = ()
) -> Correction:
    """Write the correction for a level above none; `earlier` describes steps to go back to."""
    heaviest = sorted(rules, key=lambda rule: -rule.weight)[: _RULES[level]]
    kind = heaviest[0].rule if heaviest else "topic"
    stop = "Stop. " if level == "halt" else ""
    lines = [
        f"[kedge] {stop}{_LEAD.get(kind, _UNASKED)}.",
        *(f"Seen: {rule.rule}: {_shorten(rule.evidence, _EVIDENCE[level])}" for rule in heaviest),
    ]
    if goal.strip():
        lines.append(f"Asked: “{_shorten(goal, _GOAL[level])}”")
    lines.append(f"Way back: {_BACK.get(kind, _ACT)}.")
    if earlier and level in ("intervene", "halt"):
        lines.append(f"Last on course: {_shorten('; '.join(earlier[:2]), _EARLIER)}")
    if level == "halt":
        lines.append("Before anything else, read the goal again: `kedge anchor`.")
    lines.append(_OBJECT if level in ("nudge", "correct") else _ASK)
    return Correction(level, "\n".join(lines))


def _shorten(text: str, tokens: int) -> str:
    """Return the text as one line of at most this many tokens, cut at the end."""
    from kedge.host.tokens import cut, fits

    line = " ".join(text[:_LONGEST].split())
    if len(text) <= _LONGEST and fits(line, tokens):
        return line
    return cut(line, tokens - 2).rstrip() + " …"

"""Corrections: the evidence, the goal, the way back, and an invitation to object.

A correction never invents an instruction: it quotes the goal and the limits. It addresses the
agent; where a call is asked about or denied, a second text addresses the user.
"""

from __future__ import annotations

from kedge.drift.limits.limit import OUT_OF_SCOPE
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kedge.drift.scoring import Penalty

# In bytes, about four to a token: counting tokens exactly would cost the hook 4 ms.
_GOAL = {"nudge": 136, "correct": 136, "intervene": 200, "halt": 176}
_EVIDENCE = {"nudge": 120, "correct": 120, "intervene": 128, "halt": 112}
_RULES = {"nudge": 1, "correct": 1, "intervene": 2, "halt": 2}
_EARLIER = 80
_FILES = 56
_LONGEST = 600  # characters of a text that are read
_LONGEST_WORD = 24  # characters; a longer one is cut inside
_CUT = " …"
_LEAD = {
    "topic": "This looks like different work from what was asked",
    "repetition": "This is going in circles",
    "weakened check": "This weakens a check",
    "limit": "This goes against what was asked",
    "outside the project": "This leaves the project",
    "scope": "This leaves the scope of the task",
    "switches off the watch": "Only the user may change what watches you",
}
_UNASKED = "Nobody asked for this"
_BACK = {
    "limit": "leave it undone, or undo it if it is done",
    "outside the project": "keep to the project's files",
    "scope": "keep to the files of the task",
    "repetition": "find out why it failed before trying it again",
    "weakened check": "keep the check and make it pass",
    "topic": "return to the request",
    "switches off the watch": "ask the user to run it in a terminal of their own",
}
_ACT = "leave it to the user, who did not ask for it"
_OBJECT = "If the step is needed, say why, then go on."
_AGAINST = ", against “"  # between what an action does and the user's words
_MOST_QUOTE = 192  # bytes of the user's words in a text for the user
_MOST_ACT = 128  # bytes of what an action does
_ASK = "If you think it is needed, say why and let the user decide."


class Correction(NamedTuple):
    """Text for the agent about an action."""

    level: str
    text: str
    action: str = ""


def write_correction(
    level: str,
    goal: str,
    rules: Sequence[Penalty],
    earlier: Sequence[str] = (),
    files: Sequence[str] = (),
) -> Correction:
    """Write the correction for a level above none; `earlier` describes steps to go back to, `files`
    are those of the recovery plan."""
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
        then = f" Then go on in {_shorten(', '.join(files[:3]), _FILES)}." if files else ""
        lines.append(f"Before anything else, read the goal again: `kedge anchor`.{then}")
    lines.append(_OBJECT if level in ("nudge", "correct") else _ASK)
    return Correction(level, "\n".join(lines))


def write_question(rules: Sequence[Penalty]) -> str:
    """Write what the user is asked about a call, in words for the user."""
    return f"{_describe_call(rules)} Yes allows it in this session."


def write_notice(rules: Sequence[Penalty], limits: Sequence[str] = ()) -> str:
    """Write the line that tells the user about a denied call; `limits` are ids of limits."""
    lift = f" `kedge drift limit lift {limits[0]}` lifts it." if limits else ""
    return f"{_describe_call(rules)} It was denied.{lift}"


def tell_agent(asked: bool, limits: Sequence[str] = ()) -> str:
    """Write the last line for the agent whose call is put to the user, or denied."""
    if asked:
        return "The user is asked about this call. If it runs, they allowed it: go on."
    if limits:
        return (
            "The call was denied. Ask the user: they lift it by telling you so, or with "
            f"`kedge drift limit lift {limits[0]}` in a terminal of their own."
        )
    return "The call was denied. If it is needed, ask the user to tell you so, or to run it."


def _describe_call(rules: Sequence[Penalty]) -> str:
    """Say what a call does, and what the user said about it."""
    if not rules:
        return "kedge: this strays from what you asked."
    rule, evidence, _ = max(rules, key=lambda each: each.weight)
    if rule == "limit":
        act, _, quote = evidence.partition(_AGAINST)
        said = _shorten(quote.removesuffix("”"), _MOST_QUOTE)
        paths = said.removeprefix(OUT_OF_SCOPE)
        why = f"You said: “{said}”." if paths == said else f"The task puts {paths} out of scope."
        return f"kedge: this {_shorten(act, _MOST_ACT)}. {why}"
    return f"kedge: you did not ask for this: it {rule}: {_shorten(evidence, _MOST_ACT)}."


def _shorten(text: str, most: int) -> str:
    """Return the text as one line of at most this many bytes, cut after a word."""
    line = " ".join(text[:_LONGEST].split())
    data = line.encode(errors="replace")
    if len(text) <= _LONGEST and len(data) <= most:
        return line
    kept = data[: most - len(_CUT.encode())].decode(errors="ignore")
    words, _, last = kept.rpartition(" ")
    return (words if words and len(last) <= _LONGEST_WORD else kept).rstrip() + _CUT

"""Acts that discard work or reach the outside world, and whether the user asked for them.

An act found here is not wrong in itself; nobody asked for it. Its rule is one of `IRREVERSIBLE`,
and its score 4 or less, exactly if it cannot be undone.
"""

from __future__ import annotations

import re

from kedge.drift.evidence.requests import (
    BACK,
    CALLING,
    DEPLOYING,
    DEPLOYS,
    DESTROYS,
    FORCING,
    HISTORY,
    IRREVERSIBLE,
    LEAVING,
    PIPELINES,
    PUBLISHES,
    PUBLISHING,
    REMOVING,
    REWRITES_REMOTE,
    SENDING,
    SKIPPING,
    TALKING,
    UnaskedAct,
    find_request_words,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kedge.drift.actions import Action
    from kedge.drift.evidence.memory import SessionMemory
    from kedge.drift.evidence.work_tree import WorkTree
    from kedge.drift.shell.effects import VcsCommand

__all__ = [
    "IRREVERSIBLE",
    "LEAVING",
    "PIPELINES",
    "SKIPPING",
    "UnaskedAct",
    "find_request_words",
    "find_unasked_acts",
]

_REWRITES = ("rebase", "filter-branch", "filter-repo", "amend", "reflog", "update-ref", "replace",
             "gc", "prune")  # fmt: skip

# patterns that are compiled on first use: a hook has no time to compile them all
_PUBLISHES = r"publish|upload|yank|docker push|nuget push|gem push|release (?:create|delete|edit)"
_DEPLOYS = (
    r"deploy|release|apply|destroy|^(?:kubectl|helm|terraform|tofu|pulumi|vercel|netlify|fly|flyctl"
    r"|wrangler|firebase|heroku|aws|gcloud|gsutil|az|serverless|sls|cdk|sam|eb|ansible-playbook"
    r"|railway)\b"
)


def find_unasked_acts(
    action: Action,
    memory: SessionMemory,
    own: frozenset[str] = frozenset(),
    tree: WorkTree | None = None,
) -> Iterator[UnaskedAct]:
    """Yield the acts of an action that discard work or reach outside without a request.

    `own` are the deleted paths that are the session's own: see `own_work`.
    """
    for act in action.effects.vcs:
        found = _judge_command(act, memory, tree)
        if found is not None:
            yield found
    if action.effects.deleted:
        from kedge.drift.evidence.deletions import judge_deletion

        deletion = judge_deletion(action, memory, own, tree)
        if deletion is not None:
            yield deletion


def _judge_command(
    act: VcsCommand, memory: SessionMemory, tree: WorkTree | None
) -> UnaskedAct | None:
    shown = " ".join((act.verb, *act.args))[:120]
    asked = memory.asks.keys()
    if act.verb == "push":
        return _judge_push(act, memory, f"git {shown}")
    if act.outward:
        return _judge_outward(act, memory, shown)
    if not act.destructive:
        return None
    allowed: object  # truthy if the user asked for it
    if act.verb in _REWRITES:
        allowed = asked & (HISTORY | BACK)
        unasked = UnaskedAct("rewrites history", f"git {shown}", 7)
    elif act.verb.startswith("docker "):
        data = "volume" in shown or "-v" in act.args
        allowed = asked & REMOVING
        unasked = UnaskedAct(*((DESTROYS, shown, 4) if data else ("removes containers", shown, 7)))
    else:
        from kedge.drift.evidence import deletions

        if act.verb in deletions.DISCARDS:
            return deletions.judge_discard(act, memory, tree, f"git {shown}")
        allowed = asked & REMOVING or deletions.is_own_data(act, memory)
        unasked = UnaskedAct(DESTROYS, shown, 4)
    return None if allowed else unasked


def _judge_push(act: VcsCommand, memory: SessionMemory, shown: str) -> UnaskedAct | None:
    asked = memory.asks.keys()
    if not act.destructive:
        if memory.elsewhere or asked & SENDING:
            return None
        return UnaskedAct("pushes", shown, 7)
    if any(arg.startswith("--force-with-lease") for arg in act.args):
        if asked & (SENDING | HISTORY):
            return None
        return UnaskedAct("force-pushes with a lease", shown, 5)
    removes = not {"-d", "--delete", "--prune"}.isdisjoint(act.args) or any(
        arg.startswith(":") for arg in act.args
    )
    if asked & (REMOVING if removes else FORCING):
        return None
    return UnaskedAct(REWRITES_REMOTE, shown, 4)


def _judge_outward(act: VcsCommand, memory: SessionMemory, shown: str) -> UnaskedAct | None:
    asked = memory.asks.keys()
    program, _, verb = act.verb.partition(" ")
    host = program in ("gh", "glab", "hub")
    if re.search(_PUBLISHES, act.verb):
        if asked & PUBLISHING:
            return None
        return UnaskedAct(PUBLISHES, shown, 3 if act.destructive else 4)
    if host and act.destructive and verb.startswith("repo "):
        return None if asked & REMOVING else UnaskedAct(DESTROYS, shown, 3)
    if not host and re.search(_DEPLOYS, act.verb):
        if asked & DEPLOYING:
            return None
        return UnaskedAct(DEPLOYS, shown, 3 if act.destructive else 4)
    words = TALKING if host else CALLING | TALKING if program == "mcp" else CALLING
    if memory.elsewhere or asked & words:
        return None
    return UnaskedAct("speaks to others", shown, 5 if act.destructive else 7)

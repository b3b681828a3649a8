"""Acts that discard work or reach the outside world, and whether the user asked for them.

An act found here is not wrong in itself; nobody asked for it. Its rule is one of `IRREVERSIBLE`,
and its score 4 or less, exactly if it cannot be undone.
"""

from __future__ import annotations

import re

from kedge.drift.evidence.topic import extract_terms
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Protocol

    from kedge.drift.actions import Action
    from kedge.drift.evidence.memory import SessionMemory
    from kedge.drift.shell.effects import VcsCommand

    class WorkTree(Protocol):
        """The working tree, as far as the effect of an act depends on it.

        Paths are relative to the root. None means that it cannot be known.
        """

        def exists(self, path: str) -> bool: ...
        def is_folder(self, path: str) -> bool: ...
        def expand(self, pattern: str) -> Sequence[str] | None:
            """Return the files that a pattern matches."""

        def is_tracked(self, path: str) -> bool | None:
            """True if git tracks the file, or a file in the folder."""

        def find_uncommitted(self, *, untracked: bool) -> Sequence[str] | None:
            """Return the changed files, or those that git does not know."""


REWRITES_REMOTE, PUBLISHES, DEPLOYS = "rewrites the remote", "publishes", "deploys"
DELETES_FOLDER, DELETES_FILES = "deletes a folder", "deletes tracked files"
THROWS_AWAY, DESTROYS = "throws work away", "destroys data"
IRREVERSIBLE = frozenset(
    (REWRITES_REMOTE, PUBLISHES, DEPLOYS, DELETES_FOLDER, DELETES_FILES, THROWS_AWAY, DESTROYS)
)


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FORBIDS = _set("don't don’t dont not never without mustn't mustn’t shouldn't shouldn’t no avoid")
_REMINDS = _set("forget hesitate only longer")  # "don't forget to push"
BACK = _set(
    """undo revert discard throw abandon restore rollback scratch wipe fresh reset over stash drop
    clean cleanup rid purge back abort"""
)
_HISTORY = _set(
    """rebase squash amend rewrite history update sync merge fixup conflict conflicts upstream
    parent reorder split commits main master cherry fold force"""
)
_FORCING = _set("force forced rebase rebased squash amend amended rewrite history fixup reorder")
_SENDING = _set(
    """push pushed pr prs pull publish upload remote ship sync release deploy merge submit send
    origin ci branch force"""
)
_TALKING = _set(
    """pr prs pull request requests issue issues comment comments respond reply close resolve review
    release draft merge ticket tickets open github gitlab label mr mrs post push thread threads
    feedback linear jira gist workflow ci rerun"""
)
_PUBLISHING = _set("publish published release released ship upload distribute push yank unpublish")
_DEPLOYING = _set(
    """deploy deployed redeploy rollout roll provision apply release ship push promote destroy
    teardown"""
)
_CALLING = _set(
    """call calls api post send webhook curl request requests endpoint hit trigger upload deploy
    server notify slack test try"""
)
REMOVING = _set(
    """delete deleted remove removed removing drop rid clean cleanup clear purge strip prune unused
    obsolete dead rename renamed move moved replace replaced convert migrate merge consolidate split
    deprecated wipe truncate flush reset undo revert restructure reorganize reorganise stale"""
)
LEAVING = _set(  # words that allow tests or other checks to be removed
    "remove removed delete deleted drop unused obsolete dead stale rewrite old legacy replace rid"
)
SKIPPING = _set("skip disable flaky mute quarantine xfail")
PIPELINES = _set(  # words that make CI itself the subject
    "ci workflow workflows pipeline pipelines actions travis circleci appveyor jenkins buildkite"
)
_OTHER = _set("delete remove clear checkout switch unstage again pop tag worktree branch")
_REWRITES = _set("rebase filter-branch filter-repo amend reflog update-ref replace gc prune")
_ASKS = BACK.union(
    _HISTORY, _FORCING, _SENDING, _TALKING, _PUBLISHING, _DEPLOYING, _CALLING, REMOVING, LEAVING,
    SKIPPING, PIPELINES, _OTHER,
)  # fmt: skip
_OBJECT = "~"  # begins a word that a message asks to remove; alone, it asks without an object

# patterns that are compiled on first use: a hook has no time to compile them all
_WORD = r"[a-z]+(?:['’]t\b)?"
_CLAUSE_END = r"[.;:!?\n](?:\s|$)|, |\bbut\b"
_PUBLISHES = r"publish|upload|yank|docker push|nuget push|gem push|release (?:create|delete|edit)"
_DEPLOYS = (
    r"deploy|release|apply|destroy|^(?:kubectl|helm|terraform|tofu|pulumi|vercel|netlify|fly|flyctl"
    r"|wrangler|firebase|heroku|aws|gcloud|gsutil|az|serverless|sls|cdk|sam|eb|ansible-playbook"
    r"|railway)\b"
)


class UnaskedAct(NamedTuple):
    """An act that nobody asked for, and the score of an action that does it."""

    rule: str
    evidence: str
    score: int

    @property
    def irreversible(self) -> bool:
        return self.rule in IRREVERSIBLE


def find_request_words(text: str) -> list[str]:
    """Return the words with which a message may ask for an act, except in clauses that forbid.

    What a clause asks to remove comes with a mark: see `is_removal_asked`.
    """
    asked: set[str] = set()
    for clause in re.split(_CLAUSE_END, text.lower()):
        words = re.findall(_WORD, clause)
        if _FORBIDS.isdisjoint(words) or not _REMINDS.isdisjoint(words):
            asked.update(_ASKS.intersection(words))
            if not REMOVING.isdisjoint(words):
                rest = " ".join(word for word in words if word not in _ASKS)
                asked.update(_OBJECT + word for word in extract_terms(rest).words or ("",))
    return sorted(asked)


def is_removal_asked(memory: SessionMemory, path: str) -> bool:
    """True if the user asked to remove something, and named the path or nothing in particular."""
    if _OBJECT in memory.asks:
        return True
    words = extract_terms(path).words
    removes = not REMOVING.isdisjoint(memory.asks)
    return any(_OBJECT + word in memory.asks for word in words) or (
        removes and is_mentioned(memory, path)
    )


def is_mentioned(memory: SessionMemory, path: str) -> bool:
    """True if the user mentioned the file or folder in their own words."""
    name = extract_terms(path.rstrip("/").rpartition("/")[2])
    met = len(name.words & memory.words.keys())
    return bool(name.pairs & memory.pairs.keys()) or (met > 0 and met * 2 >= len(name.words))


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
        allowed = asked & (_HISTORY | BACK)
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
        if memory.elsewhere or asked & _SENDING:
            return None
        return UnaskedAct("pushes", shown, 7)
    if any(arg.startswith("--force-with-lease") for arg in act.args):
        if asked & (_SENDING | _HISTORY):
            return None
        return UnaskedAct("force-pushes with a lease", shown, 5)
    removes = not {"-d", "--delete", "--prune"}.isdisjoint(act.args) or any(
        arg.startswith(":") for arg in act.args
    )
    if asked & (REMOVING if removes else _FORCING):
        return None
    return UnaskedAct(REWRITES_REMOTE, shown, 4)


def _judge_outward(act: VcsCommand, memory: SessionMemory, shown: str) -> UnaskedAct | None:
    asked = memory.asks.keys()
    program, _, verb = act.verb.partition(" ")
    host = program in ("gh", "glab", "hub")
    if re.search(_PUBLISHES, act.verb):
        if asked & _PUBLISHING:
            return None
        return UnaskedAct(PUBLISHES, shown, 3 if act.destructive else 4)
    if host and act.destructive and verb.startswith("repo "):
        return None if asked & REMOVING else UnaskedAct(DESTROYS, shown, 3)
    if not host and re.search(_DEPLOYS, act.verb):
        if asked & _DEPLOYING:
            return None
        return UnaskedAct(DEPLOYS, shown, 3 if act.destructive else 4)
    words = _TALKING if host else _CALLING | _TALKING if program == "mcp" else _CALLING
    if memory.elsewhere or asked & words:
        return None
    return UnaskedAct("speaks to others", shown, 5 if act.destructive else 7)

"""Acts that discard work or reach the outside world, and whether the user asked for them.

An act found here is not wrong in itself; nobody asked for it.
"""

from __future__ import annotations

import re

from kedge.drift.evidence.topic import extract_terms
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kedge.drift.actions import Action
    from kedge.drift.evidence.memory import SessionMemory
    from kedge.drift.shell.effects import VcsCommand


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FORBIDS = _set("don't don’t dont not never without mustn't mustn’t shouldn't shouldn’t no avoid")
_REMINDS = _set("forget hesitate only longer")  # "don't forget to push"
_BACK = _set(
    """reset undo revert discard drop throw abandon restore clean cleanup rollback back delete
    remove fresh checkout switch stash clear scratch wipe purge unstage rid again over abort"""
)
_HISTORY = _set(
    """rebase squash amend rewrite history update sync merge fixup conflict conflicts upstream
    parent reorder split commits main master cherry fold force"""
)
_SENDING = _set(
    """push pushed pr prs pull publish upload remote ship sync release deploy merge submit send
    origin ci branch force"""
)
_TALKING = _set(
    """pr prs pull request requests issue issues comment comments respond reply close resolve review
    release draft merge ticket tickets open github gitlab label mr mrs post push thread threads
    feedback linear jira gist workflow ci rerun"""
)
_PUBLISHING = _set(
    """publish release deploy ship upload push apply rollout provision distribute npm pypi registry
    production staging prod live"""
)
_CALLING = _set(
    """call calls api post send webhook curl request requests endpoint hit trigger upload deploy
    server notify slack test try"""
)
_REMOVING = _set(
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
# git commands that discard something, and the score of each when nobody asked for it
_DISCARDS = {"reset": 4, "clean": 4, "checkout": 6, "restore": 6, "switch": 5, "stash": 6,
           "branch": 7, "tag": 7, "rebase": 7, "pull": 6, "worktree": 6}  # fmt: skip
_REWRITES = _set("rebase filter-branch filter-repo amend reflog update-ref replace gc prune")
_VERBS = _BACK.union(
    _HISTORY, _SENDING, _TALKING, _PUBLISHING, _CALLING, _REMOVING, LEAVING, SKIPPING, PIPELINES
)


# patterns that are compiled on first use: a hook has no time to compile them all
_WORD = r"[a-z]+(?:['’]t\b)?"
_CLAUSE_END = r"[.;:!?\n]|, |\bbut\b"
_PUBLISHES = (
    r"publish|upload|deploy|release|yank|docker push|nuget push|apply|destroy|^(?:kubectl|helm"
    r"|terraform|tofu|pulumi|vercel|netlify|fly|flyctl|wrangler|firebase|heroku|aws|gcloud"
    r"|gsutil|az|serverless|sls|cdk|sam|eb|ansible-playbook|railway)\b"
)
_BUILD_OUTPUT = (  # folders and files that the next build creates again
    r"(?:^|/)(?:dist|build|out|target|node_modules|coverage|htmlcov|\.cache|__pycache__|tmp|temp"
    r"|\.[a-z]+_cache|\.next|\.nuxt|\.turbo|\.tox|\.venv|venv|\.parcel-cache|logs?|bin|obj"
    r"|\.gradle|[^/]*\.egg-info)(?:/|$)|\.(?:pyc|o|class|log|tmp|bak|orig|out|swp|prof|trace)$"
)
_RECURSIVE = r"\s(?:-[a-zA-Z]{0,5}[rR][a-zA-Z]{0,5}|--recursive)\s|\brmdir\s|-delete\b"


class UnaskedAct(NamedTuple):
    """An act that nobody asked for, and the score of an action that does it."""

    rule: str
    evidence: str
    score: int


def find_request_words(text: str) -> list[str]:
    """Return the words with which a message may ask for an act, except in clauses that forbid."""
    asked: set[str] = set()
    for clause in re.split(_CLAUSE_END, text.lower()):
        words = re.findall(_WORD, clause)
        if _FORBIDS.isdisjoint(words) or not _REMINDS.isdisjoint(words):
            asked.update(_VERBS.intersection(words))
    return sorted(asked)


def find_unasked_acts(action: Action, memory: SessionMemory) -> Iterator[UnaskedAct]:
    """Yield the acts of an action that discard work or reach outside without a request."""
    judged = [_judge_command(act, action, memory) for act in action.effects.vcs]
    yield from filter(None, (*judged, _judge_deletion(action, memory)))


def _judge_command(act: VcsCommand, action: Action, memory: SessionMemory) -> UnaskedAct | None:
    shown = " ".join((act.verb, *act.args))[:120]
    asked = memory.asks.keys()
    allowed: object  # truthy if the user asked for it
    host = act.verb.startswith(("gh ", "glab ", "hub "))
    if act.outward and not host and re.search(_PUBLISHES, act.verb):
        allowed = asked & _PUBLISHING
        unasked = UnaskedAct("publishes", shown, 3 if act.destructive else 4)
    elif act.verb == "push" and act.destructive:
        allowed = asked & (_SENDING | _HISTORY)
        lease = any(arg.startswith("--force-with-lease") for arg in act.args)
        unasked = UnaskedAct("rewrites the remote", f"git {shown}", 5 if lease else 4)
    elif act.verb == "push":
        allowed = memory.elsewhere or asked & _SENDING
        unasked = UnaskedAct("pushes", f"git {shown}", 7)
    elif act.outward:
        allowed = memory.elsewhere or asked & (_TALKING if host else _CALLING)
        unasked = UnaskedAct("speaks to others", shown, 5 if act.destructive else 7)
    elif not act.destructive:
        return None
    elif act.verb in _REWRITES:
        allowed = asked & (_HISTORY | _BACK)
        unasked = UnaskedAct("rewrites history", f"git {shown}", 7)
    elif act.verb not in _DISCARDS:  # a database, containers
        allowed = asked & _REMOVING
        unasked = UnaskedAct("destroys", shown, 4)
    else:
        allowed = asked & _BACK or _is_own_work(action, memory)
        # a goal that is written elsewhere may have asked for it
        score = min(_DISCARDS[act.verb] + memory.elsewhere, 7)
        unasked = UnaskedAct("throws work away", f"git {shown}", score)
    return None if allowed else unasked


def _is_own_work(action: Action, memory: SessionMemory) -> bool:
    """True if the session itself wrote everything that is discarded."""
    paths = [*action.effects.written, *action.effects.deleted]
    return bool(paths) and all(path in memory.made for path in paths)


def _judge_deletion(action: Action, memory: SessionMemory) -> UnaskedAct | None:
    effects = action.effects
    if not effects.deleted or memory.asks.keys() & _REMOVING:
        return None
    outside = set(effects.outside)
    left = [
        path
        for path in effects.deleted
        if path not in outside and path not in memory.made and not re.search(_BUILD_OUTPUT, path)
        and not _is_mentioned(path, memory)
    ]  # fmt: skip
    if not left:
        return None
    folder = next((path for path in left if _is_folder(path, action)), None)
    if folder is not None:
        return UnaskedAct("deletes a folder", folder, 4)
    return UnaskedAct("deletes", ", ".join(left[:3]), 7)


def _is_folder(path: str, action: Action) -> bool:
    if path in action.effects.patterns or path in (".", ".."):
        return True
    name = path.rstrip("/").rpartition("/")[2].lstrip(".")
    return "." not in name and re.search(_RECURSIVE, action.command) is not None


def _is_mentioned(path: str, memory: SessionMemory) -> bool:
    """True if the user mentioned the path in their own words."""
    name = extract_terms(path.rstrip("/").rpartition("/")[2])
    met = len(name.words & memory.words.keys())
    return bool(name.pairs & memory.pairs.keys()) or (met > 0 and met * 2 >= len(name.words))

"""Acts that discard work or reach the outside world, and whether the user asked for them.

An act found here is not wrong in itself; nobody asked for it.
"""

from __future__ import annotations

import re
from functools import cache

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


@cache
def _word_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of a word and of the end of a clause."""
    return re.compile(r"[a-z]+(?:['’]t\b)?"), re.compile(r"[.;:!?\n]|, |\bbut\b")


@cache
def _publishes() -> re.Pattern[str]:
    return re.compile(
        r"publish|upload|deploy|release|yank|docker push|nuget push|apply|destroy|^(?:kubectl|helm"
        r"|terraform|tofu|pulumi|vercel|netlify|fly|flyctl|wrangler|firebase|heroku|aws|gcloud"
        r"|gsutil|az|serverless|sls|cdk|sam|eb|ansible-playbook|railway)\b"
    )


@cache
def _build_output() -> re.Pattern[str]:
    """Return the pattern of folders and files that the next build creates again."""
    return re.compile(
        r"(?:^|/)(?:dist|build|out|target|node_modules|coverage|htmlcov|\.cache|__pycache__|tmp|temp"
        r"|\.[a-z]+_cache|\.next|\.nuxt|\.turbo|\.tox|\.venv|venv|\.parcel-cache|logs?|bin|obj"
        r"|\.gradle|[^/]*\.egg-info)(?:/|$)|\.(?:pyc|o|class|log|tmp|bak|orig|out|swp|prof|trace)$"
    )


@cache
def _recursive() -> re.Pattern[str]:
    return re.compile(r"\s(?:-[a-zA-Z]{0,5}[rR][a-zA-Z]{0,5}|--recursive)\s|\brmdir\s|-delete\b")


class UnaskedAct(NamedTuple):
    """An act that nobody asked for, and the score of an action that does it."""

    rule: str
    evidence: str
    score: int


def find_request_words(text: str) -> list[str]:
    """Return the words with which a message may ask for an act, except in clauses that forbid."""
    word, clauses = _word_patterns()
    asked: set[str] = set()
    for clause in clauses.split(text.lower()):
        words = word.findall(clause)
        if _FORBIDS.isdisjoint(words) or not _REMINDS.isdisjoint(words):
            asked.update(_VERBS.intersection(words))
    return sorted(asked)


def find_unasked_acts(action: Action, memory: SessionMemory) -> Iterator[UnaskedAct]:
    """Yield the acts of an action that discard work or reach outside without a request."""
    for act in action.effects.vcs:
        unasked = _judge_command(act, action, memory)
        if unasked:
            yield unasked
    unasked = _judge_deletion(action, memory)
    if unasked:
        yield unasked


def _judge_command(act: VcsCommand, action: Action, memory: SessionMemory) -> UnaskedAct | None:
    shown = " ".join((act.verb, *act.args))[:120]
    asked = memory.asks.keys()
    host = act.verb.startswith(("gh ", "glab ", "hub "))
    if act.outward and not host and _publishes().search(act.verb):
        return (
            None
            if asked & _PUBLISHING
            else UnaskedAct("publishes", shown, 3 if act.destructive else 4)
        )
    if act.verb == "push":
        if act.destructive:
            if asked & (_SENDING | _HISTORY):
                return None
            lease = any(arg.startswith("--force-with-lease") for arg in act.args)
            return UnaskedAct("rewrites the remote", f"git {shown}", 5 if lease else 4)
        return (
            None
            if asked & _SENDING or memory.elsewhere
            else UnaskedAct("pushes", f"git {shown}", 7)
        )
    if act.outward:
        if asked & (_TALKING if host else _CALLING) or memory.elsewhere:
            return None
        return UnaskedAct("speaks to others", shown, 5 if act.destructive else 7)
    if not act.destructive:
        return None
    if act.verb in _REWRITES:
        return (
            None
            if asked & (_HISTORY | _BACK)
            else UnaskedAct("rewrites history", f"git {shown}", 7)
        )
    if act.verb not in _DISCARDS:  # a database, containers
        return None if asked & _REMOVING else UnaskedAct("destroys", shown, 4)
    if asked & _BACK or _is_own_work(action, memory):
        return None
    # a goal that is written elsewhere may have asked for it
    spared = 1 if memory.elsewhere else 0
    return UnaskedAct("throws work away", f"git {shown}", min(_DISCARDS[act.verb] + spared, 7))


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
        if path not in outside and path not in memory.made and not _build_output().search(path)
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
    return "." not in name and _recursive().search(action.command) is not None


def _is_mentioned(path: str, memory: SessionMemory) -> bool:
    """True if the user mentioned the path in their own words."""
    name = extract_terms(path.rstrip("/").rpartition("/")[2])
    met = len(name.words & memory.words.keys())
    return bool(name.pairs & memory.pairs.keys()) or (met > 0 and met * 2 >= len(name.words))

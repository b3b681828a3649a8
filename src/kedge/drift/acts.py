"""Acts that throw work away or reach the outside world, and whether the user asked for them.

Nothing here says that an act is wrong: it says that nobody asked for it.
"""

from __future__ import annotations

import re
from functools import cache

from kedge.drift.topic import terms
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kedge.drift.actions import Action, Vcs
    from kedge.drift.memory import State


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
LEAVING = _set(  # that tests or other checks may go
    "remove removed delete deleted drop unused obsolete dead stale rewrite old legacy replace rid"
)
SKIPPING = _set("skip disable flaky mute quarantine xfail")
PIPELINES = _set(  # that the request is about the checks of CI themselves
    "ci workflow workflows pipeline pipelines actions travis circleci appveyor jenkins buildkite"
)
# verbs of version control that throw something away, and how bad that is when nobody asked
_THROWS = {"reset": 4, "clean": 4, "checkout": 6, "restore": 6, "switch": 5, "stash": 6,
           "branch": 7, "tag": 7, "rebase": 7, "pull": 6, "worktree": 6}  # fmt: skip
_REWRITES = _set("rebase filter-branch filter-repo amend reflog update-ref replace gc prune")
_VERBS = _BACK.union(
    _HISTORY, _SENDING, _TALKING, _PUBLISHING, _CALLING, _REMOVING, LEAVING, SKIPPING, PIPELINES
)


@cache
def _spoken() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What a word is, and what ends a clause."""
    return re.compile(r"[a-z]+(?:['’]t\b)?"), re.compile(r"[.;:!?\n]|, |\bbut\b")


@cache
def _publishes() -> re.Pattern[str]:
    return re.compile(
        r"publish|upload|deploy|release|yank|docker push|nuget push|apply|destroy|^(?:kubectl|helm"
        r"|terraform|tofu|pulumi|vercel|netlify|fly|flyctl|wrangler|firebase|heroku|aws|gcloud"
        r"|gsutil|az|serverless|sls|cdk|sam|eb|ansible-playbook|railway)\b"
    )


@cache
def _made() -> re.Pattern[str]:
    """Folders and files that the next build makes anew."""
    return re.compile(
        r"(?:^|/)(?:dist|build|out|target|node_modules|coverage|htmlcov|\.cache|__pycache__|tmp|temp"
        r"|\.[a-z]+_cache|\.next|\.nuxt|\.turbo|\.tox|\.venv|venv|\.parcel-cache|logs?|bin|obj"
        r"|\.gradle|[^/]*\.egg-info)(?:/|$)|\.(?:pyc|o|class|log|tmp|bak|orig|out|swp|prof|trace)$"
    )


@cache
def _recursive() -> re.Pattern[str]:
    return re.compile(r"\s(?:-[a-zA-Z]{0,5}[rR][a-zA-Z]{0,5}|--recursive)\s|\brmdir\s|-delete\b")


class Act(NamedTuple):
    """An act that nobody asked for: `score` is what it leaves of ten."""

    rule: str
    evidence: str
    score: int


def asks(text: str) -> list[str]:
    """The words of a message by which it may ask for an act; what it forbids, it does not ask."""
    word, clauses = _spoken()
    found: set[str] = set()
    for clause in clauses.split(text.lower()):
        words = word.findall(clause)
        if _FORBIDS.isdisjoint(words) or not _REMINDS.isdisjoint(words):
            found.update(_VERBS.intersection(words))
    return sorted(found)


def unasked(action: Action, state: State) -> Iterator[Act]:
    """What the action throws away or sends out without having been asked to."""
    for act in action.effects.vcs:
        found = _vcs(act, action, state)
        if found:
            yield found
    found = _deletion(action, state)
    if found:
        yield found


def _vcs(act: Vcs, action: Action, state: State) -> Act | None:
    shown = " ".join((act.verb, *act.args))[:120]
    asked = state.asks.keys()
    host = act.verb.startswith(("gh ", "glab ", "hub "))
    if act.outward and not host and _publishes().search(act.verb):
        return None if asked & _PUBLISHING else Act("publishes", shown, 3 if act.destructive else 4)
    if act.verb == "push":
        if act.destructive:
            if asked & (_SENDING | _HISTORY):
                return None
            lease = any(arg.startswith("--force-with-lease") for arg in act.args)
            return Act("rewrites the remote", f"git {shown}", 5 if lease else 4)
        return None if asked & _SENDING or state.elsewhere else Act("pushes", f"git {shown}", 7)
    if act.outward:
        if asked & (_TALKING if host else _CALLING) or state.elsewhere:
            return None
        return Act("speaks to others", shown, 5 if act.destructive else 7)
    if not act.destructive:
        return None
    if act.verb in _REWRITES:
        return None if asked & (_HISTORY | _BACK) else Act("rewrites history", f"git {shown}", 7)
    if act.verb not in _THROWS:  # a database, containers
        return None if asked & _REMOVING else Act("destroys", shown, 4)
    if asked & _BACK or _own(action, state):
        return None
    # where the goal is written elsewhere, it may have been asked for there
    spared = 1 if state.elsewhere else 0
    return Act("throws work away", f"git {shown}", min(_THROWS[act.verb] + spared, 7))


def _own(action: Action, state: State) -> bool:
    """Whether all that is thrown away was made in this session."""
    paths = [*action.effects.written, *action.effects.deleted]
    return bool(paths) and all(path in state.made for path in paths)


def _deletion(action: Action, state: State) -> Act | None:
    effects = action.effects
    if not effects.deleted or state.asks.keys() & _REMOVING:
        return None
    outside = set(effects.outside)
    left = [
        path
        for path in effects.deleted
        if path not in outside and path not in state.made and not _made().search(path)
        and not _spoken_of(path, state)
    ]  # fmt: skip
    if not left:
        return None
    folder = next((path for path in left if _is_folder(path, action)), None)
    if folder is not None:
        return Act("deletes a folder", folder, 4)
    return Act("deletes", ", ".join(left[:3]), 7)


def _is_folder(path: str, action: Action) -> bool:
    if path in action.effects.patterns or path in (".", ".."):
        return True
    name = path.rstrip("/").rpartition("/")[2].lstrip(".")
    return "." not in name and _recursive().search(action.command) is not None


def _spoken_of(path: str, state: State) -> bool:
    """Whether the user spoke of the path in words of theirs."""
    name = terms(path.rstrip("/").rpartition("/")[2])
    met = len(name.words & state.words.keys())
    return bool(name.pairs & state.pairs.keys()) or (met > 0 and met * 2 >= len(name.words))

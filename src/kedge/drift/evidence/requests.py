"""Which acts a user asked for, by the words of their messages; and an act that nobody asked for."""

from __future__ import annotations

import re

from kedge.drift.evidence.topic import extract_terms
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kedge.drift.evidence.memory import SessionMemory

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
HISTORY = _set(
    """rebase squash amend rewrite history update sync merge fixup conflict conflicts upstream
    parent reorder split commits main master cherry fold force"""
)
FORCING = _set("force forced rebase rebased squash amend amended rewrite history fixup reorder")
SENDING = _set(
    """push pushed pr prs pull publish upload remote ship sync release deploy merge submit send
    origin ci branch force"""
)
TALKING = _set(
    """pr prs pull request requests issue issues comment comments respond reply close resolve review
    release draft merge ticket tickets open github gitlab label mr mrs post push thread threads
    feedback linear jira gist workflow ci rerun"""
)
PUBLISHING = _set("publish published release released ship upload distribute push yank unpublish")
DEPLOYING = _set(
    """deploy deployed redeploy rollout roll provision apply release ship push promote destroy
    teardown"""
)
CALLING = _set(
    """call calls api post send webhook curl request requests endpoint hit trigger upload deploy
    server notify slack test try"""
)
REMOVING = _set(
    """delete deleted remove removed removing drop rid clean cleanup clear purge strip prune unused
    obsolete dead rename renamed move moved replace replaced convert migrate merge consolidate split
    deprecated wipe truncate flush reset undo revert restructure reorganize reorganise stale"""
)
LEAVING = _set(  # words that allow tests or other checks to be removed
    """remove removed delete deleted drop unused obsolete dead stale rewrite old legacy replace rid
    revert split migrate convert consolidate"""
)
SKIPPING = _set("skip disable flaky mute quarantine xfail")
PIPELINES = _set(  # words that make CI itself the subject
    "ci workflow workflows pipeline pipelines actions travis circleci appveyor jenkins buildkite"
)
_OTHER = _set("delete remove clear checkout switch unstage again pop tag worktree branch")
_ASKS = BACK.union(
    HISTORY, FORCING, SENDING, TALKING, PUBLISHING, DEPLOYING, CALLING, REMOVING, LEAVING,
    SKIPPING, PIPELINES, _OTHER,
)  # fmt: skip
_WITH = {  # words that ask for something only together with one of these
    "over": _set("start starting begin do"),
    "back": _set("go going roll put take get change bring"),
}
_OBJECT = "~"  # begins a word that a message asks to remove; alone, it asks without an object

# patterns that are compiled on first use: a hook has no time to compile them all
_WORD = r"[a-z]+(?:['’]t\b)?"
_CLAUSE_END = r"[.;:!?\n](?:\s|$)|, |\bbut\b"
_NO_NAMES = _set(  # words before "folder" that do not name it
    """a an the this that these those it its their our my your some any all both each every whole
    entire same other another empty and or of"""
)
# a folder by its name, which may be a word too common to say anything by itself
_FOLDER = (
    r"(?<![\w.-])([\w.-]{1,60})"
    r"(?:/(?![\w.-])|/?[`'\"]? (?:sub)?(?:folder|director(?:y|ie)|dir)s?\b)"
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
            found = _ASKS.intersection(words)
            asked.update(word for word in found if not _WITH.get(word, found).isdisjoint(words))
            if not REMOVING.isdisjoint(words):
                rest = " ".join(word for word in words if word not in _ASKS)
                objects = extract_terms(rest).words.union(re.findall(_FOLDER, clause)) - _NO_NAMES
                asked.update(_OBJECT + word for word in objects or ("",))
    return sorted(asked)


def is_removal_asked(memory: SessionMemory, path: str) -> bool:
    """True if the user asked to remove something, and named the path or nothing in particular."""
    if _OBJECT in memory.asks or is_removal_named(memory, path):
        return True
    return not REMOVING.isdisjoint(memory.asks) and is_mentioned(memory, path)


def is_removal_named(memory: SessionMemory, path: str) -> bool:
    """True if the user asked to remove what the path is called."""
    words = {*extract_terms(path).words, path.rstrip("/").rpartition("/")[2].lower()}
    return any(_OBJECT + word in memory.asks for word in words)


def is_mentioned(memory: SessionMemory, path: str) -> bool:
    """True if the user mentioned the file or folder in their own words."""
    name = extract_terms(path.rstrip("/").rpartition("/")[2])
    met = len(name.words & memory.words.keys())
    return bool(name.pairs & memory.pairs.keys()) or (met > 0 and met * 2 >= len(name.words))

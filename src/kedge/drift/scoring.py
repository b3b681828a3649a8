"""The verdict on one action: a score from 1 to 10, its level, and the rules behind it.

Each rule takes points from ten; the heaviest one decides the score. An action that only reads keeps
8 or more. Words alone never cost more than a correction: 4 and below are for what the user forbade,
for loops and for acts that cannot be undone.
"""

from __future__ import annotations

from kedge.drift.course import choose_level
from kedge.drift.evidence import distance, outward_acts, own_work, repeats, watch_changes
from kedge.drift.evidence.memory import (
    TEMPORARY,
    find_action_terms,
    find_changed_files,
    record_action,
    record_course,
)
from kedge.drift.evidence.requests import is_removal_named
from kedge.host.record import NamedTuple
from kedge.text.words import weigh_terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeAlias

    from kedge.drift.actions import Action
    from kedge.drift.charter import Charter
    from kedge.drift.course import Level
    from kedge.drift.evidence.distance import CodeMap, Distance
    from kedge.drift.evidence.memory import SessionMemory
    from kedge.drift.evidence.weakened_checks import Sign
    from kedge.drift.evidence.work_tree import WorkTree
    from kedge.drift.limits.limit import Limit

    Exists: TypeAlias = Callable[[str], bool]
    ReadFile: TypeAlias = Callable[[str], bytes | None]

WATCH = "switches off the watch"
# log-odds from which distance from the goal costs one, two and three points
_DISTANT, _FAR, _FARTHER, _FARTHER_SHORT = 0.75, 1.25, 2.25, 2.1
_LOST = 2.5  # for several changes in a row, worth a correction
_AWAY, _AWAY_SHORT = 2.0, 3.0  # distance from the work so far, from which it costs three points
_SHORT = 14  # a request with fewer pairs of words is short
_FAR_AWAY = 3.25
_RUN = 2  # changes in a row that must be far for more than a nudge
_SCRATCH = 3  # of the last five changes that the map cannot place, from which they count
_DEPARTURES = 2  # changes in a row that depart, for more than a nudge
_SURE = 0.75  # weight of a breach
_LIKELY = 0.5
_SYSTEM = ("/etc/", "/usr/", "/bin/", "/sbin/", "/lib", "/boot/", "/opt/", "/sys/", "/proc/",
           "/System/", "/Library/", "/Applications/")  # fmt: skip
_AGENTS = (
    "/.claude/",
    "/.codex/",
    "/.gemini/",
    "/.copilot/",
    "/opencode/",
    "/.cache/",
    "/kedge/",
)  # where agents keep notes


class Penalty(NamedTuple):
    """The points (`weight`) that a rule takes from ten, and its evidence."""

    rule: str
    evidence: str
    weight: int


class Verdict(NamedTuple):
    """`lacks` names what was missing for the judgement, such as the map."""

    score: int
    level: Level
    rules: tuple[Penalty, ...] = ()
    lacks: tuple[str, ...] = ()


def judge(
    charter: Charter,
    memory: SessionMemory,
    action: Action,
    code_map: CodeMap | None = None,
    *,
    rooted: bool = True,
    exists: Exists | None = None,
    read: ReadFile | None = None,
    tree: WorkTree | None = None,
) -> tuple[Verdict, SessionMemory]:
    """Judge an action by what came before it; return the verdict and the memory after it.

    Without `rooted` the project's location is not known, and absolute paths may be inside it.
    `exists` tells whether a path existed before the action, `read` returns the file; `tree` is the
    working tree then.
    """
    files = find_changed_files(action)
    terms = weigh_terms(charter.goal) if distance.find_shortness(memory) else ()
    about = find_action_terms(action, charter.named, terms)
    relevance = distance.find_relevance(files, code_map)
    after = record_action(memory, action, about, relevance)
    before, memory = memory, own_work.record_action(after, memory, action, exists, code_map)
    before = before._replace(made=memory.made)  # what the action itself creates is its own as well
    undone: frozenset[str] = frozenset()
    if before.breached:
        from kedge.drift.evidence import undo

        undone = undo.find_undone(before, action, tree)
    rules = list(_check_watch(charter, action, read))
    if action.kind not in ("read", "plan") or action.effects.unread:
        own = own_work.find_own_deletions(before, action, exists, tree, code_map)
        rules += _check_limits(charter.limits, before, action, own, exists, tree, read, undone)
        own |= own_work.find_missing(action, exists)
        rules += _check_unread(charter, action)
        rules += _check_acts(charter, before, action, own, tree)
        rules += _check_weakened(before, action, own)
        rules += _check_outside(charter, action, rooted)
        rules += _check_loop(before, action)
    elif action.effects.read:  # reading is free, unless the user ruled it out
        unread = [limit for limit in charter.limits if limit.meant[0] == "no_read"]
        rules += _check_limits(unread, before, action, frozenset(), exists, tree, read)
    if undone:
        files = tuple(path for path in files if path not in undone)
        memory = undo.record_undo(memory, undone)
    if files and not repeats.takes_back(memory, action):
        rules += _check_scope(charter, files, code_map)
        judged = tuple(path for path in files if not _is_free_removal(memory, action, path))
        if not all(map(distance.is_companion, judged)) or (judged and relevance is not None):
            topic, memory = _check_topic(charter, memory, judged, code_map)
            rules += topic
    if action.changes:
        from kedge.drift.evidence.weakened_checks import record_own_checks

        memory = memory._replace(own_checks=record_own_checks(memory.own_checks, action))
    memory = repeats.record_action(memory, action)
    rules.sort(key=lambda rule: -rule.weight)
    score = max(10 - max((rule.weight for rule in rules), default=0), 1)
    lacks = () if not files else ("map",) if code_map is None else code_map.lacks
    return Verdict(score, choose_level(score), tuple(rules), lacks), memory


def _check_limits(
    limits: Sequence[Limit],
    memory: SessionMemory,
    action: Action,
    own: frozenset[str],
    exists: Exists | None,
    tree: WorkTree | None,
    read: ReadFile | None,
    undone: frozenset[str] = frozenset(),
) -> Iterator[Penalty]:
    if not limits:
        return
    from kedge.drift.limits.action_view import ActionView
    from kedge.drift.limits.breaches import find_breach

    view = ActionView(action, own, tree.is_tracked if tree is not None else None)
    if undone:
        view = view.without(undone.__contains__)
    for limit in limits:
        if limit.until and memory.green:
            continue
        breach = find_breach(limit, view, exists=exists, read=read)
        if breach is None:
            continue
        lost = 7 if breach.weight >= _SURE else 6 if breach.weight >= _LIKELY else 3
        if lost == 7 and any(act.outward or act.destructive for act in action.effects.vcs):
            lost = 8
        quote = " ".join(limit.quote.split())[:120]
        yield Penalty("limit", f"{breach.reason[:120]}, against “{quote}”", lost)


def _check_unread(charter: Charter, action: Action) -> Iterator[Penalty]:
    """Penalize a command that was not read whole and that names something the user ruled out."""
    if not action.effects.unread:
        return
    from kedge.drift.limits.paths import is_path

    for limit in charter.limits:
        for subject in limit.subject:
            name = subject.strip("/*")
            if len(name) > 2 and is_path(subject) and _is_named(name, action.command):
                quote = " ".join(limit.quote.split())[:120]
                evidence = f"names {name} where it cannot be read, against “{quote}”"
                yield Penalty("limit", evidence, 6)
                return


def _check_watch(charter: Charter, action: Action, read: ReadFile | None) -> Iterator[Penalty]:
    request = " ".join((charter.goal, *charter.prompts[-3:]))
    if evidence := watch_changes.find_change(action, request, read):
        yield Penalty(WATCH, evidence, 6)


def _check_acts(
    charter: Charter,
    memory: SessionMemory,
    action: Action,
    own: frozenset[str],
    tree: WorkTree | None,
) -> Iterator[Penalty]:
    for act in outward_acts.find_unasked_acts(action, memory, own, tree):
        if f"{act.rule}: {act.evidence}" not in charter.allowed:
            yield Penalty(act.rule, act.evidence, 10 - act.score)


def _check_weakened(
    memory: SessionMemory, action: Action, own: frozenset[str]
) -> Iterator[Penalty]:
    """Penalize weakened checks; weakening a check that fails weighs more than rewriting it.

    Checks that the session itself wrote are its own, as are the deleted files of `own`.
    """
    from kedge.drift.evidence.weakened_checks import find_weakened_checks

    def is_own(path: str) -> bool:
        return path in own or own_work.is_own(memory, path)

    for sign in find_weakened_checks(action, is_own, memory.own_checks)[:3]:
        lost = _COSTS.get((sign.rule, sign.severity), sign.severity)
        if memory.red and sign.rule in _HIDES:
            lost += 1
        lost = min(lost, _limit_penalty(sign, memory, action))
        if lost:
            yield Penalty("weakened check", f"{sign.rule}: {sign.evidence}", lost)


def _limit_penalty(sign: Sign, memory: SessionMemory, action: Action) -> int:
    """Return the most that a sign may cost, less where the request is about such a check."""
    asked = memory.asks.keys()
    if sign.rule in _PIPELINE and asked & outward_acts.PIPELINES:
        return 1 if asked & outward_acts.LEAVING else 3
    if sign.rule in _MAY_BE_ASKED and asked & (
        outward_acts.SKIPPING if sign.rule == "test skipped" else outward_acts.LEAVING
    ):
        return 1
    if sign.rule == "tests deleted":  # moved by hand, or together with the code they test
        from kedge.drift.limits.paths import is_test

        if own_work.has_own_copy(memory, sign.path):
            return 1
        gone = (*memory.gone, *(path for path in action.effects.deleted if not is_test(path)))
        if distance.find_key(sign.path) in map(distance.find_key, gone):
            return 1
    return 9


# the points that a sign costs, where they differ from its severity
_COSTS = {
    ("hooks skipped", 2): 4,
    ("hooks skipped", 3): 5,
    ("CI removed", 3): 5,
    ("failure ignored", 1): 2,
    ("failure ignored", 2): 3,
    ("failure ignored", 3): 4,
    ("threshold lowered", 3): 4,
    ("test skipped", 3): 4,
    ("tests deleted", 2): 3,
    ("tests deleted", 3): 4,
    ("tests removed", 3): 2,  # from one file; they may have moved to another
}
_HIDES = ("tests removed", "CI step removed", "test skipped", "assertions loosened",
          "empty assertion", "failure ignored")  # fmt: skip
_PIPELINE = ("CI removed", "CI step removed")
_MAY_BE_ASKED = ("tests deleted", "tests removed", "assertions removed", "test skipped")


def _check_outside(charter: Charter, action: Action, rooted: bool) -> list[Penalty]:
    """Penalize the gravest change outside the project that the user did not mention."""
    effects = action.effects
    if not effects.outside:
        return []
    penalties = []
    touched = {*effects.written, *effects.deleted, *(end for pair in effects.moved for end in pair)}
    for path in effects.outside:
        if path not in touched or path.startswith(TEMPORARY):
            continue
        if any(place in path for place in _AGENTS):
            continue
        name = path.rstrip("/").rpartition("/")[2]
        if any(_is_named(name, text) for text in (charter.goal, *charter.prompts)):
            continue
        system = path.startswith(_SYSTEM)
        if not rooted and not system and not path.startswith("~/."):
            continue
        lost = 6 if system or path in effects.deleted else 4
        penalties.append(Penalty("outside the project", path, lost))
    return _heaviest(penalties)


def _is_named(name: str, text: str) -> bool:
    """True if the text has the whole name of a file or folder, not only as a part of another."""
    at = text.find(name)
    while at >= 0:
        before, after = text[at - 1 : at] if at else "", text[at + len(name) :][:2]
        ends = not _is_name_sign(after[:1]) or (after[:1] == "." and not _is_name_sign(after[1:]))
        if ends and not _is_name_sign(before):
            return True
        at = text.find(name, at + 1)
    return False


def _is_name_sign(sign: str) -> bool:
    return sign.isalnum() or (bool(sign) and sign in "_-.")


def _check_loop(memory: SessionMemory, action: Action) -> Iterator[Penalty]:
    loop = repeats.find_loop(memory, action)
    if loop is not None:
        evidence = f"{loop.what}, {loop.times} times: {loop.evidence}"
        yield Penalty("repetition", evidence, 10 - loop.score)


def _check_scope(
    charter: Charter, files: tuple[str, ...], code_map: CodeMap | None
) -> list[Penalty]:
    """Penalize files outside the declared scope."""
    if not charter.scope:
        return []
    from kedge.drift.evidence.declared_scope import find_outside

    outside = find_outside(charter, files, code_map)
    return _heaviest([Penalty("scope", f"not in the task's scope: {at}", n) for at, n in outside])


def _heaviest(penalties: list[Penalty]) -> list[Penalty]:
    """Return the first of the heaviest penalties, so that one action is not penalized twice."""
    return [max(penalties, key=lambda each: each.weight)] if penalties else []


def _is_free_removal(memory: SessionMemory, action: Action, path: str) -> bool:
    """True if the action removes a file of the session's own, or what the user asked to remove."""
    if path not in action.effects.deleted:
        return False
    return own_work.may_delete(memory, path) or is_removal_named(memory, path)


def _check_topic(
    charter: Charter, memory: SessionMemory, files: tuple[str, ...], code_map: CodeMap | None
) -> tuple[list[Penalty], SessionMemory]:
    """Penalize work that is far from the goal, or from the work before it.

    The first new scripts where the map ranks nothing cost nothing: they often only try something.
    """
    measured = distance.measure(memory, charter.named, files, code_map)
    scratch = not measured.departs and _is_scratch(memory, files, code_map)
    scratch = scratch and sum(step.relevance is None for step in memory.window) < _SCRATCH
    short = len(memory.pairs) < _SHORT
    farther, away = (_FARTHER_SHORT, _AWAY_SHORT) if short else (_FARTHER, _AWAY)
    far = (
        measured.departs
        or (measured.goal is not None and measured.goal.total >= farther)
        or (measured.work is not None and measured.work.total >= away)
    )
    memory = memory._replace(run=memory.run + 1 if far else 0)
    if not far:
        memory = record_course(memory, files)
    lost = _weigh_distance(measured, farther, away, memory.run)
    if scratch:
        lost = 0
    return [_explain_distance(measured, away, files, lost)] if lost else [], memory


def _is_scratch(memory: SessionMemory, files: Sequence[str], code_map: CodeMap | None) -> bool:
    """True if a change is only to new scripts of the session where the map ranks nothing."""
    if code_map is None or not code_map.leaders or not memory.window:
        return False
    if memory.window[-1].relevance is not None:
        return False
    return all(path.endswith(own_work.SCRIPTS) and own_work.is_own(memory, path) for path in files)


def _weigh_distance(measured: Distance, farther: float, away: float, run: int) -> int:
    """Return the points that distance costs; one change alone proves little."""
    lost = 0
    if measured.goal is not None:
        odds = measured.goal.total
        lost = sum(odds >= least for least in (_DISTANT, _FAR, farther))
        lost += odds >= _LOST and run >= _RUN
    if measured.work is not None and measured.work.total >= away:
        lost = max(lost, 4 if measured.work.total >= _FAR_AWAY and run >= _RUN else 3)
    if measured.departs:
        lost = max(lost, 4 if run >= _DEPARTURES else 3)
    return lost


def _explain_distance(
    measured: Distance, away: float, files: tuple[str, ...], lost: int
) -> Penalty:
    goal, work = measured.goal, measured.work
    if measured.departs:
        text = "shares no file, folder or word with the request or the work on it"
    elif work is not None and work.total >= away:
        text = f"the last changes have little to do with the work before or the request ({work})"
    else:
        text = f"the work so far has little to do with the request ({goal})"
    return Penalty("topic", f"{', '.join(files[:2])}: {text}", lost)

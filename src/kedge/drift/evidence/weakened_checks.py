"""Signs that an action weakens a check: tests, assertions, thresholds, hooks, CI, suppressions.

Lines that are in both the old and the new text cancel out, across all files of the action: a test
that is moved, renamed or rewritten with as many assertions is not a sign.
"""

from __future__ import annotations

import re
from collections import Counter
from zlib import crc32

from kedge.drift.evidence import check_signs as signs
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import TypeAlias

    from kedge.drift.actions import Action, Change

    IsOwn: TypeAlias = Callable[[str], bool]

_LONGEST = 400  # characters of a line that are read
_MOST_LINES = 8_000
_MOST = 20  # signs of one action
_MOST_OWN = 200  # tests and assertions of a session that are remembered
_MOST_EVIDENCE = 160  # characters of one line


class Sign(NamedTuple):
    """`severity` is 1 for something worth a look, 2 if a check is weakened, 3 if it is removed."""

    rule: str
    severity: int
    path: str
    evidence: str


class ChangedLines:
    """The lines that a change really adds to a file and removes from it.

    They are compared on first use: for most files the whole text is enough.
    """

    __slots__ = ("_compared", "change", "path", "whole")

    def __init__(self, change: Change) -> None:
        self.change = change
        self.path = change.path
        self.whole = change.whole
        self._compared: tuple[list[str], list[str]] | None = None

    @property
    def added(self) -> list[str]:
        return self._compare()[0]

    @property
    def removed(self) -> list[str]:
        return self._compare()[1]

    def _compare(self) -> tuple[list[str], list[str]]:
        if self._compared is None:
            old, new = _strip_lines(self.change.removed), _strip_lines(self.change.added)
            self._compared = _subtract(new, old), _subtract(old, new)
        return self._compared


def _is_never(_: str) -> bool:
    return False


_NO_CHECKS: dict[str, int] = {}


def find_weakened_checks(
    action: Action, is_own: IsOwn = _is_never, own_checks: Mapping[str, int] = _NO_CHECKS
) -> tuple[Sign, ...]:
    """Return the signs in an action, the most severe first.

    `is_own` tells which files the session created, `own_checks` which tests and assertions it added
    to others (see `record_own_checks`): neither are a loss.
    """
    effects = action.effects
    if not (action.changes or effects.vcs or effects.checks or effects.deleted or effects.moved):
        return ()
    files = [ChangedLines(change) for change in action.changes]
    found = [
        *_find_in_commands(action),
        *_find_deleted(action, files, is_own),
        *_find_removed_tests(files, is_own, own_checks),
    ]
    for each in files:
        if each.path and is_own(each.path):
            continue
        found += _find_skips(each)
        found += _find_suppressions(each)
        if signs.is_config(each.path):
            found += _find_loosened_settings(each)
        if signs.is_ci(each.path):
            found += _find_removed_steps(each)
    return tuple(sorted(dict.fromkeys(found), key=lambda sign: -sign.severity)[:_MOST])


def _strip_lines(text: str) -> list[str]:
    return [line.strip()[:_LONGEST] for line in text.splitlines()[:_MOST_LINES]]


def _subtract(lines: list[str], others: list[str]) -> list[str]:
    """Return the lines that are left, in order, when each of the others takes away an equal one."""
    left = Counter(others)
    found = []
    for line in lines:
        if left[line] > 0:
            left[line] -= 1
        elif line:
            found.append(line)
    return found


def _find_in_commands(action: Action) -> Iterator[Sign]:
    effects = action.effects
    for act in effects.vcs:
        words = set(act.args)
        if "--no-verify" in words or (act.verb == "commit" and _has_no_verify_flag(act.args)):
            yield Sign("hooks skipped", 3, "", f"git {act.verb} --no-verify")
        if act.verb == "config" and any("hookspath" in word.lower() for word in words):
            yield Sign("hooks skipped", 3, "", " ".join(["git config", *act.args])[:_MOST_EVIDENCE])
    for check in effects.checks:
        shown = " ".join(check.command)[:_MOST_EVIDENCE]
        if check.ignored:
            yield Sign("failure ignored", 1, "", f"{shown} || true")
        if signs.deselects(check.command):
            yield Sign("tests left out", 1, "", shown)


def _has_no_verify_flag(args: tuple[str, ...]) -> bool:
    """True for `git commit -n`, alone or among other letters, but not in a message after `-m`."""
    skip = False
    for word in args:
        if skip:
            skip = False
        elif word in ("-m", "-F", "-C", "-c", "--message", "--file", "--author"):
            skip = True
        elif re.fullmatch(r"-[aeqsvz]{0,5}n[aeqsvzm]{0,5}", word):
            return True
    return False


def _find_deleted(action: Action, files: list[ChangedLines], is_own: IsOwn) -> Iterator[Sign]:
    effects = action.effects
    outside = set(effects.outside)
    made = 0
    if effects.deleted:
        made = sum(signs.is_test_file(each.path) for each in files if each.whole and each.added)
    for path in effects.deleted:
        if path in outside or is_own(path):
            continue
        if signs.is_ci(path):
            yield Sign("CI removed", 3, path, f"deletes {path}")
        elif signs.is_test(path) and not signs.is_leftover(path):
            code = signs.is_test_file(path) or "." not in path.rpartition("/")[2]
            if code and made:
                made -= 1
            else:
                yield Sign("tests deleted", 3 if code else 2, path, f"deletes {path}")
    for old, new in effects.moved:
        if old in outside or is_own(old):
            continue
        if signs.is_test_file(old) and not signs.is_test(new):
            yield Sign("tests deleted", 3, old, f"moves {old} to {new}")


def record_own_checks(own: dict[str, int], action: Action) -> dict[str, int]:
    """Return the tests and assertions that the session added, after an action."""
    files = [each for each in map(ChangedLines, action.changes) if _has_tests(each)]
    added = [_mark(each.path, line) for each in files for line in each.added if _is_check(line)]
    removed = [_mark(each.path, line) for each in files for line in each.removed if _is_check(line)]
    if not added and not own.keys() & set(removed):
        return own
    left = Counter(own)
    left.subtract(removed)
    left = +left + Counter(added)
    return dict(list(left.items())[-_MOST_OWN:])


def _is_check(line: str) -> bool:
    return bool(signs.is_test_head(line)) or signs.is_assertion(line)


def _mark(path: str, line: str) -> str:
    return f"{crc32(f'{path}: {line}'.encode()):08x}"


def _has_tests(each: ChangedLines) -> bool:
    return not each.path or signs.is_test(each.path) or _is_rust_test(each)


def _list_removed(each: ChangedLines, own_checks: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield the removed lines, without checks that the session itself added."""
    left = Counter(own_checks)
    for line in each.removed:
        if left and _is_check(line):
            mark = _mark(each.path, line)
            if left[mark] > 0:
                left[mark] -= 1
                continue
        yield each.path, line


def _find_removed_tests(
    files: list[ChangedLines], is_own: IsOwn, own_checks: Mapping[str, int]
) -> Iterator[Sign]:
    """Yield tests and assertions that are gone, counted across all files; own ones only add."""
    added: list[str] = []
    removed: list[tuple[str, str]] = []
    for each in files:
        if _has_tests(each):
            added += each.added
            if not each.path or not is_own(each.path):
                removed += _list_removed(each, own_checks)
    gone = [(path, line) for path, line in removed if signs.is_test_head(line)]
    new = signs.is_test_head.count(added) if gone else 0
    if len(gone) > new:
        yield Sign("tests removed", 3, *_cut(gone[new]))
        return
    was = [(path, line) for path, line in removed if signs.is_assertion(line)]
    if not was and not signs.is_empty.may_be_in("\n".join(added)):
        return
    now = [line for line in added if signs.is_assertion(line)]
    if len(was) > len(now):
        yield Sign("assertions removed", 2, *_cut(was[len(now)]))
    elif was:
        strict = sum(signs.is_strict(line) for _, line in was)
        weak = [line for line in now if not signs.is_strict(line)]
        if strict > len(now) - len(weak) and len(weak) > len(was) - strict:
            yield Sign("assertions loosened", 2, *_cut((was[0][0], weak[0])))
    for line in now:
        if signs.is_empty(line):
            yield Sign("empty assertion", 2, *_cut((files[0].path, line)))
            break


def _cut(place: tuple[str, str]) -> tuple[str, str]:
    return place[0], place[1][:_MOST_EVIDENCE]


def _is_rust_test(each: ChangedLines) -> bool:
    """True for Rust code with tests, which are in the same file as the code."""
    return each.path.endswith(".rs") and any(
        "#[test]" in line or "assert" in line for line in (*each.removed, *each.added)
    )


def _find_skips(each: ChangedLines) -> Iterator[Sign]:
    if each.path and not signs.is_test(each.path) and not each.path.endswith(".rs"):
        return
    if not signs.skips.may_be_in(each.change.added):
        return
    before = signs.skips.count(each.removed)
    heads = any(signs.is_test_head(line) and not signs.skips(line) for line in each.added)
    skips = [
        (place, line)
        for place, line in enumerate(each.added)
        if signs.skips(line) and not _is_comment(line)
    ]
    for place, line in skips[before:]:
        if signs.is_conditional(" ".join(each.added[max(0, place - 2) : place + 1])):
            severity = 1
        else:
            severity = 2 if each.whole or heads else 3
        yield Sign("test skipped", severity, *_cut((each.path, line)))


def _is_comment(line: str) -> bool:
    return line.startswith(("//", "* ", "/*", "#")) and not line.startswith("#[")


def _find_suppressions(each: ChangedLines) -> Iterator[Sign]:
    if not signs.suppresses.may_be_in(each.change.added):
        return
    before = signs.suppresses.count(each.removed)
    for line in [line for line in each.added if signs.suppresses(line)][before:]:
        severity = 2 if signs.suppresses_file(line) else 1
        yield Sign("check suppressed", severity, *_cut((each.path, line)))


def _find_loosened_settings(each: ChangedLines) -> Iterator[Sign]:
    """Yield thresholds that are lowered and rules that are turned off in settings."""
    old = signs.find_thresholds(each.path, each.removed)
    new = signs.find_thresholds(each.path, each.added)
    for name, (number, line) in old.items():
        now = new.get(name)
        if now is None:
            if signs.is_minimum(name):
                yield Sign("threshold removed", 2, *_cut((each.path, line)))
        elif (now[0] < number) if signs.is_minimum(name) else (now[0] > number):
            yield Sign("threshold lowered", 3, each.path, f"{line[:70]} -> {now[1][:70]}")
    linter = "lint" in each.path or "biome" in each.path
    before = signs.is_off.count(each.removed)
    for line in each.added:
        if signs.is_off(line) and (linter or "off" not in line):
            if before:
                before -= 1
            else:
                yield Sign("rule turned off", 2, *_cut((each.path, line)))
        elif signs.leaves_out(line):
            yield Sign("tests left out", 2, *_cut((each.path, line)))


def _find_removed_steps(each: ChangedLines) -> Iterator[Sign]:
    """Yield CI steps, make targets and hooks that are gone, or whose failure is ignored."""
    gone = [line for line in each.removed if _is_step(line)]
    new = sum(_is_step(line) for line in each.added)
    if len(gone) > new:
        yield Sign("CI step removed", 3, *_cut((each.path, gone[new])))
    for line in each.added:
        if signs.ignores(line) and _is_step(line):
            yield Sign("failure ignored", 2, *_cut((each.path, line)))
        elif signs.allows(line):
            yield Sign("failure ignored", 3, *_cut((each.path, line)))
        elif "--no-verify" in line:
            yield Sign("hooks skipped", 2, *_cut((each.path, line)))


def _is_step(line: str) -> bool:
    """True for a line that runs a check, but not for a dependency with its version."""
    return not line.startswith("#") and signs.is_step(line) and not signs.is_version(line)

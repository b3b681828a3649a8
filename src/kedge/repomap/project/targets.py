"""Selection of the useful targets, scripts and sessions of task runners."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kedge.repomap.project.names import CORNER, PARTIAL, kind_of_name
from kedge.repomap.project.parts import Findings, Kind
from kedge.repomap.project.shell import kind_of

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:@/-")
_COMPOSITES = "check checks ci verify validate qa precommit pre-commit all-checks check-all"
_COMPOSITE = frozenset(_COMPOSITES.split())
# programs of recipes that only print something
_TALKS = frozenset({"echo", "printf", "cat", "exit", "true", "false", ":", ""})
_CHECKS_ONLY = frozenset({"--check", "--list-different", "-l", "--dry-run", "--diff"})
_WRITES = frozenset({"--write", "-w", "--fix"})
# `install` may install the product for its users, not set up a working copy
_DOUBTFUL_INSTALLS = frozenset({"install", "tools"})
# names that say less than the recipe
_VAGUE = frozenset({"dev", "all", "run", "start", "watch", "fix", "style", "types", "dist", "up"})
_OTHER_WORDS = """clean watch update release publish deploy prepare cov doc bench generate debug
version bump upgrade tag help push sync snapshot report diff install migrat seed"""
_NOT_BY_BODY = tuple(_OTHER_WORDS.split())


@dataclass(frozen=True, slots=True)
class Target:
    name: str
    body: tuple[str, ...]
    source: str


def add_targets(
    findings: Findings,
    targets: Iterable[Target],
    call: Callable[[str], str],
    score: int,
    where: str = "",
) -> None:
    """Add the targets whose purpose is clear from their name or recipe, called by `call(name)`."""
    for target in targets:
        if not _is_plain(target.name) or _is_stub(target):
            continue
        found = _judge(target)
        if found:
            kind, loss = found
            findings.add_command(kind, call(target.name), target.source, score - loss, where)


def _is_plain(name: str) -> bool:
    return 0 < len(name) <= 60 and name[0].isalnum() and _LETTERS.issuperset(name)


def _is_stub(target: Target) -> bool:
    return bool(target.body) and all(line.partition(" ")[0] in _TALKS for line in target.body)


def _is_other(name: str) -> bool:
    """True if the name has another purpose, whatever the recipe runs."""
    return name.startswith(("pre", "post", "ci")) or any(part in name for part in _NOT_BY_BODY)


def _only_needs(target: Target) -> bool:
    """True if the target only depends on other targets."""
    return bool(target.body) and all(line.startswith("make ") for line in target.body)


def _judge(target: Target) -> tuple[Kind, int] | None:
    """The kind of a target, and its loss against the clearest one."""
    shown = list(dict.fromkeys(kind for line in target.body if (kind := kind_of(line))))
    name = target.name.lower()
    if name in _COMPOSITE:
        return (("test" if "test" in shown else shown[0]), 14) if shown else None
    named = kind_of_name(target.name)
    if named and named[1] == CORNER:
        return None
    if named is None:
        lone = len(shown) == 1 and shown[0] not in ("install", "run", "build")
        return (shown[0], 24) if lone and not _is_other(name) else None
    kind, loss = named
    if kind == "run" and not shown and _only_needs(target):
        return None
    if shown and kind not in shown and (name in _VAGUE or loss > PARTIAL):
        if len(shown) > 1:
            return None
        kind, loss = shown[0], 12
    if kind == "install" and name in _DOUBTFUL_INSTALLS and "install" not in shown:
        return None
    if kind == "format" and target.body:
        words = [line.split() for line in target.body]
        if not any(map(_CHECKS_ONLY.isdisjoint, words)):
            return "lint", 20
        if "prettier" in target.body[0] and all(map(_WRITES.isdisjoint, words)):
            loss += 20
    return kind, loss

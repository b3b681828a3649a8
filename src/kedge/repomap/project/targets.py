"""Named targets, scripts and sessions of task runners: which of them are worth telling."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kedge.repomap.project.parts import Findings, Kind
from kedge.repomap.project.shell import FAR, kind_of, rank_of_name

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:@/-]{0,59}\Z")
_COMPOSITE = frozenset(
    ["check", "checks", "ci", "verify", "validate", "qa", "precommit", "pre-commit", "all-checks", "check-all", "test-lint"]
)
_STUB = re.compile(r"no test specified|exit 1\s*$|not implemented", re.IGNORECASE)
_CHECKS_ONLY = re.compile(r"--check\b|--list-different|(?<!\S)-l\b|--dry-run|--diff\b")
# what installs the product for its users is not what sets up a working copy
_DOUBTFUL_INSTALLS = frozenset({"install", "tools"})
# in these the kind that the body shows is more telling than the name
_VAGUE = frozenset({"dev", "all", "run", "start", "watch", "fix", "style", "types", "dist", "up"})


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
    """The targets whose name or recipe tells what they are for, with `call(name)` as command."""
    for target in targets:
        if _NAME.match(target.name) is None or _is_stub(target):
            continue
        found = _judge(target)
        if found:
            kind, loss = found
            findings.command(kind, call(target.name), target.source, score - loss, where)


def _is_stub(target: Target) -> bool:
    return len(target.body) == 1 and _STUB.search(target.body[0]) is not None


def _judge(target: Target) -> tuple[Kind, int] | None:
    shown = list(dict.fromkeys(kind for line in target.body if (kind := kind_of(line))))
    name = target.name.lower()
    if name in _COMPOSITE:
        return (("test" if "test" in shown else shown[0]), 14) if shown else None
    named = rank_of_name(target.name)
    if named is None:
        return (shown[0], 24) if len(shown) == 1 and shown[0] != "install" else None
    kind, rank = named
    if name in _VAGUE and shown and kind not in shown:
        kind, rank = shown[0], 12
    if kind == "install" and name in _DOUBTFUL_INSTALLS and "install" not in shown:
        return None
    if kind == "format" and target.body and all(map(_CHECKS_ONLY.search, target.body)):
        return "lint", 20
    return kind, min(rank, 12) if rank < FAR else rank - FAR + 18

"""Which of all the commands found are those that a maintainer would tell a newcomer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kedge.repomap.project.census import Census
from kedge.repomap.project.parts import KINDS, Candidate, Command, Kind
from kedge.repomap.project.shell import step_of

ENOUGH = 30  # below this a command is a guess about some corner of the repository
CLOSE = 22  # how much worse the second command of a kind may be
AGREES = 12  # what it is worth that CI runs the same
_FAMILIES = {
    "npm": "node", "pnpm": "node", "yarn": "node", "bun": "node", "npx": "node", "deno": "node",
    "eslint": "node", "jest": "node", "vitest": "node", "prettier": "node", "tsc": "node",
    "node": "node", "cargo": "rust", "go": "go", "golangci-lint": "go", "gofmt": "go",
    "pytest": "python", "tox": "python", "nox": "python", "ruff": "python", "mypy": "python",
    "black": "python", "flake8": "python", "isort": "python", "pip": "python", "uv": "python",
    "poetry": "python", "pylint": "python", "pre-commit": "", "mvn": "jvm", "mvnw": "jvm",
    "gradle": "jvm", "gradlew": "jvm", "dotnet": "dotnet", "bundle": "ruby", "rake": "ruby",
    "rspec": "ruby", "rubocop": "ruby", "composer": "php", "phpunit": "php", "mix": "elixir",
    "cmake": "c", "ctest": "c", "ninja": "c", "clang-format": "c", "swift": "swift",
    "flutter": "dart", "dart": "dart", "sbt": "scala",
}  # fmt: skip
# one command is enough to set up, to build and to start, unless there are two products
_LONE: frozenset[Kind] = frozenset({"install", "build", "run", "format"})


def choose(census: Census, found: Iterable[Candidate], agreed: frozenset[str]) -> list[Command]:
    """The best command of each kind, and a second one where it says something else."""
    judged = [_judged(census, candidate, agreed) for candidate in found]
    chosen: list[Command] = []
    for kind in KINDS:
        ranked = [one for one in judged if one.kind == kind and one.score >= ENOUGH]
        ranked.sort(key=lambda one: (-one.score, len(one.command), one.command))
        chosen += [Command(one.kind, one.command, one.source) for one in _best(ranked)]
    return chosen


def _best(ranked: list[Candidate]) -> list[Candidate]:
    if not ranked:
        return []
    first = ranked[0]
    for second in ranked[1:]:
        if second.score < first.score - CLOSE:
            break
        other = (first.family, first.where) != (second.family, second.where)
        if _file(first) == _file(second) or _step(first) == _step(second):
            continue
        if first.kind in _LONE and not (other and second.family and first.family):
            continue
        return [first, second]
    return [first]


def _judged(census: Census, candidate: Candidate, agreed: frozenset[str]) -> Candidate:
    family = candidate.family
    if family is None:
        family = _FAMILIES.get(_step(candidate).partition(" ")[0]) or None
        candidate = replace(candidate, family=family)
    score = candidate.score
    if family:
        score -= _loss(census.share(family, candidate.where))
    elif candidate.where and census.total:
        score -= _loss(census.files_in(candidate.where) / census.total)
    if candidate.where:
        score -= 4
    if f"{candidate.where}:{_step(candidate)}" in agreed and "/workflows/" not in candidate.source:
        score += AGREES
    return replace(candidate, score=score)


def _loss(share: float) -> int:
    for least, loss in ((0.35, 0), (0.2, 6), (0.1, 16), (0.03, 34)):
        if share >= least:
            return loss
    return 46


def _step(candidate: Candidate) -> str:
    command = candidate.command
    return step_of(command.partition(" && ")[2] if candidate.where else command)


def _file(candidate: Candidate) -> str:
    return candidate.source.partition(":")[0]

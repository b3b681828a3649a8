"""Choosing the commands that a maintainer would tell a newcomer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kedge.repomap.project.importance import Importance
from kedge.repomap.project.parts import KINDS, Candidate, Command, Kind
from kedge.repomap.project.shell import step_of

ENOUGH = 30  # commands with a lower score are guesses
CLOSE = 24  # greatest difference of the second command of a kind
AGREES = 10  # bonus if CI runs the same command
TOLD = 12  # bonus if a guide for contributors names it
_FAMILIES = {
    "node": "npm pnpm yarn bun npx deno eslint jest vitest prettier tsc node biome oxlint next",
    "rust": "cargo rustfmt",
    "go": "go golangci-lint gofmt staticcheck gotestsum gofumpt goimports",
    "python": "pytest tox nox ruff mypy black flake8 isort pip uv poetry pdm pylint pyright hatch "
    "runtests.py",
    "jvm": "mvn mvnw gradle gradlew",
    "dotnet": "dotnet",
    "ruby": "bundle rake rspec rubocop rails",
    "php": "composer phpunit phpstan pint pest psalm phpcs",
    "elixir": "mix",
    "c": "cmake ctest ninja clang-format meson",
    "swift": "swift swiftlint",
    "dart": "flutter dart",
    "scala": "sbt",
    "zig": "zig",
    "haskell": "stack cabal",
    "ocaml": "dune",
    "clojure": "lein",
    "solidity": "forge",
}
_FAMILY_OF = {name: family for family, names in _FAMILIES.items() for name in names.split()}
# of these kinds one command is enough, unless there are two products
_LONE: frozenset[Kind] = frozenset({"install", "build", "run", "format"})
_LOSSES = ((0.99, 0), (0.5, 14), (0.25, 24), (0.12, 34), (0.04, 46))


def choose(
    importance: Importance,
    found: Iterable[Candidate],
    agreed: frozenset[str],
    told: frozenset[str] = frozenset(),
) -> list[Command]:
    """The best command of each kind, then second ones that do something else.

    `agreed` are the steps that CI runs, `told` those that guides for contributors name.
    """
    judged = [_judge(importance, candidate, agreed, told) for candidate in found]
    firsts: list[Candidate] = []
    seconds: list[Candidate] = []
    for kind in KINDS:
        ranked = [one for one in judged if one.kind == kind and one.score >= ENOUGH]
        ranked.sort(key=lambda one: (-one.score, len(one.command), one.command, one.source))
        best = _best(ranked)
        # the more important of two products comes first
        best.sort(key=lambda one: -importance.of(one.family, one.where))
        firsts += best[:1]
        seconds += best[1:]
    return [Command(one.kind, one.command, one.source) for one in firsts + seconds]


def _best(ranked: list[Candidate]) -> list[Candidate]:
    if not ranked:
        return []
    first = ranked[0]
    for second in ranked[1:]:
        if second.score < first.score - CLOSE:
            break
        if _says_the_same(first, second):
            continue
        other = (first.family, first.where) != (second.family, second.where)
        if first.kind in _LONE and not (other and second.family and first.family):
            continue
        return [first, second]
    return [first]


def _says_the_same(first: Candidate, second: Candidate) -> bool:
    if first.where != second.where:
        # a command for everything covers its parts
        return not first.where and first.family == second.family
    one, two = _step(first).split(), _step(second).split()
    # `composer run phpcs` and `vendor/bin/phpcs`
    return one[:1] == two[:1] or one[-1:] == two[:1] or two[-1:] == one[:1]


def _judge(
    importance: Importance, candidate: Candidate, agreed: frozenset[str], told: frozenset[str]
) -> Candidate:
    family = candidate.family or _FAMILY_OF.get(_step(candidate).partition(" ")[0])
    score = candidate.score - _loss(importance.of(family, candidate.where))
    if candidate.where:
        score -= 4
    step = f"{candidate.where}:{_step(candidate)}"
    if step in agreed and not candidate.from_ci:
        score += AGREES
    if _step(candidate) in told and not candidate.where:
        score += TOLD
    return replace(candidate, score=score, family=family)


def _loss(importance: float) -> int:
    return next((loss for least, loss in _LOSSES if importance >= least), 60)


def _step(candidate: Candidate) -> str:
    command = candidate.command
    return step_of(command.partition(" && ")[2] if candidate.where else command)

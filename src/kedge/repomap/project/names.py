"""The kinds of commands that names of targets, scripts and sessions stand for."""

from __future__ import annotations

from kedge.repomap.project.parts import Kind

# the most common name first
_NAMES: dict[Kind, str] = {
    "test": "test tests test-unit unit-test unit-tests unittest unittests unit pytest test-all "
    "testall test-core test-ci test-python test-go test-js test-run jest vitest rspec phpunit "
    "spec tests-unit run-tests runtests runtest test-fast quicktest testsuite test-quick",
    "lint": "lint lint-all linters linter lint-check lint-code lint-fix lint-js lint-python "
    "lint-go golangci-lint golangci eslint ruff flake8 pylint rubocop clippy phpcs standard "
    "credo stylelint vet check-lint biome checkstyle oxlint",
    "format": "format fmt format-all format-code reformat format-fix format-write prettier "
    "prettify style pretty black gofmt fix-format formatter code-style cs-fix fix-style beautify "
    "prettier-write prettier-fix fix-cs pint fix spotless-apply format-python format-js",
    "typecheck": "typecheck type-check check-types types typing mypy pyright tsc typecheck-all "
    "check-ts ts-check typescript type-checking types-check test-types test-typecheck typings "
    "test-typescript phpstan psalm stan static-analysis analyse analyze dialyzer svelte-check "
    "lint-types lint-ts tsc-check ty",
    "build": "build build-all compile bundle dist binary build-dev build-prod package all "
    "assemble build-packages build-lib hugo",
    "run": "dev run start serve server develop run-dev start-dev dev-server devserver runserver "
    "run-server up watch start-server dev-start",
    "install": "setup install bootstrap deps install-dev dev-setup init-dev develop-deps "
    "dependencies install-deps dev-install venv prepare-dev setup-dev install-dependencies "
    "dev-env dev-deps get-deps vendor-deps devinstall provision tools install-tools",
}
_LOSSES: dict[str, tuple[Kind, int]] = {
    name: (kind, min(rank, 12))
    for kind, names in _NAMES.items()
    for rank, name in enumerate(names.split())
}
_FIRST: dict[str, Kind] = {
    "test": "test", "tests": "test", "lint": "lint", "format": "format", "fmt": "format",
    "typecheck": "typecheck", "build": "build", "dev": "run", "start": "run", "serve": "run",
}  # fmt: skip
_QUALIFIERS = """all app backend bin build cargo ci cli code core dev development docker fast
full frontend go js lib local main package packages prod production project python quick react
rust server src ts unit ui web client"""
_PLAIN_QUALIFIERS = frozenset(_QUALIFIERS.split())
_DASHES = str.maketrans(":_./", "----")
EXACT = 12  # greatest loss of a full match
PARTIAL = 18
CORNER = 62  # loss of a name for a part of the project


def kind_of_name(name: str) -> tuple[Kind, int] | None:
    """The kind that a name stands for, and its loss against the most common name."""
    normal = "-".join(filter(None, name.lower().translate(_DASHES).split("-")))
    if found := _LOSSES.get(normal):
        return found
    first, dash, rest = normal.partition("-")
    if not dash or first not in _FIRST:
        return None
    known = all(part in _PLAIN_QUALIFIERS for part in rest.split("-"))
    return _FIRST[first], PARTIAL + len(rest.split("-")) if known else CORNER

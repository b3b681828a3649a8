"""The kind of a shell command: install, build, test, lint, format, typecheck or run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from kedge.repomap.project.names import CORNER, kind_of_name
from kedge.repomap.project.parts import Kind

_SUBCOMMANDS: dict[str, dict[str, Kind]] = {
    "cargo": {
        "test": "test", "nextest": "test", "build": "build", "clippy": "lint", "fmt": "format",
        "run": "run", "check": "typecheck",
    },
    "go": {
        "test": "test", "build": "build", "vet": "lint", "run": "run", "fmt": "format",
        "install": "build",
    },
    "ruff": {"check": "lint", "format": "format"},
    "biome": {"check": "lint", "lint": "lint", "format": "format", "ci": "lint"},
    "dotnet": {
        "test": "test", "build": "build", "run": "run", "restore": "install", "format": "format",
    },
    "mix": {
        "test": "test", "compile": "build", "format": "format", "credo": "lint",
        "dialyzer": "typecheck", "deps.get": "install", "setup": "install", "phx.server": "run",
    },
    "swift": {"test": "test", "build": "build", "run": "run"},
    "swiftlint": {"": "lint", "lint": "lint"},
    "deno": {"test": "test", "lint": "lint", "fmt": "format", "check": "typecheck"},
    "flutter": {"test": "test", "build": "build", "analyze": "lint", "pub": "install",
                "run": "run"},
    "dart": {"test": "test", "analyze": "lint", "format": "format", "pub": "install"},
    "zig": {"build": "build", "test": "test", "fmt": "format"},
    "stack": {"test": "test", "build": "build"},
    "cabal": {"test": "test", "build": "build"},
    "dune": {"build": "build", "test": "test", "runtest": "test", "fmt": "format"},
    "bazel": {"build": "build", "test": "test"},
    "bazelisk": {"build": "build", "test": "test"},
    "lein": {"test": "test", "deps": "install"},
    "golangci-lint": {"run": "lint", "fmt": "format"},
    "pre-commit": {"run": "lint"},
    "prek": {"run": "lint"},
    "meson": {"test": "test", "compile": "build"},
    "cmake": {"--build": "build"},
    "symfony": {"serve": "run"},
    "next": {"dev": "run", "build": "build", "lint": "lint"},
    "vite": {"build": "build", "dev": "run", "": "run"},
    "nuxt": {"dev": "run", "build": "build"},
    "astro": {"dev": "run", "build": "build", "check": "typecheck"},
    "ng": {"test": "test", "build": "build", "lint": "lint", "serve": "run"},
    "turbo": {"test": "test", "build": "build", "lint": "lint", "dev": "run"},
    "playwright": {"test": "test"},
    "cypress": {"run": "test"},
    "node": {"--test": "test"},
    "uv": {"sync": "install", "build": "build", "pip": "install"},
    "poetry": {"install": "install", "build": "build"},
    "pdm": {"install": "install", "build": "build", "sync": "install"},
    "pip": {"install": "install"},
    "pip3": {"install": "install"},
    "pipenv": {"install": "install", "sync": "install"},
    "bundle": {"install": "install"},
    "hatch": {"test": "test", "build": "build", "fmt": "format"},
    "gem": {"build": "build"},
    "yarn": {"install": "install", "--immutable": "install", "--frozen-lockfile": "install"},
    "npm": {"ci": "install", "install": "install", "i": "install"},
    "pnpm": {"install": "install", "i": "install"},
    "bun": {"install": "install", "test": "test"},
    "composer": {"install": "install"},
    "rails": {"test": "test", "server": "run"},
    "manage.py": {"test": "test", "runserver": "run"},
    "artisan": {"test": "test", "serve": "run"},
}  # fmt: skip
_PROGRAMS: dict[str, Kind] = {
    "pytest": "test", "py.test": "test", "tox": "test", "unittest": "test", "ctest": "test",
    "jest": "test", "vitest": "test", "mocha": "test", "ava": "test", "rspec": "test",
    "phpunit": "test", "pest": "test", "stestr": "test", "karma": "test", "gotestsum": "test",
    "trial": "test", "nose2": "test", "runtests.py": "test", "runtests": "test", "tap": "test",
    "flake8": "lint", "pylint": "lint", "eslint": "lint", "rubocop": "lint", "standardrb": "lint",
    "stylelint": "lint", "phpcs": "lint", "shellcheck": "lint", "staticcheck": "lint",
    "revive": "lint", "clang-tidy": "lint", "oxlint": "lint", "detekt": "lint",
    "black": "format", "isort": "format", "prettier": "format", "gofmt": "format",
    "goimports": "format", "gofumpt": "format", "rustfmt": "format", "clang-format": "format",
    "dprint": "format", "pint": "format", "php-cs-fixer": "format", "swiftformat": "format",
    "swift-format": "format", "scalafmt": "format", "stylua": "format", "oxfmt": "format",
    "mypy": "typecheck", "pyright": "typecheck", "basedpyright": "typecheck", "ty": "typecheck",
    "tsc": "typecheck", "vue-tsc": "typecheck", "svelte-check": "typecheck", "pyrefly": "typecheck",
    "phpstan": "typecheck", "psalm": "typecheck", "attw": "typecheck",
    "rollup": "build", "webpack": "build", "tsup": "build", "esbuild": "build", "unbuild": "build",
    "tsdown": "build", "ninja": "build", "goreleaser": "build", "parcel": "build", "gulp": "build",
    "tsx": "run", "nodemon": "run", "uvicorn": "run", "gunicorn": "run", "ts-node": "run",
    "rackup": "run", "puma": "run",
}  # fmt: skip
# programs whose first argument is a target or a script of the project
_RUNNER_NAMES = """make gmake just task mage rake npm pnpm yarn bun poe invoke inv composer nx lerna
hatch pdm gradlew gradle mvnw mvn sbt grunt gulp tox nox turbo moon rush pixi melos"""
_RUNNERS = frozenset(_RUNNER_NAMES.split())
_ALONE: dict[str, Kind] = {"make": "build", "gmake": "build", "yarn": "install"}
_GOALS: dict[str, Kind] = {
    "test": "test", "check": "test", "verify": "test", "build": "build", "assemble": "build",
    "package": "build", "install": "build", "compile": "build", "spotlessapply": "format",
    "spotless:apply": "format", "spotlesscheck": "lint", "spotless:check": "lint",
    "bootrun": "run", "run": "run", "spring-boot:run": "run", "checkstyle:check": "lint",
    "ktlintformat": "format", "ktlintcheck": "lint", "detekt": "lint", "lint": "lint",
    "scalafmtcheckall": "lint", "scalafmtall": "format", "scalafmtcheck": "lint",
    "formatall": "format", "format": "format",
}  # fmt: skip
_GOAL_RUNNERS = frozenset({"gradlew", "gradle", "mvnw", "mvn", "sbt", "mill"})
_FLAGS_WITH_VALUE = """-C -f -F --filter --prefix --cwd -w --workspace -p --project -s -e --session
--directory --package --extra --group --with --python -P --file --makefile -X"""
_TAKES_VALUE = frozenset(_FLAGS_WITH_VALUE.split())
_WRAPPER_LINES = """uv run,poetry run,pipenv run,rye run,bundle exec,pnpm exec,pnpm dlx,yarn exec,
yarn dlx,npm exec,python -m,python3 -m,coverage run,npx,bunx,uvx,time,exec,env,command,xvfb-run,
cross-env,dotenv,pdm run,pixi run,pipx run,opam exec --,gotestsum --,bash,sh,python,python3,php,
ruby,coverage"""
_WRAPPERS: dict[str, list[list[str]]] = {}
for _line in _WRAPPER_LINES.replace("\n", "").split(","):
    _WRAPPERS.setdefault(_line.split()[0], []).append(_line.split())
_WORD = r"""(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*+')+"""


def words_of(line: str) -> list[str]:
    """The words of a simple command, without leading assignments."""
    if "'" in line or '"' in line:
        words = [word.strip("\"'") for word in re.findall(_WORD, line[:1000])]
    else:
        words = line[:1000].split()
    if "#" in line:
        end = next((at for at, word in enumerate(words) if word.startswith("#")), len(words))
        words = words[:end]
    while words and _is_assignment(words[0]):
        words = words[1:]
    return words


def _is_assignment(word: str) -> bool:
    name, sign, _ = word.partition("=")
    return bool(sign) and name.isidentifier()


def kind_of(line: str) -> Kind | None:
    """The kind of a simple command, or None if it is unclear."""
    return _kind_of(_command(line))


def is_tool(line: str) -> bool:
    """True if the command is a well-known program, not a script or target of the project."""
    program = _program(_command(line))
    return program in _SUBCOMMANDS or program in _PROGRAMS


def step_of(line: str) -> str:
    """The command without wrappers and flags, so that two spellings of a step are equal."""
    words = _command(line)
    program = _program(words)
    if not program:
        return ""
    plain = [word for word in _plain(words[1:]) if word not in (".", "./...", "--workspace")]
    if program in _RUNNERS and plain[:1] == ["run"]:
        plain = plain[1:]
    return " ".join([program, *plain[:1]])


@lru_cache(maxsize=512)
def _command(line: str) -> list[str]:
    return _unwrap(words_of(line))


def _unwrap(words: list[str]) -> list[str]:
    """Remove wrappers from a command: `uv run`, `npx`, `bash`, `FOO=1`."""
    for _ in range(4):
        while words and _is_assignment(words[0]):
            words = words[1:]
        known = _WRAPPERS.get(words[0], ()) if words else ()
        wrapper = next((one for one in known if words[: len(one)] == one), None)
        rest = _without_leading_flags(words[len(wrapper) :]) if wrapper else []
        if not rest:
            break
        words = rest
    return words


def _without_leading_flags(words: list[str]) -> list[str]:
    position = 0
    while position < len(words) and words[position].startswith("-"):
        position += 2 if words[position] in _TAKES_VALUE else 1
    return words[position:]


def _program(words: Sequence[str]) -> str:
    return words[0].rpartition("/")[2].removesuffix(".cmd").removesuffix(".bat") if words else ""


def _plain(words: Sequence[str]) -> list[str]:
    found = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in _TAKES_VALUE:
            skip = True
        elif not word.startswith(("-", "+")) and not _is_assignment(word):
            found.append(word)
    return found


def _kind_of(words: list[str]) -> Kind | None:
    program = _program(words)
    if not program:
        return None
    plain = _plain(words[1:])
    subcommand = plain[0] if plain else ""
    if program in _GOAL_RUNNERS:
        return _kind_of_goals(plain)
    table = _SUBCOMMANDS.get(program, {})
    if subcommand in table and (subcommand or not words[1:]):
        return table[subcommand]
    for word in words[1:3]:
        if word.startswith("-") and word in table:
            return table[word]
    if program == "tsc" and not {"--noEmit", "-noEmit", "--build", "-b"} & set(words):
        return "build"
    if program in _PROGRAMS:
        return _kind_of_program(program, words)
    if program in _RUNNERS:
        return _kind_of_target(program, words, plain)
    return _kind_of_script(words[0])


def _kind_of_program(program: str, words: Sequence[str]) -> Kind:
    if program in ("tox", "nox"):
        return _kind_of_target(program, words, []) or "test"
    return _PROGRAMS[program]


def _kind_of_goals(plain: Sequence[str]) -> Kind | None:
    kinds = []
    for word in plain:
        goal = word.rpartition(":")[2] if word.startswith(":") else word
        kinds.append(_GOALS.get(goal.lower()))
    known = [kind for kind in kinds if kind]
    return "test" if "test" in known else known[0] if known else None


def _kind_of_target(program: str, words: Sequence[str], plain: list[str]) -> Kind | None:
    if program in ("tox", "nox"):
        for flag, value in pairwise(words):
            if flag in ("-e", "-s", "--session"):
                found = kind_of_name(value)
                return found[0] if found else "test" if value.startswith("py") else None
        return "test" if len(words) == 1 else None
    if plain[:1] == ["run"] and program not in ("make", "just", "task"):
        plain = plain[1:]
    if plain[:1] == ["test"]:
        return "test"
    if not plain:
        return _ALONE.get(program)
    name = plain[0].rpartition(":")[2] if program in ("hatch", "nx") else plain[0]
    found = kind_of_name(name)
    return found[0] if found and found[1] < CORNER else None


def _kind_of_script(path: str) -> Kind | None:
    """The kind of a script that is named by its purpose: `./scripts/test.sh`."""
    if "/" not in path and not path.endswith((".sh", ".py")):
        return None
    stem = re.sub(r"\.(?:sh|py|bash|rb|js|mjs|ts)$", "", path.rpartition("/")[2])
    found = kind_of_name(stem)
    return found[0] if found and found[1] < CORNER else None

"""The kind of a shell command: install, build, test, lint, format, typecheck or run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from kedge.repomap.project.names import CORNER, kind_of_name
from kedge.repomap.project.parts import Kind

# programs, alone or with a subcommand; a program alone stands for all of its other calls
_COMMANDS: dict[Kind, str] = {
    "test": """cargo test,cargo nextest,go test,gotestsum,dotnet test,mix test,swift test,deno test,
        flutter test,dart test,zig test,stack test,cabal test,dune test,dune runtest,bazel test,
        bazelisk test,lein test,meson test,ctest,ng test,turbo test,playwright test,cypress run,
        node --test,bun test,jest,vitest,mocha,ava,karma,tap,rails test,rspec,manage.py test,
        artisan test,phpunit,pest,hatch test,pytest,py.test,tox,unittest,stestr,trial,nose2,
        runtests.py,runtests""",
    "lint": """cargo clippy,go vet,golangci-lint run,staticcheck,revive,ruff check,flake8,pylint,
        biome check,biome lint,biome ci,eslint,oxlint,stylelint,next lint,ng lint,turbo lint,
        deno lint,mix credo,swiftlint,flutter analyze,dart analyze,pre-commit run,prek run,rubocop,
        standardrb,phpcs,shellcheck,clang-tidy,detekt""",
    "format": """cargo fmt,rustfmt,go fmt,gofmt,goimports,gofumpt,golangci-lint fmt,ruff format,
        black,isort,hatch fmt,biome format,prettier,dprint,oxfmt,deno fmt,dotnet format,mix format,
        dart format,zig fmt,dune fmt,clang-format,pint,php-cs-fixer,swiftformat,swift-format,
        scalafmt,stylua""",
    "typecheck": """cargo check,mypy,pyright,basedpyright,ty,pyrefly,tsc,vue-tsc,svelte-check,attw,
        astro check,deno check,mix dialyzer,phpstan,psalm""",
    "build": """cargo build,go build,go install,dotnet build,mix compile,swift build,flutter build,
        zig build,stack build,cabal build,dune build,bazel build,bazelisk build,meson compile,
        cmake --build,ninja,next build,vite build,nuxt build,astro build,ng build,turbo build,
        rollup,webpack,tsup,esbuild,unbuild,tsdown,parcel,gulp,uv build,poetry build,pdm build,
        hatch build,gem build,goreleaser""",
    "run": """cargo run,go run,dotnet run,mix phx.server,swift run,flutter run,symfony serve,
        next dev,vite dev,vite,nuxt dev,astro dev,ng serve,turbo dev,tsx,ts-node,nodemon,uvicorn,
        gunicorn,rackup,puma,rails server,manage.py runserver,artisan serve""",
    "install": """dotnet restore,mix deps.get,mix setup,flutter pub,dart pub,lein deps,uv sync,
        uv pip,poetry install,pdm install,pdm sync,pip install,pip3 install,pipenv install,
        pipenv sync,bundle install,yarn install,yarn --immutable,yarn --frozen-lockfile,npm ci,
        npm install,npm i,pnpm install,pnpm i,bun install,composer install""",
}
_KIND_OF: dict[str, Kind] = {
    command.strip(): kind for kind, text in _COMMANDS.items() for command in text.split(",")
}
_TOOLS = frozenset(command.partition(" ")[0] for command in _KIND_OF)
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
    return _program(_command(line)) in _TOOLS


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
    flags = [word for word in words[1:3] if word.startswith("-")]
    for argument in (subcommand, *flags):
        if kind := _KIND_OF.get(f"{program} {argument}"):
            return kind
    if program in ("tox", "nox"):
        return _kind_of_session(words)
    if program == "tsc" and not {"--noEmit", "-noEmit", "--build", "-b"} & set(words):
        return "build"
    if program in _KIND_OF:
        return _KIND_OF[program]
    if program in _RUNNERS:
        return _kind_of_target(program, plain)
    return _kind_of_script(words[0])


def _kind_of_goals(plain: Sequence[str]) -> Kind | None:
    kinds = []
    for word in plain:
        goal = word.rpartition(":")[2] if word.startswith(":") else word
        kinds.append(_GOALS.get(goal.lower()))
    known = [kind for kind in kinds if kind]
    return "test" if "test" in known else known[0] if known else None


def _kind_of_session(words: Sequence[str]) -> Kind | None:
    for flag, value in pairwise(words):
        if flag in ("-e", "-s", "--session"):
            found = kind_of_name(value)
            return found[0] if found else "test" if value.startswith("py") else None
    return "test" if len(words) == 1 or _program(words) == "tox" else None


def _kind_of_target(program: str, plain: list[str]) -> Kind | None:
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

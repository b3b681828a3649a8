"""The files of continuous integration, and the commands that they run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kedge.repomap.project.formats import as_list, as_table, as_text, line_of, printable_items
from kedge.repomap.project.parts import base
from kedge.repomap.project.project_files import ProjectFiles

MAX_FILES = 4
MAX_JOBS = 40
MAX_STEPS = 60
MAX_SCRIPT = 20_000
MAX_NODES = 2000
SYSTEMS = (
    (".gitlab-ci.yml", "GitLab CI"),
    (".circleci/config.yml", "CircleCI"),
    ("azure-pipelines.yml", "Azure Pipelines"),
    (".azure-pipelines.yml", "Azure Pipelines"),
    (".travis.yml", "Travis CI"),
    ("Jenkinsfile", "Jenkins"),
    ("bitbucket-pipelines.yml", "Bitbucket Pipelines"),
    (".drone.yml", "Drone"),
    (".cirrus.yml", "Cirrus CI"),
    (".woodpecker.yml", "Woodpecker"),
    ("appveyor.yml", "AppVeyor"),
    (".buildkite/pipeline.yml", "Buildkite"),
)
EXACT = frozenset({"ci", "test", "tests", "build", "main", "lint"})
_USEFUL_WORDS = "ci build check checks lint linter linters main pr pull pre go rust node python"
_USEFUL = frozenset(_USEFUL_WORDS.split())
_USELESS_PARTS = """release publish deploy stale label codeql scorecard dependabot issue bot nightly
cron bench docker image lock preview semgrep security triage cherry backport comment welcome
changelog translat fuzz mirror sync zizmor schedule winget homebrew snap coverage quality metrics
copilot claude greet contributor sponsor people topic screenshot perf upload valgrind sanit external
daily weekly ecosystem cache third-party status compat merge website"""
_USELESS = tuple(_USELESS_PARTS.split())
# actions that run a known command
_ACTIONS = (
    ("golangci/golangci-lint-action", "golangci-lint run"),
    ("pre-commit/action", "pre-commit run --all-files"),
    ("astral-sh/ruff-action", "ruff check"),
)


@dataclass(frozen=True, slots=True)
class PipelineStep:
    """A command that a pipeline runs in a directory. A lower rank is more important."""

    line: str
    where: str
    path: str
    number: int
    rank: int


def find_workflows(project: ProjectFiles) -> list[str]:
    """The GitHub workflows that build or test, by their names, the most likely first."""
    found = []
    for path in project.inside(".github/workflows"):
        stem, dot, ending = base(path).lower().rpartition(".")
        if dot and ending in ("yml", "yaml"):
            exact = stem in EXACT
            words = words_of_name(path)
            useless = any(word in stem for word in _USELESS) or not words.isdisjoint(
                ("doc", "docs")
            )
            useful = "test" in stem or not _USEFUL.isdisjoint(words)
            found.append((not exact and useless, not exact, useful or exact, path))
    found.sort()
    # the useful ones, or else those that are not useless, or else all
    kept = [path for useless, _, useful, path in found if not useless and useful]
    kept = kept or [path for useless, *_, path in found if not useless]
    return (kept or [path for *_, path in found])[:MAX_FILES]


def words_of_name(path: str) -> set[str]:
    return set(base(path).lower().replace("_", "-").replace(".", "-").split("-"))


def read_steps(project: ProjectFiles) -> Iterator[PipelineStep]:
    for rank, path in enumerate(find_workflows(project)):
        yield from _github(as_table(project.yaml(path)), path, min(rank, 4))
    for path, _ in SYSTEMS:
        if project.has(path) and path.endswith((".yml", ".yaml")):
            yield from _walk(project.yaml(path), path)


def _github(workflow: object, path: str, rank: int) -> Iterator[PipelineStep]:
    for _, job in list(printable_items(as_table(workflow, "jobs")))[:MAX_JOBS]:
        inherited = as_table(job, "defaults", "run").get("working-directory")
        inherited = inherited or as_table(workflow, "defaults", "run").get("working-directory")
        for step in as_list(as_table(job).get("steps"))[:MAX_STEPS]:
            action = as_table(step).get("uses")
            for name, command in _ACTIONS:
                if isinstance(action, str) and action.startswith(name):
                    yield PipelineStep(command, "", path, line_of(action), rank)
            shell = as_text(as_table(step).get("shell")) or ""
            where = _directory(as_table(step).get("working-directory") or inherited)
            if where is not None and not shell.startswith(("pwsh", "powershell", "cmd", "python")):
                yield from _script(as_table(step).get("run"), where, path, rank)


def _walk(value: object, path: str) -> Iterator[PipelineStep]:
    """The scripts of other CI systems, anywhere in the file."""
    stack: list[tuple[object, int]] = [(value, 0)]
    seen: set[int] = set()
    while stack and len(seen) < MAX_NODES:
        node, depth = stack.pop()
        if id(node) in seen or depth > 10:
            continue
        seen.add(id(node))
        if isinstance(node, dict):
            for name, item in reversed(list(node.items())[:MAX_NODES]):
                if name in ("script", "before_script", "run", "commands", "bash", "command"):
                    for line in (as_list(item) or [item])[:MAX_STEPS]:
                        yield from _script(line, "", path, 2)
                if isinstance(item, dict | list):
                    stack.append((item, depth + 1))
        else:
            stack.extend((item, depth + 1) for item in reversed(as_list(node)[:200]))


def _directory(value: object) -> str | None:
    """A directory of the repository, empty for its root, None if it is unknown."""
    if value is None:
        return ""
    plain = (as_text(value) or "$").removeprefix("./").strip("/")
    if not re.fullmatch(r"[\w./ @+-]{1,120}", plain) or ".." in plain:
        return None
    return "" if plain == "." else plain


_OPENS = frozenset({"if", "for", "while", "until", "case"})
_CLOSES = frozenset({"fi", "done", "esac"})


def _script(value: object, where: str, path: str, rank: int) -> Iterator[PipelineStep]:
    """The simple commands of a script, without those in conditions and loops."""
    if not isinstance(value, str) or len(value) > MAX_SCRIPT:
        return
    depth = 0
    pending = ""
    start = line_of(value)
    for number, raw in enumerate(value.split("\n"), line_of(value)):
        if not pending:
            start = number
        if raw.rstrip().endswith("\\"):
            pending += f"{raw.strip()[:-1].strip()} "
            continue
        line, pending = pending + raw.strip(), ""
        first = line.replace(";", " ").replace("(", " ").partition(" ")[0]
        if first in _OPENS:
            depth += 1
        if first in _CLOSES or line.endswith(("; fi", "; done", "; esac")):
            depth = max(depth - 1, 0)
            continue
        if depth or not line or line.startswith("#") or "<<" in line:
            continue
        for part in map(str.strip, line.split(" && ")):
            if not part.startswith("cd "):
                yield PipelineStep(part, where, path, start, rank)
                continue
            inner = _directory(part[3:].strip("\"' "))
            if inner is None:
                return
            where = f"{where}/{inner}".strip("/")

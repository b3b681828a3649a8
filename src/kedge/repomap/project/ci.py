"""What continuous integration runs: the commands that are known to work."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kedge.repomap.project.formats import items, line_of, named, table, text
from kedge.repomap.project.parts import Findings, base
from kedge.repomap.project.shell import kind_of, step_of
from kedge.repomap.project.source import Project

MAX_FILES = 6
MAX_JOBS = 40
MAX_STEPS = 60
MAX_COMMAND = 100
_USEFUL = re.compile(r"(?:^|[^a-z])(?:ci|tests?|build|check|checks|lint|linters?|main|pr|pull)(?:[^a-z]|$)|test|^go|^rust|^node|^python")
_USELESS = re.compile(
    r"release|publish|deploy|stale|label|codeql|scorecard|dependabot|issue|bot|nightly|cron|bench|"
    r"docs?(?:[^a-z]|$)|docker|image|lock|preview|semgrep|security|triage|cherry|backport|comment|"
    r"welcome|changelog|translat|fuzz|mirror|sync|zizmor|schedule|winget|homebrew|snap|coverage|"
    r"quality|metrics|copilot|claude|greet|contributor|sponsor|people|topic|screenshot|perf|"
    r"valgrind|sanit|external|daily|weekly|ecosystem|cache|upload|enos|oss|"
)
_OTHERS = (
    (".gitlab-ci.yml", "GitLab CI"),
    (".circleci/config.yml", "CircleCI"),
    ("azure-pipelines.yml", "Azure Pipelines"),
    (".azure-pipelines.yml", "Azure Pipelines"),
    (".travis.yml", "Travis CI"),
    ("Jenkinsfile", "Jenkins"),
    ("bitbucket-pipelines.yml", "Bitbucket Pipelines"),
    (".drone.yml", "Drone"),
    (".cirrus.yml", "Cirrus CI"),
    ("appveyor.yml", "AppVeyor"),
    (".buildkite/pipeline.yml", "Buildkite"),
    (".woodpecker.yml", "Woodpecker"),
)


@dataclass(frozen=True, slots=True)
class Step:
    """A line that a pipeline runs in a directory."""

    line: str
    where: str
    source: str
    rank: int


def read(project: Project) -> tuple[Findings, frozenset[str]]:
    """The commands of CI as candidates, and every step of it, to agree with."""
    findings = Findings()
    found = workflows(project)
    systems = ["GitHub Actions"] if found else []
    systems += [name for path, name in _OTHERS if project.has(path)]
    if systems:
        findings.tech(f"CI: {', '.join(dict.fromkeys(systems))}")
    agreed: set[str] = set()
    for step in _steps(project, found):
        kind = kind_of(step.line)
        if kind is None:
            continue
        agreed.add(f"{step.where}:{step_of(step.line)}")
        if not _is_plain(step.line):
            continue
        words = step.line.count(" ")
        score = 60 - step.rank - min(words, 8) - (6 if "=" in step.line else 0)
        if kind == "install":
            score -= 14
        command = _fixing(step.line) if kind == "format" else step.line
        findings.command(kind, command, step.source, score, step.where)
    return findings, frozenset(agreed)


def workflows(project: Project) -> list[str]:
    found = []
    for path in project.inside(".github/workflows"):
        name = base(path).lower()
        if not name.endswith((".yml", ".yaml")):
            continue
        stem = name.rpartition(".")[0]
        useful = bool(_USEFUL.search(stem))
        useless = bool(_USELESS.pattern and re.search(_USELESS.pattern.rstrip("|"), stem))
        exact = stem in ("ci", "test", "tests", "build", "main", "lint")
        found.append(((not exact, useless, not useful), path))
    found.sort()
    kept = [path for (_, useless, useful), path in found if not useless]
    return (kept or [path for _, path in found])[:MAX_FILES]


def _steps(project: Project, workflows: list[str]) -> Iterator[Step]:
    for rank, path in enumerate(workflows):
        yield from _github(table(project.yaml(path)), path, min(rank, 4))
    for path in (".gitlab-ci.yml", ".circleci/config.yml", "azure-pipelines.yml", ".travis.yml",
                 ".azure-pipelines.yml", "bitbucket-pipelines.yml", ".woodpecker.yml"):  # fmt: skip
        if project.has(path):
            yield from _walk(project.yaml(path), path)
    if project.has("Jenkinsfile"):
        yield from _jenkins(project.head("Jenkinsfile"))


def _github(workflow: dict[str, Any], path: str, rank: int) -> Iterator[Step]:
    for _, job in list(named(workflow.get("jobs")))[:MAX_JOBS]:
        inherited = table(job, "defaults", "run").get("working-directory")
        inherited = inherited or table(workflow, "defaults", "run").get("working-directory")
        for step in items(table(job).get("steps"))[:MAX_STEPS]:
            if "run" not in table(step):
                continue
            shell = text(table(step).get("shell")) or ""
            where = _directory(table(step).get("working-directory") or inherited)
            if where is not None and not shell.startswith(("pwsh", "powershell", "cmd", "python")):
                yield from _script(table(step)["run"], where, path, rank)


def _walk(value: Any, path: str) -> Iterator[Step]:
    """The scripts of other systems, wherever they stand in the file."""
    stack: list[tuple[Any, int]] = [(value, 0)]
    seen: set[int] = set()
    steps = 0
    while stack and steps < 2000:
        node, depth = stack.pop()
        steps += 1
        if id(node) in seen or depth > 10:
            continue
        seen.add(id(node))
        if isinstance(node, dict):
            for name, item in reversed(list(node.items())):
                if name in ("script", "before_script", "run", "commands", "bash", "command"):
                    for line in items(item) or [item]:
                        yield from _script(line, "", path, 2)
                if isinstance(item, dict | list):
                    stack.append((item, depth + 1))
        elif isinstance(node, list):
            stack.extend((item, depth + 1) for item in reversed(node[:200]))


def _jenkins(script: str) -> Iterator[Step]:
    for number, line in enumerate(script.split("\n")[:2000], 1):
        found = re.match(r"\s*sh\s*\(?\s*(['\"])([^'\"]{1,200})\1\s*\)?\s*$", line[:300])
        if found:
            yield Step(found.group(2), "", f"Jenkinsfile:{number}", 3)


def _directory(value: object) -> str | None:
    """A directory of the repository, empty for its root, None where it cannot be known."""
    if value is None:
        return ""
    plain = (text(value) or "$").removeprefix("./").strip("/")
    if "$" in plain or ".." in plain:
        return None
    return "" if plain == "." else plain


_OPENS = re.compile(r"(?:if|for|while|until|case)\b")
_CLOSES = re.compile(r"(?:fi|done|esac)\b")


def _script(value: object, where: str, path: str, rank: int) -> Iterator[Step]:
    """The simple commands of a script; what stands in a condition or a loop is left out."""
    if not isinstance(value, str) or len(value) > 20_000:
        return
    first = line_of(value)
    depth = 0
    pending = ""
    started = first
    for offset, raw in enumerate(value.split("\n")):
        line = raw.strip()
        if not pending:
            started = first + offset
        if line.endswith("\\"):
            pending += f"{line[:-1].strip()} "
            continue
        line, pending = (pending + line).strip(), ""
        if _OPENS.match(line):
            depth += 1
        if _CLOSES.match(line) or line.endswith(("; fi", "; done", "; esac")):
            depth = max(depth - 1, 0)
            continue
        if depth or not line or line.startswith("#") or "<<" in line:
            continue
        for part in line.split(" && "):
            part = part.strip()
            if part.startswith("cd "):
                inner = _directory(part[3:].strip("\"' "))
                if inner is None or len(part.split()) != 2:
                    return
                where = f"{where}/{inner}".strip("/") if inner else where
            elif part:
                yield Step(part, where, f"{path}:{started}", rank)


_STRANGE = re.compile(r"[|;&<>`\\]|\$|\{\{|\|\||(?<!\S)sudo\b|github|runner\.|codecov|/tmp/|--token|[A-Z]:\\")


def _is_plain(line: str) -> bool:
    """Whether the line means the same on a developer's machine as in the pipeline."""
    return len(line) <= MAX_COMMAND and line.isprintable() and _STRANGE.search(line) is None


_FIXES = (
    (r"^((?:\S+ )*)?(black|isort|ruff format|cargo fmt|dart format)\b", r" --(?:check-only|check|diff|quiet)\b", ""),
    (r"\bprettier\b", r" (?:--check|-c|--list-different|-l)\b", " --write"),
)


def _fixing(line: str) -> str:
    """The formatter's line as a developer runs it: it writes what CI only compares."""
    for program, flag, replacement in _FIXES:
        if re.search(program, line):
            fixed = re.sub(flag, replacement, line, count=1) if replacement else re.sub(flag, "", line)
            return re.sub(r" --$", "", fixed)
    return line

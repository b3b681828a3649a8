"""The commands that continuous integration runs: they are known to work."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from kedge.repomap.project.census import has_tests, is_aside
from kedge.repomap.project.parts import Candidate, Findings, Kind, parent, run_in
from kedge.repomap.project.pipelines import (
    EXACT,
    SYSTEMS,
    PipelineStep,
    find_workflows,
    read_steps,
    words_of_name,
)
from kedge.repomap.project.project_files import ProjectFiles
from kedge.repomap.project.shell import is_tool, kind_of, step_of

MAX_COMMAND = 100
BASE = 56  # below what the settings of a tool or a task runner say
# commands that mean the same without their CI arguments
_BASES = {
    "cargo fmt": "cargo fmt",
    "cargo clippy": "cargo clippy",
    "golangci-lint run": "golangci-lint run",
    "ruff check": "ruff check",
    "ruff format": "ruff format",
    "pre-commit run": "pre-commit run --all-files",
}
# words of scripts that package a product for its users
_DISTRIBUTION = frozenset(["release", "releases", "deploy", "publish", "packaging", "installer"])
# parts of lines that only make sense in a pipeline
_STRANGE = (
    "|", ";", "&", "<", ">", "`", "\\", "$", "{{", "github", "runner.", "codecov", "/tmp/",  # noqa: S108
    "--token", "--version", "--help", "--target", "/home/", "~", "sudo ", "docker ",
)  # fmt: skip
_FIXES: tuple[tuple[str, str, str], ...] = (
    (r"\b(?:black|isort|ruff format|cargo fmt|dart format|dotnet format|mix format)\b",
     r" --(?:check-only|check-formatted|check|diff|verify-no-changes)\b", ""),
    (r"\bprettier\b", r" (?:--check|-c|--list-different|-l)\b", " --write"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pipelines:
    """Findings from CI: commands, all known steps, and the most useful CI file."""

    findings: Findings
    agreed: frozenset[str]
    main: str | None


def read(project: ProjectFiles) -> Pipelines:
    findings = Findings()
    names = ["GitHub Actions"] if find_workflows(project) else []
    names += [name for path, name in SYSTEMS if project.has(path)]
    if names:
        findings.add_tech(f"CI: {', '.join(dict.fromkeys(names))}")
    agreed: set[str] = set()
    order = [*find_workflows(project), *(path for path, _ in SYSTEMS if project.has(path))]
    plain = [path for path in order if not EXACT.isdisjoint(words_of_name(path))]
    useful = Counter(dict.fromkeys(plain, 2))
    for step in read_steps(project):
        kind = kind_of(step.line)
        if kind is None:
            continue
        if kind in ("test", "lint", "build"):
            useful[step.path] += 3 if kind == "test" else 1
        agreed.add(f"{step.where}:{step_of(step.line)}")
        if candidate := _candidate(kind, step):
            findings.add_candidate(candidate)
    order = [path for path in order if useful[path]]
    main = max(order, key=lambda path: (min(useful[path], 6), -order.index(path)), default=None)
    return Pipelines(findings, frozenset(agreed), main)


def _candidate(kind: Kind, step: PipelineStep) -> Candidate | None:
    line = step.line
    if kind == "run" or (kind == "install" and not is_tool(line)):
        return None
    if kind == "build" and not is_tool(line) and not _DISTRIBUTION.isdisjoint(_words(line)):
        return None
    if step_of(line) in ("make", "gmake") or _is_for_documents(step):
        # the makefile is read itself
        return None
    words = line.count(" ") + 1
    score = BASE - step.rank - 3 * max(words - 4, 0) - (12 if "=" in line else 0)
    if kind == "install":
        score -= 14
    elif not is_tool(line):
        score -= 10
    if len(line) > MAX_COMMAND or not line.isprintable() or _is_strange(line):
        known = _BASES.get(step_of(line))
        if known is None:
            return None
        line, score = known, 48 - step.rank
    if kind == "format":
        line = _make_writing(line)
    source = f"{step.path}:{step.number}"
    return Candidate(kind, run_in(step.where, line), source, score, None, step.where, True)


def _words(line: str) -> list[str]:
    return re.findall(r"[a-z]+", line.lower())


def _is_for_documents(step: PipelineStep) -> bool:
    """True if the step runs in a directory of documents or examples, or a script from there."""
    scripts = [parent(word.removeprefix("./")) for word in step.line.split()[:3] if "/" in word]
    places = [place for place in (step.where, *scripts) if place]
    return any(is_aside(place) and not has_tests(place) for place in places)


def _is_strange(line: str) -> bool:
    return line.endswith((" -v", " -V")) or any(sign in line for sign in _STRANGE)


def _make_writing(line: str) -> str:
    """The formatter's command without the flags that only check."""
    for program, flag, instead in _FIXES:
        if re.search(program, line):
            return re.sub(flag, instead, line).removesuffix(" --")
    return line

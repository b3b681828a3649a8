"""What continuous integration runs: the commands that are known to work."""

from __future__ import annotations

import re
from collections import Counter

from kedge.host.record import NamedTuple
from kedge.repomap.project.parts import Candidate, Findings, Kind, within
from kedge.repomap.project.pipelines import EXACT, SYSTEMS, Step, steps, words_of_name, workflows
from kedge.repomap.project.shell import is_tool, kind_of, step_of
from kedge.repomap.project.source import Project

MAX_COMMAND = 100
# these mean the same without the arguments that a pipeline gives them
_BASES = {
    "cargo fmt": "cargo fmt",
    "cargo clippy": "cargo clippy",
    "golangci-lint run": "golangci-lint run",
    "ruff check": "ruff check",
    "ruff format": "ruff format",
    "pre-commit run": "pre-commit run --all-files",
}
# what stands in lines that only make sense in a pipeline
_STRANGE = (
    "|", ";", "&", "<", ">", "`", "\\", "$", "{{", "github", "runner.", "codecov", "/tmp/",  # noqa: S108
    "--token", "--version", "--help", "--target", "/home/", "~", "sudo ", "docker ",
)  # fmt: skip
_FIXES: tuple[tuple[str, str, str], ...] = (
    (r"\b(?:black|isort|ruff format|cargo fmt|dart format|dotnet format|mix format)\b",
     r" --(?:check-only|check-formatted|check|diff|verify-no-changes)\b", ""),
    (r"\bprettier\b", r" (?:--check|-c|--list-different|-l)\b", " --write"),
)  # fmt: skip


class Pipelines(NamedTuple):
    """What CI shows: commands, every step to agree with, and the file that does most."""

    findings: Findings
    agreed: frozenset[str]
    main: str | None


def read(project: Project) -> Pipelines:
    findings = Findings()
    names = ["GitHub Actions"] if workflows(project) else []
    names += [name for path, name in SYSTEMS if project.has(path)]
    if names:
        findings.tech(f"CI: {', '.join(dict.fromkeys(names))}")
    agreed: set[str] = set()
    order = [*workflows(project), *(path for path, _ in SYSTEMS if project.has(path))]
    plain = [path for path in order if not EXACT.isdisjoint(words_of_name(path))]
    useful = Counter(dict.fromkeys(plain, 2))
    for step in steps(project):
        kind = kind_of(step.line)
        if kind is None:
            continue
        if kind in ("test", "lint", "build"):
            useful[step.path] += 3 if kind == "test" else 1
        agreed.add(f"{step.where}:{step_of(step.line)}")
        if candidate := _candidate(kind, step):
            findings.add(candidate)
    order = [path for path in order if useful[path]]
    main = max(order, key=lambda path: (min(useful[path], 6), -order.index(path)), default=None)
    return Pipelines(findings, frozenset(agreed), main)


def _candidate(kind: Kind, step: Step) -> Candidate | None:
    line = step.line
    if kind == "run" or (kind == "install" and not is_tool(line)):
        return None
    if step_of(line) in ("make", "gmake"):
        # the makefile itself tells what it makes
        return None
    words = line.count(" ") + 1
    score = 60 - step.rank - 3 * max(words - 4, 0) - (12 if "=" in line else 0)
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
        line = _writing(line)
    source = f"{step.path}:{step.number}"
    return Candidate(kind, within(step.where, line), source, score, None, step.where, True)


def _is_strange(line: str) -> bool:
    return line.endswith((" -v", " -V")) or any(sign in line for sign in _STRANGE)


def _writing(line: str) -> str:
    """The formatter's line as a developer runs it: it writes what CI only compares."""
    for program, flag, instead in _FIXES:
        if re.search(program, line):
            return re.sub(flag, instead, line).removesuffix(" --")
    return line

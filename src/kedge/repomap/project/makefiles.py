"""Makefiles: their targets, and those of included files."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kedge.repomap.project.parts import Findings, join
from kedge.repomap.project.project_files import ProjectFiles
from kedge.repomap.project.targets import Target, add_targets

MAX_LINES = 4000
_RULE = re.compile(r"([A-Za-z0-9][\w./-]*(?:[ \t]+[A-Za-z0-9][\w./-]*)*)[ \t]*::?(?![=:])(.*)")
_VARIABLE = re.compile(r"\$\((\w+)\)")
_ASSIGNED = re.compile(r"(\w+)[ \t]*[:?]?=[ \t]*([\w ./-]*)$")
_INCLUDE = re.compile(r"-?include[ \t]+([\w./-]+)[ \t]*$")
_SKIPPED = ("#", "ifeq", "ifneq", "ifdef", "ifndef", "else", "endif")


def make_targets(makefile: str, path: str) -> Iterator[Target]:
    """The targets of a makefile with their prerequisites, recipes and lines."""
    names: list[str] = []
    body: list[str] = []
    known: dict[str, str] = {}
    start = 0
    for number, line in enumerate(makefile.split("\n")[:MAX_LINES], 1):
        if line.startswith("\t"):
            body.append(line.strip().lstrip("@-+").strip())
            continue
        if not line.strip() or line.startswith(_SKIPPED):
            continue
        if assigned := _ASSIGNED.match(line[:400]):
            known[assigned.group(1)] = assigned.group(2)
        rule = _VARIABLE.sub(lambda one: known.get(one.group(1), ""), line[:400])
        found = _RULE.match(rule[:800])
        if found or (names and not line[0].isspace()):
            yield from _make_targets_of(names, body, path, start)
            names, body = [], []
        if found and "=" not in found.group(2).partition(";")[0]:
            names, start = found.group(1).split(), number
            needs, _, inline = found.group(2).partition(";")
            body = [f"make {need}" for need in needs.partition("#")[0].split()[:12]]
            body += [inline.strip()] if inline.strip() else []
    yield from _make_targets_of(names, body, path, start)


def _make_targets_of(names: list[str], body: list[str], path: str, line: int) -> Iterator[Target]:
    for name in names[:40]:
        yield Target(name, tuple(body[:20]), f"{path}:{line}")


def read_makefile(findings: Findings, project: ProjectFiles, home: str, path: str) -> None:
    makefile = project.text(path) or ""
    found = list(make_targets(makefile, path))
    for line in makefile.split("\n")[:MAX_LINES]:
        included = _INCLUDE.match(line[:200])
        if included and project.has(other := join(home, included.group(1).removeprefix("./"))):
            found += make_targets(project.text(other) or "", other)
    targets: dict[str, Target] = {}
    for target in found:
        if target.name not in targets or not targets[target.name].body:
            targets[target.name] = target
    default = next(iter(targets), "")
    goal = "all" if default in ("all", "default") else ""

    def call(name: str) -> str:
        return "make" if name == goal else f"make {name}"

    add_targets(findings, targets.values(), call, 90, home)
    if "build" not in targets and targets and _compiles(project, home):
        findings.add_command("build", "make", path, 70, home)


def _compiles(project: ProjectFiles, home: str) -> bool:
    if project.first(home, "CMakeLists.txt", "meson.build", "configure.ac"):
        return False
    return project.census.weight("c", home) * 3 > project.census.files_in(home)

"""Task runners of any project: make, just, Task, rake, and scripts by their names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kedge.repomap.project.formats import (
    as_list,
    as_table,
    as_text,
    as_texts,
    line_of,
    printable_items,
)
from kedge.repomap.project.makefiles import read_makefile
from kedge.repomap.project.names import CORNER, EXACT, kind_of_name
from kedge.repomap.project.parts import MAKEFILES, Findings, base
from kedge.repomap.project.project_files import ProjectFiles
from kedge.repomap.project.targets import Target, add_targets

_JUSTFILES = ("justfile", "Justfile", ".justfile")
_TASKFILES = ("Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml")
MAX_LINES = 4000


def read(project: ProjectFiles) -> Findings:
    findings = Findings()
    for home in project.homes(*MAKEFILES, limit=2):
        if path := project.first(home, *MAKEFILES):
            read_makefile(findings, project, home, path)
    for home in project.homes(*_JUSTFILES, limit=2):
        if path := project.first(home, *_JUSTFILES):
            targets = list(just_recipes(project.text(path) or "", path))
            add_targets(findings, targets, lambda name: f"just {name}", 90, home)
    for home in project.homes(*_TASKFILES, limit=2):
        if path := project.first(home, *_TASKFILES):
            targets = list(_task_targets(project.yaml(path), path))
            add_targets(findings, targets, lambda name: f"task {name}", 90, home)
    if path := project.first("", "Rakefile", "rakefile", "Rakefile.rb"):
        rake = "bundle exec rake" if project.has("Gemfile") else "rake"
        found = list(_rake_targets(project.head(path), path))
        add_targets(findings, found, lambda name: f"{rake} {name}", 74)
    if path := project.first("", ".pre-commit-config.yaml", ".pre-commit-config.yml"):
        findings.add_command("lint", "pre-commit run --all-files", path, 58)
    _add_scripts(findings, project)
    return findings


_RECIPE = r"@?([A-Za-z_][\w-]*)((?:[ \t]+[^:]*)?):(?!=)(.*)"


def just_recipes(justfile: str, path: str) -> Iterator[Target]:
    """The recipes of a justfile that can be called without arguments."""
    current: Target | None = None
    body: list[str] = []
    private = False
    for number, line in enumerate(justfile.split("\n")[:MAX_LINES], 1):
        if line[:1] in (" ", "\t"):
            body.append(line.strip().lstrip("@-").strip())
            continue
        if line.startswith("["):
            private = "private" in line
            continue
        found = re.match(_RECIPE, line[:400])
        if found is None or line.startswith(("#", "alias ", "set ", "export ", "import ", "mod ")):
            continue
        if current:
            yield Target(current.name, tuple(body[:20]), current.source)
        current, body = None, []
        required = [
            word for word in found.group(2).split() if not word.startswith("*") and "=" not in word
        ]
        if not private and not found.group(1).startswith("_") and not required:
            current = Target(found.group(1), (), f"{path}:{number}")
        private = False
    if current:
        yield Target(current.name, tuple(body[:20]), current.source)


def _task_targets(taskfile: object, path: str) -> Iterator[Target]:
    tasks = as_table(taskfile, "tasks")
    for name, task in printable_items(tasks):
        if as_table(task).get("internal") == "true":
            continue
        inner = as_table(task)
        lines: list[str] = []
        for item in (task, *as_list(task), *as_list(inner.get("cmds"))):
            lines += as_texts(item if isinstance(item, str) else as_table(item).get("cmd"))
        yield Target(str(name), tuple(lines), f"{path}:{line_of(name)}")


_RAKE = r"(?:task[ (]+|\w+(?:::\w+)*Task\.(?:new|create)[ (]*):?['\"]?([a-z][\w:]{0,40})?"


def _rake_targets(rakefile: str, path: str) -> Iterator[Target]:
    for number, line in enumerate(rakefile.split("\n")[:MAX_LINES], 1):
        found = re.match(_RAKE, line[:300])
        if found is None:
            continue
        implied = "rubocop" if "RuboCop" in line else "spec" if "RSpec" in line else "test"
        name = found.group(1) or (implied if "Task." in line else "")
        if name and name != "default":
            yield Target(name.strip(":"), (), f"{path}:{number}")


_SCRIPT_HOMES = ("script", "scripts", "bin", "dev", "tools", "hack")
# a script for users of the product
_PRODUCT = frozenset({"install", "dist", "package", "all", "standard", "up", "watch", "fix"})


def _add_scripts(findings: Findings, project: ProjectFiles) -> None:
    """Add scripts that are named by their purpose: script/test, scripts/lint.sh, ./build.sh."""
    for home in ("", *_SCRIPT_HOMES):
        for path in project.inside(home):
            name = base(path)
            stem, dot, ending = name.partition(".")
            if (dot and ending not in ("sh", "bash")) or stem in _PRODUCT:
                continue
            known = kind_of_name(stem)
            if known is None or known[1] >= CORNER or not project.head(path).startswith("#!"):
                continue
            kind, loss = known
            call = path if home else f"./{path}"
            if dot and home:
                call = f"bash {path}"
            if as_text(call, 100) and " " not in path:
                score = 72 - loss - (0 if home in ("script", "scripts", "bin") else 6)
                findings.add_command(kind, call, path, score - (6 if loss > EXACT else 0))

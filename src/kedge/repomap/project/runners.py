"""Task runners that any project may have: make, just, Task, mage, rake and scripts by name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kedge.repomap.project.formats import items, line_of, named, table, text, texts
from kedge.repomap.project.parts import Findings, base, join
from kedge.repomap.project.shell import FAR, rank_of_name
from kedge.repomap.project.source import Project
from kedge.repomap.project.targets import Target, add_targets

_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_JUSTFILES = ("justfile", "Justfile", ".justfile")
_TASKFILES = ("Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml")
MAX_LINES = 4000


def read(project: Project) -> Findings:
    findings = Findings()
    for home in project.homes(*_MAKEFILES, limit=2):
        if path := project.first(home, *_MAKEFILES):
            _read_make(findings, project, home, path)
    for home in project.homes(*_JUSTFILES, limit=2):
        if path := project.first(home, *_JUSTFILES):
            targets = list(just_recipes(project.text(path) or "", path))
            add_targets(findings, targets, lambda name: f"just {name}", 90, home)
    for home in project.homes(*_TASKFILES, limit=2):
        if path := project.first(home, *_TASKFILES):
            targets = list(_task_targets(project.yaml(path), path))
            add_targets(findings, targets, lambda name: f"task {name}", 90, home)
    if path := project.first("", "magefile.go", "magefiles/magefile.go", "mage.go"):
        add_targets(findings, _mage_targets(project, path), lambda name: f"mage {name}", 80)
    if path := project.first("", "Rakefile", "rakefile", "Rakefile.rb"):
        rake = "bundle exec rake" if project.has("Gemfile") else "rake"
        found = list(_rake_targets(project.head(path), path))
        add_targets(findings, found, lambda name: f"{rake} {name}", 74)
    _add_scripts(findings, project)
    return findings


_RULE = re.compile(r"([A-Za-z0-9][\w./-]*(?:[ \t]+[A-Za-z0-9][\w./-]*)*)[ \t]*::?(?![=:])(.*)")
_INCLUDE = re.compile(r"-?include[ \t]+([\w./-]+)[ \t]*$")
_FORWARD = re.compile(r"%[ \t]*:[ \t]*([A-Za-z][\w.]*[-_])%")


def make_targets(makefile: str, path: str) -> Iterator[Target]:
    """The targets of a makefile with their recipes and lines."""
    names: list[str] = []
    body: list[str] = []
    start = 0
    for number, line in enumerate(makefile.split("\n")[:MAX_LINES], 1):
        if line.startswith("\t"):
            body.append(line.strip().lstrip("@-+").strip())
            continue
        if not line.strip() or line.startswith("#"):
            continue
        if found := _RULE.match(line[:400]):
            yield from _named(names, body, path, start)
            names, body, start = found.group(1).split(), [], number
            if ";" in found.group(2):
                body.append(found.group(2).partition(";")[2].strip())
        elif names and not line[0].isspace():
            yield from _named(names, body, path, start)
            names, body = [], []
    yield from _named(names, body, path, start)


def _named(names: list[str], body: list[str], path: str, line: int) -> Iterator[Target]:
    for name in names[:10]:
        yield Target(name, tuple(body[:20]), f"{path}:{line}")


def _read_make(findings: Findings, project: Project, home: str, path: str) -> None:
    makefile = project.text(path) or ""
    targets = {target.name: target for target in reversed(list(make_targets(makefile, path)))}
    lines = makefile.split("\n")[:MAX_LINES]
    forwards = [found.group(1) for line in lines if (found := _FORWARD.match(line[:200]))]
    for line in lines:
        found = _INCLUDE.match(line[:200])
        if found and project.has(other := join(home, found.group(1).removeprefix("./"))):
            for target in make_targets(project.text(other) or "", other):
                name = target.name
                for prefix in forwards:
                    name = name.removeprefix(prefix)
                targets.setdefault(name, Target(name, target.body, target.source))
                forwards += [f.group(1) for f in map(_FORWARD.match, [*target.body][:1]) if f]
    known = {name: target for name, target in targets.items() if name not in (".PHONY",)}
    add_targets(findings, known.values(), lambda name: f"make {name}", 90, home)
    if "build" not in known and known and _compiles(project, home):
        findings.command("build", "make", path, 70, home)


def _compiles(project: Project, home: str) -> bool:
    return project.census.weight("c", home) * 3 > project.census.files_in(home)


_RECIPE = re.compile(r"@?([A-Za-z_][\w-]*)((?:[ \t]+[^:=]*)?):(?!=)(.*)")


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
        found = _RECIPE.match(line[:400])
        if found is None or line.startswith(("#", "alias ", "set ", "export ", "import ", "mod ")):
            continue
        if current:
            yield Target(current.name, tuple(body[:20]), current.source)
        current, body = None, []
        required = [
            word for word in found.group(2).split() if word[:1] not in "*" and "=" not in word
        ]
        if not private and not found.group(1).startswith("_") and not required:
            current = Target(found.group(1), (), f"{path}:{number}")
        private = False
    if current:
        yield Target(current.name, tuple(body[:20]), current.source)


def _task_targets(taskfile: object, path: str) -> Iterator[Target]:
    tasks = table(taskfile, "tasks")
    for name, task in named(tasks):
        if table(task).get("internal") == "true":
            continue
        lines = texts(task) if isinstance(task, str) else []
        for item in [*items(task), *items(table(task).get("cmds")), table(task).get("cmd")]:
            lines += texts(item) or texts(table(item).get("cmd"))
        yield Target(str(name), tuple(lines), f"{path}:{line_of(name)}")


_MAGE = re.compile(r"^func ([A-Z]\w{0,40})\((?:ctx context\.Context)?\)", re.MULTILINE)


def _mage_targets(project: Project, path: str) -> list[Target]:
    head = project.head(path)
    found = []
    for match in _MAGE.finditer(head):
        name = match.group(1)
        line = head.count("\n", 0, match.start()) + 1
        found.append(Target(name[0].lower() + name[1:], (), f"{path}:{line}"))
    return found


_RAKE = re.compile(
    r"^[ \t]*(?:task[ (]+|(?:Rake::TestTask|RSpec::Core::RakeTask)\.new[ (]*|RuboCop::RakeTask\.new[ (]*)"
    r":?['\"]?([a-z][\w:]{0,40})?"
)


def _rake_targets(rakefile: str, path: str) -> Iterator[Target]:
    for number, line in enumerate(rakefile.split("\n")[:MAX_LINES], 1):
        found = _RAKE.match(line[:300])
        if found is None:
            continue
        implied = "rubocop" if "RuboCop" in line else "spec" if "RSpec" in line else "test"
        name = found.group(1) or (implied if "::" in line else "")
        if name and name != "default" and not line.startswith((" ", "\t")):
            yield Target(name.strip(":"), (), f"{path}:{number}")


_SCRIPT_HOMES = ("script", "scripts", "bin", "dev", "tools", "hack", "ci")


def _add_scripts(findings: Findings, project: Project) -> None:
    """Scripts that are named for what they do: script/test, scripts/lint.sh, ./build.sh."""
    for home in ("", *_SCRIPT_HOMES):
        for path in project.inside(home):
            name = base(path)
            stem, dot, ending = name.partition(".")
            if (dot and ending not in ("sh", "bash")) or (not home and not dot):
                continue
            ranked = rank_of_name(stem)
            if ranked is None or ranked[1] >= FAR:
                continue
            head = project.head(path)[:200]
            if not head.startswith("#!"):
                continue
            kind, rank = ranked
            if dot:
                call = f"bash {path}" if home else f"./{path}"
            else:
                call = path
            if text(call, 100):
                lower = 0 if home in ("script", "scripts", "bin") else 12
                findings.command(kind, call, path, 72 - lower - min(rank, 12))

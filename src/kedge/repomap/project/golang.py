"""Go: modules, workspaces and main packages."""

from __future__ import annotations

import re
from shlex import quote

from kedge.repomap.project.census import is_aside
from kedge.repomap.project.frameworks import select_notable
from kedge.repomap.project.parts import Findings, base, format_stack, join, parent
from kedge.repomap.project.project_files import ProjectFiles


def read(project: ProjectFiles) -> Findings:
    findings = Findings("go")
    homes = project.homes("go.mod", limit=3)
    modules = [
        home
        for path in project.find_named("go.mod")
        if (home := parent(path)) and not is_aside(home) and project.census.weight("go", home)
    ]
    findings.packages += modules
    has_work = project.has("go.work")
    for home in homes:
        path = join(home, "go.mod")
        go_mod = project.text(path) or ""
        findings.add_tech(_stack_line(go_mod, has_work=has_work and home == homes[0]), home)
        findings.add_command("build", "go build ./...", path, 60, home)
        findings.add_command("test", "go test ./...", path, 62, home)
        if lint := project.first(
            home, ".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"
        ):
            findings.add_command("lint", "golangci-lint run", lint, 62, home)
        findings.add_command("install", "go mod download", path, 50, home)
        module = re.sub(r"/v\d+$", "", _module(go_mod))
        _add_mains(findings, project, home, base(module))
    return findings


_REQUIRE = re.compile(
    r"^[ \t]{0,8}(?:require )?([\w.~/-]{3,200}) (v\d[\w.+-]{0,80})[ \t]{0,8}(//[^\n]*)?$",
    re.MULTILINE,
)
MOST_MAINS = 6
# programs for developers, not for users
_HELPERS = frozenset({"internal", "hack", "tools", "scripts", "script", "gen", "generate"})


def _module(go_mod: str) -> str:
    found = re.search(r"^module[ \t]{1,8}\"?([^\s\"]{1,200})", go_mod, re.MULTILINE)
    return found.group(1) if found else ""


def _stack_line(go_mod: str, *, has_work: bool) -> str:
    version = re.search(r"^go[ \t]{1,8}(\d+\.\d+)", go_mod, re.MULTILINE)
    module = _module(go_mod)
    needs: dict[str, str | None] = {}
    for found in _REQUIRE.finditer(go_mod):
        if "indirect" not in (found.group(3) or ""):
            needs[re.sub(r"/v\d+$", "", found.group(1))] = None
    line = f"Go{f' {version.group(1)}' if version else ''}{f', module {module}' if module else ''}"
    tools = ["workspace"] if has_work else []
    return format_stack(line, None, tools, select_notable("go", needs, most=4))


def _add_mains(findings: Findings, project: ProjectFiles, home: str, name: str) -> None:
    own = join(home, "")
    found = [path for path in _candidates(project) if path.startswith(own)]
    # the program with the name of the module comes first
    found.sort(key=lambda path: base(parent(path)) != name)
    mains = [
        path
        for path in found
        if _HELPERS.isdisjoint(path.split("/"))
        and not is_aside(parent(path))
        and re.search(r"^package main\b", project.head(path)[:8000], re.MULTILINE)
    ][:MOST_MAINS]
    if not mains and (library := project.first(home, f"{name}.go", "doc.go")):
        findings.add_entry(library, f"package `{name}`")
    for path in mains:
        directory = parent(path)
        findings.add_entry(
            path, f"main package `{base(directory)}`" if directory else "main package"
        )
    if mains:
        inside = parent(mains[0])[len(own) :]
        target = quote(f"./{inside}") if inside else "."
        findings.add_command("run", f"go run {target}", mains[0], 52, home)


def _candidates(project: ProjectFiles) -> list[str]:
    """Files that may hold a main function: main.go, and cmd/tide/tide.go."""
    named = [path for path in project.find_named("main.go") if path.count("/") <= 4]
    for directory in project.directories:
        above, _, name = directory.rpartition("/")
        if above.endswith("cmd") and base(above) == "cmd":
            path = f"{directory}/{name}.go"
            if project.has(path) and f"{directory}/main.go" not in named:
                named.append(path)
    return sorted(named, key=lambda path: (path.count("/"), path))

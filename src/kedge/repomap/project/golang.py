"""Go: modules, workspaces and main packages."""

from __future__ import annotations

import re

from kedge.repomap.project.census import is_aside
from kedge.repomap.project.frameworks import notable
from kedge.repomap.project.parts import Findings, join, parent, quoted
from kedge.repomap.project.source import Project


def read(project: Project) -> Findings:
    findings = Findings("go")
    homes = project.homes("go.mod", limit=3)
    modules = [
        home
        for path in project.named("go.mod")
        if (home := parent(path)) and not is_aside(home) and project.census.weight("go", home)
    ]
    findings.packages += modules
    has_work = project.has("go.work")
    for home in homes:
        path = join(home, "go.mod")
        line = _stack_line(project.text(path) or "", has_work=has_work and home == homes[0])
        findings.tech(line, home)
        findings.command("build", "go build ./...", path, 60, home)
        findings.command("test", "go test ./...", path, 62, home)
        if lint := project.first(
            home, ".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"
        ):
            findings.command("lint", "golangci-lint run", lint, 62, home)
        findings.command("install", "go mod download", path, 50, home)
        _add_mains(findings, project, home)
    return findings


_REQUIRE = re.compile(
    r"^[ \t]{0,8}(?:require )?([\w.~/-]{3,200}) (v\d[\w.+-]{0,80})[ \t]{0,8}(//[^\n]*)?$",
    re.MULTILINE,
)
# programs that serve the development, not the users
_HELPERS = frozenset({"internal", "hack", "tools", "scripts", "script", "gen"})


def _stack_line(go_mod: str, *, has_work: bool) -> str:
    version = re.search(r"^go\s+(\d+\.\d+)", go_mod, re.MULTILINE)
    module = re.search(r"^module\s+\"?([^\s\"]{1,200})", go_mod, re.MULTILINE)
    needs: dict[str, str | None] = {}
    for found in _REQUIRE.finditer(go_mod):
        if "indirect" not in (found.group(3) or ""):
            needs[re.sub(r"/v\d+$", "", found.group(1))] = None
    line = f"Go{f' {version.group(1)}' if version else ''}"
    if module:
        line += f", module {module.group(1)}"
    tools = "workspace" if has_work else ""
    libraries = ", ".join(notable("go", needs, most=4))
    inside = "; ".join(filter(None, (tools, libraries)))
    return f"{line} ({inside})" if inside else line


def _add_mains(findings: Findings, project: Project, home: str) -> None:
    own = join(home, "")
    runs = 0
    for path in project.named("main.go"):
        directory = parent(path)
        if (own and not path.startswith(own)) or path.count("/") > 4 or is_aside(directory):
            continue
        if not _HELPERS.isdisjoint(directory.split("/")):
            continue
        if not re.search(r"^package main\b", project.head(path)[:8000], re.MULTILINE):
            continue
        name = directory.rpartition("/")[2] or "the program"
        findings.entry(path, f"main package `{name}`" if directory else "main package")
        runs += 1
        if runs == 1:
            inside = directory[len(own) :] if own else directory
            target = quoted(f"./{inside}") if inside else "."
            findings.command("run", f"go run {target}", path, 52, home)
        if runs >= 6:
            break

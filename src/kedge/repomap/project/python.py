"""Python projects: stack and entry points."""

from __future__ import annotations

import re
from dataclasses import replace

from kedge.repomap.project.census import is_aside
from kedge.repomap.project.formats import as_table, as_text
from kedge.repomap.project.frameworks import lowest_version, select_notable
from kedge.repomap.project.parts import Findings, format_stack, parent
from kedge.repomap.project.project_files import ProjectFiles
from kedge.repomap.project.python_commands import add_commands
from kedge.repomap.project.python_project import PythonProject, open_python
from kedge.repomap.project.python_tasks import add_tasks

MANIFESTS = ("pyproject.toml", "setup.py", "setup.cfg", "Pipfile", "requirements.txt")
# build backends; `flit_core` and the like have another name than their tool
_BACKENDS = {name: name for name in ("hatchling", "setuptools", "poetry", "pdm", "flit", "maturin")}
_BACKENDS |= {"flit_core": "flit", "mesonpy": "meson-python", "uv_build": "uv"}
_BACKENDS["scikit_build_core"] = "scikit-build"
_SERVERS = {
    "manage.py": "Django's management commands",
    "wsgi.py": "WSGI application",
    "asgi.py": "ASGI application",
}
_APPS = (("FastAPI(", "FastAPI application"), ("Flask(", "Flask application"))


def read(project: ProjectFiles) -> Findings:
    findings = Findings("python")
    if not project.census.weight("python"):
        return findings
    libraries = Findings("python")
    census = project.census
    is_project = _is_project(project)
    for home in _homes(project, is_project=is_project):
        python = open_python(project, home)
        findings.packages += python.members
        if home or is_project:
            findings.add_tech(_stack_line(python), home)
        add_commands(findings, python)
        add_tasks(findings, python)
        _add_scripts(findings, python)
        if home or is_project:
            _add_package(libraries, python)
        largest = max(python.members, key=lambda name: (census.files_in(name), name), default=None)
        if largest:
            _add_member(findings, python, largest)
    _add_files(findings, project)
    if not findings.entries:
        findings.entries = libraries.entries
    return findings


def _add_package(findings: Findings, python: PythonProject) -> None:
    """Add the package itself as the entry point of a library."""
    name = as_text(as_table(python.pyproject, "project").get("name")) or ""
    name = name or as_text(python.tool("poetry").get("name")) or ""
    package = name.lower().replace("-", "_").replace(".", "/")
    if package and (path := python.module_path(package.replace("/", "."))):
        findings.add_entry(path, f"package `{name}`")


def _add_member(findings: Findings, python: PythonProject, member: str) -> None:
    """Add the commands of the workspace's largest package, with a lower score."""
    inner = open_python(python.project, member)
    inner.manager = python.manager
    _add_scripts(findings, inner)
    found = Findings("python")
    add_commands(found, inner)
    add_tasks(found, inner)
    findings.commands += [
        replace(one, score=one.score - 8) for one in found.commands if one.kind != "install"
    ]


def _homes(project: ProjectFiles, *, is_project: bool) -> list[str]:
    census = project.census
    homes = [home for home in project.homes(*MANIFESTS) if census.weight("python", home) > 0]
    if homes != [""] or is_project:
        return homes
    # if the root only configures tools, the projects are below it
    return [*project.below(*MANIFESTS, family="python")[:2], ""]


def _is_project(project: ProjectFiles) -> bool:
    pyproject = project.toml("pyproject.toml")
    return bool(
        project.has("setup.py", "requirements.txt", "Pipfile")
        or "project" in pyproject
        or as_table(pyproject, "tool", "poetry")
        or as_table(pyproject, "tool", "uv", "workspace")
        or "metadata" in project.ini("setup.cfg")
    )


def _stack_line(python: PythonProject) -> str:
    project = as_table(python.pyproject, "project")
    head = python.project.head
    pipfile = python.project.toml(python.at("Pipfile")) if python.has("Pipfile") else {}
    setup = re.search(
        r"python_requires\s{0,4}=\s{0,4}['\"]([^'\"]{1,40})", head(python.at("setup.py"))
    )
    pinned = re.match(r"(\d[\d.]{0,10})\s", head(python.at(".python-version"))[:40] + "\n")
    version = lowest_version(
        project.get("requires-python")
        or python.tool("poetry", "dependencies").get("python")
        or python.setup.get("options", {}).get("python_requires")
        or as_table(pipfile, "requires").get("python_version")
        or (setup.group(1) if setup else None)
        or (pinned.group(1) if pinned else None)
    )
    backend = as_text(as_table(python.pyproject, "build-system").get("build-backend")) or ""
    tool = _BACKENDS.get(backend.partition(".")[0], "")
    if not tool and python.has("setup.py", "setup.cfg"):
        tool = "setuptools"
    tools = [tool] if tool else []
    tools += [python.manager] if python.manager not in ("pip", "hatch", tool) else []
    own = {as_text(project.get("name")) or "", as_text(python.tool("poetry").get("name")) or ""}
    needs = python.needs or python.dev_needs
    libraries = select_notable("python", dict.fromkeys(needs), own=own, first=python.needs)
    return format_stack("Python", version, tools, libraries)


def _add_scripts(findings: Findings, python: PythonProject) -> None:
    by_path: dict[str, list[str]] = {}
    for name, target in python.scripts.items():
        if path := python.module_path(target.partition(":")[0]):
            by_path.setdefault(path, []).append(f"`{name}`")
    for path, names in by_path.items():
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        findings.add_entry(path, f"console script {', '.join(names[:3])}{more}")


def _add_files(findings: Findings, project: ProjectFiles) -> None:
    for name, what in _SERVERS.items():
        for path in _near(project, name)[:2]:
            if name == "manage.py" or re.search(
                r"^app(?:lication)? = ", project.head(path), re.MULTILINE
            ):
                findings.add_entry(path, what)
    for name in ("main.py", "app.py", "server.py", "application.py"):
        for path in _near(project, name)[:3]:
            head = project.head(path)
            for mark, what in _APPS:
                if re.search(
                    rf"^\w{{1,30}}(?:: \w{{1,30}})? = {re.escape(mark)}", head, re.MULTILINE
                ):
                    findings.add_entry(path, what)
    for path in _near(project, "__main__.py")[:4]:
        package = parent(path)
        while project.has(f"{parent(package)}/__init__.py"):
            package = parent(package)
        module = parent(path)[len(parent(package)) :].strip("/").replace("/", ".")
        if module and path.split("/")[0] not in ("script", "scripts", "tools"):
            findings.add_entry(path, f"`python -m {module}`")


def _near(project: ProjectFiles, name: str) -> list[str]:
    return [
        path
        for path in project.find_named(name)
        if path.count("/") <= 4 and not is_aside(parent(path))
    ]

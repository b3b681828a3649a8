"""A Python project: settings, package manager, dependencies and console scripts."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kedge.repomap.project.formats import (
    Table,
    as_list,
    as_table,
    as_text,
    as_texts,
    printable_items,
)
from kedge.repomap.project.globs import expand
from kedge.repomap.project.parts import base, join, parent
from kedge.repomap.project.project_files import ProjectFiles

_DEPENDENCY = re.compile(r"[ \t]*([A-Za-z0-9][A-Za-z0-9._-]{0,80})")
_SETUP_NEEDS = re.compile(r"install_requires\s{0,4}=\s{0,4}\[([^\]]{0,5000})\]")
_QUOTED = re.compile(r"['\"]([^'\"\n]{1,200})['\"]")
_SETUP_SCRIPT = re.compile(
    r"['\"]([\w.-]{1,60})[ \t]{0,4}=[ \t]{0,4}([\w.]{1,120}:[\w.]{1,80})['\"]"
)
_REQUIREMENTS = re.compile(r"(?:[\w-]{1,40}[-_])?requirements(?:[-_.][\w-]{1,40}){0,3}\.(?:txt|in)")
_LOCKS = (("uv.lock", "uv"), ("poetry.lock", "poetry"), ("pdm.lock", "pdm"), ("pixi.lock", "pixi"))


class PythonProject:
    """A directory with a Python project."""

    def __init__(self, project: ProjectFiles, home: str) -> None:
        self.project = project
        self.home = home
        self.pyproject = project.toml(join(home, "pyproject.toml"))
        self.setup = project.ini(join(home, "setup.cfg"))
        self.manager = "pip"
        self.needs: dict[str, None] = {}
        self.dev_needs: dict[str, None] = {}
        self.scripts: dict[str, str] = {}
        self.members: list[str] = []

    def at(self, name: str) -> str:
        return join(self.home, name)

    def has(self, *names: str) -> bool:
        return self.project.first(self.home, *names) is not None

    def uses(self, name: str) -> bool:
        return name in self.needs or name in self.dev_needs

    def tool(self, *names: str) -> Table:
        return as_table(self.pyproject, "tool", *names)

    def configures(self, name: str) -> bool:
        """True if there is a `[tool.name]` table, even an empty one."""
        return name in as_table(self.pyproject, "tool")

    @property
    def manifest(self) -> str:
        found = self.project.first(self.home, "pyproject.toml", "setup.cfg", "setup.py", "Pipfile")
        return found or self.at("requirements.txt")

    def packages(self) -> list[str]:
        """The import packages directly in the directory, largest first."""
        start = len(self.at(""))
        found = [
            parent(path)[start:]
            for path in self.project.find_named("__init__.py")
            if path.startswith(self.at("")) and path[start:].count("/") == 1
        ]
        return sorted(found, key=lambda name: (-self.project.census.files_in(self.at(name)), name))

    def requirement_files(self) -> list[str]:
        inside = self.project.inside
        here = [path for path in inside(self.home) if _REQUIREMENTS.fullmatch(base(path))]
        below = [path for path in inside(self.at("requirements")) if path.endswith((".txt", ".in"))]
        return (here + below)[:8]

    def module_path(self, module: str) -> str | None:
        """The file of a module, by its dotted name."""
        stem = module.strip().replace(".", "/")
        for root in ("src/", "", "lib/", "python/", *(f"{name}/src/" for name in self.members[:5])):
            names = (f"{root}{stem}.py", f"{root}{stem}/__init__.py")
            if found := self.project.first(self.home, *names):
                return found
        return None


def open_python(project: ProjectFiles, home: str) -> PythonProject:
    python = PythonProject(project, home)
    python.manager = _manager(python)
    _read_needs(python)
    patterns = as_texts(python.tool("uv", "workspace").get("members"))
    python.members = expand(project, home, patterns, "pyproject.toml")
    for member in python.members[:12]:
        inner = PythonProject(project, member)
        _read_needs(inner)
        python.needs |= inner.needs
        python.dev_needs |= inner.dev_needs
    _read_scripts(python)
    return python


def _manager(python: PythonProject) -> str:
    for lock, manager in _LOCKS:
        if python.project.exists(python.at(lock)):
            return manager
    for manager in ("poetry", "pdm", "pixi"):
        if python.configures(manager):
            return manager
    # settings of uv's resolver alone do not make it the package manager
    if python.tool("uv").keys() - {"pip", "index", "exclude-newer"}:
        return "uv"
    if python.has("Pipfile"):
        return "pipenv"
    return "hatch" if python.tool("hatch", "envs") else "pip"


def _read_needs(python: PythonProject) -> None:
    pyproject = python.pyproject
    needs, dev_needs = python.needs, python.dev_needs
    _add(needs, as_texts(as_table(pyproject, "project").get("dependencies")))
    for _, extra in printable_items(as_table(pyproject, "project", "optional-dependencies")):
        _add(dev_needs, as_texts(extra))
    for _, group in printable_items(as_table(pyproject, "dependency-groups")):
        _add(dev_needs, as_texts(group))
    poetry = python.tool("poetry")
    _add(needs, (name for name in as_table(poetry, "dependencies") if name != "python"))
    _add(dev_needs, as_table(poetry, "dev-dependencies"))
    for _, group in printable_items(poetry.get("group")):
        _add(dev_needs, as_table(group, "dependencies"))
    for manager in ("pdm", "uv"):
        value = python.tool(manager).get("dev-dependencies")
        for many in (value, *as_table(value).values()):
            _add(dev_needs, as_texts(as_list(many)))
    for _, env in printable_items(python.tool("hatch", "envs")):
        _add(dev_needs, as_texts(as_list(as_table(env).get("dependencies"))))
    _add(needs, python.setup.get("options", {}).get("install_requires", "").splitlines())
    for lines in python.setup.get("options.extras_require", {}).values():
        _add(dev_needs, lines.splitlines())
    if python.has("Pipfile"):
        pipfile = python.project.toml(python.at("Pipfile"))
        _add(needs, as_table(pipfile, "packages"))
        _add(dev_needs, as_table(pipfile, "dev-packages"))
    if found := _SETUP_NEEDS.search(python.project.head(python.at("setup.py"))):
        _add(needs, _QUOTED.findall(found.group(1)))
    # beside a manifest with dependencies, requirement files are for developers
    is_plain = not needs
    for path in python.requirement_files():
        into = needs if is_plain and base(path) == "requirements.txt" else dev_needs
        _add(into, python.project.head(path).splitlines()[:400])


def _add(into: dict[str, None], needs: Iterable[str]) -> None:
    for need in needs:
        if found := _DEPENDENCY.match(need):
            into.setdefault(re.sub(r"[-_.]+", "-", found.group(1)).lower())


def _read_scripts(python: PythonProject) -> None:
    for scripts in (
        as_table(python.pyproject, "project", "scripts"),
        as_table(python.pyproject, "project", "gui-scripts"),
        python.tool("poetry", "scripts"),
    ):
        for name, value in printable_items(scripts):
            if target := as_text(value) or as_text(as_table(value).get("reference")):
                python.scripts.setdefault(name, target)
    for line in python.setup.get("options.entry_points", {}).get("console_scripts", "").split("\n"):
        name, _, target = line.partition("=")
        if ":" in target:
            python.scripts.setdefault(name.strip(), target.strip())
    for name, target in _SETUP_SCRIPT.findall(python.project.head(python.at("setup.py"))):
        python.scripts.setdefault(name, target)

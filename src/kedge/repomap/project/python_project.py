"""One Python project: its settings, its manager, what it needs and which commands it installs."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kedge.repomap.project.formats import Table, items, named, table, text, texts
from kedge.repomap.project.globs import expand
from kedge.repomap.project.parts import base, join, parent
from kedge.repomap.project.source import Project

_DEPENDENCY = re.compile(r"[ \t]*([A-Za-z0-9][A-Za-z0-9._-]{0,80})")
_SETUP_NEEDS = re.compile(r"install_requires\s{0,4}=\s{0,4}\[([^\]]{0,5000})\]")
_QUOTED = re.compile(r"['\"]([^'\"\n]{1,200})['\"]")
_SETUP_SCRIPT = re.compile(
    r"['\"]([\w.-]{1,60})[ \t]{0,4}=[ \t]{0,4}([\w.]{1,120}:[\w.]{1,80})['\"]"
)
_SCRIPT_LINE = re.compile(r"[ \t]*([\w.-]{1,60})[ \t]{0,4}=[ \t]{0,4}([\w.]{1,120}:[\w.]{1,80})")
_REQUIREMENTS = re.compile(r"(?:[\w-]{1,40}[-_])?requirements(?:[-_.][\w-]{1,40}){0,3}\.(?:txt|in)")
_LOCKS = (("uv.lock", "uv"), ("poetry.lock", "poetry"), ("pdm.lock", "pdm"), ("pixi.lock", "pixi"))


class Python:
    """A directory with a Python project in it."""

    def __init__(self, project: Project, home: str) -> None:
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
        return table(self.pyproject, "tool", *names)

    def configures(self, name: str) -> bool:
        """Whether `[tool.name]` is written at all, even with nothing in it."""
        return name in table(self.pyproject, "tool")

    @property
    def manifest(self) -> str:
        found = self.project.first(self.home, "pyproject.toml", "setup.cfg", "setup.py", "Pipfile")
        return found or self.at("requirements.txt")

    def packages(self) -> list[str]:
        """The import packages right in the directory, the largest first."""
        start = len(self.at(""))
        found = [
            parent(path)[start:]
            for path in self.project.named("__init__.py")
            if path.startswith(self.at("")) and path[start:].count("/") == 1
        ]
        return sorted(found, key=lambda name: (-self.project.census.files_in(self.at(name)), name))

    def requirement_files(self) -> list[str]:
        here = [
            path for path in self.project.inside(self.home) if _REQUIREMENTS.fullmatch(base(path))
        ]
        below = [
            path
            for path in self.project.inside(self.at("requirements"))
            if path.endswith((".txt", ".in"))
        ]
        return (here + below)[:8]

    def module_path(self, module: str) -> str | None:
        """The file of a dotted module name."""
        stem = module.strip().replace(".", "/")
        for root in ("src/", "", "lib/", "python/", *(f"{name}/src/" for name in self.members[:5])):
            names = (f"{root}{stem}.py", f"{root}{stem}/__init__.py")
            if found := self.project.first(self.home, *names):
                return found
        return None


def open_python(project: Project, home: str) -> Python:
    python = Python(project, home)
    python.manager = _manager(python)
    _read_needs(python)
    patterns = texts(python.tool("uv", "workspace").get("members"))
    python.members = expand(project, home, patterns, "pyproject.toml")
    for member in python.members[:12]:
        inner = Python(project, member)
        _read_needs(inner)
        python.needs |= inner.needs
        python.dev_needs |= inner.dev_needs
    _read_scripts(python)
    return python


def _manager(python: Python) -> str:
    for lock, manager in _LOCKS:
        if python.project.exists(python.at(lock)):
            return manager
    for manager in ("poetry", "pdm", "pixi"):
        if python.configures(manager):
            return manager
    # settings of uv's resolver alone do not make it the project's manager
    if python.tool("uv").keys() - {"pip", "index", "exclude-newer"}:
        return "uv"
    if python.has("Pipfile"):
        return "pipenv"
    return "hatch" if python.tool("hatch", "envs") or python.has("hatch.toml") else "pip"


def _read_needs(python: Python) -> None:
    pyproject = python.pyproject
    needs, dev_needs = python.needs, python.dev_needs
    _add(needs, texts(table(pyproject, "project").get("dependencies")))
    for _, extra in named(table(pyproject, "project", "optional-dependencies")):
        _add(dev_needs, texts(extra))
    for _, group in named(table(pyproject, "dependency-groups")):
        _add(dev_needs, texts(group))
    poetry = python.tool("poetry")
    _add(needs, (name for name, _ in named(poetry.get("dependencies")) if name != "python"))
    _add(dev_needs, (name for name, _ in named(poetry.get("dev-dependencies"))))
    for _, group in named(poetry.get("group")):
        _add(dev_needs, (name for name, _ in named(table(group, "dependencies"))))
    for manager in ("pdm", "uv"):
        value = python.tool(manager).get("dev-dependencies")
        for many in (value, *table(value).values()):
            _add(dev_needs, texts(items(many)))
    for _, env in named(python.tool("hatch", "envs")):
        _add(dev_needs, texts(items(table(env).get("dependencies"))))
    _add(needs, python.setup.get("options", {}).get("install_requires", "").splitlines())
    for lines in python.setup.get("options.extras_require", {}).values():
        _add(dev_needs, lines.splitlines())
    if python.has("Pipfile"):
        pipfile = python.project.toml(python.at("Pipfile"))
        _add(needs, (name for name, _ in named(pipfile.get("packages"))))
        _add(dev_needs, (name for name, _ in named(pipfile.get("dev-packages"))))
    if found := _SETUP_NEEDS.search(python.project.head(python.at("setup.py"))):
        _add(needs, _QUOTED.findall(found.group(1)))
    # beside a manifest that lists what is needed, such files are for those who develop
    is_plain = not needs
    for path in python.requirement_files():
        into = needs if is_plain and base(path) == "requirements.txt" else dev_needs
        _add(into, python.project.head(path).splitlines()[:400])


def _add(into: dict[str, None], needs: Iterable[str]) -> None:
    for need in needs:
        if found := _DEPENDENCY.match(need):
            into.setdefault(re.sub(r"[-_.]+", "-", found.group(1)).lower())


def _read_scripts(python: Python) -> None:
    for scripts in (
        table(python.pyproject, "project", "scripts"),
        table(python.pyproject, "project", "gui-scripts"),
        python.tool("poetry", "scripts"),
    ):
        for name, value in named(scripts):
            if target := text(value) or text(table(value).get("reference")):
                python.scripts.setdefault(name, target)
    for line in python.setup.get("options.entry_points", {}).get("console_scripts", "").split("\n"):
        if found := _SCRIPT_LINE.match(line[:300]):
            python.scripts.setdefault(found.group(1), found.group(2))
    for name, target in _SETUP_SCRIPT.findall(python.project.head(python.at("setup.py"))):
        python.scripts.setdefault(name, target)

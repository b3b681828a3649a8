"""Python projects: what they are built with, what they need, where they start."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from kedge.repomap.project.census import is_aside
from kedge.repomap.project.formats import Table, items, named, table, text, texts
from kedge.repomap.project.frameworks import at_least, notable
from kedge.repomap.project.globs import expand
from kedge.repomap.project.parts import Findings, join, parent
from kedge.repomap.project.python_commands import add_commands
from kedge.repomap.project.source import Project

MANIFESTS = ("pyproject.toml", "setup.py", "setup.cfg", "Pipfile", "requirements.txt")
_BACKENDS = {
    "hatchling": "hatchling",
    "setuptools": "setuptools",
    "poetry": "poetry",
    "pdm": "pdm",
    "flit_core": "flit",
    "flit": "flit",
    "maturin": "maturin",
    "mesonpy": "meson-python",
    "scikit_build_core": "scikit-build",
    "uv_build": "uv",
    "jupyter_packaging": "jupyter",
}
_DEPENDENCY = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]{0,80})")
_SETUP_LIST = re.compile(r"install_requires\s*=\s*\[([^\]]{0,5000})\]")
_SETUP_SCRIPTS = re.compile(r"['\"]([\w.-]{1,60})\s*=\s*([\w.]{1,120}:[\w.]{1,80})['\"]")


@dataclass(slots=True)
class Python:
    """One Python project of the repository."""

    project: Project
    home: str
    pyproject: Table
    setup: dict[str, dict[str, str]]
    manager: str
    needs: dict[str, None] = field(default_factory=dict)
    dev_needs: dict[str, None] = field(default_factory=dict)
    scripts: dict[str, str] = field(default_factory=dict)
    members: list[str] = field(default_factory=list)

    def at(self, name: str) -> str:
        return join(self.home, name)

    def has(self, *names: str) -> bool:
        return self.project.first(self.home, *names) is not None

    def uses(self, name: str) -> bool:
        return name in self.needs or name in self.dev_needs

    def tool(self, *names: str) -> Table:
        return table(self.pyproject, "tool", *names)

    def configures(self, *names: str) -> bool:
        """Whether `[tool.…]` is written at all, even with nothing in it."""
        *path, last = names
        return last in table(self.pyproject, "tool", *path)


def read(project: Project) -> Findings:
    findings = Findings("python")
    for home in _homes(project):
        python = _open(project, home)
        findings.packages += python.members
        findings.tech(_stack_line(python), home)
        add_commands(findings, python)
        _add_scripts(findings, python)
    _add_files(findings, project)
    return findings


def _homes(project: Project) -> list[str]:
    homes = [
        home for home in project.homes(*MANIFESTS) if project.census.weight("python", home) > 0
    ]
    if homes != [""]:
        return homes
    pyproject = project.toml("pyproject.toml")
    is_project = (
        project.has("setup.py", "requirements.txt", "Pipfile")
        or "project" in pyproject
        or table(pyproject, "tool", "poetry")
        or table(pyproject, "tool", "uv", "workspace")
        or "metadata" in project.ini("setup.cfg")
    )
    if is_project:
        return homes
    # a root that only configures tools leaves the projects to the directories below
    return [*project.below(*MANIFESTS, family="python"), ""][:3]


def _open(project: Project, home: str) -> Python:
    pyproject = project.toml(join(home, "pyproject.toml"))
    setup = project.ini(join(home, "setup.cfg"))
    python = Python(project, home, pyproject, setup, "pip")
    python.manager = _manager(python)
    _read_needs(python)
    patterns = texts(python.tool("uv", "workspace").get("members"))
    python.members = expand(project, home, patterns, "pyproject.toml")
    for member in python.members[:12]:
        inner = Python(project, member, project.toml(f"{member}/pyproject.toml"), {}, "uv")
        _read_needs(inner)
        python.needs |= inner.needs
        python.dev_needs |= inner.dev_needs
    _read_scripts(python)
    return python


def _manager(python: Python) -> str:
    for lock, manager in (
        ("uv.lock", "uv"),
        ("poetry.lock", "poetry"),
        ("pdm.lock", "pdm"),
        ("pixi.lock", "pixi"),
    ):
        if python.has(lock):
            return manager
    for manager in ("uv", "poetry", "pdm", "pixi"):
        if python.configures(manager) and (
            manager != "uv" or python.tool("uv").keys() - {"pip", "index"}
        ):
            return manager
    if python.has("Pipfile"):
        return "pipenv"
    if python.tool("hatch", "envs") or python.has("hatch.toml"):
        return "hatch"
    return "pip"


def _read_needs(python: Python) -> None:
    pyproject = python.pyproject
    _add(python.needs, texts(table(pyproject, "project").get("dependencies")))
    for _, extra in named(table(pyproject, "project", "optional-dependencies")):
        _add(python.dev_needs, texts(extra))
    for _, group in named(table(pyproject, "dependency-groups")):
        _add(python.dev_needs, texts(group))
    poetry = python.tool("poetry")
    _add(python.needs, (name for name, _ in named(poetry.get("dependencies")) if name != "python"))
    _add(python.dev_needs, (name for name, _ in named(poetry.get("dev-dependencies"))))
    for _, group in named(poetry.get("group")):
        _add(python.dev_needs, (name for name, _ in named(table(group, "dependencies"))))
    for manager in ("pdm", "uv"):
        value = python.tool(manager).get("dev-dependencies")
        lists = [value, *table(value).values()]
        for many in lists:
            _add(python.dev_needs, texts(items(many)))
    for _, env in named(python.tool("hatch", "envs")):
        _add(python.dev_needs, texts(items(table(env).get("dependencies"))))
    options = python.setup.get("options", {})
    _add(python.needs, options.get("install_requires", "").splitlines())
    for extra in python.setup.get("options.extras_require", {}).values():
        _add(python.dev_needs, extra.splitlines())
    pipfile = python.project.toml(python.at("Pipfile"))
    _add(python.needs, (name for name, _ in named(pipfile.get("packages"))))
    _add(python.dev_needs, (name for name, _ in named(pipfile.get("dev-packages"))))
    if found := _SETUP_LIST.search(python.project.head(python.at("setup.py"))):
        _add(python.needs, re.findall(r"['\"]([^'\"]{1,200})['\"]", found.group(1)))
    for path in requirement_files(python):
        dev = path.rpartition("/")[2] != "requirements.txt"
        lines = python.project.head(path).splitlines()[:400]
        _add(python.dev_needs if dev else python.needs, lines)


def requirement_files(python: Python) -> list[str]:
    """The requirement files of the project: the one for all, then those for developers."""
    right_here = [
        path
        for path in python.project.inside(python.home)
        if re.fullmatch(r"(?:[\w-]+[-_])?requirements(?:[-_.][\w-]+)*\.(?:txt|in)", path[_cut(path) :])
    ]
    below = [
        path
        for path in python.project.inside(python.at("requirements"))
        if path.endswith((".txt", ".in"))
    ]
    return (right_here + below)[:8]


def _cut(path: str) -> int:
    return path.rfind("/") + 1


def _add(into: dict[str, None], needs: Iterable[str]) -> None:
    for need in needs:
        if (found := _DEPENDENCY.match(need)) and not need.startswith(("-", "#")):
            into.setdefault(re.sub(r"[-_.]+", "-", found.group(1)).lower())


def _stack_line(python: Python) -> str:
    project = table(python.pyproject, "project")
    wanted = (
        project.get("requires-python")
        or python.tool("poetry", "dependencies").get("python")
        or python.setup.get("options", {}).get("python_requires")
        or table(python.project.toml(python.at("Pipfile")), "requires").get("python_version")
        or _match(r"python_requires\s*=\s*['\"]([^'\"]{1,40})", python, "setup.py")
        or _match(r"\s*(\d[\d.]{0,10})\s*$", python, ".python-version")
    )
    version = at_least(wanted)
    backend = text(table(python.pyproject, "build-system").get("build-backend")) or ""
    tools = [_BACKENDS.get(backend.partition(".")[0], "")]
    if not tools[0] and python.has("setup.py", "setup.cfg"):
        tools = ["setuptools"]
    if python.manager not in ("pip", "hatch", *tools):
        tools.append(python.manager)
    own = {text(project.get("name")) or "", text(python.tool("poetry").get("name")) or ""}
    libraries = notable("python", dict.fromkeys(python.needs), own=own)
    inside = "; ".join(filter(None, (", ".join(filter(None, tools)), ", ".join(libraries))))
    return f"Python{f' {version}' if version else ''}{f' ({inside})' if inside else ''}"


def _match(pattern: str, python: Python, name: str) -> str | None:
    found = re.search(pattern, python.project.head(python.at(name)))
    return found.group(1) if found else None


def _read_scripts(python: Python) -> None:
    for scripts in (
        table(python.pyproject, "project", "scripts"),
        table(python.pyproject, "project", "gui-scripts"),
        python.tool("poetry", "scripts"),
    ):
        for name, value in named(scripts):
            target = text(value) or text(table(value).get("reference"))
            if target:
                python.scripts.setdefault(name, target)
    lines = python.setup.get("options.entry_points", {}).get("console_scripts", "")
    declared = _SETUP_SCRIPTS.findall(python.project.head(python.at("setup.py")))
    declared += re.findall(r"^\s*([\w.-]{1,60})\s*=\s*([\w.]{1,120}:[\w.]{1,80})\s*$", lines, re.MULTILINE)
    for name, target in declared:
        python.scripts.setdefault(name, target)


def _add_scripts(findings: Findings, python: Python) -> None:
    by_path: dict[str, list[str]] = {}
    for name, target in python.scripts.items():
        path = module_path(python, target.partition(":")[0])
        if path:
            by_path.setdefault(path, []).append(f"`{name}`")
    for path, names in by_path.items():
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        findings.entry(path, f"console script {', '.join(names[:3])}{more}")


def module_path(python: Python, module: str) -> str | None:
    """The file of a dotted module name."""
    stem = module.strip().replace(".", "/")
    roots = ["src/", "", "lib/", "python/", *(f"{m}/src/" for m in python.members[:5])]
    for root in roots:
        if found := python.project.first(python.home, f"{root}{stem}.py", f"{root}{stem}/__init__.py"):
            return found
    return None


_SERVERS = {
    "manage.py": "Django's management commands",
    "wsgi.py": "WSGI application",
    "asgi.py": "ASGI application",
}
_APPS = (("FastAPI(", "FastAPI application"), ("Flask(", "Flask application"))


def _add_files(findings: Findings, project: Project) -> None:
    for name, what in _SERVERS.items():
        for path in _near(project, name, 4)[:2]:
            findings.entry(path, what)
    for name in ("main.py", "app.py", "server.py", "application.py"):
        for path in _near(project, name, 4)[:3]:
            head = project.head(path)
            for mark, what in _APPS:
                if f"= {mark}" in head:
                    findings.entry(path, what)
    for path in _near(project, "__main__.py", 4)[:4]:
        module = parent(path).removeprefix("src/").replace("/", ".")
        if module:
            findings.entry(path, f"`python -m {module}`")


def _near(project: Project, name: str, depth: int) -> list[str]:
    return [
        path
        for path in project.named(name)
        if path.count("/") <= depth and not is_aside(parent(path))
    ]

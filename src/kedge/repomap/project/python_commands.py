"""Commands that install, test, check and run a Python project, from its settings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from shlex import quote

from kedge.repomap.project.formats import as_table, as_text
from kedge.repomap.project.parts import Findings, Kind, base, parent
from kedge.repomap.project.python_project import PythonProject

# how each manager runs a program in the project's environment
RUN = {"uv": "uv run ", "poetry": "poetry run ", "pdm": "pdm run ", "pipenv": "pipenv run "}
_INSTALL = {
    "uv": "uv sync",
    "poetry": "poetry install",
    "pdm": "pdm install",
    "pipenv": "pipenv install --dev",
    "pixi": "pixi install",
}
_EXTRAS = ("dev", "develop", "development", "test", "tests", "testing", "all")

Commands = Iterator[tuple[Kind, str, str, int]]


def add_commands(findings: Findings, python: PythonProject) -> None:
    run = RUN.get(python.manager, "")
    for kind, command, source, score in _installs(python):
        findings.add_command(kind, command, source, score, python.home)
    for found in (_tests(python), _checks(python), _types(python), _runs(python)):
        for kind, command, source, score in found:
            findings.add_command(kind, run + command, source, score, python.home)


def _installs(python: PythonProject) -> Commands:
    if command := _INSTALL.get(python.manager):
        yield "install", command, python.manifest, 66
        return
    wanted = [path[len(python.at("")) :] for path in _requirements(python)]
    extras = {
        **as_table(python.pyproject, "project", "optional-dependencies"),
        **python.setup.get("options.extras_require", {}),
    }
    extra = next((name for name in _EXTRAS if name in extras), None)
    if "project" in python.pyproject or python.has("setup.py") or "metadata" in python.setup:
        if extra:
            yield "install", f"pip install -e '.[{extra}]'", python.manifest, 64
        elif "dev" in as_table(python.pyproject, "dependency-groups"):
            yield "install", "pip install -e . --group dev", python.manifest, 62
        elif not wanted:
            yield "install", "pip install -e .", python.manifest, 56
    for number, name in enumerate(wanted[:2]):
        yield "install", f"pip install -r {quote(name)}", python.at(name), 60 - number


def _requirements(python: PythonProject) -> list[str]:
    """Requirement files, those for developers first: they usually include the others."""
    wanted = []
    for path in python.requirement_files():
        name = path[len(python.at("")) :].lower()
        if path.endswith(".in") or re.search(r"doc|prod|deploy|lint|min|bench|constraint", name):
            continue
        rank = 0 if "dev" in name else 1 if re.search(r"test|all", name) else 2
        if rank < 2 or base(name) in ("requirements.txt", "base.txt"):
            wanted.append((rank, path))
    return [path for _, path in sorted(wanted)]


def _tests(python: PythonProject) -> Commands:
    if source := pytest_source(python):
        yield "test", "pytest", source, 66
    elif python.has("manage.py"):
        yield "test", "python manage.py test", python.at("manage.py"), 52
    elif not python.has("tox.ini") and (tests := _unittests(python)):
        yield "test", "python -m unittest discover", tests, 46


def pytest_source(python: PythonProject) -> str | None:
    """The file that shows that pytest runs the tests."""
    if source := _find_settings(python, "pytest", "pytest.ini", ".pytest.ini", "pytest.toml"):
        is_old = "ini_options" in python.tool("pytest")
        return source.replace("[tool.pytest]", "[tool.pytest.ini_options]") if is_old else source
    if found := python.project.first(
        python.home, "conftest.py", "tests/conftest.py", "test/conftest.py"
    ):
        return found
    paths = (python.manifest, *python.requirement_files()) if python.uses("pytest") else ()
    return next((path for path in paths if "pytest" in python.project.head(path)), None)


def _find_settings(python: PythonProject, tool: str, *files: str) -> str | None:
    """Where a tool is configured: in a file of its own, or in a part of another."""
    if path := python.project.first(python.home, *files):
        return path
    if python.configures(tool):
        return f"{python.at('pyproject.toml')}:[tool.{tool}]"
    for path in (python.at("setup.cfg"), python.at("tox.ini")):
        for section in (f"tool:{tool}", tool):
            if section in python.project.ini(path):
                return f"{path}:[{section}]"
    return None


def _unittests(python: PythonProject) -> str | None:
    """The directory of the first test module, for `unittest`."""
    names = [name for name in python.project.names if re.fullmatch(r"test_\w{1,60}\.py", name)]
    found = [path for name in sorted(names) for path in python.project.find_named(name)]
    inside = [path for path in found if path.startswith(python.at(""))]
    return parent(min(inside)) or min(inside) if inside else None


def _checks(python: PythonProject) -> Commands:
    if ruff := _find_settings(python, "ruff", "ruff.toml", ".ruff.toml"):
        settings = python.tool("ruff") or python.project.toml(ruff)
        yield "lint", "ruff check", ruff, 62
        if "format" in settings:
            yield "format", "ruff format", ruff, 60
        elif not (python.configures("black") or python.uses("black")):
            yield "format", "ruff format", ruff, 40
    if black := _find_settings(python, "black"):
        yield "format", "black .", black, 58
    if flake8 := _find_settings(python, "flake8", ".flake8"):
        yield "lint", "flake8", flake8, 54
    if pylint := _find_settings(python, "pylint", ".pylintrc"):
        yield "lint", f"pylint {_main_package(python)}", pylint, 44


def _types(python: PythonProject) -> Commands:
    for name, command, file in (
        ("pyright", "pyright", "pyrightconfig.json"),
        ("basedpyright", "basedpyright", "basedpyright.json"),
        ("ty", "ty check", "ty.toml"),
        ("pyrefly", "pyrefly check", "pyrefly.toml"),
    ):
        if source := _find_settings(python, name, file):
            yield "typecheck", command, source, 58
    if mypy := _find_settings(python, "mypy", "mypy.ini", ".mypy.ini"):
        settings = python.tool("mypy") or python.setup.get("mypy")
        settings = settings or python.project.ini(mypy).get("mypy", {})
        if {"files", "packages", "modules"} & settings.keys():
            yield "typecheck", "mypy", mypy, 60
        else:
            yield "typecheck", f"mypy {_main_package(python)}", mypy, 56


def _main_package(python: PythonProject) -> str:
    has_src = python.project.census.weight("python", python.at("src")) > 0
    return "src" if has_src else quote(next(iter(python.packages()), "."))


def _runs(python: PythonProject) -> Commands:
    own = (as_text(as_table(python.pyproject, "project").get("name")) or "").lower()
    names = [name for name in python.scripts if re.fullmatch(r"[A-Za-z0-9][\w.-]{0,40}", name)]
    if python.has("manage.py"):
        yield "run", "python manage.py runserver", python.at("manage.py"), 52
    elif names:
        main = next((name for name in names if name.lower() == own), names[0])
        if len(names) <= 5 or main.lower() == own:
            yield "run", main, python.manifest, 50
    else:
        for package in python.packages():
            if path := python.project.first(python.home, f"{package}/__main__.py"):
                yield "run", f"python -m {quote(package)}", path, 46
                return
        for name in ("main.py", "app.py", "run.py"):
            if "__main__" in python.project.head(python.at(name)):
                yield "run", f"python {name}", python.at(name), 46
                return

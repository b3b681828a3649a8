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
    "pixi": "pixi install",
    "pipenv": "pipenv install --dev",
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
    if conda := python.project.first(python.home, "environment.yml", "environment.yaml"):
        yield "install", f"conda env create -f {base(conda)}", conda, 54


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
    elif tests := _unittests(python):
        yield "test", "python -m unittest discover", tests, 46


def pytest_source(python: PythonProject) -> str | None:
    """The file that shows that pytest runs the tests."""
    for name in ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"):
        if python.has(name):
            return python.at(name)
    if python.configures("pytest"):
        inner = "pytest.ini_options" if "ini_options" in python.tool("pytest") else "pytest"
        return f"{python.at('pyproject.toml')}:[tool.{inner}]"
    if "tool:pytest" in python.setup:
        return f"{python.at('setup.cfg')}:[tool:pytest]"
    if python.has("tox.ini") and "pytest" in python.project.ini(python.at("tox.ini")):
        return f"{python.at('tox.ini')}:[pytest]"
    if found := python.project.first(
        python.home, "conftest.py", "tests/conftest.py", "test/conftest.py"
    ):
        return found
    if python.uses("pytest"):
        for path in (python.manifest, *python.requirement_files()):
            if "pytest" in python.project.head(path):
                return path
    return None


def _unittests(python: PythonProject) -> str | None:
    """The directory of the first test module, for `unittest`."""
    names = [name for name in python.project.names if re.fullmatch(r"test_\w{1,60}\.py", name)]
    found = [path for name in sorted(names) for path in python.project.find_named(name)]
    inside = [path for path in found if path.startswith(python.at(""))]
    return parent(min(inside)) or min(inside) if inside else None


def _checks(python: PythonProject) -> Commands:
    pyproject = python.at("pyproject.toml")
    ruff = python.project.first(python.home, "ruff.toml", ".ruff.toml")
    settings = python.project.toml(ruff) if ruff else python.tool("ruff")
    if ruff is None and python.configures("ruff"):
        ruff = f"{pyproject}:[tool.ruff]"
    has_black = python.configures("black") or python.uses("black")
    if ruff:
        yield "lint", "ruff check", ruff, 62
        if "format" in settings or not has_black:
            yield "format", "ruff format", ruff, 60 if "format" in settings else 40
    if python.configures("black"):
        yield "format", "black .", f"{pyproject}:[tool.black]", 58
    if python.has(".flake8"):
        yield "lint", "flake8", python.at(".flake8"), 54
    elif "flake8" in python.setup:
        yield "lint", "flake8", f"{python.at('setup.cfg')}:[flake8]", 54
    elif python.has("tox.ini") and "flake8" in python.project.ini(python.at("tox.ini")):
        yield "lint", "flake8", f"{python.at('tox.ini')}:[flake8]", 54
    if python.configures("pylint") or python.has(".pylintrc"):
        source = python.at(".pylintrc") if python.has(".pylintrc") else f"{pyproject}:[tool.pylint]"
        target = "src" if _has_src(python) else next(iter(python.packages()), ".")
        yield "lint", f"pylint {quote(target)}", source, 44


def _types(python: PythonProject) -> Commands:
    pyproject = python.at("pyproject.toml")
    for name, command, file in (
        ("pyright", "pyright", "pyrightconfig.json"),
        ("basedpyright", "basedpyright", "basedpyright.json"),
        ("ty", "ty check", "ty.toml"),
        ("pyrefly", "pyrefly check", "pyrefly.toml"),
    ):
        if python.has(file):
            yield "typecheck", command, python.at(file), 58
        elif python.configures(name):
            yield "typecheck", command, f"{pyproject}:[tool.{name}]", 58
    settings: object
    if python.configures("mypy"):
        settings, source = python.tool("mypy"), f"{pyproject}:[tool.mypy]"
    elif path := python.project.first(python.home, "mypy.ini", ".mypy.ini"):
        settings, source = python.project.ini(path).get("mypy"), path
    elif "mypy" in python.setup:
        settings, source = python.setup["mypy"], f"{python.at('setup.cfg')}:[mypy]"
    else:
        return
    if {"files", "packages", "modules"} & as_table(settings).keys():
        yield "typecheck", "mypy", source, 60
    else:
        target = "src" if _has_src(python) else next(iter(python.packages()), ".")
        yield "typecheck", f"mypy {quote(target)}", source, 56


def _has_src(python: PythonProject) -> bool:
    return python.project.census.weight("python", python.at("src")) > 0


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
            if python.has(f"{package}/__main__.py"):
                yield (
                    "run",
                    f"python -m {quote(package)}",
                    python.at(f"{package}/__main__.py"),
                    46,
                )
                return
        for name in ("main.py", "app.py", "run.py"):
            if "__main__" in python.project.head(python.at(name)):
                yield "run", f"python {name}", python.at(name), 46
                return

"""How a Python project is set up, tested and checked, as its own settings show."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kedge.repomap.project.formats import table, text
from kedge.repomap.project.parts import Findings, Kind, base, parent, quoted
from kedge.repomap.project.python_project import Python

# how each manager runs a program of the project's environment
RUN = {"uv": "uv run ", "poetry": "poetry run ", "pdm": "pdm run ", "pipenv": "pipenv run "}
_INSTALL = {
    "uv": "uv sync",
    "poetry": "poetry install",
    "pdm": "pdm install",
    "pixi": "pixi install",
    "pipenv": "pipenv install --dev",
}
_EXTRAS = ("dev", "develop", "development", "test", "tests", "testing", "all")

Found = Iterator[tuple[Kind, str, str, int]]


def add_commands(findings: Findings, python: Python) -> None:
    run = RUN.get(python.manager, "")
    for kind, command, source, score in _installs(python):
        findings.command(kind, command, source, score, python.home)
    for found in (_tests(python), _checks(python), _types(python), _runs(python)):
        for kind, command, source, score in found:
            findings.command(kind, run + command, source, score, python.home)


def _installs(python: Python) -> Found:
    if command := _INSTALL.get(python.manager):
        yield "install", command, python.manifest, 66
        return
    wanted = [path[len(python.at("")) :] for path in _requirements(python)]
    extras = {
        **table(python.pyproject, "project", "optional-dependencies"),
        **python.setup.get("options.extras_require", {}),
    }
    extra = next((name for name in _EXTRAS if name in extras), None)
    if "project" in python.pyproject or python.has("setup.py") or "metadata" in python.setup:
        if extra:
            yield "install", f"pip install -e '.[{extra}]'", python.manifest, 64
        elif "dev" in table(python.pyproject, "dependency-groups"):
            yield "install", "pip install -e . --group dev", python.manifest, 62
        elif not wanted:
            yield "install", "pip install -e .", python.manifest, 56
    for number, name in enumerate(wanted[:2]):
        yield "install", f"pip install -r {quoted(name)}", python.at(name), 60 - number
    if conda := python.project.first(python.home, "environment.yml", "environment.yaml"):
        yield "install", f"conda env create -f {base(conda)}", conda, 54


def _requirements(python: Python) -> list[str]:
    """Requirement files, those for developers first: they mostly include the others."""
    wanted = []
    for path in python.requirement_files():
        name = path[len(python.at("")) :].lower()
        if path.endswith(".in") or re.search(r"doc|prod|deploy|lint|min|bench|constraint", name):
            continue
        rank = 0 if "dev" in name else 1 if re.search(r"test|all", name) else 2
        if rank < 2 or base(name) in ("requirements.txt", "base.txt"):
            wanted.append((rank, path))
    return [path for _, path in sorted(wanted)]


def _tests(python: Python) -> Found:
    if source := pytest_source(python):
        yield "test", "pytest", source, 66
    elif python.has("manage.py"):
        yield "test", "python manage.py test", python.at("manage.py"), 52
    elif tests := _unittests(python):
        yield "test", "python -m unittest discover", tests, 46


def pytest_source(python: Python) -> str | None:
    """The place that shows that pytest runs the tests."""
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


def _unittests(python: Python) -> str | None:
    """The directory of the first test module, where only the standard library can run it."""
    names = [name for name in python.project.names if re.fullmatch(r"test_\w{1,60}\.py", name)]
    found = [path for name in sorted(names) for path in python.project.named(name)]
    inside = [path for path in found if path.startswith(python.at(""))]
    return parent(min(inside)) or min(inside) if inside else None


def _checks(python: Python) -> Found:
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
        yield "lint", f"pylint {quoted(target)}", source, 44


def _types(python: Python) -> Found:
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
    if {"files", "packages", "modules"} & table(settings).keys():
        yield "typecheck", "mypy", source, 60
    else:
        target = "src" if _has_src(python) else next(iter(python.packages()), ".")
        yield "typecheck", f"mypy {quoted(target)}", source, 56


def _has_src(python: Python) -> bool:
    return python.project.census.weight("python", python.at("src")) > 0


def _runs(python: Python) -> Found:
    own = (text(table(python.pyproject, "project").get("name")) or "").lower()
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
                yield "run", f"python -m {quoted(package)}", python.at(f"{package}/__main__.py"), 46
                return
        for name in ("main.py", "app.py", "run.py"):
            if "__main__" in python.project.head(python.at(name)):
                yield "run", f"python {name}", python.at(name), 46
                return

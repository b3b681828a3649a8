"""How a Python project is set up, tested and checked, as its own configuration shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kedge.repomap.project.formats import items, named, table, text, texts
from kedge.repomap.project.parts import Findings, Kind, base
from kedge.repomap.project.targets import Target, add_targets

if TYPE_CHECKING:
    from kedge.repomap.project.python import Python

_RUN = {"uv": "uv run ", "poetry": "poetry run ", "pdm": "pdm run ", "pipenv": "pipenv run "}
_EXTRAS = ("dev", "develop", "development", "test", "tests", "testing", "all")


def add_commands(findings: Findings, python: Python) -> None:
    run = _RUN.get(python.manager, "")

    def add(kind: Kind, command: str, source: str, score: int) -> None:
        findings.command(kind, command, source, score, python.home)

    for command, source, score in _installs(python):
        add("install", command, python.at(source), score)
    if source := pytest_source(python):
        add("test", f"{run}pytest", source, 66)
    elif manage := _manage(python):
        add("test", f"{run}python manage.py test", manage, 64)
    elif any(name.startswith("test_") for name in python.project.names if name.endswith(".py")):
        if tests := _unittests(python):
            add("test", f"{run}python -m unittest discover", tests, 40)
    for kind, command, source, score in _checks(python):
        add(kind, f"{run}{command}", source, score)
    for command, source, score in _runs(python):
        add("run", f"{run}{command}", source, score)
    _add_tasks(findings, python, run)


def _installs(python: Python) -> Iterator[tuple[str, str, int]]:
    home = python.home
    if python.manager == "uv":
        yield "uv sync", "uv.lock" if python.has("uv.lock") else "pyproject.toml", 66
    elif python.manager == "poetry":
        yield "poetry install", "pyproject.toml", 66
    elif python.manager == "pdm":
        yield "pdm install", "pyproject.toml", 66
    elif python.manager == "pixi":
        yield "pixi install", "pixi.lock" if python.has("pixi.lock") else "pyproject.toml", 66
    elif python.manager == "pipenv":
        yield "pipenv install --dev", "Pipfile", 66
    if python.manager not in ("pip", "hatch"):
        return
    wanted = [path[len(home) + 1 if home else 0 :] for path in _requirements(python)]
    groups = table(python.pyproject, "dependency-groups")
    extras = list(table(python.pyproject, "project", "optional-dependencies"))
    extras += list(python.setup.get("options.extras_require", {}))
    extra = next((name for name in _EXTRAS if name in extras), None)
    if "project" in python.pyproject or python.has("setup.py") or "metadata" in python.setup:
        source = "pyproject.toml" if python.has("pyproject.toml") else "setup.py"
        source = source if python.has(source) else "setup.cfg"
        if extra:
            yield f"pip install -e '.[{extra}]'", source, 64
        elif "dev" in groups:
            yield "pip install -e . --group dev", source, 62
        elif not wanted:
            yield "pip install -e .", source, 56
    for number, name in enumerate(wanted[:2]):
        yield f"pip install -r {name}", name, 60 - number
    conda = python.project.first(home, "environment.yml", "environment.yaml")
    if conda:
        yield f"conda env create -f {base(conda)}", base(conda), 54


def _requirements(python: Python) -> list[str]:
    """Requirement files, those for developers first: they mostly include the others."""
    from kedge.repomap.project.python import requirement_files

    wanted = []
    for path in requirement_files(python):
        name = path[len(python.home) :].lower()
        if path.endswith(".in") or re.search(r"doc|prod|deploy|lint|min|bench|constraint", name):
            continue
        rank = 0 if "dev" in name else 1 if re.search(r"test|all", name) else 2
        if rank < 2 or base(name) in ("requirements.txt", "base.txt"):
            wanted.append((rank, path))
    return [path for _, path in sorted(wanted)]


def pytest_source(python: Python) -> str | None:
    """The place that shows that pytest runs the tests."""
    for name in ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"):
        if python.has(name):
            return python.at(name)
    if python.configures("pytest"):
        inner = "[tool.pytest.ini_options]" if python.tool("pytest", "ini_options") else None
        return f"{python.at('pyproject.toml')}:{inner or '[tool.pytest]'}"
    if "tool:pytest" in python.setup:
        return f"{python.at('setup.cfg')}:[tool:pytest]"
    if "pytest" in python.project.ini(python.at("tox.ini")):
        return f"{python.at('tox.ini')}:[pytest]"
    for name in ("conftest.py", "tests/conftest.py", "test/conftest.py"):
        if python.has(name):
            return python.at(name)
    if python.uses("pytest"):
        from kedge.repomap.project.python import requirement_files

        manifests = [python.project.first(python.home, "pyproject.toml", "Pipfile", "setup.cfg")]
        for path in [*filter(None, manifests), *requirement_files(python), python.at("setup.py")]:
            if "pytest" in python.project.head(path):
                return path
    return None


def _manage(python: Python) -> str | None:
    return python.at("manage.py") if python.has("manage.py") else None


def _unittests(python: Python) -> str | None:
    prefix = python.at("")
    for path in python.project.paths:
        if path.startswith(prefix) and base(path).startswith("test_") and path.endswith(".py"):
            return path.rpartition("/")[0] or path
    return None


def _checks(python: Python) -> Iterator[tuple[Kind, str, str, int]]:
    pyproject = python.at("pyproject.toml")
    ruff = python.project.first(python.home, "ruff.toml", ".ruff.toml")
    if ruff is None and python.configures("ruff"):
        ruff = f"{pyproject}:[tool.ruff]"
    if ruff:
        yield "lint", "ruff check", ruff, 62
        settings = python.tool("ruff") or python.project.toml(ruff)
        if "format" in settings or not (python.configures("black") or python.uses("black")):
            score = 60 if "format" in settings else 38
            yield "format", "ruff format", ruff, score
    if python.configures("black"):
        yield "format", "black .", f"{pyproject}:[tool.black]", 58
    if python.has(".flake8"):
        yield "lint", "flake8", python.at(".flake8"), 54
    elif "flake8" in python.setup:
        yield "lint", "flake8", f"{python.at('setup.cfg')}:[flake8]", 54
    elif "flake8" in python.project.ini(python.at("tox.ini")):
        yield "lint", "flake8", f"{python.at('tox.ini')}:[flake8]", 54
    if python.configures("pyright") or python.has("pyrightconfig.json"):
        config = python.has("pyrightconfig.json")
        source = python.at("pyrightconfig.json") if config else f"{pyproject}:[tool.pyright]"
        yield "typecheck", "pyright", source, 58
    if python.configures("ty") or python.has("ty.toml"):
        source = python.at("ty.toml") if python.has("ty.toml") else f"{pyproject}:[tool.ty]"
        yield "typecheck", "ty check", source, 58
    yield from _mypy(python)


def _mypy(python: Python) -> Iterator[tuple[Kind, str, str, int]]:
    settings: object
    if python.configures("mypy"):
        settings, source = python.tool("mypy"), f"{python.at('pyproject.toml')}:[tool.mypy]"
    elif path := python.project.first(python.home, "mypy.ini", ".mypy.ini"):
        settings, source = python.project.ini(path).get("mypy", {}), path
    elif "mypy" in python.setup:
        settings, source = python.setup["mypy"], f"{python.at('setup.cfg')}:[mypy]"
    else:
        return
    if {"files", "packages", "modules"} & table(settings).keys():
        yield "typecheck", "mypy", source, 60
        return
    packages = python_packages(python)
    target = "src" if python.has_code("src") else packages[0] if packages else "."
    yield "typecheck", f"mypy {target}", source, 56


def python_packages(python: Python) -> list[str]:
    """The import packages right below the project's directory, the largest first."""
    start = len(python.home) + 1 if python.home else 0
    return sorted(
        (
            path.rpartition("/")[0][start:]
            for path in python.project.named("__init__.py")
            if path.startswith(python.at("")) and path[start:].count("/") == 1
        ),
        key=lambda name: (-python.project.census.files_in(python.at(name)), name),
    )


def _runs(python: Python) -> Iterator[tuple[str, str, int]]:
    source = python.at("pyproject.toml" if python.has("pyproject.toml") else "setup.cfg")
    source = source if python.project.has(source) else python.at("setup.py")
    own = (text(table(python.pyproject, "project").get("name")) or "").lower()
    names = [name for name in python.scripts if re.fullmatch(r"[\w.-]{1,40}", name)]
    if names and len(names) <= 5:
        main = next((name for name in names if name.lower() == own), names[0])
        yield main, source, 50
    if manage := _manage(python):
        yield "python manage.py runserver", manage, 62
    if not names and not _manage(python):
        for package in python_packages(python):
            if python.has(f"{package}/__main__.py"):
                yield f"python -m {package}", python.at(f"{package}/__main__.py"), 46
                return
        for name in ("main.py", "app.py", "run.py"):
            if python.has(name) and "__main__" in python.project.head(python.at(name)):
                yield f"python {name}", python.at(name), 46
                return


def _add_tasks(findings: Findings, python: Python, run: str) -> None:
    """The tasks, environments and sessions that the project itself names."""
    source = python.at("pyproject.toml")

    def add(name: str, call: str, score: int, file: str = source, path: tuple[str, ...] = ()) -> None:
        found = [
            Target(task, tuple(_script_lines(value)), f"{file}:[{name}.{task}]")
            for task, value in named(path_value(path))
        ]
        add_targets(findings, found, lambda task: call + task, score, python.home)

    def path_value(path: tuple[str, ...]) -> object:
        return table(python.pyproject, "tool", *path)

    add("tool.poe.tasks", f"{run}poe ", 84, path=("poe", "tasks"))
    add("tool.pdm.scripts", "pdm run ", 84, path=("pdm", "scripts"))
    add("tool.taskipy.tasks", f"{run}task ", 84, path=("taskipy", "tasks"))
    add("tool.pixi.tasks", "pixi run ", 80, path=("pixi", "tasks"))
    _add_hatch(findings, python)
    _add_tox(findings, python, run)
    _add_nox(findings, python, run)
    pixi = python.at("pixi.toml")
    targets = [
        Target(task, tuple(_script_lines(value)), f"{pixi}:[tasks.{task}]")
        for task, value in named(table(python.project.toml(pixi), "tasks"))
    ]
    add_targets(findings, targets, lambda task: f"pixi run {task}", 82, python.home)


def _script_lines(value: object) -> list[str]:
    """The commands of a task in any of the forms that the runners know."""
    if isinstance(value, str):
        return texts(value.splitlines())
    if isinstance(value, list):
        return [line for item in value for line in texts(item)]
    found = []
    for key in ("cmd", "shell", "composite", "sequence", "script"):
        found += _script_lines(table(value).get(key)) if key in table(value) else []
    return found


def _add_hatch(findings: Findings, python: Python) -> None:
    own = python.project.toml(python.at("hatch.toml"))
    file = python.at("hatch.toml") if own else python.at("pyproject.toml")
    prefix = "envs" if own else "tool.hatch.envs"
    envs = table(own, "envs") or python.tool("hatch", "envs")
    for env, value in named(envs):
        call = "hatch run " if env == "default" else f"hatch run {env}:"
        targets = [
            Target(name, tuple(_script_lines(body)), f"{file}:[{prefix}.{env}.scripts]")
            for name, body in named(table(value, "scripts"))
        ]
        score = 82 if env == "default" else 76
        add_targets(findings, targets, lambda name, call=call: call + name, score, python.home)  # type: ignore[misc]
    if "hatch-test" in envs:
        source = f"{file}:[{prefix}.hatch-test]"
        findings.command("test", "hatch test", source, 78, python.home)


def _add_tox(findings: Findings, python: Python, run: str) -> None:
    source = python.project.first(python.home, "tox.ini", "tox.toml")
    sections = python.project.ini(python.at("tox.ini"))
    envs = {
        name.partition(":")[2]: section.get("commands", "").splitlines()
        for name, section in sections.items()
        if name.startswith("testenv:")
    }
    is_tox = "tox" in sections or "testenv" in sections
    tables = python.project.toml(python.at("tox.toml")) or python.tool("tox")
    if tables and not is_tox:
        source = source or f"{python.at('pyproject.toml')}:[tool.tox]"
        legacy = text(tables.get("legacy_tox_ini")) is not None or "legacy_tox_ini" in tables
        is_tox = bool(legacy or tables.get("env_list") or table(tables, "env"))
        for name, env in named(table(tables, "env")):
            lines = [" ".join(texts(items(line))) for line in items(table(env).get("commands"))]
            envs.setdefault(name, lines)
    if not is_tox or source is None:
        return
    wrapped = f"{run}tox" if python.uses("tox") else "tox"
    findings.command("test", wrapped, source, 58, python.home)
    targets = [
        Target(name, tuple(line.strip() for line in lines), source)
        for name, lines in envs.items()
        if not re.fullmatch(r"py\d*.*", name)
    ]
    add_targets(findings, targets, lambda name: f"{wrapped} -e {name}", 58, python.home)


_SESSION = re.compile(
    r"^@(?:nox\.)?session\b([^\n]*(?:\n(?!def )[^\n]*){0,12})\n(?:async )?def (\w{1,60})", re.MULTILINE
)


def _add_nox(findings: Findings, python: Python, run: str) -> None:
    path = python.at("noxfile.py")
    head = python.project.head(path)
    targets = []
    for found in list(_SESSION.finditer(head))[:40]:
        own = re.search(r"name\s*=\s*['\"]([\w.-]{1,60})['\"]", found.group(1))
        line = head.count("\n", 0, found.start(2)) + 1
        targets.append(Target(own.group(1) if own else found.group(2), (), f"{path}:{line}"))
    wrapped = f"{run}nox" if python.uses("nox") else "nox"
    add_targets(findings, targets, lambda name: f"{wrapped} -s {name}", 74, python.home)

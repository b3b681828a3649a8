"""Tasks of Python task runners: poe, pdm, taskipy, pixi, hatch, tox, nox."""

from __future__ import annotations

import re
from collections.abc import Iterator
from shlex import quote

from kedge.repomap.project.formats import Table, as_list, as_table, as_texts, printable_items
from kedge.repomap.project.parts import Findings
from kedge.repomap.project.python_commands import RUN
from kedge.repomap.project.python_project import PythonProject
from kedge.repomap.project.targets import Target, add_targets

_SESSION = re.compile(
    r"^@(?:nox\.)?session\b((?:.*\n){1,20}?)(?:async )?def (\w{1,60})\(", re.MULTILINE
)
_NAME = re.compile(r"name\s{0,3}=\s{0,3}['\"]([\w.-]{1,60})['\"]")


def add_tasks(findings: Findings, python: PythonProject) -> None:
    run = RUN.get(python.manager, "")

    def add(targets: Iterator[Target], call: str, score: int) -> None:
        add_targets(findings, targets, lambda name: call + name, score, python.home)

    add(_tasks(python, "poe", "tasks"), f"{run}poe ", 84)
    add(_tasks(python, "pdm", "scripts"), "pdm run ", 84)
    add(_tasks(python, "taskipy", "tasks"), f"{run}task ", 84)
    add(_tasks(python, "pixi", "tasks"), "pixi run ", 82)
    hatch, place = _find_settings(python, "hatch")
    envs = as_table(hatch, "envs")
    for env in [name for name, _ in printable_items(envs) if "doc" not in name.lower()]:
        call, score = ("", 82) if env == "default" else (f"{quote(env)}:", 76)
        add(_tasks(python, "hatch", "envs", env, "scripts"), f"hatch run {call}", score)
    if "hatch-test" in envs:
        findings.add_command("test", "hatch test", f"{place}envs.hatch-test]", 78, python.home)
    if tox := _find_tox(python):
        call = f"{run}tox" if python.uses("tox") else "tox"
        findings.add_command("test", call, tox, 58, python.home)
        add(_tox_environments(python, tox), f"{call} -e ", 58)
    add(_nox_sessions(python), f"{run}nox -s " if python.uses("nox") else "nox -s ", 74)


def _find_settings(python: PythonProject, tool: str) -> tuple[Table, str]:
    """A tool's settings, in its own file or in pyproject.toml, and the start of a place there."""
    own = f"{tool}.toml"
    if python.has(own):
        return python.project.toml(python.at(own)), f"{python.at(own)}:["
    return python.tool(tool), f"{python.at('pyproject.toml')}:[tool.{tool}."


def _tasks(python: PythonProject, tool: str, *table: str) -> Iterator[Target]:
    """The tasks in a table of a tool's settings."""
    settings, place = _find_settings(python, tool)
    for name, value in printable_items(as_table(settings, *table)):
        source = f"{place}{'.'.join((*table, name))}]"
        yield Target(name, tuple(script_lines(value)), source)


def script_lines(value: object) -> list[str]:
    """The commands of a task, in any form that the runners accept."""
    if isinstance(value, str):
        return as_texts(value.splitlines())
    if isinstance(value, list):
        return [line for item in value for line in as_texts(item)]
    inner = [as_table(value).get(key) for key in ("cmd", "shell", "composite", "sequence")]
    return [line for one in inner if isinstance(one, str | list) for line in script_lines(one)]


def _find_tox(python: PythonProject) -> str | None:
    ini = python.project.ini(python.at("tox.ini"))
    if "tox" in ini or "testenv" in ini:
        return python.at("tox.ini")
    settings, place = _find_settings(python, "tox")
    if not settings.keys() & {"env_list", "env", "legacy_tox_ini", "env_run_base"}:
        return None
    return f"{place[:-1]}]" if place.endswith(".") else place.removesuffix(":[")


def _tox_environments(python: PythonProject, source: str) -> Iterator[Target]:
    envs: dict[str, list[str]] = {}
    for section, options in python.project.ini(python.at("tox.ini")).items():
        if section.startswith("testenv:"):
            envs[section.partition(":")[2]] = options.get("commands", "").split("\n")
    settings, _ = _find_settings(python, "tox")
    for name, env in printable_items(as_table(settings, "env")):
        lines = as_list(as_table(env).get("commands"))
        envs[name] = [" ".join(as_texts(line)) for line in lines]
    for name, commands in envs.items():
        if not re.match(r"py\d*", name):
            yield Target(name, tuple(line.strip() for line in commands), source)


def _nox_sessions(python: PythonProject) -> Iterator[Target]:
    path = python.at("noxfile.py")
    code = python.project.head(path)
    for found in _SESSION.finditer(code):
        given = _NAME.search(found[1])
        line = code.count("\n", 0, found.start(2)) + 1
        yield Target(given[1] if given else found[2], (), f"{path}:{line}")

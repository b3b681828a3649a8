"""Tasks, environments and sessions of Python task runners: poe, pdm, hatch, tox, nox."""

from __future__ import annotations

import re
from collections.abc import Iterator
from shlex import quote

from kedge.repomap.project.formats import as_list, as_table, as_texts, printable_items
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
    envs = python.tool("hatch", "envs")
    for env in [name for name, _ in printable_items(envs) if "doc" not in name.lower()]:
        call, score = ("", 82) if env == "default" else (f"{quote(env)}:", 76)
        add(_tasks(python, "hatch", "envs", env, "scripts"), f"hatch run {call}", score)
    if "hatch-test" in envs:
        source = f"{python.at('pyproject.toml')}:[tool.hatch.envs.hatch-test]"
        findings.add_command("test", "hatch test", source, 78, python.home)
    if tox := _tox_source(python):
        call = f"{run}tox" if python.uses("tox") else "tox"
        findings.add_command("test", call, tox, 58, python.home)
        add(_tox_environments(python, tox), f"{call} -e ", 58)
    add(_nox_sessions(python), f"{run}nox -s " if python.uses("nox") else "nox -s ", 74)


def _tasks(python: PythonProject, *table: str) -> Iterator[Target]:
    """The tasks in a table of `[tool]`."""
    for name, value in printable_items(python.tool(*table)):
        place = ".".join(("tool", *table, name))
        source = f"{python.at('pyproject.toml')}:[{place}]"
        yield Target(name, tuple(script_lines(value)), source)


def script_lines(value: object) -> list[str]:
    """The commands of a task, in any form that the runners accept."""
    if isinstance(value, str):
        return as_texts(value.splitlines())
    if isinstance(value, list):
        return [line for item in value for line in as_texts(item)]
    inner = [as_table(value).get(key) for key in ("cmd", "shell", "composite", "sequence")]
    return [line for one in inner if isinstance(one, str | list) for line in script_lines(one)]


def _tox_source(python: PythonProject) -> str | None:
    ini = python.project.ini(python.at("tox.ini"))
    if "tox" in ini or "testenv" in ini:
        return python.at("tox.ini")
    has_settings = python.tool("tox").keys() & {"env_list", "env", "legacy_tox_ini", "env_run_base"}
    return f"{python.at('pyproject.toml')}:[tool.tox]" if has_settings else None


def _tox_environments(python: PythonProject, source: str) -> Iterator[Target]:
    envs: dict[str, list[str]] = {}
    for section, options in python.project.ini(python.at("tox.ini")).items():
        if section.startswith("testenv:"):
            envs[section.partition(":")[2]] = options.get("commands", "").split("\n")
    for name, env in printable_items(python.tool("tox", "env")):
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

"""Tasks, environments and sessions of Python task runners: poe, pdm, hatch, tox, nox."""

from __future__ import annotations

import re
from collections.abc import Iterable
from shlex import quote

from kedge.repomap.project.formats import as_list, as_table, as_texts, printable_items
from kedge.repomap.project.parts import Findings
from kedge.repomap.project.python_commands import RUN
from kedge.repomap.project.python_project import PythonProject
from kedge.repomap.project.targets import Target, add_targets


def add_tasks(findings: Findings, python: PythonProject) -> None:
    run = RUN.get(python.manager, "")
    pyproject = python.at("pyproject.toml")

    def add(tasks: object, call: str, source: str, score: int) -> None:
        found = [
            Target(name, tuple(script_lines(value)), f"{source}.{name}]")
            for name, value in printable_items(tasks)
        ]
        _call(findings, python, found, call, score)

    add(python.tool("poe", "tasks"), f"{run}poe ", f"{pyproject}:[tool.poe.tasks", 84)
    add(python.tool("pdm", "scripts"), "pdm run ", f"{pyproject}:[tool.pdm.scripts", 84)
    add(python.tool("taskipy", "tasks"), f"{run}task ", f"{pyproject}:[tool.taskipy.tasks", 84)
    add(python.tool("pixi", "tasks"), "pixi run ", f"{pyproject}:[tool.pixi.tasks", 82)
    if python.has("pixi.toml"):
        tasks = as_table(python.project.toml(python.at("pixi.toml")), "tasks")
        add(tasks, "pixi run ", f"{python.at('pixi.toml')}:[tasks", 82)
    _add_hatch(findings, python)
    _add_tox(findings, python, run)
    _add_nox(findings, python, run)
    _add_invoke(findings, python, run)


def _call(
    findings: Findings, python: PythonProject, targets: Iterable[Target], call: str, score: int
) -> None:
    add_targets(findings, targets, lambda name: call + name, score, python.home)


def script_lines(value: object) -> list[str]:
    """The commands of a task, in any form that the runners accept."""
    if isinstance(value, str):
        return as_texts(value.splitlines())
    if isinstance(value, list):
        return [line for item in value for line in as_texts(item)]
    inner = as_table(value)
    keys = ("cmd", "shell", "composite", "sequence")
    return [
        line
        for key in keys
        if isinstance(inner.get(key), str | list)
        for line in script_lines(inner[key])
    ]


def _add_hatch(findings: Findings, python: PythonProject) -> None:
    own = as_table(python.project.toml(python.at("hatch.toml")), "envs")
    place = (
        f"{python.at('hatch.toml')}:[envs"
        if own
        else f"{python.at('pyproject.toml')}:[tool.hatch.envs"
    )
    envs = own or python.tool("hatch", "envs")
    for env, value in printable_items(envs):
        if "doc" in env.lower():
            continue
        targets = [
            Target(name, tuple(script_lines(body)), f"{place}.{env}.scripts]")
            for name, body in printable_items(as_table(value, "scripts"))
        ]
        default = env == "default"
        call = "hatch run " if default else f"hatch run {quote(env)}:"
        _call(findings, python, targets, call, 82 if default else 76)
    if "hatch-test" in envs:
        findings.add_command("test", "hatch test", f"{place}.hatch-test]", 78, python.home)


def _add_tox(findings: Findings, python: PythonProject, run: str) -> None:
    ini = python.project.ini(python.at("tox.ini"))
    envs = {
        name.partition(":")[2]: [line.strip() for line in section.get("commands", "").splitlines()]
        for name, section in ini.items()
        if name.startswith("testenv:")
    }
    if "tox" in ini or "testenv" in ini:
        source = python.at("tox.ini")
    else:
        has_file = python.has("tox.toml")
        source = python.at("tox.toml") if has_file else f"{python.at('pyproject.toml')}:[tool.tox]"
        settings = python.project.toml(source) if has_file else python.tool("tox")
        if not settings.keys() & {"env_list", "env", "legacy_tox_ini", "env_run_base"}:
            return
        for name, env in printable_items(as_table(settings, "env")):
            lines = as_list(as_table(env).get("commands"))
            envs[name] = [" ".join(as_texts(as_list(line))) for line in lines]
    call = f"{run}tox" if python.uses("tox") else "tox"
    findings.add_command("test", call, source, 58, python.home)
    targets = [
        Target(name, tuple(lines), source)
        for name, lines in envs.items()
        if not re.match(r"py\d*", name)
    ]
    _call(findings, python, targets, f"{call} -e ", 58)


_SESSION = re.compile(r"@(?:nox\.)?session\b(.*)")
_FUNCTION = re.compile(r"(?:async )?def (\w{1,60})\(")
_NAME = re.compile(r"name\s{0,3}=\s{0,3}['\"]([\w.-]{1,60})['\"]")


def _find_decorated(code: str, decorator: re.Pattern[str], path: str) -> list[Target]:
    """The functions with the decorator, by the name that it gives them."""
    found = []
    above: list[str] | None = None
    for number, line in enumerate(code.split("\n")[:4000], 1):
        if decorator.match(line):
            above = [line]
        elif above is not None and (function := _FUNCTION.match(line)):
            given = _NAME.search("\n".join(above)[:2000])
            name = given.group(1) if given else function.group(1)
            found.append(Target(name, (), f"{path}:{number}"))
            above = None
        elif above is not None:
            above.append(line)
    return found


def _add_nox(findings: Findings, python: PythonProject, run: str) -> None:
    path = python.at("noxfile.py")
    call = f"{run}nox" if python.uses("nox") else "nox"
    _call(
        findings,
        python,
        _find_decorated(python.project.head(path), _SESSION, path),
        f"{call} -s ",
        74,
    )


def _add_invoke(findings: Findings, python: PythonProject, run: str) -> None:
    if not python.uses("invoke"):
        return
    path = python.at("tasks.py")
    found = [
        Target(target.name.replace("_", "-"), (), target.source)
        for target in _find_decorated(python.project.head(path), re.compile(r"@task\b"), path)
    ]
    _call(findings, python, found, f"{run}invoke ", 76)

"""The command that runs one task in its own work tree, within what is left of the limits."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

from kedge import config
from kedge.host.project import Project
from kedge.run.limits import Limits, RunUsage
from kedge.run.options import RunOptions
from kedge.settings import Settings
from kedge.tasks import choose

# With -P Python takes no modules from the directory it starts in.
KEDGE_RUN = (sys.executable, "-P", "-m", "kedge", "run", "--json")


def start_arguments(options: RunOptions, root: Path, task: str) -> list[str]:
    """Return the arguments of a new run for this task alone."""
    program, *rest = options.program
    if "/" in program:
        program = str(root / program)
    roles = ",".join(options.roles)
    words = [f"--task={task}", f"--agent={options.agent}", f"--roles={roles}"]
    words += [f"--command={shlex.join([program, *rest])}"]
    words += [f"--model={options.model}"] if options.model else []
    words += [f"--anchor-sources={','.join(options.sources)}"] if options.sources else []
    words += [] if options.reanchor else ["--no-reanchor"]
    words += ["--full-access"] if options.full_access else []
    return words


def limit_arguments(limits: Limits, used: RunUsage, before: RunUsage, iterations: int) -> list[str]:
    """Return the rest of the limits as arguments.

    `used` is what all runs have used so far. A resumed run also counts what it used `before`,
    which is not part of `used`. `iterations` is the number of agent calls it may make.
    """
    words = [f"--attempts={limits.attempts}"]
    if limits.iterations is not None:
        words.append(f"--max-iterations={iterations}")
    if limits.money is not None:
        words.append(f"--budget={limits.money - used.cost!r}")
    if limits.tokens is not None:
        words.append(f"--budget-tokens={limits.tokens - used.tokens}")
    if limits.seconds is not None:
        seconds = max(0.1, limits.seconds - used.seconds) + before.seconds
        words.append(f"--time={seconds:.3f}s")
    if limits.idle is not None:
        words.append(f"--idle={limits.idle:.3f}s")
    return words


def make_environment(project: Project, settings: Settings) -> dict[str, str]:
    """Return the variables that give a run in a work tree the project's tasks and settings."""
    env = {choose.VARIABLE: str(choose.task_project(project).root)}
    for name, origin in config.load(project).origins.items():
        section, _, item = name.partition(".")
        text = _format(getattr(getattr(settings, section), item))
        if text is not None and (origin.kind == "project" or name == "tasks.backend"):
            env[config.find_key(name).variable] = text
    return env


def _format(value: Any) -> str | None:
    """Return a setting as text for a variable; None if a variable cannot hold it."""
    if isinstance(value, tuple):
        return None if any("," in one for one in value) else ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)

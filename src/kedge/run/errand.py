"""What the run of one task in its work tree is asked, and what it shares with the run it is for."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from kedge import config
from kedge.host.project import Project
from kedge.run.spent import Spent
from kedge.run.wanted import Limits, Wanted
from kedge.settings import Settings
from kedge.tasks import choose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Without the directory that it works in among the places that Python takes modules from.
KEDGE = (sys.executable, "-P", "-m", "kedge", "run", "--json")


def first(wanted: Wanted, root: Path, task: str) -> list[str]:
    """The options of a run for this task alone."""
    program, *rest = wanted.program
    if "/" in program:
        program = str(root / program)
    words = [f"--task={task}", f"--agent={wanted.agent}", f"--roles={','.join(wanted.roles)}"]
    words += [f"--command={shlex.join([program, *rest])}"]
    words += [f"--model={wanted.model}"] if wanted.model else []
    words += [f"--anchor-sources={','.join(wanted.sources)}"] if wanted.sources else []
    words += [] if wanted.reanchor else ["--no-reanchor"]
    words += ["--full-access"] if wanted.full_access else []
    return words


def again(run: str) -> list[str]:
    return [f"--resume={run}"]


def within(limits: Limits, now: Spent, before: Spent, calls: int) -> list[str]:
    """What is left of the limits, of which `now` is used. A run that is gone on with counts what
    it used `before`, which is not in that; `calls` are all that it may make."""
    words = [f"--attempts={limits.attempts}"]
    if limits.iterations is not None:
        words.append(f"--max-iterations={calls}")
    if limits.money is not None:
        words.append(f"--budget={limits.money - now.cost!r}")
    if limits.tokens is not None:
        words.append(f"--budget-tokens={limits.tokens - now.tokens}")
    if limits.seconds is not None:
        seconds = max(0.1, limits.seconds - now.seconds) + before.seconds
        words.append(f"--time={seconds:.3f}s")
    if limits.idle is not None:
        words.append(f"--idle={limits.idle:.3f}s")
    return words


def shared(project: Project, settings: Settings) -> dict[str, str]:
    """Variables for those who work in work trees of a project: its tasks, its settings."""
    found = {choose.VARIABLE: str(choose.keeper(project).root)}
    for name, origin in config.load(project).origins.items():
        section, _, item = name.partition(".")
        told = _told(getattr(getattr(settings, section), item))
        if told is not None and (origin.kind == "project" or name == "tasks.backend"):
            found[config.find_key(name).variable] = told
    return found


def _told(value: Any) -> str | None:
    """A setting as a variable has it; None for what no variable can say."""
    if isinstance(value, tuple):
        return None if any("," in one for one in value) else ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)

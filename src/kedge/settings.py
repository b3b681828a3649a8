"""The settings that there are: the type and default of each, what it is for, what may be in it."""

from __future__ import annotations

import re
from collections.abc import Callable

from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LEAST, MOST = 100, 100_000  # tokens of a map or an anchor
LEAST_PROMPT = 300


def _prefix(value: str) -> str | None:
    ok = re.match(r"[A-Za-z0-9][A-Za-z0-9_-]{0,23}\Z", value)
    return None if ok else "must be 1 to 24 letters, digits, '_' or '-'"


def _positive(value: float) -> str | None:
    return None if 0 < value < float("inf") else "must be above 0, and finite"


def _budget(value: int) -> str | None:
    return None if LEAST <= value <= MOST else f"must be from {LEAST} to {MOST}"


def _prompt_budget(value: int) -> str | None:
    return None if LEAST_PROMPT <= value <= MOST else f"must be from {LEAST_PROMPT} to {MOST}"


# Of an anchor.
SOURCES = ("prompt", "agent", "task", "git", "progress", "knowledge", "epic", "map", "drift")


def _frequency(value: str) -> str | None:
    ok = value == "on-drift" or (value.isdecimal() and 0 < int(value) < 10_000)
    return None if ok else "must be a number of iterations, or on-drift"


def _lines(value: int) -> str | None:
    return None if 0 <= value <= 10_000 else "must be from 0 to 10000"


class TaskSettings(NamedTuple):
    backend: str = "auto"
    prefix: str = "k"
    actor: str = ""
    lock_timeout: float = 10.0
    bd: str = "bd"


class MapSettings(NamedTuple):
    tokens: int = 1500
    commit: bool = False


class AnchorSettings(NamedTuple):
    enabled: bool = True
    sources: tuple[str, ...] = ("prompt", "task", "git", "progress", "knowledge")
    tokens: int = 2000
    mode: str = "full"
    form: str = "full"
    frequency: str = "1"
    git_commits: int = 3
    progress_lines: int = 20
    max_prompt_lines: int = 100
    include_epic: bool = True


class PromptSettings(NamedTuple):
    tokens: int = 4000
    siblings: int = 10


class ContextSettings(NamedTuple):
    require_citations: bool = False
    commands: tuple[str, ...] = ()
    check_timeout: float = 1800.0


class KnowledgeSettings(NamedTuple):
    stale_after: int = 10


class RunSettings(NamedTuple):
    agent: str = "claude"
    attempts: int = 3
    rounds: int = 3
    failures: int = 5
    idle: float = 900.0


class ReviewSettings(NamedTuple):
    cap: int = 3


class DriftSettings(NamedTuple):
    policy: str = "advise"


class Settings(NamedTuple):
    tasks: TaskSettings = TaskSettings()
    map: MapSettings = MapSettings()
    anchor: AnchorSettings = AnchorSettings()
    prompt: PromptSettings = PromptSettings()
    context: ContextSettings = ContextSettings()
    run: RunSettings = RunSettings()
    review: ReviewSettings = ReviewSettings()
    drift: DriftSettings = DriftSettings()
    knowledge: KnowledgeSettings = KnowledgeSettings()


class About(NamedTuple):
    """What a setting is for, and what may be in it."""

    help: str
    choices: tuple[str, ...] = ()
    check: Callable[[Any], str | None] | None = None
    user_only: bool = False


ABOUT = {
    "tasks.backend": About(
        "where tasks are kept; auto takes the first that the project has",
        choices=("auto", "jsonl", "beads", "task_yaml", "feature_docs"),
    ),
    "tasks.prefix": About("how new ids of the jsonl backend begin", check=_prefix),
    "tasks.actor": About("who claims tasks; empty for the name of the operating system's user"),
    "tasks.lock_timeout": About(
        "seconds to wait for another writer before giving up", check=_positive
    ),
    "tasks.bd": About("the beads program; a name on PATH or a path", user_only=True),
    "map.tokens": About("how many tokens the map may have", check=_budget),
    "map.commit": About("whether map.md belongs in git; else it is ignored there"),
    "anchor.enabled": About("whether agents are anchored by hooks and in the loop"),
    "anchor.sources": About("what an anchor is made of, in this order", choices=SOURCES),
    "anchor.tokens": About("how many tokens an anchor may have", check=_budget),
    "anchor.mode": About(
        "full, or delta for what has changed since the agent's last anchor",
        choices=("full", "delta"),
    ),
    "anchor.form": About(
        "full, or compressed for the same in fewer tokens", choices=("full", "compressed")
    ),
    "anchor.frequency": About(
        "every how many iterations to anchor, or on-drift for when there is a reason",
        check=_frequency,
    ),
    "anchor.git_commits": About("how many recent commits an anchor names", check=_lines),
    "anchor.progress_lines": About("how many lines of lessons an anchor gives", check=_lines),
    "anchor.max_prompt_lines": About(
        "how many lines of the standing instructions an anchor gives", check=_lines
    ),
    "anchor.include_epic": About("whether a task's epic is part of its anchor"),
    "prompt.tokens": About("how many tokens a task's prompt may have", check=_prompt_budget),
    "prompt.siblings": About(
        "how many finished, and how many remaining tasks of the epic a prompt names", check=_lines
    ),
    "context.require_citations": About(
        "whether a task's context needs citations from .kedge/standards.toml"
    ),
    "context.commands": About(
        "what is run to validate a task that names no checks; empty for what the project's own "
        "configuration says"
    ),
    "run.agent": About(
        "which agent works in a run", choices=("claude", "codex", "gemini", "opencode", "command")
    ),
    "run.attempts": About("how many attempts a task gets in a run", check=_positive),
    "run.rounds": About("how often reviewers may send work back", check=_positive),
    "run.failures": About(
        "after how many attempts in a row that did not work a run ends", check=_positive
    ),
    "run.idle": About("seconds of silence after which an agent is ended", check=_positive),
    "review.cap": About(
        "how often a reviewer may look at one subject before it has failed", check=_positive
    ),
    "drift.policy": About(
        "off; observe to keep records only; advise to correct, and to ask about what was "
        "forbidden; enforce to deny what strays too far",
        choices=("off", "observe", "advise", "enforce"),
    ),
    "knowledge.stale_after": About(
        "how many features, or tasks, may finish before a lesson that nobody saw again is stale",
        check=_positive,
    ),
    "context.check_timeout": About("seconds that one check may take", check=_positive),
}

"""All settings: the type, the default, the description and the accepted values of each."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

MIN_TOKENS, MAX_TOKENS = 100, 100_000  # of a map or an anchor
MIN_PROMPT_TOKENS = 300
ANCHOR_SOURCES = ("prompt", "agent", "task", "git", "progress", "knowledge", "epic", "map", "drift")


def _setting(
    default: Any,
    help: str,  # noqa: A002 - as in click and argparse
    *,
    choices: tuple[str, ...] = (),
    check: Callable[[Any], str | None] | None = None,
    user_only: bool = False,
    tighten_only: bool = False,
    runs: bool = False,
) -> Any:
    """Declare a setting. `check` returns what is wrong with a value, or None.

    `user_only` is not a project's to set. With `tighten_only` a project can make it stricter than
    the user has it; later choices, and true, are stricter. What `runs` are commands.
    """
    return field(
        default=default,
        metadata={
            "help": help,
            "choices": choices,
            "check": check,
            "user_only": user_only,
            "tighten_only": tighten_only,
            "runs": runs,
        },
    )


def _check_prefix(value: str) -> str | None:
    ok = re.match(r"[A-Za-z0-9][A-Za-z0-9_-]{0,23}\Z", value)
    return None if ok else "must be 1 to 24 letters, digits, '_' or '-'"


def _check_positive(value: float) -> str | None:
    return None if 0 < value < float("inf") else "must be above 0 and finite"


def _check_range(low: int, high: int) -> Callable[[int], str | None]:
    return lambda value: None if low <= value <= high else f"must be from {low} to {high}"


def _check_frequency(value: str) -> str | None:
    ok = value == "on-drift" or (value.isdecimal() and 0 < int(value) < 10_000)
    return None if ok else "must be a number of iterations, or on-drift"


def _check_command(value: str) -> str | None:
    import shlex

    try:
        shlex.split(value)
    except ValueError as error:
        return f"is not a command line: {str(error).lower()}"
    return None


def _check_url(value: str) -> str | None:
    ok = re.match(r"(?:https?://[^\s/?#@]+(?:/[^\s?#]*)?)?\Z", value)
    return None if ok else "must be an http or https URL without user, query and fragment"


_check_tokens = _check_range(MIN_TOKENS, MAX_TOKENS)
_check_prompt_tokens = _check_range(MIN_PROMPT_TOKENS, MAX_TOKENS)
_check_count = _check_range(0, 10_000)


# In the order in which `auto` looks for their tasks.
BACKENDS = (
    *("jsonl", "beads", "task_yaml"),
    *("feature_docs", "spec_kit", "kiro", "task_master"),
)


@dataclass(frozen=True, slots=True)
class TaskSettings:
    backend: str = _setting(
        "auto",
        "where tasks are stored; auto takes the first backend that the project uses",
        choices=("auto", *BACKENDS),
    )
    prefix: str = _setting("k", "prefix of new ids in the jsonl backend", check=_check_prefix)
    actor: str = _setting("", "name that claims tasks; empty for your user name")
    lock_timeout: float = _setting(
        10.0, "seconds to wait for another writer before giving up", check=_check_positive
    )
    bd: str = _setting("bd", "the beads program: a name on PATH or a path", user_only=True)


@dataclass(frozen=True, slots=True)
class MapSettings:
    tokens: int = _setting(1500, "token budget of the map", check=_check_tokens)
    commit: bool = _setting(False, "whether map.md is committed; otherwise git ignores it")


@dataclass(frozen=True, slots=True)
class AnchorSettings:
    enabled: bool = _setting(True, "whether hooks and runs anchor agents")
    sources: tuple[str, ...] = _setting(
        ("prompt", "task", "git", "progress", "knowledge"),
        "what an anchor contains, in this order",
        choices=ANCHOR_SOURCES,
    )
    tokens: int = _setting(2000, "token budget of an anchor", check=_check_tokens)
    mode: str = _setting(
        "full",
        "full, or delta for the changes since the agent's last anchor",
        choices=("full", "delta"),
    )
    form: str = _setting(
        "full",
        "full, or compressed to first sentences of what people wrote",
        choices=("full", "compressed"),
    )
    frequency: str = _setting(
        "1", "iterations between two anchors, or on-drift", check=_check_frequency
    )
    git_commits: int = _setting(3, "recent commits in an anchor", check=_check_count)
    progress_lines: int = _setting(20, "lines of lessons in an anchor", check=_check_count)
    max_prompt_lines: int = _setting(
        100, "lines of the standing instructions in an anchor", check=_check_count
    )
    include_epic: bool = _setting(True, "whether an anchor includes the task's epic")


@dataclass(frozen=True, slots=True)
class PromptSettings:
    tokens: int = _setting(
        20_000,
        "the most tokens of a task's prompt; beyond, whole sections are left out and listed",
        check=_check_prompt_tokens,
    )
    siblings: int = _setting(
        10,
        "finished tasks of the epic, and remaining ones, that a prompt lists",
        check=_check_count,
    )


@dataclass(frozen=True, slots=True)
class ContextSettings:
    require_citations: bool = _setting(
        False,
        "whether a task's context needs citations from .kedge/standards.toml",
        tighten_only=True,
    )
    commands: tuple[str, ...] = _setting(
        (),
        "checks for tasks that have none; empty for the commands that kedge detects in the project",
        runs=True,
    )
    check_timeout: float = _setting(1800.0, "seconds that a check may take", check=_check_positive)


@dataclass(frozen=True, slots=True)
class KnowledgeSettings:
    stale_after: int = _setting(
        10,
        "features or tasks that may finish before a lesson that was not observed again is stale",
        check=_check_positive,
    )


@dataclass(frozen=True, slots=True)
class RunSettings:
    agent: str = _setting(
        "claude",
        "the agent of a run",
        choices=("claude", "codex", "gemini", "copilot", "opencode", "command"),
    )
    attempts: int = _setting(3, "attempts that a run makes at a task", check=_check_positive)
    rounds: int = _setting(3, "times that reviewers may send work back", check=_check_positive)
    failures: int = _setting(
        5, "failed attempts in a row after which a run stops", check=_check_positive
    )
    idle: float = _setting(
        900.0, "seconds of silence after which a run stops an agent", check=_check_positive
    )


@dataclass(frozen=True, slots=True)
class ReviewSettings:
    cap: int = _setting(
        3,
        "reviews that one reviewer may make of a subject before it has failed",
        check=_check_positive,
    )


@dataclass(frozen=True, slots=True)
class DriftSettings:
    policy: str = _setting(
        "advise",
        "off; observe to record only; advise to correct, and to ask before something forbidden; "
        "enforce to deny what strays too far",
        choices=("off", "observe", "advise", "enforce"),
        tighten_only=True,
    )
    judge: str = _setting(
        "",
        "what reads your messages for limits, aside from the agent's work: claude, codex, or a "
        "command that reads JSON and answers JSON; empty for nobody",
        check=_check_command,
        user_only=True,
    )
    agent_limits: bool = _setting(
        True,
        "whether agents are told to record the limits that the user sets",
        tighten_only=True,
    )


@dataclass(frozen=True, slots=True)
class ServeSettings:
    anthropic: str = _setting(
        "",
        "where Anthropic's API is; empty for $ANTHROPIC_BASE_URL, or api.anthropic.com",
        check=_check_url,
        user_only=True,
    )
    openai: str = _setting(
        "",
        "where OpenAI's API is, without /v1; empty for $OPENAI_BASE_URL, or api.openai.com",
        check=_check_url,
        user_only=True,
    )
    gemini: str = _setting(
        "",
        "where Gemini's API is; empty for $GOOGLE_GEMINI_BASE_URL, or "
        "generativelanguage.googleapis.com",
        check=_check_url,
        user_only=True,
    )


@dataclass(frozen=True, slots=True)
class Settings:
    tasks: TaskSettings = TaskSettings()
    map: MapSettings = MapSettings()
    anchor: AnchorSettings = AnchorSettings()
    prompt: PromptSettings = PromptSettings()
    context: ContextSettings = ContextSettings()
    run: RunSettings = RunSettings()
    review: ReviewSettings = ReviewSettings()
    drift: DriftSettings = DriftSettings()
    serve: ServeSettings = ServeSettings()
    knowledge: KnowledgeSettings = KnowledgeSettings()

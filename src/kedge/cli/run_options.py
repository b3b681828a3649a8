"""Build the options of `kedge run` from the command line."""

from __future__ import annotations

import shlex
import shutil
from dataclasses import replace
from typing import Any

from kedge.agents.launch import adapter, registry
from kedge.errors import UsageError
from kedge.features.folders import find_feature, shorten_name
from kedge.features.layouts import find_layout
from kedge.host.project import Project
from kedge.host.redact import redact
from kedge.run.limits import Limits
from kedge.run.options import RunOptions, parse_duration, parse_roles
from kedge.settings import ANCHOR_SOURCES, Settings
from kedge.tasks import choose, rules
from kedge.tasks.board import Board

_PRICED = ("claude", "opencode")  # agents that report their cost


def make_options(
    project: Project, settings: Settings, given: dict[str, Any], *, dry_run: bool
) -> RunOptions:
    named = [one for one in ("task", "epic", "feature", "label") if given[one]]
    if len(named) > 1:
        raise UsageError(
            f"--{named[0]} cannot be combined with --{named[1]}", hint="give only one of them"
        )
    if named[:1] in (["task"], ["epic"]):
        rules.find(Board(choose.open_backend(project, settings.tasks)).tasks(), given[named[0]])
    worktree = given["worktree"] or given["parallel"] is not None
    if worktree and not given["commit"]:
        raise UsageError(
            "--no-commit cannot be combined with --worktree or --parallel",
            hint="leave out --no-commit: commits go to the work trees' branches, not to yours",
        )
    run = settings.run
    agent = given["agent"] or ("command" if given["program"] else run.agent)
    _refuse_budget(agent, given)
    limits = Limits(
        iterations=given["max_iterations"],
        attempts=given["attempts"] or run.attempts,
        rounds=run.rounds,
        failures=run.failures,
        money=given["budget"],
        tokens=given["budget_tokens"],
        seconds=parse_duration(given["limit"]) if given["limit"] else None,
        idle=parse_duration(given["idle"]) if given["idle"] else run.idle,
    )
    return RunOptions(
        task=given["task"],
        epic=given["epic"],
        feature=_find_epic(project, settings, given["feature"]),
        label=given["label"],
        once=given["once"] or bool(given["task"]),
        agent=agent,
        program=() if dry_run else _find_program(agent, given["program"]),
        model=given["model"],
        roles=parse_roles(given["roles"]),
        reanchor=given["reanchor"],
        sources=_parse_sources(given["anchor_sources"]),
        commit=given["commit"],
        full_access=given["full_access"],
        worktree=worktree,
        limits=limits,
    )


def _refuse_budget(agent: str, given: dict[str, Any]) -> None:
    """Refuse a budget that the agent does not report, because it would have no effect."""
    if given["budget"] and agent not in _PRICED:
        raise UsageError(
            f"--budget has no effect: {agent} does not report its cost",
            hint="use --budget-tokens, --time or --max-iterations",
        )
    if given["budget_tokens"] and agent == "command":
        raise UsageError(
            "--budget-tokens has no effect: a program does not report its tokens",
            hint="use --time or --max-iterations",
        )


def check_resume(given: dict[str, Any], *, dry_run: bool) -> None:
    """Refuse options that a resumed run cannot change."""
    fixed = ("task", "epic", "feature", "label", "agent", "program", "model", "anchor_sources")
    named = [one for one in (*fixed, "once", "full_access", "worktree") if given[one]]
    if dry_run or named or not given["commit"] or not given["reanchor"]:
        raise UsageError(
            "--resume can only be combined with limits",
            hint="leave out the other options, or start a new run",
        )


def change_limits(wanted: RunOptions, given: dict[str, Any]) -> RunOptions:
    """Return a resumed run's options with the limits from the command line."""
    named: dict[str, Any] = {
        "iterations": given["max_iterations"],
        "attempts": given["attempts"],
        "money": given["budget"],
        "tokens": given["budget_tokens"],
        "seconds": parse_duration(given["limit"]) if given["limit"] else None,
        "idle": parse_duration(given["idle"]) if given["idle"] else None,
    }
    new = {key: value for key, value in named.items() if value is not None}
    return replace(wanted, limits=replace(wanted.limits, **new))


def _find_epic(project: Project, settings: Settings, named: str | None) -> str | None:
    """Return the epic of a feature's folder."""
    if named is None:
        return None
    name = shorten_name(find_feature(project, project.root, named).name)
    tasks = Board(choose.open_backend(project, settings.tasks)).tasks()
    ids = [one for one in tasks if name == one or name.startswith(f"{one}-")]
    if not ids:
        raise UsageError(f"{name} has no tasks", hint=f"kedge feature tasks {named}")
    return max(ids, key=len)


def _find_program(agent: str, named: str | None) -> tuple[str, ...]:
    """Return the agent's command line: the user's, or the program on PATH."""
    if named is not None:
        try:
            words = shlex.split(named)
        except ValueError as error:
            raise UsageError(f"--command: {error}", hint="quote it as in a shell") from error
        if words and shutil.which(words[0]) is None:
            raise UsageError(f"no program {words[0]!r}", hint="name one on PATH, or its path")
        if redact(named) != named:
            raise UsageError(
                "--command seems to hold a secret, and the run's record would keep it",
                hint="give it to the agent in a variable of the environment",
            )
        if words:
            return tuple(words)
    if agent == "command":
        raise UsageError("the agent 'command' needs a program", hint="kedge run --command PROG")
    return adapter.locate_program(registry.find_adapter(agent))


def _parse_sources(text: str | None) -> tuple[str, ...]:
    named = tuple(one.strip() for one in (text or "").split(",") if one.strip())
    for one in named:
        if one not in ANCHOR_SOURCES:
            raise UsageError(f"unknown source {one!r}", hint=f"one of {', '.join(ANCHOR_SOURCES)}")
    return named


def use_documents(project: Project, settings: Settings, named: str) -> Settings:
    """Return settings that read tasks from the documents of the feature with this name."""
    layout = find_layout(project.root, find_feature(project, project.root, named))
    return replace(settings, tasks=replace(settings.tasks, backend=layout.name))


def apply_options(project: Project, settings: Settings, wanted: RunOptions) -> Settings:
    if wanted.feature is not None:
        settings = use_documents(project, settings, wanted.feature)
    if not wanted.sources:
        return settings
    return replace(settings, anchor=replace(settings.anchor, sources=wanted.sources))

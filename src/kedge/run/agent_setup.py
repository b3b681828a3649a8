"""Set up an agent's call: where it works, what it may run, its hooks, budget and environment."""

from __future__ import annotations

import contextlib
from functools import lru_cache
from types import ModuleType
from typing import Any

from kedge.agents.launch.invocation import Invocation, Permissions
from kedge.agents.settings import hooks
from kedge.context import agent_hooks, anchor_sources
from kedge.context.workspace import Workspace
from kedge.errors import KedgeError
from kedge.handoff import approval
from kedge.handoff.operations import HandoffOperations
from kedge.host.approvals import COMMAND, Item
from kedge.host.project import Project
from kedge.knowledge.recall import reminder
from kedge.model.task import Task
from kedge.run.options import IMPLEMENTER
from kedge.run.run_state import RunState
from kedge.settings import Settings

_WITHOUT_HOOKS = ("gemini",)  # it has no place for the hooks of one call
_LEAST_MONEY = 0.01  # dollars; agents refuse a budget of zero


def open_workspace(state: RunState, task: Task) -> Workspace:
    """Return the workspace of the task's agent."""
    return Workspace(
        state.project, state.settings, task.id, alone=True, recall=reminder.recall_for_task
    )


def open_mapped_workspace(state: RunState, task: Task) -> Workspace:
    """Return the workspace of the task's agent, with the map from the start of the run."""
    workspace = open_workspace(state, task)
    with contextlib.suppress(KedgeError):  # whoever needs the map reports why it is missing
        workspace.map_data = _read_map(workspace.project, workspace.settings, state.id)
    return workspace


@lru_cache(maxsize=16)
def _read_map(project: Project, settings: Settings, run: str) -> dict[str, Any]:  # noqa: ARG001 - part of the key
    """Return the map, made once in a run.

    A map for each call would cost more than the rest of the call. And an agent that edits a build
    file must not gain permission to run more commands.
    """
    return Workspace(project, settings).map_data


def build_invocation(
    state: RunState,
    handoff: HandoffOperations,
    task: Task,
    role: str,
    session: str,
    workspace: Workspace,
    prompt: str,
) -> Invocation:
    """Build the call of the agent for one role's turn."""
    options = state.options
    instructions = anchor_sources.describe_prompt(
        workspace
    )  # the standing instructions of the loop
    context = handoff.store.folder(task.id) / "context.json"
    return Invocation(
        program=options.program,
        prompt=prompt,
        directory=state.project.root,
        system=instructions.text if instructions is not None else "",
        model=options.model,
        permissions=Permissions(
            _list_commands(state, handoff, task, workspace), options.full_access
        ),
        hooks=_list_hooks(state, role),
        session=session,
        max_cost=_find_money_left(state),
        environment={
            "KEDGE_TASK": task.id,
            "KEDGE_RUN": state.id,
            "KEDGE_ROLE": role,
            "KEDGE_TASKS_BACKEND": state.settings.tasks.backend,
            "TASK_CONTEXT_PATH": str(context),
        },
    )


def _list_commands(
    state: RunState, handoff: HandoffOperations, task: Task, workspace: Workspace
) -> tuple[str, ...]:
    """Return what the agent may run without asking: the task's checks and detected commands, as far
    as the user approved them."""
    frozen = handoff.read().immutable["validation_baseline"]["commands"]
    try:
        detected = workspace.map_data["commands"]
        own = [one["command"] for one in detected if one["kind"] in approval.ALLOWED_KINDS]
    except KedgeError as error:
        state.warn(f"the project's commands could not be detected: {error.message}")
        own = []
    named = [Item(COMMAND, one, "") for one in dict.fromkeys((*frozen, *task.checks, *own))]
    approved = approval.examine(state.project, named)
    return tuple(one.command for one in approved if one.approved)


def _list_hooks(state: RunState, role: str) -> tuple[hooks.Hook, ...]:
    """Return kedge's hooks for an implementer's call, unless the project's own ones run anyway."""
    agent = _find_agent(state.adapter.NAME)
    if role != IMPLEMENTER or agent is None or _has_hooks(state.project, agent):
        return ()
    return hooks.add_command(agent_hooks.commands(agent)[0], agent.HOOKS)


def explain_unwatched(project: Project, name: str) -> str | None:
    """Say that a run of this agent is not watched by hooks, and what to do; None if it is."""
    agent = _find_agent(name)
    if name not in _WITHOUT_HOOKS or agent is None or _has_hooks(project, agent):
        return None
    return (
        f"{agent.TITLE} takes no hooks for a single run: only what it leaves is judged, not each "
        f"step; kedge init --agent {name} installs hooks here"
    )


def _find_agent(name: str) -> ModuleType | None:
    return next((agent for agent in agent_hooks.AGENTS if name == agent.NAME), None)


def _has_hooks(project: Project, agent: ModuleType) -> bool:
    """True if all of kedge's hooks are installed in the project, and the agent runs them."""
    complete = agent.NAME in agent_hooks.list_complete_agents(project)
    return complete and not agent.find_problems(project)


def _find_money_left(state: RunState) -> float | None:
    """Return the rest of the budget, for agents that can keep to one."""
    limit = state.limits.money
    return None if limit is None else max(_LEAST_MONEY, round(limit - state.usage.cost, 6))

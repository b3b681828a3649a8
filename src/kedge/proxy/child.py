"""The environment in which `kedge exec` starts its child, so that its requests come here."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kedge.host import agent_process
from kedge.host.project import Project
from kedge.proxy.routes import ANTHROPIC, OPENAI, PROVIDERS, Binding, write_base
from kedge.proxy.service import ServiceState
from kedge.proxy.upstreams import VARIABLES, VERSION

_TASK, _RUN = "KEDGE_TASK", "KEDGE_RUN"  # as `kedge.hook` reads them
_SESSION = "--session-id"  # as Claude Code, Copilot CLI and Gemini CLI name it
# Copilot CLI talks to its own service, unless these name a provider
_COPILOT_URL, _COPILOT_TYPE = "COPILOT_PROVIDER_BASE_URL", "COPILOT_PROVIDER_TYPE"


class Child(NamedTuple):
    """What is started: its words, its environment, and what does not go through the proxy."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    warnings: tuple[str, ...] = ()


class BaseUrl(NamedTuple):
    """A variable in which a program reads where a provider is, and what stands at its end."""

    name: str
    provider: str
    tail: str = ""


def point_at(
    state: ServiceState,
    project: Project,
    argv: Sequence[str],
    cwd: Path,
    environment: Mapping[str, str],
) -> Child:
    """Return the child with its base URLs changed to those of a running proxy.

    A provider whose address the environment sets to another one than the proxy's stays direct: the
    key is for that address.
    """
    words = tuple(argv)
    program = Path(words[0]).name
    binding = Binding(
        str(project.root),
        str(cwd),
        environment.get(_TASK, ""),
        bool(environment.get(_RUN)),
        _find_session(words) or f"exec-{secrets.token_hex(8)}",
        agent_process.describe(os.getpid()),  # whose place the program takes
    )
    changed = dict(environment)
    warnings = []
    for variable in _list_variables(program, environment):
        given = environment.get(variable.name, "").rstrip("/").removesuffix(VERSION)
        if given and given != state.upstreams[variable.provider]:
            warnings.append(f"{variable.name} is not the proxy's: its requests go there directly")
            continue
        changed[variable.name] = state.url + write_base(binding, variable.provider) + variable.tail
    if program == "copilot" and _COPILOT_URL not in environment:
        warnings.append(
            f"copilot talks to its own service: its requests go there directly, unless "
            f"{_COPILOT_URL} names a provider"
        )
    url = changed.get(VARIABLES[OPENAI], "")
    if program == "codex" and url.startswith(state.url):  # it reads no variable
        words = (words[0], "-c", f"openai_base_url={json.dumps(url)}", *words[1:])
    return Child(words, changed, tuple(warnings))


def _list_variables(program: str, environment: Mapping[str, str]) -> list[BaseUrl]:
    """Return the variables that a program reads; opencode wants each with the API's version."""
    found = []
    for provider in PROVIDERS:
        versioned = provider == OPENAI or (program == "opencode" and provider == ANTHROPIC)
        found.append(BaseUrl(VARIABLES[provider], provider, VERSION if versioned else ""))
    if program == "copilot" and environment.get(_COPILOT_URL):
        kind = environment.get(_COPILOT_TYPE, OPENAI)
        provider, tail = (ANTHROPIC, "") if kind == ANTHROPIC else (OPENAI, VERSION)
        found.append(BaseUrl(_COPILOT_URL, provider, tail))
    return found


def _find_session(words: Sequence[str]) -> str:
    """Return the session that the program's options name, which its hooks name as well."""
    for word, following in zip(words, (*words[1:], ""), strict=True):
        if word == _SESSION:
            return following
        if word.startswith(f"{_SESSION}="):
            return word.partition("=")[2]
    return ""

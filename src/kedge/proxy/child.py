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
from kedge.proxy.routes import OPENAI, PROVIDERS, Binding, write_base
from kedge.proxy.service import ServiceState
from kedge.proxy.upstreams import VARIABLES, VERSION

_TASK, _RUN = "KEDGE_TASK", "KEDGE_RUN"  # as `kedge.hook` reads them


class Child(NamedTuple):
    """What is started: its words, its environment, and what does not go through the proxy."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    warnings: tuple[str, ...] = ()


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
    binding = Binding(
        str(project.root),
        str(cwd),
        environment.get(_TASK, ""),
        bool(environment.get(_RUN)),
        f"exec-{secrets.token_hex(8)}",
        agent_process.describe(os.getpid()),  # whose place the program takes
    )
    changed = dict(environment)
    warnings = []
    for provider in PROVIDERS:
        variable = VARIABLES[provider]
        tail = VERSION if provider == OPENAI else ""
        given = environment.get(variable, "").rstrip("/").removesuffix(tail)
        if given and given != state.upstreams[provider]:
            warnings.append(f"{variable} is not the proxy's: its requests go there directly")
            continue
        changed[variable] = state.url + write_base(binding, provider) + tail
    words = tuple(argv)
    url = changed.get(VARIABLES[OPENAI], "")
    if Path(words[0]).name == "codex" and url.startswith(state.url):  # it reads no variable
        words = (words[0], "-c", f"openai_base_url={json.dumps(url)}", *words[1:])
    return Child(words, changed, tuple(warnings))

"""Codex: its hooks file, and problems that keep kedge's hooks from running."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from kedge import config
from kedge.agents import installation
from kedge.agents.settings import hooks
from kedge.errors import KedgeError
from kedge.host import files
from kedge.host.project import Project

NAME = "codex"
TITLE = "Codex"
TRACE = ".codex"  # a project that has it uses this agent
FILE = ".codex/hooks.json"
_LONGEST_END = 3  # seconds that Codex waits at a session's end; it warns of a longer time
HOOKS = tuple(
    replace(hook, timeout=_LONGEST_END) if hook.event == "SessionEnd" else hook
    for hook in hooks.HOOKS
)


def settings_file(*, shared: bool = False) -> str:  # noqa: ARG001 - as for the other agents
    """Return the file for hooks: Codex has only one in a project, in git or not."""
    return FILE


def find_problems(project: Project) -> list[str]:
    """Return the problems that keep hooks from running here, each with what to do.

    Codex silently skips a project or a hook that the user has not trusted.
    """
    home = installation.settings_directory("CODEX_HOME", ".codex")
    if home is None:
        return []
    path = home / "config.toml"
    try:
        data = config.parse_toml(path, config.read_text(path))
        ours = hooks.list_installed(
            hooks.read_settings(project.path(*FILE.split("/")), where=FILE), where=FILE
        )
    except KedgeError as error:
        return [f"{error.message}: Codex cannot use the file; correct it"]
    features = _table(data, "features")
    problems = [
        f"{path}: features.{name} is false, so no hook runs; set it to true"
        for name in ("hooks", "codex_hooks")
        if features.get(name) is False
    ]
    roots = _roots(project)
    if not any(_table(data, "projects", root).get("trust_level") == "trusted" for root in roots):
        problems.append(
            "Codex does not trust this project and ignores its .codex directory; "
            "start codex here and trust the project"
        )
    places = tuple(f"{root}/{FILE}:" for root in roots)
    state = _table(data, "hooks", "state")
    if ours and not any(
        key.startswith(places) and "trusted_hash" in _table(state, key) for key in state
    ):
        problems.append(
            f"Codex does not trust the hooks in {FILE} and skips them; "
            "start codex here, open /hooks and trust kedge's"
        )
    return problems


def make_probe_call(url: str, home: Path, project: Project) -> installation.ProbeCall:
    """Return a call with one question to a local model, without the user's keys and settings.

    The project and its hooks are trusted in this call; `find_problems` says whether they are.
    """
    settings = [
        'model = "none"',
        'model_provider = "here"',
        "check_for_update_on_startup = false",
        "[model_providers.here]",
        'name = "here"',
        f'base_url = "{url}/v1"',
        'env_key = "KEDGE_NO_KEY"',
        'wire_api = "responses"',
        "request_max_retries = 1",
        "stream_max_retries = 1",
        "[analytics]",
        "enabled = false",
        "[features]",
        "daemon_auto_start = false",
        *(f'[projects.{json.dumps(root)}]\ntrust_level = "trusted"' for root in _roots(project)),
    ]
    files.write_atomic(home / "codex" / "config.toml", "\n".join([*settings, ""]).encode())
    env = {"CODEX_HOME": str(home / "codex"), "KEDGE_NO_KEY": "none"}
    args = ["exec", "--json", "--sandbox", "read-only", "--dangerously-bypass-hook-trust"]
    return installation.ProbeCall([*args, "Answer with a word."], env)


def _roots(project: Project) -> list[str]:
    """Return the paths by which Codex may know the project; a work tree goes by its main one."""
    roots = {str(project.root), os.path.realpath(project.root)}
    if project.repo and project.repo.common_dir.name == ".git":
        roots.add(str(project.repo.common_dir.parent))
    return sorted(roots)


def _table(data: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    for name in names:
        value = data.get(name)
        data = value if isinstance(value, dict) else {}
    return data

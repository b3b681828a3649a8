"""Codex: its hooks file, and what may keep kedge's hooks from running."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from kedge import config
from kedge.agents import hooks, program
from kedge.errors import KedgeError
from kedge.host import files
from kedge.host.project import Project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "codex"
TITLE = "Codex"
FILE = ".codex/hooks.json"


def settings_file(*, shared: bool = False) -> str:  # noqa: ARG001 - as for the other agents
    """The file that hooks go into: Codex has one in a project, in git or not."""
    return FILE


def found() -> Path | None:
    return program.find(NAME)


def version() -> str | None:
    path = found()
    return program.version(path) if path else None


def used(project: Project) -> bool:
    return os.path.lexists(project.root / ".codex")


def problems(project: Project) -> list[str]:
    """What keeps hooks from running here, each with what to do.

    Codex skips in silence what it was not told to trust: the project, and each hook.
    """
    home = program.settings_directory("CODEX_HOME", ".codex")
    if home is None:
        return []
    path = home / "config.toml"
    try:
        data = config.parse(path, config.read_text(path))
        ours = hooks.installed(hooks.read(project.path(*FILE.split("/")), where=FILE), where=FILE)
    except KedgeError as error:
        return [f"{error.message}: Codex cannot use the file; mend it"]
    features = _table(data, "features")
    told = [
        f"{path}: features.{name} is false, so no hook runs; set it to true"
        for name in ("hooks", "codex_hooks")
        if features.get(name) is False
    ]
    roots = _roots(project)
    if not any(_table(data, "projects", root).get("trust_level") == "trusted" for root in roots):
        told.append(
            "Codex has not been told to trust this project and ignores its .codex directory; "
            "start codex here and say that you trust it"
        )
    places = tuple(f"{root}/{FILE}:" for root in roots)
    state = _table(data, "hooks", "state")
    if ours and not any(
        key.startswith(places) and "trusted_hash" in _table(state, key) for key in state
    ):
        told.append(
            f"Codex has not been told to trust the hooks in {FILE} and skips them; "
            "start codex here, open /hooks and trust kedge's"
        )
    return told


def probe(url: str, home: Path, project: Project) -> program.Launch:
    """One question to a model on this machine, without the user's keys, settings or tools.

    The project and its hooks are taken as trusted: whether they are is for `problems` to say.
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
    return program.Launch([*args, "Answer with a word."], env)


def _roots(project: Project) -> list[str]:
    """The names that Codex may know the project by; a linked work tree goes by its main one."""
    roots = {str(project.root), os.path.realpath(project.root)}
    if project.repo and project.repo.common_dir.name == ".git":
        roots.add(str(project.repo.common_dir.parent))
    return sorted(roots)


def _table(data: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    for name in names:
        found = data.get(name)
        data = found if isinstance(found, dict) else {}
    return data

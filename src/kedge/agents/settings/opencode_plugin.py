"""Kedge's plugin for opencode, which runs plugins and no commands: a file of its own.

The functions are those of `hooks`: the file holds one hook, whose command the plugin runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from kedge.agents.settings.hook_command import is_kedge_hook
from kedge.agents.settings.hooks import Hook
from kedge.errors import FileError

PLUGIN = "plugin"  # the event of the one hook
_TEXT = Path(__file__).with_suffix(".js")
_COMMAND = re.compile(r'^const COMMAND = ("(?:[^"\\\n]|\\.)*");\r?$', re.MULTILINE)


def install(text: str | None, hooks: Sequence[Hook], *, where: str = "plugin") -> str:
    """Return the plugin with the hook's command. Refuse a file that is not kedge's."""
    if text is not None and not list_installed(text):
        raise FileError(f"{where} exists, and kedge did not write it", hint="move it away")
    command = json.dumps(hooks[0].command)
    return _TEXT.read_text(encoding="utf-8").replace('"@COMMAND@"', command)


def remove(text: str, *, where: str = "plugin") -> str | None:  # noqa: ARG001 - as in `hooks`
    """Return None for kedge's plugin, and another file as it is."""
    return None if list_installed(text) else text


def list_installed(text: str | None, *, where: str = "plugin") -> list[Hook]:  # noqa: ARG001
    found = _COMMAND.search(text or "")
    command = json.loads(found[1]) if found else ""
    return [Hook(PLUGIN, None, command, None)] if is_kedge_hook(command) else []

"""Claude Code or Codex as the agent: the installed client, which asks a scripted model.

The model is a server on 127.0.0.1. The client gets an empty home, a key that is none, and of the
caller's environment only what kedge gives its agents.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from kedge.agents import installation
from kedge.agents.scripted_model.request import Request
from kedge.agents.scripted_model.script import Tool, Turn
from kedge.agents.scripted_model.server import ScriptedModel
from kedge.agents.settings import claude, codex
from kedge.demo.script import Act, Performance
from kedge.demo.scripted_client import make_calls
from kedge.host import process_tree, running
from kedge.host.project import find

CLIENTS: dict[str, ModuleType] = {"claude": claude, "codex": codex}
_MODEL = 'model="gpt-5.5-codex"'  # Codex offers apply_patch to models that it knows
_GIVEN = ("KEDGE_", "TASK_", "GIT_CONFIG_", process_tree.VARIABLE)


def play(
    name: str, program: str, home: Path, performance: Performance, args: list[str], prompt: str
) -> int:
    """Run the client with a model that plays the script, and return its exit code."""
    root = Path.cwd()
    model = _Model(name, root, performance)
    with ScriptedModel(model.answer) as server:
        call = CLIENTS[name].make_probe_call(server.url, home, find(root))
        given = {key: value for key, value in os.environ.items() if key.startswith(_GIVEN)}
        env = {**installation.make_clean_environment(home), **given, **call.env}
        if name == "codex":
            args = [args[0], "-c", _MODEL, *args[1:]]
        with running.start(
            [program, *args], cwd=root, env=env, input=prompt.encode("utf-8", "replace")
        ) as child:
            for line in child.lines():
                stream = sys.stderr.buffer if line.error else sys.stdout.buffer
                stream.write(line.data + b"\n")
                stream.flush()
        return child.end().code


class _Model:
    """Answers requests with the calls of the script, one at a time."""

    def __init__(self, name: str, root: Path, performance: Performance) -> None:
        self._name = name
        self._root = root
        self._performance = performance
        self._waiting: list[Tool] = []
        self._known: set[str] | None = None  # texts of the first request

    def answer(self, request: Request) -> Turn:
        texts = {text for _, text in request.texts}
        if self._known is not None:
            self._performance.hear("\n".join(texts - self._known))
        self._known = texts | (self._known or set())
        if self._waiting:
            return Turn((self._waiting.pop(0),))
        act = self._performance.next_act()
        if act.kind == "say":
            return Turn((act.say,))
        first, *self._waiting = self._make_calls(act)
        return Turn((act.say, first))

    def _make_calls(self, act: Act) -> list[Tool]:
        if self._name == "claude":
            return [Tool(tool, given) for tool, given in make_calls(act, self._root)]
        if act.kind == "run":
            return [Tool("exec_command", {"cmd": act.command})]
        return [Tool("apply_patch", _make_patch(act))]


def _make_patch(act: Act) -> str:
    """Return the change of whole lines as a patch for Codex."""
    rows: list[Any] = ["*** Begin Patch", f"*** Update File: {act.path}", "@@"]
    rows += [f"-{line}" for line in act.old.splitlines()]
    rows += [f"+{line}" for line in act.new.splitlines()]
    return "\n".join([*rows, "*** End Patch", ""])

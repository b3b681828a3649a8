"""A small agent client that plays the script itself: it runs hooks and tools as Claude Code does.

It takes Claude Code's options, runs the hooks of `--settings` and of the project for each event,
obeys their answers, and prints Claude Code's stream of JSON. No model is asked.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from kedge.demo.script import Act, Performance
from kedge.errors import ProgramError
from kedge.host import proc

MODEL = "a-script"
_PROJECT_SETTINGS = (".claude/settings.json", ".claude/settings.local.json")
_TIMEOUT = 60.0  # seconds, for a hook or a command
_MOST_STOPS = 3  # times that hooks may keep the agent from ending its turn
_UNATTENDED = "nobody is there to answer"


class _Answer(NamedTuple):
    """What hooks answered to an event: what the agent is told, and why it must not go on."""

    told: str = ""
    refusal: str = ""


def play(performance: Performance, args: list[str], prompt: str) -> int:
    return _Client(performance, args).work(prompt)


class _Client:
    def __init__(self, performance: Performance, args: list[str]) -> None:
        flags = dict(pairwise(args))
        self._performance = performance
        self._root = Path.cwd()
        self._session = flags.get("--session-id", "demo")
        self._hooks = list(_read_hooks(self._root, flags.get("--settings", "{}")))
        self._calls = 0
        self._denied: list[dict[str, Any]] = []

    def work(self, prompt: str) -> int:
        self._write("system", subtype="init", model=MODEL, permissionMode="acceptEdits")
        self._tell(self._run_hooks("SessionStart", "startup", source="startup").told)
        self._tell(self._run_hooks("UserPromptSubmit", prompt=prompt).told)
        text = ""
        for stop in range(_MOST_STOPS + 1):
            text = self._take_turn()
            ends = self._run_hooks("Stop", stop_hook_active=stop > 0, last_assistant_message=text)
            if not ends.refusal:
                break
            self._tell(ends.refusal)
        self._write(
            "result",
            subtype="success",
            is_error=False,
            terminal_reason="completed",
            result=text,
            usage={},
            modelUsage={},
            permission_denials=self._denied,
        )
        self._run_hooks("SessionEnd", reason="other")
        return 0

    def _take_turn(self) -> str:
        """Play the script until the agent only speaks, and return what it says."""
        while True:
            act = self._performance.next_act()
            self._say({"type": "text", "text": act.say})
            if act.kind == "say":
                return act.say
            for tool, given in make_calls(act, self._root):
                self._call(tool, given)

    def _call(self, tool: str, given: dict[str, Any]) -> None:
        """Run a tool between its hooks, unless they refuse."""
        self._calls += 1
        call = f"toolu_{self._session[:8]}_{self._calls}"
        self._say({"type": "tool_use", "id": call, "name": tool, "input": given})
        about = {"tool_name": tool, "tool_input": given, "tool_use_id": call}
        before = self._run_hooks("PreToolUse", tool, **about)
        if before.refusal:
            self._denied.append(about)
            self._write(
                "system",
                subtype="permission_denied",
                tool_name=tool,
                tool_use_id=call,
                message=before.refusal,
            )
            self._return_result(call, before.refusal, failed=True)
            return
        result, failed = _run_tool(self._root, tool, given)
        event, field = ("PostToolUseFailure", "error") if failed else ("PostToolUse", "output")
        response = {field: result} if failed else {"tool_response": {field: result}}
        after = self._run_hooks(event, tool, **about, **response)
        self._return_result(call, result + before.told + after.told, failed=failed)

    def _return_result(self, call: str, text: str, *, failed: bool) -> None:
        self._tell(text)
        block = {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": failed}
        self._write("user", message={"role": "user", "content": [block]})

    def _run_hooks(self, event: str, kind: str = "", **fields: Any) -> _Answer:
        """Run the hooks of an event, and join their answers."""
        data = {
            "session_id": self._session,
            "transcript_path": "",
            "cwd": str(self._root),
            "permission_mode": "acceptEdits",
            "hook_event_name": event,
            **fields,
        }
        told, refusal = "", ""
        for name, matcher, command in self._hooks:
            if name == event and (matcher is None or re.fullmatch(matcher, kind)):
                one = _run_hook(command, data, self._root)
                told, refusal = told + one.told, refusal or one.refusal
        return _Answer(told, refusal)

    def _tell(self, text: str) -> None:
        self._performance.hear(text)

    def _say(self, block: dict[str, Any]) -> None:
        message = {"id": f"msg_{self._calls}", "role": "assistant", "model": MODEL, "usage": {}}
        self._write("assistant", message={**message, "content": [block]})

    def _write(self, kind: str, **fields: Any) -> None:
        data = {"type": kind, **fields, "session_id": self._session, "parent_tool_use_id": None}
        sys.stdout.write(json.dumps(data) + "\n")
        sys.stdout.flush()


def make_calls(act: Act, root: Path) -> list[tuple[str, dict[str, Any]]]:
    """Return the calls of Claude Code's tools that a step consists of."""
    if act.kind == "run":
        return [("Bash", {"command": act.command})]
    path = str(root / act.path)
    change = {"file_path": path, "old_string": act.old, "new_string": act.new}
    return [("Read", {"file_path": path}), ("Edit", change)]


def _read_hooks(root: Path, settings: str) -> Iterator[tuple[str, str | None, str]]:
    """Yield the event, matcher and command of each hook in the call and in the project."""
    texts = [settings]
    texts += [(root / name).read_text() for name in _PROJECT_SETTINGS if (root / name).exists()]
    for text in texts:
        for event, groups in json.loads(text).get("hooks", {}).items():
            for group in groups:
                for hook in group["hooks"]:
                    yield event, group.get("matcher"), hook["command"]


def _run_hook(command: str, event: dict[str, Any], root: Path) -> _Answer:
    """Run a hook. One that fails, or whose answer is not understood, changes nothing."""
    env = {**os.environ, "CLAUDE_PROJECT_DIR": str(root)}
    try:
        done = proc.run(
            ["sh", "-c", command],
            cwd=root,
            env=env,
            input=json.dumps(event).encode(),
            timeout=_TIMEOUT,
        )
        answer = json.loads(done.stdout or b"{}")
    except (ProgramError, ValueError):
        return _Answer()
    more = answer.get("hookSpecificOutput", {})
    refusal = ""
    if answer.get("decision") == "block":
        refusal = str(answer.get("reason", ""))
    elif more.get("permissionDecision") in ("deny", "ask"):
        refusal = str(more.get("permissionDecisionReason") or _UNATTENDED)
    told = str(more.get("additionalContext") or "")
    return _Answer(f"\n{told}" if told else "", refusal)


def _run_tool(root: Path, tool: str, given: dict[str, Any]) -> tuple[str, bool]:
    """Run a tool, and return its result and whether it failed."""
    if tool == "Bash":
        done = proc.run(["sh", "-c", given["command"]], cwd=root, timeout=_TIMEOUT)
        text = (done.stdout + done.stderr).decode("utf-8", "replace")
        return (f"Exit code {done.code}\n{text}", True) if done.code else (text, False)
    path = Path(given["file_path"])
    try:
        text = path.read_text()
        if tool == "Read":
            return text, False
        if given["old_string"] not in text:
            return "String to replace not found in file.", True
        path.write_text(text.replace(given["old_string"], given["new_string"], 1))
    except OSError as error:
        return str(error), True
    return f"The file {path} has been updated.", False

"""What a refused call is replaced by, so that the agent's loop goes on and nothing is done.

A shell call becomes one that prints the reason on standard error and fails: the model reads it as
the call's result. Any other call gets the name of a tool that does not exist, which clients answer
with an error; the reason follows with the next request.
"""

from __future__ import annotations

from typing import Any

from kedge.proxy.exchange import ToolCall

UNKNOWN_TOOL = "KedgeRefused"
_SHELLS = (
    "bash", "container.exec", "exec_command", "local_shell", "run_shell_command", "shell",
    "shell_command",
)  # fmt: skip
_COMMANDS = ("command", "cmd")


def replace_call(call: ToolCall, reason: str) -> ToolCall:
    """Return the call that the client gets instead, with the same id."""
    given = call.input
    if call.tool.lower() in _SHELLS and isinstance(given, dict):
        for key in _COMMANDS:
            if key in given:
                return call._replace(input={**given, key: _fail_like(given[key], reason)})
    return call._replace(tool=UNKNOWN_TOOL)


def reports_reason(call: ToolCall) -> bool:
    """True if the client's result of the replaced call will hold the reason."""
    return call.tool != UNKNOWN_TOOL


def _fail_like(command: Any, reason: str) -> Any:
    """Return a command in the form of the refused one: a line of shell, or a list of words."""
    line = write_failure(reason)
    return ["sh", "-c", line] if isinstance(command, list) else line


def write_failure(reason: str) -> str:
    """Return a line of POSIX shell that prints the reason on standard error and exits 1."""
    quoted = reason.replace("\0", "").replace("'", "'\\''")
    return f"printf '%s\\n' '{quoted}' >&2; exit 1"

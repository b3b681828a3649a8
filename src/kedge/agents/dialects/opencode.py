"""The events that kedge's plugin for opencode sends. Hook path: no `typing`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_KEPT = ("hook_event_name", "session_id", "agent_id", "cwd", "source", "prompt", "tool_name",
         "tool_input", "tool_use_id", "tool_response")  # fmt: skip
_BUILT_IN = ("apply_patch", "plan_enter", "plan_exit", "repo_clone", "repo_overview")


def read_event(event: dict[str, Any]) -> dict[str, Any]:
    """Return Claude Code's event."""
    read = {key: event[key] for key in _KEPT if key in event}
    if isinstance(read.get("prompt"), str):
        read["prompt"] = unquote(read["prompt"])
    tool = str(read.get("tool_name") or "")
    if "_" in tool and tool not in _BUILT_IN:
        server, _, name = tool.partition("_")
        read["tool_name"] = f"mcp__{server}__{name}"
    return read


def unquote(prompt: str) -> str:
    """Return a prompt without the quotes that `opencode run` puts around one with a space."""
    whole = prompt.rstrip()
    inner = whole[1:-1]
    if whole != f'"{inner}"' or " " not in inner or '"' in inner.replace('\\"', ""):
        return prompt
    return inner.replace('\\"', '"')


def write_answer(event: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG001
    """Return the answer as it is: the plugin reads Claude Code's."""
    return answer


def has_lost_context(home: str, event: dict[str, Any]) -> bool:  # noqa: ARG001
    """False: the plugin gives the anchor with every request, and asks for one to compact."""
    return False

"""Which provider and API a request is for, and which session it belongs to."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from typing import NamedTuple

from kedge.agents.json_object import JsonObject
from kedge.agents.scripted_model.request import COMPACTION
from kedge.proxy.conversation import Said
from kedge.proxy.requests import has_tools, read_entries

ANTHROPIC, OPENAI, GEMINI = "anthropic", "openai", "gemini"
PROVIDERS = (ANTHROPIC, OPENAI, GEMINI)
OWN = "/kedge/"  # paths of kedge's own; everything else is relayed
BOUND = f"{OWN}to/"  # except these, which name the child that `kedge exec` started
_BOUND = re.compile(r"/kedge/to/([\w-]{0,2000})/([a-z]+)(?=[/?]|\Z)")
_GEMINI = re.compile(r"/v1\w*/.*:(?:streamGenerateContent|generateContent|countTokens)\Z")
_APIS = {"messages": "messages", "responses": "responses", "completions": "chat"}
_LEGACY_ID = re.compile(r"_session_([0-9a-f-]{36})\Z")
OWN_SESSION = "x-kedge-session"  # for clients that send headers of their user's, and no session
_SESSION_HEADERS = ("x-claude-code-session-id", "session-id", "session_id", OWN_SESSION)
_SUBAGENT = "x-claude-code-agent-id"
_CODEX_KIND = "x-openai-subagent"  # what it is for; which one it is says its thread
_COMPACTS = "compact"  # what Codex calls its subagent that compacts
_LONGEST = 100  # characters of an id


class Binding(NamedTuple):
    """What `kedge exec` says about the child that it starts; it is in the path of its base URL."""

    root: str = ""
    cwd: str = ""
    task: str = ""
    run: bool = False  # prompts are kedge's, not the user's
    session: str = ""  # for a client that does not name its session
    process: str = ""  # the child, as `kedge.host.agent_process` describes it


class Route(NamedTuple):
    """Where a request goes: the provider, the path there, and who sent it."""

    provider: str
    path: str
    binding: Binding = Binding()


class Origin(NamedTuple):
    """Which conversation a request belongs to. An aside is not a step of it."""

    session: str
    agent: str
    subagent: str = ""
    aside: bool = False


def write_base(binding: Binding, provider: str) -> str:
    """Return the path that a child's base URL has, so that all its requests carry the binding."""
    text = json.dumps([*binding], separators=(",", ":")).encode()
    token = base64.urlsafe_b64encode(text).rstrip(b"=").decode()
    return f"{BOUND}{token}/{provider}"


def find_route(path: str, headers: Mapping[str, str]) -> Route | None:
    """Return where a path leads, query included; None if it is kedge's own. Headers: lower case."""
    found = _BOUND.match(path)
    if found is not None and found[2] in PROVIDERS:
        rest = path[found.end() :]
        return Route(found[2], rest if rest.startswith("/") else f"/{rest}", _read_token(found[1]))
    if path.startswith(OWN):
        return None
    return Route(_guess_provider(path.partition("?")[0], headers), path)


def find_api(method: str, path: str) -> str:
    """Return the API whose conversation a request has: messages, responses, chat or gemini."""
    path = path.partition("?")[0]
    if method != "POST":
        return ""
    if _GEMINI.match(path):
        return "" if path.endswith(":countTokens") else "gemini"
    api = _APIS.get(path.rpartition("/")[2], "")
    return api if api != "chat" or path.endswith("/chat/completions") else ""


def find_origin(
    api: str, headers: Mapping[str, str], body: JsonObject, binding: Binding
) -> Origin | None:
    """Return which conversation a request belongs to; None if nothing names a session."""
    session = _first(headers, _SESSION_HEADERS) or _read_user_id(body)
    subagent, kind = headers.get(_SUBAGENT, ""), headers.get(_CODEX_KIND, "")
    own, parent = headers.get("x-session-id", ""), headers.get("x-parent-session-id", "")
    if kind:
        subagent = headers.get("thread-id") or kind
    if not session and own:  # opencode
        session, subagent = (parent, own) if parent else (own, subagent)
    session = session or binding.session
    if not session:
        return None
    aside = kind == _COMPACTS or not has_tools(body) or _is_compaction(api, body)
    agent = _find_agent(headers)
    return Origin(session[:_LONGEST], agent, subagent[:_LONGEST], aside)


def _guess_provider(path: str, headers: Mapping[str, str]) -> str:
    if _GEMINI.match(path) or path.startswith("/v1beta") or "x-goog-api-key" in headers:
        return GEMINI
    if "anthropic-version" in headers or path.startswith("/v1/messages"):
        return ANTHROPIC
    is_openai = path.startswith("/v1/") or path.endswith(("/responses", "/completions"))
    return OPENAI if is_openai else ANTHROPIC


def _read_token(token: str) -> Binding:
    try:
        values = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        root, cwd, task, run, session, process = values
    except (ValueError, TypeError, binascii.Error, RecursionError):
        return Binding()
    texts = root, cwd, task, session, process
    if not all(isinstance(text, str) for text in texts):
        return Binding()
    return Binding(root, cwd, task, run is True, session[:_LONGEST], process[:_LONGEST])


def _first(headers: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((headers[name] for name in names if headers.get(name)), "")


def _read_user_id(body: JsonObject) -> str:
    """Return the session in `metadata.user_id` of Claude Code: a JSON string, or the older form."""
    text = body.child("metadata").text("user_id")
    found = _LEGACY_ID.search(text)
    if found is not None:
        return found[1]
    try:
        return JsonObject(json.loads(text)).text("session_id") if text[:1] == "{" else ""
    except (ValueError, RecursionError):
        return ""


def _is_compaction(api: str, body: JsonObject) -> bool:
    said = [entry.text for entry in read_entries(api, body) if isinstance(entry, Said)]
    last = next((text for text in reversed(said) if text), "")
    return any(line.startswith(COMPACTION) for line in last.splitlines())


def _find_agent(headers: Mapping[str, str]) -> str:
    """Return the name of the client, as kedge's hooks name it."""
    program = headers.get("user-agent", "").lower()
    if "x-claude-code-session-id" in headers or program.startswith("claude"):
        return "claude"
    name = re.match(r"[a-z]{0,30}", program)
    found = name[0] if name else ""
    if "x-initiator" in headers and found != "opencode":  # it names the library it uses
        return "copilot"
    return {"geminicli": "gemini"}.get(found, found) or "unknown"

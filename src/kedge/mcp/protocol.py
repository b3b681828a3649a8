"""The protocol of the server, without any input or output.

`Session.receive` takes a line of the client, `Session.finish` the result of a command; both return
what to do next: send a message, run a command, or end one.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from kedge import __version__
from kedge.mcp import arguments, tools

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
STATELESS = "2026-07-28"  # has no handshake: `server/discover`, and the version in each request
_VERSION = "io.modelcontextprotocol/protocolVersion"
CHECK_FOUND = 4  # the exit code of a command whose check found something
PARSE, REQUEST, METHOD, PARAMS, RESOURCE = -32700, -32600, -32601, -32602, -32002
INSTRUCTIONS = (
    "kedge keeps you on course. Claim a task before the first edit, record the user's limits "
    "before the first change, and close the task when its checks are green."
)
_ABOUT = {"capabilities": {"tools": {}, "resources": {}}, "instructions": INSTRUCTIONS}
_SERVER = {"name": "kedge", "version": __version__}
MARKDOWN = "text/markdown"
_ROOTS = "kedge-roots"  # the id of the one request that the server makes

RequestId = str | int


@dataclass(frozen=True, slots=True)
class Send:
    message: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Run:
    """Run a kedge command for this request, and pass its result to `finish`."""

    request: RequestId
    call: tools.Call


@dataclass(frozen=True, slots=True)
class ReadFile:
    """Read a file of the project's `.kedge` directory for this request."""

    request: RequestId
    name: str


@dataclass(frozen=True, slots=True)
class Stop:
    """End the command of this request; nobody waits for its result."""

    request: RequestId


@dataclass(frozen=True, slots=True)
class Move:
    """Work in this directory from here on."""

    directory: str


Act = Send | Run | ReadFile | Stop | Move


@dataclass(frozen=True, slots=True)
class Resource:
    uri: str
    name: str
    description: str

    def describe(self) -> dict[str, Any]:
        about = {"name": self.name, "description": self.description}
        return {"uri": self.uri, **about, "mimeType": MARKDOWN}


MAP = Resource("kedge://map", "map", "Ranked map of the code.")
CONSTITUTION = Resource("kedge://constitution", "constitution", "What makes a change a good one.")
RESOURCES = {each.uri: each for each in (MAP, CONSTITUTION)}


@dataclass(slots=True)
class Session:
    """One client. `homeless` is true if the server was started outside of a project."""

    homeless: bool = False
    has_roots: bool = False
    running: dict[RequestId, tools.Tool | Resource] = field(default_factory=dict)
    waiting: list[tuple[RequestId, str, dict[str, Any]]] = field(default_factory=list)
    stateless: bool = False  # the client makes no handshake and sends the version with requests
    asked: bool = False  # for the client's roots

    def receive(self, line: bytes) -> list[Act]:
        """Take one message of the client."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return [_fail(None, PARSE, "the message is not JSON")]
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return [_fail(None, REQUEST, "the message is not a JSON-RPC 2.0 object")]
        method, request, params = message.get("method"), message.get("id"), message.get("params")
        if method is None:
            return self._take_answer(request, message.get("result"))
        if not isinstance(method, str):
            return [_fail(None, REQUEST, "the method is not a string")]
        params = params if isinstance(params, dict) else {}
        if "id" not in message:
            return self._take_notification(method, params)
        if isinstance(request, bool) or not isinstance(request, str | int):
            return [_fail(None, REQUEST, "the id is not a string or an integer")]
        if request in self.running:
            return [_fail(request, REQUEST, "a request with this id is running")]
        return self._take_request(request, method, params)

    def finish(self, request: RequestId, document: Mapping[str, Any], code: int = 0) -> list[Act]:
        """Answer a request with the JSON document of its command, and the command's exit code."""
        subject = self.running.pop(request, None)
        if subject is None:  # the client has cancelled it
            return []
        success, data = document["success"], document["data"]
        if isinstance(subject, Resource):
            if not success or data is None:
                return [_fail(request, RESOURCE, _describe_error(document))]
            text = data["text"]
            contents = [{"uri": subject.uri, "mimeType": MARKDOWN, "text": text}]
            return [self._answer(request, {"contents": contents})]
        if not success and code != CHECK_FOUND:
            return [self._answer(request, _refuse(_describe_error(document)))]
        warnings = [*document["warnings"], *([] if success else [document["error"]])]
        content = [{"type": "text", "text": tools.render(subject, data, warnings)}]
        return [self._answer(request, {"content": content})]

    def _take_request(self, request: RequestId, method: str, params: dict[str, Any]) -> list[Act]:
        meta = params.get("_meta")
        if isinstance(meta, dict) and meta.get(_VERSION) == STATELESS:
            self.stateless = True
        match method:
            case "server/discover":
                stamp = {"io.modelcontextprotocol/serverInfo": _SERVER}
                found = {**_ABOUT, "supportedVersions": [STATELESS], "_meta": stamp}
                return [self._answer(request, found)]
            case "initialize":
                return [self._answer(request, self._initialize(params))]
            case "ping":
                return [self._answer(request, {})]
            case "tools/list":
                listed = [tool.describe() for tool in tools.TOOLS.values()]
                return [self._answer(request, {"tools": listed})]
            case "resources/list":
                known = [resource.describe() for resource in RESOURCES.values()]
                return [self._answer(request, {"resources": known})]
            case "resources/templates/list":
                return [self._answer(request, {"resourceTemplates": []})]
            case "tools/call" | "resources/read" if self.asked:
                self.waiting.append((request, method, params))
                return []
            case "tools/call":
                return self._call_tool(request, params)
            case "resources/read":
                return self._read_resource(request, params)
        return [_fail(request, METHOD, f"no method {method[:100]!r}")]

    def _initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        wanted, offered = params.get("protocolVersion"), params.get("capabilities")
        self.has_roots = isinstance(offered, dict) and isinstance(offered.get("roots"), dict)
        return {
            **_ABOUT,
            "serverInfo": _SERVER,
            "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[0],
        }

    def _take_notification(self, method: str, params: dict[str, Any]) -> list[Act]:
        if method == "notifications/cancelled":
            request = params.get("requestId")
            if isinstance(request, str | int) and self.running.pop(request, None) is not None:
                return [Stop(request)]
            self.waiting = [each for each in self.waiting if each[0] != request]
        moved = method in ("notifications/initialized", "notifications/roots/list_changed")
        if moved and self.homeless and self.has_roots and not self.asked:
            self.asked = True
            return [Send({"jsonrpc": "2.0", "id": _ROOTS, "method": "roots/list"})]
        return []

    def _take_answer(self, request: object, result: object) -> list[Act]:
        """Take the client's roots, and do what has waited for them."""
        if request != _ROOTS or not self.asked:
            return []
        self.asked = False
        waiting, self.waiting = self.waiting, []
        acts: list[Act] = []
        directory = _find_root(result)
        if directory:
            acts.append(Move(directory))
        for each in waiting:
            acts += self._take_request(*each)
        return acts

    def _answer(self, request: RequestId, result: dict[str, Any]) -> Send:
        if self.stateless:
            result = {**result, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        return Send({"jsonrpc": "2.0", "id": request, "result": result})

    def _call_tool(self, request: RequestId, params: dict[str, Any]) -> list[Act]:
        name, given = params.get("name"), params.get("arguments")
        tool = tools.TOOLS.get(name) if isinstance(name, str) else None
        if tool is None:
            return [_fail(request, PARAMS, f"no tool {str(name)[:100]!r}")]
        given = {} if given is None else given
        problem = arguments.find_problem(tool.schema, given)
        if problem:
            return [self._answer(request, _refuse(problem))]
        self.running[request] = tool
        return [Run(request, tool.make_call(given))]

    def _read_resource(self, request: RequestId, params: dict[str, Any]) -> list[Act]:
        uri = params.get("uri")
        resource = RESOURCES.get(uri) if isinstance(uri, str) else None
        if resource is None:
            return [_fail(request, RESOURCE, f"no resource {str(uri)[:100]!r}")]
        self.running[request] = resource
        if resource is MAP:
            return [Run(request, tools.Call(("map",)))]
        return [ReadFile(request, "constitution.md")]


def _find_root(result: object) -> str:
    """Return the first directory among the client's roots, or ""."""
    roots = result.get("roots") if isinstance(result, dict) else None
    for root in roots if isinstance(roots, list) else ():
        uri = root.get("uri") if isinstance(root, dict) else None
        if isinstance(uri, str) and uri.startswith("file://"):
            with contextlib.suppress(ValueError):  # a URL with an unclosed bracket, for example
                return unquote(urlsplit(uri).path)
    return ""


def _describe_error(document: Mapping[str, Any]) -> str:
    hint = document["hint"]
    return f"{document['error']}\nhint: {hint}" if hint else str(document["error"])


def _refuse(why: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": why}], "isError": True}


def _fail(request: RequestId | None, code: int, message: str) -> Send:
    return Send({"jsonrpc": "2.0", "id": request, "error": {"code": code, "message": message}})


def describe_failure(why: str, hint: str = "") -> dict[str, Any]:
    """Return the document of a command that gave none."""
    return {
        "success": False, "data": None, "error": why, "code": "no-answer", "hint": hint,
        "warnings": [],
    }  # fmt: skip

"""The server that plays a script and records the requests."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from kedge.agents.scripted_model.http_server import HttpServer
from kedge.agents.scripted_model.reply import ModelReply, make_refusal, make_reply, make_side_reply
from kedge.agents.scripted_model.request import Request, remove_keys
from kedge.agents.scripted_model.script import SUMMARY, Player, Script, Step


class ScriptedModel:
    """A server on 127.0.0.1 that plays `script`; it runs until `close`, or the end of `with`.

    `subagent` is played to subagents, `summary` is the answer to every compaction. `log` names a
    directory that gets a file for each request. If a script is a function and raises, the answer
    is 403, which agents retry least, and `close` raises the exception.
    """

    def __init__(
        self,
        script: Script = (),
        *,
        subagent: Script = (),
        summary: Step = SUMMARY,
        port: int = 0,
        log: Path | None = None,
    ) -> None:
        self._player = Player(script, subagent, summary)
        self._log = log
        self._lock = threading.Lock()
        self._requests: list[Request] = []
        self._fault: Exception | None = None
        # Unique across servers, too: a resumed session talks to several.
        self._ids = secrets.token_hex(4)
        if log is not None:
            log.mkdir(parents=True, exist_ok=True)
        self._http = HttpServer(port, self._respond)
        self._http.start()

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        """The base URL for Claude Code; Codex wants `/v1` after it."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def requests(self) -> list[Request]:
        """All requests so far, in order of arrival."""
        with self._lock:
            return list(self._requests)

    def list_requests(self, *kinds: str) -> list[Request]:
        """Return the requests of these kinds; without a kind, those of `main`."""
        return [one for one in self.requests if one.kind in (kinds or ("main",))]

    @property
    def left(self) -> int:
        """The number of turns of the script that were not played."""
        with self._lock:
            return self._player.left

    def close(self) -> None:
        """End every connection and thread, even in the middle of an answer."""
        self._http.stop()
        if self._fault is not None:
            raise self._fault

    def __enter__(self) -> ScriptedModel:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except Exception:
            if error is None:
                raise

    def _respond(self, method: str, path: str, headers: Mapping[str, str], body: Any) -> ModelReply:
        with self._lock:  # one request at a time, in the order of the script
            request = Request(len(self._requests) + 1, method, path, remove_keys(headers), body)
            self._requests.append(request)
            if self._log is not None:
                self._write(self._log / f"{request.number:04}.json", request)
            if request.kind in ("count", "other"):
                return make_side_reply(request)
            if not isinstance(body, dict):
                return make_refusal(400, "the body is not an object", path)
            try:
                turn = self._player.answer(request)
                return make_reply(request, turn, f"{self._ids}{request.number:04}")
            except Exception as error:  # noqa: BLE001 - a script is any code; `close` raises it
                self._fault = self._fault or error
                return make_refusal(403, f"the script failed: {error!r}", path)

    def _write(self, file: Path, request: Request) -> None:
        kept = {"kind": request.kind, **vars(request)}
        file.write_text(json.dumps(kept, indent=1, ensure_ascii=False), encoding="utf-8")

"""The server that plays a script and keeps what was asked."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from kedge.testing.fake_model.reply import Reply, aside, refusal, reply
from kedge.testing.fake_model.request import Request, without_keys
from kedge.testing.fake_model.script import SUMMARY, Player, Script, Step
from kedge.testing.fake_model.wire import Wire


class FakeModel:
    """A server on 127.0.0.1 that plays `script`; it runs until `close`, or the end of `with`.

    `subagent` is played to subagents, `summary` is the answer to every compaction. `log` names a
    directory that gets a file for each request. An exception in a script that is a function is
    answered with 403, which agents try again least, and raised by `close`.
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
        # Also unique among servers: a session that is resumed meets several.
        self._ids = secrets.token_hex(4)
        if log is not None:
            log.mkdir(parents=True, exist_ok=True)
        self._wire = Wire(port, self._respond)
        self._wire.begin()

    @property
    def port(self) -> int:
        return int(self._wire.server_address[1])

    @property
    def url(self) -> str:
        """The base URL for Claude Code; Codex wants `/v1` after it."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def requests(self) -> list[Request]:
        """All that was asked so far, in the order of arrival."""
        with self._lock:
            return list(self._requests)

    def asked(self, *kinds: str) -> list[Request]:
        """The requests of these kinds: `main` when none is named."""
        return [one for one in self.requests if one.kind in (kinds or ("main",))]

    @property
    def left(self) -> int:
        """How many turns of the script nobody has asked for."""
        with self._lock:
            return self._player.left

    def close(self) -> None:
        """End every connection and every thread, also in the middle of an answer."""
        self._wire.end()
        if self._fault is not None:
            raise self._fault

    def __enter__(self) -> FakeModel:
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

    def _respond(self, method: str, path: str, headers: Mapping[str, str], body: Any) -> Reply:
        with self._lock:  # one at a time, so that a script is never raced
            request = Request(len(self._requests) + 1, method, path, without_keys(headers), body)
            self._requests.append(request)
            if self._log is not None:
                self._write(self._log / f"{request.number:04}.json", request)
            if request.kind in ("count", "other"):
                return aside(request)
            if not isinstance(body, dict):
                return refusal(400, "the body is no object", path)
            try:
                turn = self._player.answer(request)
                return reply(request, turn, f"{self._ids}{request.number:04}")
            except Exception as error:  # noqa: BLE001 - a script is any code; `close` raises it
                self._fault = self._fault or error
                return refusal(403, f"the script failed: {error!r}", path)

    def _write(self, file: Path, request: Request) -> None:
        kept = {"kind": request.kind, **vars(request)}
        file.write_text(json.dumps(kept, indent=1, ensure_ascii=False), encoding="utf-8")

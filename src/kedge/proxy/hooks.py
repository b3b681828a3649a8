"""Hooks over HTTP: the same events and answers as those of the command, without its start-up.

The command keeps quiet while the file `daemon.pid` names this process, and only then are events
judged here: each is judged by one of the two. As in the command, whatever fails is recorded, and
the answer is empty.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import time
from pathlib import Path
from typing import Any

from aiohttp import web

from kedge import hook
from kedge.host import daemon
from kedge.host.daemon import TOKEN_HEADER, VARIABLES
from kedge.proxy.judging import Judging

_AGENT = re.compile(r"[a-z][a-z0-9_-]{0,30}\Z")
_TASK, _RUN, _JUDGE = VARIABLES


class HookAnswers:
    """Answers the events of a repository's hooks. Without a token, none are let in."""

    def __init__(self, judging: Judging, home: Path, token: str) -> None:
        self._judging = judging
        self._home = home
        self._token = token

    def go_on_duty(self) -> None:
        daemon.go_on_duty(self._home)

    async def answer(self, request: web.Request, agent: str) -> web.Response:
        """Answer one event."""
        given = request.headers.get(TOKEN_HEADER, "").encode()
        allowed = self._token and secrets.compare_digest(given, self._token.encode())
        if request.method != "POST" or not allowed or not _AGENT.match(agent):
            return web.Response(status=403, text="not allowed\n")
        data = await _read(request)
        if request.headers.get(_JUDGE):  # a judge that kedge itself started
            return web.json_response({})
        if not daemon.is_on_duty(self._home):  # the command has answered
            daemon.go_on_duty(self._home)
            return web.json_response({})
        environment = request.headers.get(_TASK) or None, bool(request.headers.get(_RUN))
        return web.json_response(await self._answer(agent, data, *environment) or {})

    async def _answer(
        self, agent: str, data: bytes, task: str | None, run: bool
    ) -> dict[str, Any] | None:
        event: dict[str, Any] = {}
        begin = time.monotonic()
        try:
            if len(data) > hook.LARGEST:
                raise ValueError(f"an event of more than {hook.LARGEST} bytes")
            event = hook.parse_event(data)
            return await self._judging.run_hook(
                lambda: self._take(agent, event, task, run), hook.LIMIT
            )
        except Exception as error:  # noqa: BLE001 - the agent goes on, whatever it is
            late = isinstance(error, TimeoutError) and time.monotonic() - begin >= hook.LIMIT
            limit = f"no answer within {hook.LIMIT:g} s"
            reason = hook.HookTimeout(limit) if late else error
            with contextlib.suppress(Exception):  # nothing is left that could report it
                return await self._judging.run_hook(
                    lambda: self._fail(agent, event, data, reason), hook.RECORD_LIMIT
                )
            return None

    def _take(
        self, agent: str, event: dict[str, Any], task: str | None, run: bool
    ) -> dict[str, Any] | None:
        name = str(event.get("session_id") or "")
        root = self._judging.recorder.find_work_tree(name, str(event.get("cwd") or "."))
        answer = hook.answer_event(root, str(self._home), agent, event, task, unattended=run)
        hook.finish_event(root, str(self._home), agent, event, task, unattended=run)
        return answer

    def _fail(
        self, agent: str, event: dict[str, Any], data: bytes, error: BaseException
    ) -> dict[str, Any] | None:
        try:
            return hook.answer_unread(str(self._home), agent, event, data, error)
        finally:
            hook.record_error(str(self._home), agent, event, error)


async def _read(request: web.Request) -> bytes:
    """Return the body; of one that is too large, a little more than may be read."""
    chunks, size = [], 0
    async for chunk in request.content.iter_any():
        if size <= hook.LARGEST:
            chunks.append(chunk)
        size += len(chunk)
    return b"".join(chunks)

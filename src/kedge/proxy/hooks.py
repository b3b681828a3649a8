"""Hooks over HTTP: the same events and answers as those of the command, without its start-up.

The command keeps quiet while the file `daemon.pid` names this process, and only then are events
judged here: each is judged by one of the two. As in the command, whatever fails is recorded, and
the answer is empty.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from pathlib import Path
from typing import Any

from aiohttp import web

from kedge import hook
from kedge.host import daemon
from kedge.host.daemon import TOKEN_HEADER, VARIABLES
from kedge.proxy.judging import Judging
from kedge.proxy.watch_process import WatchFailed

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
        task, run = request.headers.get(_TASK) or None, bool(request.headers.get(_RUN))
        return web.json_response(await self._ask(agent, data, task, run) or {})

    async def _ask(
        self, agent: str, data: bytes, task: str | None, run: bool
    ) -> dict[str, Any] | None:
        answer: dict[str, Any] | None = None
        ask = self._judging.process.ask
        try:
            try:
                async with asyncio.timeout(hook.LIMIT):
                    answer = await ask("hook_answer", agent, data, task, run)
            except TimeoutError:
                async with asyncio.timeout(hook.RECORD_LIMIT):
                    answer = await ask("hook_timeout", agent, data)
        except (WatchFailed, TimeoutError) as error:
            self._judging.report(None, error)
        return answer


async def _read(request: web.Request) -> bytes:
    """Return the body; of one that is too large, a little more than may be read."""
    chunks, size = [], 0
    async for chunk in request.content.iter_any():
        if size <= hook.LARGEST:
            chunks.append(chunk)
        size += len(chunk)
    return b"".join(chunks)

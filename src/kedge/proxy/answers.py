"""An answer on its way back: its bytes go to the client as they come, and the watch is asked.

With nothing to judge, bytes pass unread. What is observed is sent first and read afterwards; only a
call that may be refused is held.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, NamedTuple, TypeAlias

import aiohttp
from aiohttp import hdrs, web
from multidict import CIMultiDict

from kedge.proxy.decoding import Decoder
from kedge.proxy.exchange import Fault, Judge, Observe, Send, Verdict
from kedge.proxy.headers import select_headers
from kedge.proxy.holding import Dialect
from kedge.proxy.judging import Judging
from kedge.proxy.messages import Messages
from kedge.proxy.observers import OBSERVERS, Observer
from kedge.proxy.recording import Watched
from kedge.proxy.responses import Responses
from kedge.proxy.tap import Commands, ObserverTap, StreamTap, judge_body, observe_body

DIALECTS: Mapping[str, Dialect] = {"messages": Messages(), "responses": Responses()}
_LARGEST = 32 << 20  # bytes of an answer that is not streamed and held until it is judged
_STREAM, _BODY = "text/event-stream", "application/json"
Work: TypeAlias = Coroutine[Any, Any, None]


class Exchange(NamedTuple):
    """A request that is a step of a conversation. `calls` were made in it so far."""

    watched: Watched
    holds: bool
    calls: int
    take: Callable[[], object] | None


class Relayed(web.StreamResponse):
    """An answer that has the headers of its provider, and no others."""

    def __init__(self, status: int, reason: str | None, headers: CIMultiDict[str]) -> None:
        super().__init__(status=status, reason=reason, headers=headers)
        self.given = frozenset(name.lower() for name in headers)


async def remove_own_headers(_: web.Request, response: web.StreamResponse) -> None:
    """Remove what the server adds to a relayed answer; called just before it is sent."""
    if isinstance(response, Relayed):
        for name in (hdrs.SERVER, hdrs.DATE, hdrs.CONTENT_TYPE):
            if name.lower() not in response.given:
                response.headers.popall(name, None)


async def pass_answer(request: web.Request, upstream: aiohttp.ClientResponse) -> web.StreamResponse:
    """Send an answer that nothing is to be learned from."""
    response = _begin(upstream)
    await response.prepare(request)
    async for data in upstream.content.iter_any():
        await response.write(data)
    await response.write_eof()
    return response


def is_watched(upstream: aiohttp.ClientResponse) -> bool:
    """True if an answer may have calls."""
    return upstream.status == 200 and upstream.content_type in (_STREAM, _BODY)


class Answer:
    """The answer to a step of a conversation. `do_aside` starts what it does not wait for."""

    def __init__(
        self, judging: Judging, do_aside: Callable[[Work], None], exchange: Exchange
    ) -> None:
        self._judging = judging
        self._do_aside = do_aside
        self._exchange = exchange
        self._watched = exchange.watched
        self._take = exchange.take
        self._called = False  # the answer has a call

    def start_watch(self) -> bool:
        """Tell the watch what the request says, once, when the first bytes of its answer have
        left; return True if it had not been told."""
        take, self._take = self._take, None
        if take is not None:
            take()
        return take is not None

    async def send(
        self, request: web.Request, upstream: aiohttp.ClientResponse
    ) -> web.StreamResponse:
        """Send its head and bytes to the client."""
        response = _begin(upstream)
        is_stream = upstream.content_type == _STREAM
        encoding = upstream.headers.get(hdrs.CONTENT_ENCODING, "identity").lower()
        dialect = DIALECTS.get(self._watched.api)
        if dialect is None or not self._exchange.holds or encoding != "identity":
            await response.prepare(request)
            await self._observe(upstream, response, Decoder(encoding), is_stream=is_stream)
        elif is_stream:
            response.headers.popall(hdrs.CONTENT_LENGTH, None)
            await response.prepare(request)
            await self._judge_stream(upstream, response, StreamTap(dialect, holds=True))
        else:
            await self._judge_body(request, upstream, response, dialect)
        await response.write_eof()
        self.start_watch()
        if not self._called:
            self._do_aside(self._judging.end_turn(self._watched))
        return response

    async def _judge_stream(
        self, upstream: aiohttp.ClientResponse, response: web.StreamResponse, tap: StreamTap
    ) -> None:
        try:
            async for data in upstream.content.iter_any():
                await self._do(tap.feed(data), response.write)
                self.start_watch()
        except aiohttp.ClientError:  # it broke off: the client gets what it would get directly
            await self._do(tap.end(), response.write)
            raise
        await self._do(tap.end(), response.write)

    async def _judge_body(
        self,
        request: web.Request,
        upstream: aiohttp.ClientResponse,
        response: web.StreamResponse,
        dialect: Dialect,
    ) -> None:
        chunks, size = [], 0
        async for data in upstream.content.iter_any():
            chunks.append(data)
            size += len(data)
            if size > _LARGEST:
                break
        response.headers.popall(hdrs.CONTENT_LENGTH, None)
        body = b"".join(chunks)
        if size > _LARGEST:
            self._report(ValueError("an answer that is too long to judge"))
            await response.prepare(request)
            await response.write(body)
            async for data in upstream.content.iter_any():
                await response.write(data)
            return
        kept: list[bytes] = []

        async def keep(data: bytes) -> None:
            kept.append(data)

        await self._do(judge_body(dialect, body), keep)
        response.content_length = sum(map(len, kept))
        await response.prepare(request)
        for piece in kept:
            await response.write(piece)

    async def _observe(
        self,
        upstream: aiohttp.ClientResponse,
        response: web.StreamResponse,
        decoder: Decoder,
        *,
        is_stream: bool,
    ) -> None:
        """Send the bytes as they come, and look at a copy of them afterwards."""
        api = self._watched.api
        source: Dialect | Observer
        tap: StreamTap | ObserverTap
        if api in DIALECTS:
            source = DIALECTS[api]
            tap = StreamTap(source, holds=False)
        else:
            source = OBSERVERS[api](self._exchange.calls)
            tap = ObserverTap(source)
        copy = bytearray()
        async for data in upstream.content.iter_any():
            await response.write(data)
            plain = decoder.decode(data)
            self.start_watch()
            if is_stream:
                await self._do(tap.feed(plain))
            elif len(copy) < _LARGEST:
                copy += plain
        await self._do(tap.end() if is_stream else observe_body(source, bytes(copy)))
        if decoder.fault:
            self._report(ValueError(decoder.fault))

    async def _do(
        self, commands: Commands, send: Callable[[bytes], Coroutine[Any, Any, None]] | None = None
    ) -> None:
        """Do what a tap commands. Without `send`, the bytes have left already."""
        verdict: Verdict | None = None
        while True:
            try:
                command = commands.send(verdict)
            except StopIteration:
                return
            verdict = None
            if isinstance(command, Judge | Observe) and self.start_watch():
                await asyncio.sleep(0)  # so that it comes before the call
            match command:
                case Send():
                    if send is not None and command.data:
                        await send(command.data)
                case Judge():
                    self._called = True
                    verdict = Verdict(await self._judging.judge_call(self._watched, command.call))
                case Observe():
                    self._called = True
                    self._do_aside(self._judging.observe_call(self._watched, command.call))
                case Fault():
                    self._report(ValueError(command.message))

    def _report(self, error: Exception) -> None:
        self._judging.report(self._watched, error)


def _begin(upstream: aiohttp.ClientResponse) -> Relayed:
    headers = CIMultiDict(select_headers(upstream.raw_headers))
    return Relayed(upstream.status, upstream.reason, headers)

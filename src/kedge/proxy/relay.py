"""The sockets of the proxy: every request goes to its provider, and the answer comes back.

Bytes pass as they arrive, and no faster than the other side reads. What a request and its answer
mean is the business of the other modules; whatever fails in them, the bytes pass.
"""

from __future__ import annotations

import asyncio
import functools
import json
import time
import urllib.request
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import urlsplit

import aiohttp
from aiohttp import hdrs, web
from multidict import CIMultiDict
from yarl import URL

from kedge.agents.json_object import JsonObject
from kedge.proxy import routes
from kedge.proxy.conversation import Conversation, Entry, summarise
from kedge.proxy.decoding import Decoder
from kedge.proxy.exchange import Fault, Judge, Observe, Send, Verdict
from kedge.proxy.headers import select_headers
from kedge.proxy.holding import Dialect
from kedge.proxy.judging import Judging, Watched
from kedge.proxy.messages import Messages
from kedge.proxy.observers import OBSERVERS, Observer
from kedge.proxy.requests import read_entries
from kedge.proxy.responses import Responses
from kedge.proxy.routes import Binding, Origin, Route
from kedge.proxy.tap import Commands, ObserverTap, StreamTap, judge_body, observe_body

DIALECTS: Mapping[str, Dialect] = {"messages": Messages(), "responses": Responses()}
LARGEST_REQUEST = 64 << 20  # bytes of a request that is read before it is sent on
_LARGEST_ANSWER = 32 << 20  # bytes of an answer that is not streamed and held until it is judged
_LONG = 1 << 18  # bytes of a request that is read in a thread
_CONNECT_SECONDS = 30.0
_LONGEST_LINE = 1 << 18  # bytes of a header, and of a request's first line
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


class Relay:
    """Sends requests to their providers. `upstreams` has a URL for each provider."""

    def __init__(self, judging: Judging, upstreams: Mapping[str, str]) -> None:
        self._judging = judging
        self._upstreams = {name: url.rstrip("/") for name, url in upstreams.items()}
        self._client: aiohttp.ClientSession | None = None
        self._aside: set[asyncio.Task[None]] = set()
        self.active = 0  # requests that are being answered
        self.last_used = time.monotonic()

    async def open(self) -> None:
        self._client = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            max_line_size=_LONGEST_LINE,
            max_field_size=_LONGEST_LINE,
            skip_auto_headers=(
                hdrs.ACCEPT, hdrs.ACCEPT_ENCODING, hdrs.USER_AGENT, hdrs.CONTENT_TYPE,
            ),
        )  # fmt: skip

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
        for task in self._aside:
            task.cancel()
        self._judging.close()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Relay one request."""
        self.active += 1
        try:
            return await self._answer(request)
        except (aiohttp.ClientError, OSError, web.RequestPayloadError):  # the client went away
            return _abort(request)
        except Exception as error:  # noqa: BLE001 - a bug ends one request and shows no header
            self._judging.report(None, error)
            return _abort(request)
        finally:
            self.active -= 1
            self.last_used = time.monotonic()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        named = {name.lower(): value for name, value in request.headers.items()}
        path = request.raw_path
        if not path.startswith("/"):  # a proxy request for any host: not what this is for
            return web.Response(status=400, text="kedge serve is not a forward proxy\n")
        route = routes.find_route(path, named)
        if route is None:
            return web.Response(status=404, text="nothing is here\n")
        if named.get("upgrade", "").lower() == "websocket":  # on 426 clients fall back to HTTP
            return web.Response(status=426, text="kedge serve relays no WebSockets\n")
        headers = CIMultiDict(select_headers(request.raw_headers))
        headers.popall(hdrs.HOST, None)
        exchange: Exchange | None = None
        body: bytes | AsyncIterator[bytes] | None = None
        api = routes.find_api(request.method, route.path)
        if api:
            data, complete = await _read_body(request)
            body = data if complete else _chain(data, request)
            if complete and hdrs.CONTENT_ENCODING not in headers:
                exchange, data = await self._open_exchange(api, route, named, data)
                body = data
            if complete:
                headers.popall(hdrs.CONTENT_LENGTH, None)
        elif request.body_exists:
            body = request.content.iter_any()
        if exchange is not None:
            headers[hdrs.ACCEPT_ENCODING] = "identity"  # so that the answer can be read
        return await self._send(request, route, headers, body, exchange)

    async def _open_exchange(
        self, api: str, route: Route, named: Mapping[str, str], data: bytes
    ) -> tuple[Exchange | None, bytes]:
        """Return what the request is a step of, if any, and the bytes to send."""
        watched = None
        try:
            read = functools.partial(_read_request, api, named, data, route.binding)
            # a long conversation takes a while to read: other streams go on meanwhile
            origin, entries, said = await asyncio.to_thread(read) if len(data) > _LONG else read()
            if origin is None or origin.aside:
                return None, data
            watched = await self._judging.locate(api, origin, route.binding)
            opened = await self._judging.open_request(watched, data, entries, said)
            return Exchange(watched, opened.holds, said.calls, opened.take), opened.body
        except (ValueError, RecursionError):
            return None, data  # not JSON: the provider will say so
        except Exception as error:  # noqa: BLE001 - the request goes on, whatever it is
            self._judging.report(watched, error)
            return None, data

    async def _send(
        self,
        request: web.Request,
        route: Route,
        headers: CIMultiDict[str],
        body: bytes | AsyncIterator[bytes] | None,
        exchange: Exchange | None,
    ) -> web.StreamResponse:
        base = self._upstreams[route.provider]
        url = URL(base + route.path, encoded=True)
        assert self._client is not None  # noqa: S101 - opened before the server
        try:
            upstream = await self._client.request(
                request.method,
                url,
                headers=headers,
                data=body,
                allow_redirects=False,
                proxy=_find_proxy(base),
            )
        except aiohttp.ClientConnectorError as error:
            return _fail(502, f"kedge serve cannot connect to {base}: {error.strerror or error}")
        except (aiohttp.ClientError, OSError):
            return _abort(request)
        watch = _Watch(exchange)
        async with upstream:
            try:
                return await self._return(request, upstream, exchange, watch)
            except (aiohttp.ClientError, OSError):
                return _abort(request)
            finally:
                watch.start()

    async def _return(
        self,
        request: web.Request,
        upstream: aiohttp.ClientResponse,
        exchange: Exchange | None,
        watch: _Watch,
    ) -> web.StreamResponse:
        """Send the answer's head and bytes to the client."""
        response = Relayed(
            upstream.status, upstream.reason, CIMultiDict(select_headers(upstream.raw_headers))
        )
        kind = upstream.content_type if upstream.status == 200 and exchange is not None else ""
        if exchange is None or kind not in ("text/event-stream", "application/json"):
            await response.prepare(request)
            async for data in upstream.content.iter_any():
                await response.write(data)
            await response.write_eof()
            return response
        encoding = upstream.headers.get(hdrs.CONTENT_ENCODING, "identity").lower()
        dialect = DIALECTS.get(exchange.watched.api)
        follow = _Follower(self._judging, self._do_aside, exchange.watched, response, watch)
        if dialect is None or not exchange.holds or encoding != "identity":
            await response.prepare(request)
            await self._observe(upstream, response, follow, exchange, kind, encoding)
        elif kind == "text/event-stream":
            response.headers.popall(hdrs.CONTENT_LENGTH, None)
            await response.prepare(request)
            await self._judge_stream(upstream, follow, StreamTap(dialect, holds=True))
        else:
            await self._judge_body(request, upstream, response, follow, dialect)
        await response.write_eof()
        watch.start()
        if not follow.called:
            self._do_aside(self._judging.end_turn(exchange.watched))
        return response

    async def _judge_stream(
        self, upstream: aiohttp.ClientResponse, follow: _Follower, tap: StreamTap
    ) -> None:
        try:
            async for data in upstream.content.iter_any():
                await follow.do(tap.feed(data))
                follow.watch.start()
        except aiohttp.ClientError:  # it broke off: the client gets what it would get directly
            await follow.do(tap.end())
            raise
        await follow.do(tap.end())

    async def _judge_body(
        self,
        request: web.Request,
        upstream: aiohttp.ClientResponse,
        response: web.StreamResponse,
        follow: _Follower,
        dialect: Dialect,
    ) -> None:
        chunks, size = [], 0
        async for data in upstream.content.iter_any():
            chunks.append(data)
            size += len(data)
            if size > _LARGEST_ANSWER:
                break
        response.headers.popall(hdrs.CONTENT_LENGTH, None)
        body = b"".join(chunks)
        if size > _LARGEST_ANSWER:
            self._judging.report(follow.watched, ValueError("an answer that is too long to judge"))
            await response.prepare(request)
            await response.write(body)
            async for data in upstream.content.iter_any():
                await response.write(data)
            return
        follow.keeps = True
        await follow.do(judge_body(dialect, body))
        response.content_length = sum(map(len, follow.kept))
        await response.prepare(request)
        for piece in follow.kept:
            await response.write(piece)

    async def _observe(
        self,
        upstream: aiohttp.ClientResponse,
        response: web.StreamResponse,
        follow: _Follower,
        exchange: Exchange,
        kind: str,
        encoding: str,
    ) -> None:
        """Send the bytes as they come, and look at a copy of them afterwards."""
        api = exchange.watched.api
        source: Dialect | Observer
        tap: StreamTap | ObserverTap
        if api in DIALECTS:
            source = DIALECTS[api]
            tap = StreamTap(source, holds=False)
        else:
            source = OBSERVERS[api](exchange.calls)
            tap = ObserverTap(source)
        decoder = Decoder(encoding)
        follow.sends = False
        copy = bytearray()
        async for data in upstream.content.iter_any():
            await response.write(data)
            plain = decoder.decode(data)
            follow.watch.start()
            if kind == "text/event-stream":
                await follow.do(tap.feed(plain))
            elif len(copy) < _LARGEST_ANSWER:
                copy += plain
        is_body = kind == "application/json"
        await follow.do(observe_body(source, bytes(copy)) if is_body else tap.end())
        if decoder.fault:
            self._judging.report(follow.watched, ValueError(decoder.fault))

    def _do_aside(self, work: Work) -> None:
        """Do what the answer does not wait for."""
        task = asyncio.create_task(work)
        self._aside.add(task)
        task.add_done_callback(self._aside.discard)


class _Watch:
    """Tells the watch what a request says, once, when the first bytes of its answer have left: its
    thread would slow them down."""

    def __init__(self, exchange: Exchange | None) -> None:
        self._take = exchange.take if exchange is not None else None

    def start(self) -> bool:
        """Return True if it had not been told."""
        take, self._take = self._take, None
        if take is not None:
            take()
        return take is not None


class _Follower:
    """Does what a tap commands: sends bytes, and asks the watch."""

    def __init__(
        self,
        judging: Judging,
        do_aside: Callable[[Work], None],
        watched: Watched,
        response: web.StreamResponse,
        watch: _Watch,
    ) -> None:
        self.watch = watch
        self._judging = judging
        self._do_aside = do_aside
        self.watched = watched
        self._response = response
        self.called = False  # the answer has a call
        self.sends = True
        self.keeps = False
        self.kept: list[bytes] = []

    async def do(self, commands: Commands) -> None:
        verdict: Verdict | None = None
        while True:
            try:
                command = commands.send(verdict)
            except StopIteration:
                return
            verdict = None
            if isinstance(command, Judge | Observe) and self.watch.start():
                await asyncio.sleep(0)  # so that it comes before the call
            match command:
                case Send():
                    if self.keeps:
                        self.kept.append(command.data)
                    elif self.sends and command.data:
                        await self._response.write(command.data)
                case Judge():
                    self.called = True
                    verdict = Verdict(await self._judging.judge_call(self.watched, command.call))
                case Observe():
                    self.called = True
                    self._do_aside(self._judging.observe_call(self.watched, command.call))
                case Fault():
                    self._judging.report(self.watched, ValueError(command.message))


def _read_request(
    api: str, named: Mapping[str, str], data: bytes, binding: Binding
) -> tuple[Origin | None, list[Entry], Conversation]:
    """Return whose request it is, the entries of its conversation, and what is new in them."""
    body = JsonObject(json.loads(data))
    entries = read_entries(api, body)
    return routes.find_origin(api, named, body, binding), entries, summarise(entries)


async def _read_body(request: web.Request) -> tuple[bytes, bool]:
    """Return the body, and True if it is complete; a longer one is read up to a size."""
    chunks, size = [], 0
    async for data in request.content.iter_any():
        chunks.append(data)
        size += len(data)
        if size > LARGEST_REQUEST:
            return b"".join(chunks), False
    return b"".join(chunks), True


async def _chain(begin: bytes, request: web.Request) -> AsyncIterator[bytes]:
    yield begin
    async for data in request.content.iter_any():
        yield data


def _find_proxy(url: str) -> str | None:
    """Return the HTTP proxy that the environment names for an address."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in ("127.0.0.1", "localhost", "::1") or urllib.request.proxy_bypass(host):
        return None
    return urllib.request.getproxies().get(parts.scheme)


def _fail(status: int, message: str) -> web.Response:
    error = {"type": "error", "error": {"type": "api_error", "message": message}}
    return web.json_response(error, status=status)


def _abort(request: web.Request) -> web.StreamResponse:
    """Reset the connection, as the provider did: the client sees what it would see directly."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=502)

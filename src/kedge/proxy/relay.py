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
from collections.abc import AsyncIterator, Mapping
from urllib.parse import urlsplit

import aiohttp
from aiohttp import hdrs, web
from multidict import CIMultiDict
from yarl import URL

from kedge.agents.json_object import JsonObject
from kedge.proxy import routes
from kedge.proxy.answers import Answer, Exchange, Work, is_watched, pass_answer
from kedge.proxy.conversation import Conversation, Entry, summarise
from kedge.proxy.headers import select_headers
from kedge.proxy.judging import Judging
from kedge.proxy.requests import read_entries
from kedge.proxy.routes import Binding, Origin, Route

LARGEST_REQUEST = 64 << 20  # bytes of a request that is read before it is sent on
_LONG = 1 << 18  # bytes of a request that is read in a thread
_CONNECT_SECONDS = 30.0
_LONGEST_LINE = 1 << 18  # bytes of a header, and of a request's first line


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
        await self._judging.close()

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
        answer = Answer(self._judging, self._do_aside, exchange) if exchange is not None else None
        async with upstream:
            try:
                if answer is None or not is_watched(upstream):
                    return await pass_answer(request, upstream)
                return await answer.send(request, upstream)
            except (aiohttp.ClientError, OSError):
                return _abort(request)
            finally:
                if answer is not None:
                    answer.start_watch()

    def _do_aside(self, work: Work) -> None:
        """Do what the answer does not wait for."""
        task = asyncio.create_task(work)
        self._aside.add(task)
        task.add_done_callback(self._aside.discard)


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

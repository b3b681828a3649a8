"""The process of `kedge serve`: one for each repository, on loopback, known by a file.

A lock in kedge's home is held for as long as it runs, so a second one is refused and a crash leaves
nothing that is taken for a running process.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from kedge import __version__
from kedge.errors import KedgeError, LockTimeout
from kedge.host import daemon, files
from kedge.host.daemon import HEALTH, TOKEN_HEADER
from kedge.host.daemon import STATE as _STATE
from kedge.host.project import Project
from kedge.proxy.routes import BOUND, OWN
from kedge.store import sqlite

if TYPE_CHECKING:
    from aiohttp import web
    from aiohttp.typedefs import Handler, Middleware

    from kedge.proxy.hooks import HookAnswers
    from kedge.proxy.relay import Relay

STOP, HOOKS = f"{OWN}stop", f"{OWN}hooks/"
HOST = "127.0.0.1"
_LOCK = "serve.lock"
_LOOK_SECONDS = 1.0  # for an answer of the health route
_STOP_SECONDS = 10.0
_LOCK_SECONDS = 0.2  # `--stop` holds the lock for a moment when it looks
_TICK = 0.25  # seconds between two looks at whether the process is idle
_LAST_ANSWERS = 2.0  # seconds that open streams have after a request to stop


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """What `kedge serve` was asked for. `idle` is the number of seconds without requests after
    which it ends; 0 for never."""

    port: int
    upstreams: Mapping[str, str]
    policy: str | None
    proxy: bool = True
    idle: float = 0.0
    host: str = HOST


class Pages(Protocol):
    """The pages that are served beside the proxy."""

    def answers(self, method: str, path: str) -> bool:
        """True if a request with this raw path is for the pages."""

    async def answer(self, request: web.Request, port: int) -> web.StreamResponse:
        """Answer it; its Host is this server's."""

    async def close(self) -> None:
        """End the streams that are open."""


@dataclass(frozen=True, slots=True)
class ServiceState:
    """A running process, as its file describes it. The token lets the user's own programs in."""

    pid: int
    port: int
    token: str
    version: str
    upstreams: Mapping[str, str]
    policy: str | None
    proxy: bool
    pages: bool = False

    host: str = HOST

    @property
    def url(self) -> str:
        """Where programs of this machine reach it."""
        own = {"0.0.0.0": HOST, "::": "::1"}.get(self.host, self.host)  # noqa: S104 - of the user
        return f"http://[{own}]:{self.port}" if ":" in own else f"http://{own}:{self.port}"


class NotInstalled(KedgeError):
    code = "not-installed"
    usual_hint = "pip install 'kedge[serve]' (or pipx inject kedge 'kedge[serve]')"


def run(
    project: Project,
    options: ServiceOptions,
    announce: Callable[[ServiceState], None],
    open_pages: Callable[[], Pages] | None = None,
) -> str:
    """Serve until a signal, a request to stop, or idleness; return which of these it was."""
    try:
        import aiohttp  # noqa: F401
    except ImportError as error:
        raise NotInstalled("kedge serve needs aiohttp, which is not installed") from error
    home = project.home()
    # The connection stays open: closing the last one makes SQLite write its log to the database and
    # sync it, which costs each event several milliseconds.
    with _hold_lock(home), contextlib.closing(sqlite.connect(home)[0]) as db:
        db.execute("SELECT 1 FROM session").fetchone()  # only a connection that has read keeps it
        os.environ.pop("CLAUDE_PID", None)  # of the session that started it, not of those it serves
        try:
            return asyncio.run(_serve(project, options, announce, open_pages))
        finally:
            (home / _STATE).unlink(missing_ok=True)


def find_running(home: Path) -> ServiceState | None:
    """Return the process that serves and is healthy, or None."""
    state = _read_state(home)
    if state is None:
        return None
    answer = _call(state, "GET", HEALTH)
    healthy = answer is not None and answer.get("pid") == state.pid
    return state if healthy else None


def stop(home: Path) -> ServiceState | None:
    """End the process that serves; return what it was, or None if there was none."""
    state = _read_state(home)
    if state is None or not _is_locked(home):
        return None
    if _call(state, "POST", STOP) is None:
        holder = files.read_bytes(home / _LOCK) or b""
        if holder == str(state.pid).encode():
            with contextlib.suppress(ProcessLookupError):
                os.kill(state.pid, signal.SIGTERM)
    deadline = time.monotonic() + _STOP_SECONDS
    while _is_locked(home):
        if time.monotonic() > deadline:
            raise KedgeError(
                f"process {state.pid} does not end", hint=f"kill -9 {state.pid} ends it"
            )
        time.sleep(0.02)
    return state


async def _serve(
    project: Project,
    options: ServiceOptions,
    announce: Callable[[ServiceState], None],
    open_pages: Callable[[], Pages] | None,
) -> str:
    from aiohttp import web

    from kedge.proxy.answers import remove_own_headers
    from kedge.proxy.hooks import HookAnswers
    from kedge.proxy.judging import Judging
    from kedge.proxy.relay import Relay

    home = project.home()
    known = daemon.read(home)
    judging = Judging(project, options.policy)
    relay = Relay(judging, options.upstreams)
    hooks = HookAnswers(judging, home, known.token if known is not None else "")
    pages = open_pages() if open_pages is not None else None
    service = _Service(relay, hooks, pages, options)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, service.end, number.name)
    app = web.Application(middlewares=[service.guard])
    app.on_response_prepare.append(remove_own_headers)
    service.add_routes(app.router)
    runner = web.AppRunner(
        app,
        access_log=None,
        auto_decompress=False,
        handler_cancellation=True,  # a client that aborts ends its request upstream
        handle_signals=False,
        max_field_size=1 << 18,
        max_line_size=1 << 18,
        shutdown_timeout=_LAST_ANSWERS,
    )
    await runner.setup()
    try:
        port = options.port or (known.port if known is not None else 0)
        try:
            await web.TCPSite(runner, options.host, port).start()
        except OSError as error:
            raise KedgeError(
                f"cannot listen on port {port}: {(error.strerror or str(error)).lower()}",
                hint="choose another one with --port, or leave it out",
            ) from error
        port = runner.addresses[0][1]
        service.check_upstreams(port)
        await relay.open()
        await judging.process.start()
        state = ServiceState(
            os.getpid(),
            port,
            service.token,
            __version__,
            options.upstreams,
            options.policy,
            options.proxy,
            pages is not None,
            options.host,
        )
        service.state = state
        files.write_atomic(home / _STATE, json.dumps(asdict(state)).encode(), mode=0o600)
        if known is not None and known.port == port:
            hooks.go_on_duty()
        announce(state)
        ends = asyncio.create_task(judging.watch_ends())
        try:
            return await service.wait()
        finally:
            ends.cancel()
    finally:
        daemon.end_duty(home)
        if pages is not None:
            await pages.close()
        await runner.cleanup()  # open streams have a moment to end
        await relay.close()


class _Service:
    """What the server answers itself, and when it ends."""

    def __init__(
        self, relay: Relay, hooks: HookAnswers, pages: Pages | None, options: ServiceOptions
    ) -> None:
        self.token = secrets.token_urlsafe(24)
        self.state: ServiceState | None = None
        self._relay = relay
        self._hooks = hooks
        self._pages = pages
        self._options = options
        self._ended = asyncio.Event()
        self._reason = ""

    def add_routes(self, router: web.UrlDispatcher) -> None:
        """Add kedge's own routes, and the relay for all other paths."""
        router.add_get(HEALTH, self._answer_health)
        router.add_post(STOP, self._answer_stop)
        router.add_post(HOOKS + "{agent}", self._answer_hook)
        router.add_route("*", r"/{path:[\s\S]*}", self._relay_request)

    @property
    def guard(self) -> Middleware:
        """Refuse requests under another host name, and at everything but the relay pages from
        elsewhere."""
        from aiohttp import web

        from kedge.proxy.headers import is_loopback, is_own_host

        beyond = not is_loopback(self._options.host)

        @web.middleware
        async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
            port = self.state.port if self.state is not None else 0
            host = request.headers.get("Host", "")
            if not is_own_host(host, port, beyond=beyond):
                return web.Response(status=421, text="this is kedge serve, known as 127.0.0.1\n")
            relays = request.match_info.handler == self._relay_request
            is_own = request.path.startswith(OWN) and not request.path.startswith(BOUND)
            origin = request.headers.get("Origin")
            if (is_own or not relays) and origin not in (None, f"http://{host}"):
                return web.Response(status=403, text="not for other sites\n")
            return await handler(request)

        return check

    async def _answer_health(self, _: web.Request) -> web.Response:
        from aiohttp import web

        return web.json_response({"pid": os.getpid(), "version": __version__})

    async def _answer_stop(self, request: web.Request) -> web.Response:
        from aiohttp import web

        given = request.headers.get(TOKEN_HEADER, "").encode()
        if not secrets.compare_digest(given, self.token.encode()):
            return web.Response(status=403, text="not allowed\n")
        self.end("stopped")
        return web.json_response({"pid": os.getpid()})

    async def _answer_hook(self, request: web.Request) -> web.Response:
        self._relay.last_used = time.monotonic()
        return await self._hooks.answer(request, request.match_info["agent"])

    async def _relay_request(self, request: web.Request) -> web.StreamResponse:
        """Answer what no route of kedge's own takes: a page, or else a client's request."""
        from aiohttp import web

        pages, port = self._pages, self.state.port if self.state is not None else 0
        if pages is not None and pages.answers(request.method, request.rel_url.raw_path):
            self._relay.last_used = time.monotonic()
            return await pages.answer(request, port)
        if not self._options.proxy:
            return web.Response(status=404, text="kedge serve runs without its proxy\n")
        return await self._relay.answer(request)

    def check_upstreams(self, port: int) -> None:
        """Refuse an upstream that is this server: its requests would never leave it."""
        from urllib.parse import urlsplit

        for url in self._options.upstreams.values():
            parts = urlsplit(url)
            if parts.port == port and parts.hostname in (HOST, "localhost", "::1"):
                raise KedgeError(
                    f"the upstream {url} is this server itself",
                    hint="unset the client's base URL before you start kedge serve",
                )

    def end(self, reason: str) -> None:
        self._reason = self._reason or reason
        self._ended.set()

    async def wait(self) -> str:
        """Return why it ends, once it does."""
        idle = self._options.idle
        self._relay.last_used = time.monotonic()
        while not self._ended.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_TICK if idle else None):
                    await self._ended.wait()
            used = self._relay.active or time.monotonic() - self._relay.last_used < idle
            if idle and not used:
                self.end("idle")
        return self._reason


@contextlib.contextmanager
def _hold_lock(home: Path) -> Iterator[None]:
    try:
        with files.lock(home / _LOCK, timeout=_LOCK_SECONDS):
            yield
    except LockTimeout as error:
        state = _read_state(home)
        where = f" on port {state.port}" if state is not None else ""
        raise KedgeError(
            f"kedge serve runs already for this repository{where}",
            hint="kedge serve --stop ends it",
        ) from error


def _is_locked(home: Path) -> bool:
    try:
        with files.lock(home / _LOCK, timeout=0):
            return False
    except LockTimeout:
        return True


def _read_state(home: Path) -> ServiceState | None:
    data = files.read_bytes(home / _STATE)
    try:
        return ServiceState(**json.loads(data)) if data else None
    except (ValueError, TypeError):
        return None


def _call(state: ServiceState, method: str, path: str) -> dict[str, Any] | None:
    """Return the answer of a running process to a request, or None."""
    request = urllib.request.Request(  # noqa: S310 - an http URL on loopback
        state.url + path, method=method, headers={TOKEN_HEADER: state.token}
    )
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(request, timeout=_LOOK_SECONDS) as answer:
            value = json.loads(answer.read(1 << 16))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None

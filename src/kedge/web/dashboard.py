"""One request for the dashboard, from the socket to its answer.

Reading and rendering happen in threads of their own, so that the relay beside it never waits.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from kedge.errors import KedgeError
from kedge.web import access, acts, pages, rendering
from kedge.web.live import ChangeWatch
from kedge.web.routes import (
    ACTS,
    LIVE,
    STATIC,
    Refused,
    Target,
    find_target,
    is_own,
    is_safe_return,
    write_path,
)
from kedge.web.source import open_source

if TYPE_CHECKING:
    from aiohttp import web

    from kedge.host.project import Project

_THREADS = 2
_KEEP_ALIVE = 15.0  # seconds without an event on an open stream
_LARGEST_FORM = 64 << 10  # bytes
_FOR_EVER = "public, max-age=31536000, immutable"


class Dashboard:
    """The pages of one repository."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._key = access.read_key(project.home())
        self._pool = ThreadPoolExecutor(_THREADS, "dashboard")
        self._watch = ChangeWatch(project, self._pool)
        self._notices: dict[str, tuple[str, bool]] = {}

    def answers(self, method: str, path: str) -> bool:
        """True if this request is for the dashboard; others at `/` are a client's."""
        return is_own(path) and (path != "/" or method == "GET")

    async def close(self) -> None:
        """End the open streams."""
        await self._watch.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def answer(self, request: web.Request, port: int) -> web.StreamResponse:
        """Answer a request whose Host was checked."""
        try:
            return await self._answer(request, port)
        except Refused as error:
            return self._explain(request, error.status, error.text)
        except KedgeError as error:
            return self._explain(request, 500, error.message, error.hint)
        except sqlite3.Error as error:
            hint = "kedge doctor checks the database"
            return self._explain(request, 500, f"the database cannot be read: {error}", hint)
        except Exception as error:  # noqa: BLE001 - a bug in a page must not end the relay
            from kedge.context.session import record_error

            record_error(self._project.home(), "dashboard", error, "", request.path[:200])
            text = "this page has failed: it is a bug in kedge"
            return self._explain(request, 500, text, "kedge doctor shows what went wrong")

    async def _answer(self, request: web.Request, port: int) -> web.StreamResponse:
        path, query = request.rel_url.raw_path, request.rel_url.raw_query_string
        if path.startswith(STATIC):
            return _send_static(path)
        if not access.is_own_origin(request.headers.get("Origin"), request.host):
            raise Refused(403, "this request comes from another site")
        if access.PARAMETER in request.query and request.method == "GET":
            return self._sign_in(request, port)
        if not self._is_known(request, port):
            return self._explain(
                request, 401, "this dashboard is private", "kedge serve --status prints its link"
            )
        if path.startswith(ACTS):
            return await self._act(request, path.removeprefix(ACTS))
        if request.method not in ("GET", "HEAD"):
            raise Refused(405, "pages are only read")
        if path == LIVE:
            return await self._stream(request)
        target = find_target(path, query)
        body = await self._work(lambda: self._render(target))
        return _send_page(request, body)

    def _is_known(self, request: web.Request, port: int) -> bool:
        given = request.cookies.get(access.name_cookie(port), "")
        return access.is_same(given, access.derive(self._key, "read"))

    def _sign_in(self, request: web.Request, port: int) -> web.StreamResponse:
        """Exchange the key in the address for a cookie, and leave it out of the address."""
        from aiohttp import web

        if not access.is_same(request.query[access.PARAMETER], self._key):
            raise Refused(401, "this link is not valid: kedge serve --status prints the right one")
        answer = web.Response(status=303, headers={"Location": "/", "Cache-Control": "no-store"})
        value = access.derive(self._key, "read")
        answer.set_cookie(
            access.name_cookie(port), value, httponly=True, samesite="Strict", path="/"
        )
        return answer

    async def _act(self, request: web.Request, kind: str) -> web.StreamResponse:
        from aiohttp import web

        if request.method != "POST" or "Origin" not in request.headers:
            raise Refused(403, "acts need a form of this dashboard")
        if (request.content_length or _LARGEST_FORM + 1) > _LARGEST_FORM:
            raise Refused(413, "the form is too large")
        form = {name: str(value) for name, value in (await request.post()).items()}
        if not access.is_same(form.get("token", ""), access.derive(self._key, "act")):
            raise Refused(403, "the form's token is not valid: load the page again")
        try:
            text = await self._work(lambda: acts.perform(self._project, kind, form))
            done = True
        except KedgeError as error:
            text, done = f"{error.message}{f': {error.hint}' if error.hint else ''}", False
        back = form.get("back", "")
        back = back if is_safe_return(back) else "/"
        self._notices[back] = (text, done)
        return web.Response(status=303, headers={"Location": back, "Cache-Control": "no-store"})

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        """Send the names of what changed, until the page is closed."""
        from aiohttp import web

        answer = web.StreamResponse(
            headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"}
        )
        await answer.prepare(request)
        await answer.write(b"retry: 1000\n\n")
        with self._watch.listen(request.query.get("seen", "")) as changes:
            while True:
                try:
                    changed = await asyncio.wait_for(changes.get(), _KEEP_ALIVE)
                except TimeoutError:
                    await answer.write(b": still here\n\n")
                    continue
                if not changed:
                    return answer
                await answer.write(f"event: change\ndata: {' '.join(sorted(changed))}\n\n".encode())

    def _render(self, target: Target) -> bytes:
        topics = pages.TOPICS.get(target.page, ())
        seen = self._watch.read_stamps(topics)  # before anything is read for the page
        with open_source(self._project) as source:
            template, values = pages.load(source, target)
            notice = self._notices.pop(_write_target(target), None)
            return rendering.render(
                template,
                **values,
                **self._frame(target, notice, topics),
                seen=seen,
                warnings=source.warnings,
                now=source.now,
            )

    def _frame(
        self, target: Target, notice: tuple[str, bool] | None, topics: Sequence[str] = ()
    ) -> Mapping[str, Any]:
        """Return what every page shows around its own content."""
        return {
            "project": self._project.root.name,
            "page": target.page,
            "navigation": pages.NAVIGATION,
            "topics": " ".join(topics),
            "token": access.derive(self._key, "act"),
            "here": _write_target(target),
            "notice": notice,
            "can_act": acts.can_act(),
        }

    def _explain(
        self, request: web.Request, status: int, text: str, hint: str | None = None
    ) -> web.StreamResponse:
        frame = {**self._frame(Target("error"), None), "token": "", "project": "kedge"}
        known = status != 401
        body = rendering.render(
            "error.html", **frame, status=status, text=text, hint=hint, known=known, now="",
            seen="", warnings=[],
        )  # fmt: skip
        return _send_page(request, body, status)

    async def _work(self, act: Callable[[], Any]) -> Any:
        loop = asyncio.get_running_loop()
        waiting: Awaitable[Any] = loop.run_in_executor(self._pool, act)
        return await waiting


def _write_target(target: Target) -> str:
    page = "" if target.page == "now" else target.page
    plural = f"{page}s" if target.item else page
    return write_path(plural, target.item, **target.query)


def _send_static(path: str) -> web.StreamResponse:
    from aiohttp import web

    found = next((one for one in rendering.read_static().values() if one.path == path), None)
    if found is None:
        return web.Response(status=404, text="there is no such file\n")
    headers = {"Cache-Control": _FOR_EVER, "X-Content-Type-Options": "nosniff"}
    return web.Response(body=found.data, content_type=found.kind, charset="utf-8", headers=headers)


def _send_page(request: web.Request, body: bytes, status: int = 200) -> web.StreamResponse:
    from aiohttp import web

    headers = access.make_headers(request.host, STATIC)
    return web.Response(
        body=body, status=status, content_type="text/html", charset="utf-8", headers=headers
    )

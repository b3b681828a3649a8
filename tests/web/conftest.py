"""A served harbour, and the system's browser to look at it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from proxy.conftest import Serve, Server, serve  # noqa: F401 - the fixture
from support import Kedge
from web.scene import Scene

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
AXE = Path(sys.prefix, "axe", "node_modules", "axe-core", "axe.min.js")
_QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip
PATIENCE = 30_000  # milliseconds: a guard against hanging, not a measurement
_SERIOUS = ("serious", "critical")
_SHIFT = """() => new Promise((done) => {
  let sum = 0;
  new PerformanceObserver((list) => {
    for (const one of list.getEntries()) if (!one.hadRecentInput) sum += one.value;
  }).observe({ type: "layout-shift", buffered: true });
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(sum), 50)));
})"""


class View:
    """A page in the browser. What goes wrong in it is collected, and looked at with `check`."""

    def __init__(self, page: Any, server: Server) -> None:
        self.page = page
        self.url = server.url
        self.problems: list[str] = []
        self.asked: list[str] = []
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.problems.append(f"script: {error}"))
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("dialog", self._refuse)
        page.set_default_timeout(PATIENCE)

    def open(self, path: str) -> None:
        self.page.goto(f"{self.url}{path}")

    def check(self) -> None:
        """Assert that the page is quiet, asks nobody else, fits, and is accessible."""
        assert self.problems == []
        assert [url for url in self.asked if not url.startswith(f"{self.url}/")] == []
        too_wide = self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert too_wide <= 0, self.page.url

    def find_shift(self) -> float:
        """Return how far the page's content has moved by itself since it was opened."""
        return float(self.page.evaluate(_SHIFT))

    def find_barriers(self) -> list[str]:
        """Return what axe-core finds serious."""
        # evaluated by the browser's own tools, which the page's policy does not bind
        self.page.evaluate(AXE.read_text())
        found = self.page.evaluate("axe.run({resultTypes: ['violations']})")
        return [
            f"{one['id']}: {node['html'][:200]} {node['failureSummary']}"
            for one in found["violations"]
            if one["impact"] in _SERIOUS
            for node in one["nodes"]
        ]

    def _hear(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(message.text)

    def _refuse(self, dialog: Any) -> None:
        self.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()


class Browser:
    """Opens pages of a server, signed in."""

    def __init__(self, chromium: Any) -> None:
        self._chromium = chromium

    def open(self, server: Server, path: str = "/", **context: Any) -> View:
        context.setdefault("viewport", {"width": 1440, "height": 900})
        view = View(self._chromium.new_context(**context).new_page(), server)
        view.page.goto(server.state["dashboard"])
        if path != "/":
            view.open(path)
        return view


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    """The system's Chromium. If it is missing, skip, or fail in CI."""
    if CHROMIUM is None or not AXE.exists():
        missing = f"no chromium or axe-core: run tools/browser {Path(sys.prefix).name}"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(missing)
    from playwright.sync_api import sync_playwright

    with ExitStack() as stack:
        driver = stack.enter_context(sync_playwright())
        home = {**os.environ, "HOME": str(tmp_path)}
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=list(_QUIET), env=home)  # type: ignore[arg-type]
        stack.callback(chromium.close)
        yield Browser(chromium)


@pytest.fixture
def scene(kedge: Kedge, tmp_path: Path) -> Scene:
    made = Scene(kedge, tmp_path)
    made.lay_out()
    return made

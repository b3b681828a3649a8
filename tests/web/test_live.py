"""Live: a real client's steps are seen as they happen, and a run is stopped from its page."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any

from clients import PATIENCE, Claude
from proxy.conftest import Serve
from run.harness import HANG, RunHarness
from support import slowness
from web.conftest import Browser
from web.scene import Scene

from kedge.host import clock
from kedge.testing.fake_model import FakeModel

Play = Callable[..., FakeModel]
GOAL = "Round invoices to whole cents in berths/invoice.py. Do not touch data/."
SOON = 1.0  # seconds from an event to its sight, on an idle machine
# the moment at which the page shows a text
_WATCH = """(wanted) => {
  const look = () => {
    if (!window.seenAt && document.body.innerText.includes(wanted)) window.seenAt = Date.now();
  };
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
}"""


def test_a_real_client_is_seen_while_it_works(
    scene: Scene, serve: Serve, browser: Browser, claude: Claude, play: Play
) -> None:
    act = {"tool": "Bash", "input": {"command": "sed -i s/1000/1/ data/tariff.json"}}
    wait = {"tool": "Bash", "input": {"command": "sleep 4"}}
    model = play([act, wait, "Done."])
    server = serve("--upstream", model.url, "--policy", "enforce")
    view = browser.open(server)
    page = view.page
    page.locator('[data-state="live"]').wait_for()
    page.evaluate(_WATCH, "against “Do not touch data/”")
    worker = threading.Thread(
        target=lambda: claude(
            server.url, GOAL, "--allowedTools", "Bash", cwd=scene.root, timeout=PATIENCE
        )
    )
    worker.start()
    try:
        card = page.locator(".card.session", has_text="Round invoices")
        card.locator(".verdict .intervene, .verdict .halt").first.wait_for()
        assert "against “Do not touch data/”" in card.inner_text()
        seen = page.evaluate("window.seenAt") / 1000
    finally:
        worker.join()
    step = server.steps()[0]
    assert step["decision"] == "deny"
    fraction = float(f"0.{step['at'][20:26]}")
    assert seen - clock.parse(step["at"]) - fraction < SOON * slowness()
    view.check()


def test_a_run_is_stopped_from_its_page(scene: Scene, serve: Serve, browser: Browser) -> None:
    harness = RunHarness(scene.kedge, scene.scratch)
    harness.task("Read the list of boats", "boats", check="sh ready.sh")
    harness.plays({"hang": HANG})
    run = harness.start("--budget", "2")
    server = serve()
    view = browser.open(server, "/kedge/runs")
    page = view.page
    try:
        page.get_by_text("at work on").wait_for()
        assert "of $2.00" in page.locator(".meters").inner_text()
        page.get_by_role("button", name="Stop this run").click()
        page.get_by_role("alert").get_by_text("is being stopped").wait_for()
        run.communicate(timeout=PATIENCE)
    finally:
        if run.poll() is None:
            run.send_signal(signal.SIGKILL)
        run.communicate()
    page.locator("tbody", has_text="interrupted").wait_for()
    (attempt,) = harness.attempts("boats")
    assert attempt["outcome"] == "interrupted"
    view.check()


def test_what_happens_before_the_stream_opens_is_shown(
    scene: Scene, serve: Serve, browser: Browser
) -> None:
    """The page is rendered, then something changes, and only then its stream opens."""
    scene.kedge("task", "add", "Read the list of boats", "--id", "boats")
    view = browser.open(serve())
    page = view.page

    def change(route: Any) -> None:
        scene.kedge("task", "add", "Draw the berths", "--id", "berths")
        route.continue_()

    page.route("**/kedge/live*", change)
    page.goto(f"{view.url}/kedge/tasks")
    page.get_by_text("Draw the berths").first.wait_for()
    view.check()


def test_what_was_typed_outlives_an_update(scene: Scene, serve: Serve, browser: Browser) -> None:
    scene.kedge("task", "add", "Read the list of boats", "--id", "boats")
    scene.learn()
    view = browser.open(serve(), "/kedge/knowledge")
    page = view.page
    page.locator('[data-state="live"]').wait_for()
    lesson = page.locator(".lesson", has_text="Days are numbers")
    lesson.get_by_text("Retire", exact=True).click()
    note = lesson.get_by_label("Why it no longer holds")
    note.fill("There is a calendar")
    note.blur()
    scene.kedge("knowledge", "add", "Boats have names", "--type", "pattern", "--text",
                "Two boats may have one name, so a booking keeps the id.")  # fmt: skip
    page.locator("#p-sub", has_text="4 lessons").wait_for()
    assert note.input_value() == "There is a calendar"
    lesson.get_by_role("button", name="Retire it").click()
    page.get_by_role("alert").get_by_text("retired: Days are numbers").wait_for()
    page.locator(".lesson", has_text="Boats have names").wait_for()
    view.check()

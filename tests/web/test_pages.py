"""The pages in a real browser, with what real commands have made."""

from __future__ import annotations

import time

from proxy.conftest import Serve
from support import slowness
from web.conftest import Browser, View
from web.scene import Scene

from kedge.host.user import user_name

ONE = "3c1f8a52-7d7e-4f0f-9f1c-000000000001"
TWO = "8e24c6b1-5b2c-4c53-8f4e-000000000002"
PHONE = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}
SOON = 1.0  # seconds from an event to its sight, on an idle machine
STILL = 0.01  # of the window, as browsers measure the shift of a layout


def test_sessions_are_shown_while_they_work(scene: Scene, serve: Serve, browser: Browser) -> None:
    server = serve()
    view = browser.open(server)
    page = view.page
    page.get_by_text("Nothing was watched yet").wait_for()
    page.locator('[data-state="live"]').wait_for()
    talk = scene.work()

    # a session appears, and its steps do, without a click
    page.get_by_role("heading", name="Give a tenth off for a week").wait_for()
    assert page.locator(".card.session").count() == 2
    page.get_by_role("link", name="Give a tenth off for a week").click()
    page.locator("h1", has_text="Give a tenth off").wait_for()
    page.locator('[data-state="live"]').wait_for()
    assert page.locator("#p-steps .moment:not(.said)").count() == 9
    talk.read("README.md")
    begin = time.monotonic()
    page.locator("#s-10").wait_for()
    assert time.monotonic() - begin < SOON * slowness()

    # what was opened stays open, and says why
    page.locator("#d-6 > summary").click()
    explained = page.locator("#d-6 .explain")
    assert "against “Do not change the tests”" in explained.inner_text()
    assert "[kedge]" in explained.locator("blockquote").inner_text()
    talk.read("berths/bookings.py")
    page.locator("#s-11").wait_for()
    assert explained.is_visible()
    page.locator("a.mark[href='#s-6'] path").click()
    assert page.url.endswith("#s-6")
    page.locator("#transcript > summary").click()
    page.locator(".entry.call b", has_text="Bash").first.wait_for()
    view.check()

    # a limit is lifted, with who did it
    page.get_by_role("button", name="Lift").click()
    page.get_by_role("alert").get_by_text("lifted: “Do not change the tests”").wait_for()
    assert f"by {user_name()}" in page.locator(".limit.lifted").inner_text()
    assert scene.kedge.json("drift", "limit", "list", "--session", TWO) == []
    view.open("/")
    assert f"{user_name()}: lifted a limit of" in page.locator("#p-acts").inner_text()
    _filter(view)
    _search_map(view)
    for path in (
        "/",
        f"/kedge/sessions/{TWO}?step=6",
        "/kedge/map",
        "/kedge/map?file=berths%2Ffees.py",
    ):
        view.open(path)
        assert view.find_shift() < STILL
        assert view.find_barriers() == []
    phone = browser.open(server, f"/kedge/sessions/{TWO}", **PHONE)
    assert phone.find_barriers() == []
    phone.check()
    view.check()


def _filter(view: View) -> None:
    """Filter sessions by words and by what became of them, with the keyboard."""
    page = view.page
    view.open("/")
    page.keyboard.press("/")
    page.keyboard.type("invoices")
    page.keyboard.press("Enter")
    page.wait_for_url("**/?q=invoices&show=")
    assert page.locator("#p-past tbody tr").count() == 1
    page.select_option("#show", "review")
    page.get_by_text("No session matches").wait_for()
    view.open("/?show=strayed")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.locator("h1", has_text="Round invoices").wait_for()


def test_work_is_shown_from_the_task_to_its_proof(
    scene: Scene, serve: Serve, browser: Browser
) -> None:
    server = serve()
    view = browser.open(server, "/kedge/tasks")
    page = view.page
    page.get_by_text("There are no tasks yet").wait_for()
    page.locator('[data-state="live"]').wait_for()
    scene.plan()
    page.locator("#t-discount").wait_for()  # without a click
    scene.run()
    _look_at_tasks(view)
    for path, empty in (("handoffs", "being handed over"), ("knowledge", "was learned yet")):
        view.open(f"/kedge/{path}")
        page.get_by_text(empty).wait_for()
    scene.hand_over()
    _hand_over(view, scene)
    scene.learn()
    _retire(view, scene)
    view.open("/kedge/runs")
    page.locator("tbody a").first.click()
    page.locator(".meters").get_by_text("of $5.00").wait_for()
    run = page.url.partition("/kedge/")[2]
    page.get_by_role("link", name="attempt 2").click()
    page.locator("h1", has_text="Read the list of boats").wait_for()
    for path in ("tasks", "tasks/boats?attempt=2", "handoffs", "handoffs/discount", "knowledge",
                 "runs", run):  # fmt: skip
        view.open(f"/kedge/{path}")
        assert view.find_shift() < STILL
        assert view.find_barriers() == []
        view.check()
        phone = browser.open(server, f"/kedge/{path}", **PHONE)
        phone.check()
        phone.page.context.close()


def _look_at_tasks(view: View) -> None:
    """The board, the graph, and the diff and the check of the attempt that was proven."""
    page = view.page
    view.open("/kedge/tasks")
    columns = page.locator(".column").all_inner_texts()
    heads = {text.split("\n")[0].lower().split(" ")[0]: text for text in columns}
    assert "A week costs" in heads["ready"]
    assert "waits for" in heads["waiting"]
    assert "Nobody has said what a kilowatt hour costs" in heads["blocked"]
    assert "Read the list of boats" in heads["done"]
    assert page.locator(".graph a").count() == 4
    assert page.locator(".graph .edge").count() == 3
    page.keyboard.press("/")
    page.keyboard.type("kilowatt electricity")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=kilowatt**")
    assert page.locator(".ticket").count() == 0
    view.open("/kedge/tasks/boats")
    page.get_by_text("sh ready.sh").first.wait_for()
    page.locator("#a-2").get_by_role("link", name="show the diff").click()
    page.locator(".patch .added", has_text="line.split").wait_for()


def _hand_over(view: View, scene: Scene) -> None:
    """Compare any two snapshots, see what drifted, and resolve it."""
    page = view.page
    view.open("/kedge/handoffs")
    page.get_by_role("link", name="Resolve it").click()
    page.locator(".event.open", has_text="data/tariff.json").wait_for()
    page.locator("main a", has_text="What changed").click()
    page.locator("#p-diff .removed", has_text="1000").wait_for()
    page.select_option("#from", "implementer")
    page.wait_for_url("**from=implementer**")
    page.select_option("#to", "reviewer")
    page.wait_for_url("**to=reviewer**")
    page.locator("#p-diff .added", has_text="price_of_week").wait_for()
    page.get_by_label("What happened").fill("The least price was lowered by hand")
    page.get_by_role("button", name="Restore the snapshot").click()
    page.get_by_role("alert").get_by_text("the drift of discount is reverted").wait_for()
    assert "1000" in (scene.root / "data" / "tariff.json").read_text()
    (event,) = scene.kedge.json("context", "show", "discount")["drift"]
    assert (event["state"], event["note"]) == ("reverted", "The least price was lowered by hand")
    assert event["resolved_by"]


def _search_map(view: View) -> None:
    """The map is drawn, searched and filtered, and shows where agents were."""
    page = view.page
    view.open("/kedge/map")
    assert page.locator(".graph.map circle:not(.heat0)").count() == 6
    assert page.locator(".graph.map .edge").count() > 3
    page.keyboard.press("/")
    page.keyboard.type("who has booked a berth twice")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=who**")
    assert "bookings" in page.locator(".files tbody tr").first.inner_text()
    page.select_option("#dir", "tests")
    page.wait_for_url("**dir=tests**")
    paths = page.locator(".files .wide").all_inner_texts()
    assert paths and all(path.startswith("tests/") for path in paths)
    view.open("/kedge/map?by=heat")
    assert page.locator(".files .steps").first.inner_text() == "3"
    page.locator(".files a", has_text="berths/fees.py").first.click()
    page.get_by_role("heading", name="Where agents touched it").wait_for()
    page.get_by_role("link", name="8e24c6b1:4").click()
    page.locator("#d-4[open]").wait_for()


def _retire(view: View, scene: Scene) -> None:
    """The challenged lesson comes first, and is retired with a reason."""
    page = view.page
    view.open("/kedge/knowledge")
    first = page.locator(".lesson").first
    assert "Mocking the tariff" in first.inner_text()
    assert "challenged" in first.inner_text()
    first.get_by_text("Retire", exact=True).click()
    first.get_by_label("Why it no longer holds").fill("Its own test contradicts it")
    first.get_by_role("button", name="Retire it").click()
    page.get_by_role("alert").get_by_text("retired: Mocking the tariff").wait_for()
    names = [one["name"] for one in scene.kedge.json("knowledge", "list")]
    assert "Mocking the tariff" not in names

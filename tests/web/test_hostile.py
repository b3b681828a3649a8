"""Hostile names, prompts, diffs and transcripts, in a real browser: they are text, nothing else."""

from __future__ import annotations

from urllib.parse import urlencode

from proxy.conftest import Serve
from support import git
from web.conftest import Browser
from web.scene import Scene

TAG = '<img src=x onerror="alert(1)"><script>alert(2)</script>'
BREAK = "'\"></title></script></textarea><svg onload=alert(3)>"
LINK = "javascript:alert(4)"
TURNED = "safe\u202egnp.exe"
TEMPLATE = "{{ 7 * 7 }}{% raw %}"
ALL = f"{TAG} {BREAK} {LINK} {TURNED} {TEMPLATE}"
NAME = '<b onmouseover=alert(5)>&amp;".py'


def test_hostile_content_is_text(scene: Scene, serve: Serve, browser: Browser) -> None:
    _make(scene)
    server = serve()
    talk_id = "0-hostile"
    view = browser.open(server)
    page = view.page
    seen = {}
    for path in (
        "/",
        f"/?q={'%3Cscript%3Ealert(1)%3C%2Fscript%3E'}",
        f"/kedge/sessions/{talk_id}?step=2",
        f"/kedge/sessions/{talk_id}/transcript",
        "/kedge/map",
        f"/kedge/map?{urlencode({'file': NAME})}",
        "/kedge/tasks",
        "/kedge/tasks/evil",
        "/kedge/tasks/%3Cscript%3Ealert(1)%3C%2Fscript%3E",
        "/kedge/handoffs",
        "/kedge/handoffs/evil?from=base&to=implementer",
        "/kedge/knowledge",
        "/kedge/runs",
    ):
        missing = path.startswith("/kedge/tasks/%3C")
        view.open(path)
        if missing:  # the browser itself reports the status
            view.problems = [one for one in view.problems if "404" not in one]
        view.check()
        assert (
            page.evaluate("document.querySelectorAll('[onerror], [onload], b[onmouseover]').length")
            == 0
        )
        assert page.evaluate("document.querySelectorAll('script').length") == 1
        assert page.evaluate("[...document.links].filter(a => a.protocol != 'http:').length") == 0
        seen[path] = page.locator("body").inner_text()
        assert "\u202e" not in seen[path]
        assert "49" not in seen[path].split()
    for path in ("/", "/kedge/tasks", "/kedge/tasks/evil", "/kedge/knowledge", "/kedge/handoffs"):
        assert "<img src=x onerror=" in seen[path], path
    assert "safe\\u202egnp.exe" in seen["/kedge/tasks/evil"]
    assert TAG in seen[f"/kedge/sessions/{talk_id}/transcript"]
    assert TAG in seen["/kedge/handoffs/evil?from=base&to=implementer"]
    assert NAME in seen["/kedge/map"]
    assert NAME in seen[f"/kedge/sessions/{talk_id}?step=2"]


def _make(scene: Scene) -> None:
    (scene.root / NAME).write_text("safe = True\n")
    git(scene.root, "add", ".")
    git(scene.root, "commit", "-qm", TAG)
    talk = scene.talk("0-hostile", "claude", noted=True)
    talk.say(f"Mend it. {ALL} Do not touch data/.")
    talk.read(NAME)
    talk.shell(f"echo '{ALL}'")
    talk.edit("data/tariff.json", "1000", ALL)
    scene.settle()
    kedge = scene.kedge
    kedge("task", "add", ALL[:400], "--id", "evil", "--description", ALL, "--accept", ALL,
          "--scope", "berths/", "--label", "l")  # fmt: skip
    kedge("task", "block", "evil", "--type", "external", "--reason", ALL, "--tried", TAG)
    kedge("task", "reopen", "evil")
    kedge("context", "init", "evil")
    kedge("context", "begin", "evil", "--agent", "implementer")
    (scene.root / NAME).write_text(f"{ALL}\n")
    kedge("context", "snapshot", "evil", "--agent", "implementer")
    kedge("knowledge", "add", f"Never {TAG}", "--type", "pattern", "--text", f"{ALL} because")

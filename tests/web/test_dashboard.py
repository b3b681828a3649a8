"""The dashboard as a program without a browser meets it: who is let in, and what is refused."""

from __future__ import annotations

import http.client
import json
import re
import stat
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import pytest
from proxy.conftest import Serve, Server
from support import Kedge
from web.scene import Scene


class Caller:
    """Sends requests as they are written, without following or mending anything."""

    def __init__(self, server: Server) -> None:
        self.port = server.port
        self.key = str(server.state["dashboard"]).partition("key=")[2]
        self.cookie = ""

    def call(
        self, method: str, path: str, body: str = "", headers: Mapping[str, str] | None = None
    ) -> tuple[int, dict[str, str], str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        own = {"Cookie": self.cookie} if self.cookie else {}
        if body:
            own["Content-Type"] = "application/x-www-form-urlencoded"
        connection.request(method, path, body or None, {**own, **(headers or {})})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, text

    def get(self, path: str, **headers: str) -> tuple[int, str]:
        status, _, text = self.call("GET", path, headers=headers)
        return status, text

    def sign_in(self) -> None:
        status, headers, _ = self.call("GET", f"/?key={self.key}")
        assert (status, headers["location"]) == (303, "/")
        assert "HttpOnly" in headers["set-cookie"]
        assert "SameSite=Strict" in headers["set-cookie"]
        self.cookie = headers["set-cookie"].partition(";")[0]

    @property
    def origin(self) -> dict[str, str]:
        return {"Origin": f"http://127.0.0.1:{self.port}"}

    def token(self, path: str) -> str:
        found = re.search(r'name="token" value="(\w+)"', self.get(path)[1])
        assert found is not None
        return found[1]


@pytest.fixture
def caller(scene: Scene, serve: Serve) -> Caller:
    return Caller(serve())


def test_only_the_link_opens_it(caller: Caller, scene: Scene) -> None:
    status, text = caller.get("/")
    assert status == 401
    assert "kedge serve --status" in text
    assert "berths" not in text
    assert caller.get("/?key=wrong")[0] == 401
    assert stat.S_IMODE((scene.home / "dashboard.key").stat().st_mode) == 0o600
    caller.sign_in()
    assert caller.get("/")[0] == 200
    for place in ("/kedge/tasks", "/kedge/live"):
        assert Caller.get(_stranger(caller), place)[0] == 401


def _stranger(caller: Caller) -> Caller:
    other = Caller.__new__(Caller)
    other.port, other.key, other.cookie = caller.port, "", "kedge-1=x"
    return other


def test_other_names_and_other_sites_are_refused(caller: Caller) -> None:
    caller.sign_in()
    assert caller.get("/", Host="evil.example")[0] == 421
    assert caller.get("/", Origin="http://evil.example")[0] == 403
    assert caller.get("/", Origin="null")[0] == 403
    assert caller.get("/", **caller.origin)[0] == 200


def test_every_answer_has_the_policy(caller: Caller) -> None:
    caller.sign_in()
    for path in ("/", "/kedge/sessions/none", "/kedge/tasks/%00"):
        _, headers, text = caller.call("GET", path)
        assert "script-src http://127.0.0.1" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert "<style" not in text
        assert " style=" not in text
        assert not re.search(r"<script(?![^>]* src=)", text)


REFUSED = {
    "/kedge/sessions/..%2f..%2f..%2fetc%2fpasswd": 404,
    "/kedge/tasks/..%2f..%2f.git%2fconfig": 404,
    "/kedge/handoffs/..%2f..%2f.git": 404,
    "/kedge/runs/..%2fserve.json": 404,
    "/kedge/static/../../serve.json": 404,
    "/kedge/static/0/..%2f..%2fdashboard.py": 404,
    "/?skip=-1": 400,
    "/?show=everything": 400,
    f"/?q={'a' * 301}": 400,
    f"/?{'a' * 3000}": 414,
}


def test_traversal_and_oversized_queries_are_refused(caller: Caller) -> None:
    caller.sign_in()
    answers = {path: caller.get(path) for path in REFUSED}
    assert {path: status for path, (status, _) in answers.items()} == REFUSED
    assert not any("root:" in text or "token" in text for _, text in answers.values())
    assert caller.get("/")[0] == 200


def test_an_act_needs_cookie_origin_and_token(caller: Caller, scene: Scene) -> None:
    talk = scene.talk("5e55-1")
    talk.say("Mend berths/fees.py. Do not touch data/.")
    talk.read("berths/fees.py")
    scene.settle()
    caller.sign_in()
    page = "/kedge/sessions/5e55-1"
    token = caller.token(page)
    (limit,) = scene.kedge.json("drift", "limit", "list")
    form = {"session": "5e55-1", "limit": limit["id"], "back": page}
    right = urlencode({**form, "token": token})
    for body, headers in (
        (right, {}),
        (right, {"Origin": "http://evil.example"}),
        (urlencode({**form, "token": "0" * 40}), caller.origin),
        (urlencode(form), caller.origin),
    ):
        assert caller.call("POST", "/kedge/acts/lift", body, headers)[0] == 403
    stranger = _stranger(caller)
    assert stranger.call("POST", "/kedge/acts/lift", right, caller.origin)[0] == 401
    assert caller.call("GET", "/kedge/acts/lift", headers=caller.origin)[0] == 403
    assert scene.kedge.json("drift", "limit", "list")[0]["lifted"] is None
    status, headers, _ = caller.call("POST", "/kedge/acts/lift", right, caller.origin)
    assert (status, headers["location"]) == (303, page)
    assert not scene.kedge.json("drift", "limit", "list")
    assert "lifted: “Do not touch data/”" in caller.get(page)[1]
    elsewhere = urlencode({**form, "token": token, "back": "//evil.example/"})
    assert caller.call("POST", "/kedge/acts/lift", elsewhere, caller.origin)[1]["location"] == "/"
    large = f"{right}&note={'a' * 100_000}"
    assert caller.call("POST", "/kedge/acts/lift", large, caller.origin)[0] == 413


def test_the_key_lasts_and_the_dashboard_can_be_left_out(
    scene: Scene, serve: Serve, kedge: Kedge
) -> None:
    first = serve()
    link = kedge.json("serve", "--status")["dashboard"]
    assert link == first.state["dashboard"]
    as_agent = kedge("serve", "--status", "--json", env={"CLAUDECODE": "1"}).data
    assert as_agent["dashboard"] is None  # what the link lets do is the user's
    caller = Caller(first)
    caller.sign_in()
    first.stop()
    second = serve("--port", str(first.port))
    assert caller.get("/")[0] == 200
    second.stop()
    bare = serve("--no-dashboard", "--no-proxy")
    assert bare.state["dashboard"] is None
    caller.port = bare.port
    assert caller.get("/")[0] == 404
    bare.stop()
    said = kedge("uninstall", "--yes").out
    assert "the key of the dashboard" in said
    assert "did not write" not in said
    assert not (scene.home / "dashboard.key").exists()


def test_a_server_of_an_agent_only_shows(scene: Scene, serve: Serve) -> None:
    talk = scene.talk("5e55-2")
    talk.say("Mend berths/fees.py. Do not touch data/.")
    scene.settle()
    server = serve(env={"CLAUDECODE": "1"})
    assert server.state["dashboard"] is None
    server.state["dashboard"] = scene.kedge.json("serve", "--status")["dashboard"]
    caller = Caller(server)
    caller.sign_in()
    _, text = caller.get("/kedge/sessions/5e55-2")
    assert "no touch" in text
    assert '<form method="post"' not in text


def test_open_pages_do_not_keep_the_server(scene: Scene, serve: Serve) -> None:
    server = serve()
    caller = Caller(server)
    caller.sign_in()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET", "/kedge/live", headers={"Cookie": caller.cookie})
    answer = connection.getresponse()
    assert answer.readline() == b"retry: 1000\n"
    assert server.stop() == ""
    assert answer.read().endswith(b"\n")
    connection.close()


def test_nothing_of_it_is_loaded_without_need(kedge: Kedge) -> None:
    import subprocess
    import sys

    code = (
        "import sys, kedge.hook, kedge.cli.commands\n"
        "print([n for n in sys.modules if n.startswith(('kedge.web', 'jinja2', 'aiohttp'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_without_the_extra_serve_says_how_to_install_it(kedge: Kedge, tmp_path: Any) -> None:
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "jinja2.py").write_text("raise ImportError('No module named jinja2')\n")
    ran = kedge("serve", code=1, env={"PYTHONPATH": str(tmp_path / "none")})
    assert "jinja2" in ran.err
    assert "pip install 'kedge[serve]'" in ran.err


def test_a_damaged_database_is_explained(caller: Caller, scene: Scene) -> None:
    caller.sign_in()
    import sqlite3

    with sqlite3.connect(scene.home / "kedge.db") as db:
        db.execute("DROP TABLE session")
    status, text = caller.get("/")
    assert status == 500
    assert "kedge doctor" in text
    assert json.loads(caller.get("/kedge/health")[1])["pid"]

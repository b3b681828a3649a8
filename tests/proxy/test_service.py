"""The process of `kedge serve`: one for a repository, found, stopped and ended without a trace."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from proxy.conftest import Serve
from proxy.test_relay import wait_for
from proxy.upstream import send_raw
from support import TIMEOUT, Kedge, assert_clear, git

from kedge.host import agent_process

PRINT = """if True:
    import json, os
    print(json.dumps({name: value for name, value in os.environ.items() if name.endswith("_URL")}))
"""


def test_it_is_found_and_stopped(repo: Path, serve: Serve, kedge: Kedge) -> None:
    assert_clear(kedge("serve", "--status", code=4), code=4, says="kedge serve does not run here")
    assert kedge.json("serve", "--stop") == {"stopped": False}
    server = serve("--policy", "observe")
    found = kedge.json("serve", "--status")
    assert found["pid"] == server.process.pid
    assert found["url"] == server.url
    assert found["policy"] == "observe"
    assert found["upstreams"]["anthropic"] == "https://api.anthropic.com"
    assert kedge.json("serve", "--stop") == {"stopped": True, "pid": server.process.pid}
    assert server.process.wait(TIMEOUT) == 0
    assert kedge("serve", "--status", code=4)


def test_its_file_is_private_and_says_nothing_to_others(repo: Path, serve: Serve) -> None:
    server = serve()
    file = server.home / "serve.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    token = json.loads(file.read_text())["token"]
    assert token not in json.dumps(server.state)
    assert server.stop() == ""
    assert not file.exists()


def test_there_is_one_for_a_repository_and_its_work_trees(
    repo: Path, serve: Serve, kedge: Kedge, tmp_path: Path
) -> None:
    git(repo, "commit", "-qm", "first", "--allow-empty")
    git(repo, "worktree", "add", "-q", str(tmp_path / "other"))
    server = serve()
    ran = kedge("serve", code=1, cwd=tmp_path / "other")
    assert_clear(ran, code=1, says=f"on port {server.port}")
    assert kedge.json("serve", "--status", cwd=tmp_path / "other")["pid"] == server.process.pid


@pytest.mark.parametrize("number", [2, 15, 1])
def test_a_signal_ends_it_cleanly(repo: Path, serve: Serve, number: int) -> None:
    server = serve()
    server.process.send_signal(number)
    assert server.process.wait(TIMEOUT) == 0
    assert server.process.stdout is not None
    assert json.loads(server.process.stdout.readline())["event"] == "ended"
    assert not (server.home / "serve.json").exists()


def test_a_killed_one_is_not_taken_for_a_running_one(
    repo: Path, serve: Serve, kedge: Kedge
) -> None:
    server = serve()
    server.process.kill()
    server.process.wait()
    assert (server.home / "serve.json").exists()
    assert kedge("serve", "--status", code=4)
    assert kedge.json("serve", "--stop") == {"stopped": False}
    assert serve().process.poll() is None


def test_its_watch_ends_with_it_also_when_it_is_killed(repo: Path, serve: Serve) -> None:
    server = serve()
    watch = agent_process.describe(server.find_watch())
    server.process.kill()
    server.process.wait()
    wait_for(lambda: agent_process.is_gone(watch))


def test_one_that_does_not_answer_is_ended_by_a_signal(
    repo: Path, serve: Serve, kedge: Kedge
) -> None:
    server = serve()
    file = server.home / "serve.json"
    state = json.loads(file.read_text())
    file.write_text(json.dumps({**state, "token": "other"}))
    assert kedge.json("serve", "--stop")["stopped"]
    assert server.process.wait(TIMEOUT) == 0


def test_it_ends_when_it_is_idle(repo: Path, serve: Serve) -> None:
    server = serve("--idle", "0.5")
    assert server.process.wait(TIMEOUT) == 0


def test_a_taken_port_is_named(repo: Path, serve: Serve, kedge: Kedge, tmp_path: Path) -> None:
    server = serve()
    other = tmp_path / "elsewhere"
    other.mkdir()
    git(other, "init", "-q")
    ran = kedge("serve", "--port", str(server.port), code=1, cwd=other)
    assert_clear(ran, code=1, says=f"cannot listen on port {server.port}")


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("ftp://x", "--upstream is not an http or https URL"),
        ("api.anthropic.com", "--upstream is not an http or https URL"),
        ("https://user:pass@x", "--upstream has a user"),
        ("https://x/?key=1", "--upstream has a user, a query"),
    ],
)
def test_an_unfit_upstream_is_refused(repo: Path, kedge: Kedge, url: str, says: str) -> None:
    ran = kedge("serve", "--upstream", url, code=1)
    assert_clear(ran, code=1, says=says)
    assert "pass" not in ran.err


def test_it_listens_beyond_loopback_only_for_who_knows(
    repo: Path, serve: Serve, kedge: Kedge
) -> None:
    refused = kedge("serve", "--host", "0.0.0.0", code=2)
    assert_clear(refused, code=2, says="other machines")
    server = serve("--host", "0.0.0.0", "--i-know")
    assert server.url == f"http://127.0.0.1:{server.port}"
    for host, status in ((f"192.0.2.7:{server.port}", b"200"), ("rebound.example", b"421")):
        request = f"GET /kedge/health HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        assert send_raw(server.port, request.encode()).split()[1] == status
    assert kedge.json("serve", "--status")["port"] == server.port
    assert kedge.json("serve", "--stop")["stopped"]


def test_itself_is_refused_as_upstream(repo: Path, serve: Serve, kedge: Kedge) -> None:
    port = serve().port
    kedge("serve", "--stop")
    ran = kedge("serve", "--port", str(port), "--upstream", f"http://localhost:{port}/x", code=1)
    assert_clear(ran, code=1, says="is this server itself")


def test_a_project_cannot_name_an_upstream(repo: Path, serve: Serve) -> None:
    (repo / ".kedge").mkdir()
    (repo / ".kedge" / "config.toml").write_text('[serve]\nanthropic = "http://evil.example"\n')
    server = serve(env={"ANTHROPIC_BASE_URL": "https://gateway.example/a/"})
    assert server.state["upstreams"]["anthropic"] == "https://gateway.example/a"
    assert "can only be set in the user's file" in server.stop()


def test_the_users_setting_names_an_upstream(repo: Path, serve: Serve, tmp_path: Path) -> None:
    folder = tmp_path / "config" / "kedge"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('[serve]\nopenai = "https://gateway.example"\n')
    env = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "OPENAI_BASE_URL": "https://x.example/v1"}
    server = serve(env=env)
    assert server.state["upstreams"]["openai"] == "https://gateway.example"


def run_exec(kedge: Kedge, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kedge", "exec", *words],
        cwd=kedge.directory,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )


def test_exec_points_a_child_at_it(repo: Path, serve: Serve, kedge: Kedge) -> None:
    server = serve()
    done = run_exec(kedge, "--", sys.executable, "-c", PRINT)
    urls = json.loads(done.stdout)
    for name, tail in (
        ("ANTHROPIC_BASE_URL", "/anthropic"),
        ("OPENAI_BASE_URL", "/openai/v1"),
        ("GOOGLE_GEMINI_BASE_URL", "/gemini"),
    ):
        assert urls[name].startswith(server.url + "/kedge/to/")
        assert urls[name].endswith(tail)
    assert done.stderr == ""


def test_exec_leaves_another_address_alone(repo: Path, serve: Serve, kedge: Kedge) -> None:
    """The key in the environment is for that address, and for no other."""
    serve()
    gateway = "https://gateway.example/v1"
    done = run_exec(kedge, sys.executable, "-c", PRINT, OPENAI_BASE_URL=gateway)
    assert json.loads(done.stdout)["OPENAI_BASE_URL"] == gateway
    assert "OPENAI_BASE_URL is not the proxy's" in done.stderr


def test_exec_runs_directly_without_it(repo: Path, kedge: Kedge) -> None:
    done = run_exec(kedge, "--", sys.executable, "-c", PRINT)
    assert json.loads(done.stdout) == {}
    assert "the program runs directly" in done.stderr


def test_exec_is_not_in_between(repo: Path, kedge: Kedge) -> None:
    program = "import os, sys; print(os.getpid()); sys.exit(7)"
    child = subprocess.Popen(
        [sys.executable, "-m", "kedge", "exec", "--", sys.executable, "-c", program],
        cwd=repo,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    out, _ = child.communicate(timeout=TIMEOUT)
    assert (int(out), child.returncode) == (child.pid, 7)


def test_a_program_that_does_not_exist_is_named(repo: Path, kedge: Kedge) -> None:
    done = run_exec(kedge, "--", "no-such-program")
    assert done.returncode == 1
    assert "cannot start no-such-program" in done.stderr


def test_without_the_extra_it_says_how_to_install_it(repo: Path, kedge: Kedge) -> None:
    hide = (
        "import sys; sys.modules['aiohttp'] = None\n"
        "from kedge.cli.edge import run\nsys.exit(run(['serve']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", hide], cwd=repo, capture_output=True, text=True, timeout=TIMEOUT
    )
    assert done.returncode == 1
    assert "kedge serve needs aiohttp" in done.stderr
    assert "pip install 'kedge[serve]'" in done.stderr

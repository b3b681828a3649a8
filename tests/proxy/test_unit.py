"""The unit for systemd or launchd: what it runs serves, and it is removed without a trace."""

from __future__ import annotations

import os
import plistlib
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import TIMEOUT, Kedge, assert_clear, git

from kedge.host import project as projects
from kedge.proxy import unit


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A repository whose path has what units give a meaning to."""
    root = tmp_path / 'a "b" 100%h $HOME'
    root.mkdir()
    git(root, "init", "-q")
    return root


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "user").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return tmp_path / "user"


def read_systemd(text: str) -> list[str]:
    """Return the words of ExecStart, as systemd reads them."""
    line = next(line for line in text.splitlines() if line.startswith("ExecStart="))
    words, rest = [], line.partition("=")[2]
    while rest:
        assert rest[0] == '"'
        word, at = "", 1
        while rest[at] != '"':
            at += rest[at] == "\\"
            word += rest[at]
            at += 1
        words.append(word.replace("%%", "%").replace("$$", "$"))
        rest = rest[at + 1 :].lstrip()
    return words


@contextmanager
def run(argv: Sequence[str]) -> Iterator[None]:
    """Run the words of a unit where a service manager would: in /."""
    process = subprocess.Popen(argv, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    assert b"serving on" in process.stdout.readline()
    try:
        yield
    finally:
        process.terminate()
        process.communicate(timeout=TIMEOUT)
        assert process.returncode == 0


def list_tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_what_the_unit_runs_serves_and_the_unit_goes_again(odd: Path, home: Path) -> None:
    (home / ".config").mkdir()
    before = list_tree(home)
    kedge = Kedge(odd)
    data = kedge.json("serve", "--install", "--policy", "observe", "--idle", "60")
    path = Path(data["path"])
    assert path.parent == home / ".config" / "systemd" / "user"
    assert data["enable"] == f"systemctl --user enable --now {path.name}"
    with run(read_systemd(path.read_text())):
        assert kedge.json("serve", "--status")["policy"] == "observe"
    assert not kedge.json("serve", "--install", "--policy", "observe", "--idle", "60")["changed"]
    assert kedge.json("serve", "--install")["changed"]
    assert "observe" not in path.read_text()
    wants = path.parent / "default.target.wants"
    wants.mkdir()
    (wants / path.name).symlink_to(path)
    assert kedge.json("serve", "--uninstall")["path"] == str(path)
    assert list_tree(home) == before
    assert kedge.json("serve", "--uninstall")["path"] is None


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd here")
def test_systemd_accepts_it(odd: Path, tmp_path: Path) -> None:
    path = Kedge(odd).json("serve", "--install")["path"]
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", path],
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
    )
    about_it = [line for line in done.stderr.decode().splitlines() if Path(path).name in line]
    assert about_it == []
    assert done.returncode == 0, done


def test_launchd_gets_the_same(odd: Path, home: Path) -> None:
    before = list_tree(home)
    found = projects.find(odd)
    assert unit.install(found, ["--policy", "observe"], "darwin")
    place = unit.find_unit(found, "darwin")
    assert place.path.parent == home / "Library" / "LaunchAgents"
    content = plistlib.loads(place.path.read_bytes())
    assert content["Label"] == place.name
    assert content["KeepAlive"] == {"SuccessfulExit": False}
    with run(content["ProgramArguments"]):
        assert Kedge(odd).json("serve", "--status")["policy"] == "observe"
    assert unit.uninstall(found, "darwin") is not None
    assert list_tree(home) == before


def test_a_unit_that_the_user_changed_is_theirs(odd: Path) -> None:
    kedge = Kedge(odd)
    path = Path(kedge.json("serve", "--install")["path"])
    text = path.read_text().replace("RestartSec=2", "RestartSec=9")
    path.write_text(text)
    for option in ("--install", "--uninstall"):
        ran = kedge("serve", option, code=1)
        assert_clear(ran, code=1, says="was changed after kedge wrote it")
    assert path.read_text() == text


def test_uninstall_takes_the_unit_along(odd: Path, home: Path) -> None:
    before = list_tree(home)
    kedge = Kedge(odd)
    kedge("serve", "--install")
    kedge("uninstall", "--yes")
    assert list_tree(home) == before


def test_one_choice_at_a_time(repo: Path, kedge: Kedge) -> None:
    ran = kedge("serve", "--install", "--stop", code=2)
    assert_clear(ran, code=2, says="--install cannot be combined with --stop")
    assert "KEDGE_HOME" not in os.environ

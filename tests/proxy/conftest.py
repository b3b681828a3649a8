"""A running `kedge serve` for a test, ended with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from support import TIMEOUT, Kedge, wait_for_aside

from kedge.host import process_tree
from kedge.store import sessions, sqlite


class Server:
    """A process of `kedge serve`, and what it recorded."""

    def __init__(self, kedge: Kedge, args: tuple[str, ...], env: Mapping[str, str]) -> None:
        self.kedge = kedge
        self.home = kedge.directory / ".git" / "kedge"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "kedge", "--json", "serve", *args],
            cwd=kedge.directory,
            env={**os.environ, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(self.process.communicate()[1])
        self.state: dict[str, Any] = json.loads(line)
        self.url = str(self.state["url"])
        self.port = int(self.state["port"])

    def stop(self) -> str:
        """End it, and return what it wrote to standard error."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        _, errors = self.process.communicate(timeout=TIMEOUT)
        return errors

    def find_watch(self) -> int:
        """Return the process that judges."""
        (pid,) = process_tree.list_children(self.process.pid)
        return pid

    def sessions(self) -> list[dict[str, Any]]:
        wait_for_aside(self.home)
        with closing(sqlite.connect(self.home)[0]) as db:
            rows = [sessions.get(db, row["id"]) for row in sessions.sessions(db)]
            return [row for row in rows if row is not None]

    def steps(self) -> list[dict[str, Any]]:
        """The steps of all sessions, in order."""
        wait_for_aside(self.home)
        with closing(sqlite.connect(self.home)[0]) as db:
            return [step for row in sessions.sessions(db) for step in sessions.steps(db, row["id"])]

    def errors(self) -> list[str]:
        wait_for_aside(self.home)
        with closing(sqlite.connect(self.home)[0]) as db:
            return [str(row["error"]) for row in sessions.errors(db)]


Serve = Callable[..., Server]


@pytest.fixture
def serve(kedge: Kedge) -> Iterator[Serve]:
    """Return a function that starts `kedge serve` in the test's repository."""
    with ExitStack() as servers:

        def start(*args: str, env: Mapping[str, str] | None = None) -> Server:
            server = Server(kedge, args, env or {})
            servers.callback(server.stop)
            return server

        yield start


@pytest.fixture
def project(repo: Path) -> Path:
    """A repository with code, and a file that the user will rule out."""
    (repo / "src" / "auth").mkdir(parents=True)
    (repo / "src" / "auth" / "token.py").write_text("TTL = 60\n")
    (repo / "db").mkdir()
    (repo / "db" / "schema.sql").write_text("create table t (id int);\n")
    subprocess.run(["git", "add", "."], cwd=repo, check=True)
    subprocess.run(["git", "commit", "-qm", "first"], cwd=repo, check=True)
    return repo

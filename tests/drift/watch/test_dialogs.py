"""The questions that kedge puts to the user of Claude Code, and what their answer does."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from dialogs import Terminal
from support import Kedge, git

from kedge.store import sessions, sqlite
from kedge.testing.fake_model import FakeModel

Play = Callable[..., FakeModel]
GOAL = "Fix the expiry of tokens. Don't touch db/."
QUESTION = "kedge: this changes db/schema.sql. You said: “Don't touch db/”."


class Desk:
    """A watched project, and Claude Code in a terminal."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root = root
        self.home = home

    def open(self, model: FakeModel) -> Terminal:
        return Terminal(model.url, self.home, self.root, "--permission-mode", "acceptEdits")

    def write(self, path: str) -> dict[str, Any]:
        given = {"file_path": str(self.root / path), "content": "create table t (id int);\n"}
        return {"tool": "Write", "input": given}

    def steps(self) -> list[dict[str, Any]]:
        with closing(sqlite.connect(self.root / ".git" / "kedge")[0]) as db:
            (row,) = sessions.sessions(db)
            return sessions.steps(db, row["id"])


@pytest.fixture
def desk(repo: Path, kedge: Kedge, tmp_path: Path) -> Desk:
    (repo / ".claude").mkdir()
    (repo / "db").mkdir()
    kedge("init")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    return Desk(repo, tmp_path / "home")


def test_a_yes_lifts_the_limit_for_that_file(desk: Desk, kedge: Kedge, play: Play) -> None:
    calls = [desk.write("db/schema.sql"), desk.write("db/seed.sql"), "All is done."]
    with play(calls) as model, desk.open(model) as terminal:
        terminal.say(GOAL)
        dialog = terminal.wait("Do you want to create schema.sql?")
        # The dialog of a file shows no text of a hook, so the terminal is asked to notify.
        assert QUESTION not in dialog
        assert f"\x1b]9;{QUESTION}" in terminal.screen.raw
        terminal.press("1")
        second = terminal.wait("Do you want to create seed.sql?")
        assert "kedge: allowed in this session: db/schema.sql" in second
        terminal.press("2")
        terminal.wait("User rejected")
        assert (desk.root / "db" / "schema.sql").exists()
        assert not (desk.root / "db" / "seed.sql").exists()
        (limit,) = kedge.json("drift", "limit", "list")
        assert limit["exceptions"] == ["db/schema.sql"]
        assert [step["decision"] for step in desk.steps()] == ["allowed", "ask"]


def test_the_dialog_of_a_command_shows_the_question(desk: Desk, play: Play) -> None:
    command = {"tool": "Bash", "input": {"command": "touch db/schema.sql"}}
    with play([command, command, "All is done."]) as model, desk.open(model) as terminal:
        terminal.say(GOAL)
        dialog = terminal.wait("Do you want to proceed?")
        assert QUESTION in " ".join(dialog.replace("│", " ").split())
        assert "[kedge]" not in dialog  # that is for the agent
        terminal.press("1")
        terminal.wait("All is done.")  # the second call is not asked about
        assert "needs review" not in terminal.screen.text
        told = "".join(one.given for one in model.list_requests())
        assert "[kedge] This goes against what was asked." in told
        assert [step["decision"] for step in desk.steps()] == ["allowed", "none"]

"""opencode's database, with the tables and the values that the client writes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support import Kedge

from kedge.agents.transcripts import sessions
from kedge.agents.transcripts.events import (
    Compacted,
    PromptMessage,
    SessionFacts,
    ToolCall,
    ToolResult,
)
from kedge.errors import FileError

TABLES = """
CREATE TABLE session (id text PRIMARY KEY, project_id text, parent_id text, directory text NOT NULL,
  title text, version text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
  time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
  time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
"""
MAIN, CHILD = "ses_e0a3aa44effe1k9wmykk2DgkL3", "ses_e0a3aa44effe1k9wmykk2DgkL4"
AT = "2026-01-01T00:00:00.000Z"
BEGIN = 1_767_225_600_000  # AT, in milliseconds


class Database:
    """A database that is written while it is read, as opencode does."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.executescript(f"PRAGMA journal_mode=WAL; {TABLES}")
        self._ids = 0

    def session(self, name: str, directory: Path, parent: str | None = None) -> None:
        row = (name, "global", parent, str(directory), "t", "1.18.33", BEGIN, BEGIN)
        self.db.execute("INSERT INTO session VALUES (?,?,?,?,?,?,?,?)", row)

    def message(self, session: str, role: str, *parts: Any) -> None:
        self._ids += 1
        name = f"msg_{self._ids:04}"
        data = {"role": role, "modelID": "m", "path": {"cwd": "/srv/repo"}}
        row = (name, session, BEGIN, BEGIN, json.dumps(data))
        self.db.execute("INSERT INTO message VALUES (?,?,?,?,?)", row)
        for part in parts:
            self._ids += 1
            text = part if isinstance(part, str) else json.dumps(part)
            self.db.execute(
                "INSERT INTO part VALUES (?,?,?,?,?,?)",
                (f"prt_{self._ids:04}", name, session, BEGIN, BEGIN, text),
            )


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = Database(tmp_path / "opencode.db")
    with closing(made.db):
        yield made


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def tool(call: str, name: str, status: str = "completed", **more: Any) -> dict[str, Any]:
    state = {"status": status, "input": {"command": call}, **more}
    return {"type": "tool", "tool": name, "callID": call, "state": state}


def test_a_session_with_a_subagent_and_a_compaction(database: Database) -> None:
    database.session(MAIN, Path("/srv/repo"))
    database.session(CHILD, Path("/srv/repo"), MAIN)
    database.message(MAIN, "user", text('"Do the \\"thing\\"."'), text("told", synthetic=True))
    database.message(
        MAIN,
        "assistant",
        {"type": "step-start"},
        text("I write."),
        tool("c1", "write"),
        tool("c2", "bash", metadata={"exit": 3}),
        tool("c3", "bash", "error", error="no"),
        tool("c4", "bash", "running"),
        {"type": "later", "state": 7},
    )
    database.message(MAIN, "user", {"type": "compaction", "auto": True})
    database.message(CHILD, "user", text("look around"))
    database.message(CHILD, "assistant", tool("c5", "bash", metadata={"exit": 0}))
    (session,) = sessions.group_sessions(sessions.inspect_files(database.path))
    assert (session.agent, session.id, session.cwd) == ("opencode", MAIN, "/srv/repo")
    found = sessions.read_events(session, warn=pytest.fail)
    cwd = "/srv/repo"
    assert [event for event in found if not isinstance(event, SessionFacts)] == [
        PromptMessage("prt_0002", 'Do the "thing".', AT),
        PromptMessage("prt_0003", "told", AT, machine=True),
        ToolCall("c1", "write", {"command": "c1"}, AT, "", "I write.", cwd),
        ToolResult("c1", True, AT),
        ToolCall("c2", "bash", {"command": "c2"}, AT, "", "I write.", cwd),
        ToolResult("c2", False, AT),
        ToolCall("c3", "bash", {"command": "c3"}, AT, "", "I write.", cwd),
        ToolResult("c3", False, AT),
        ToolCall("c4", "bash", {"command": "c4"}, AT, "", "I write.", cwd),
        Compacted(AT),
        PromptMessage("prt_0015", "look around", AT, machine=True),
        ToolCall("c5", "bash", {"command": "c5"}, AT, CHILD, "", cwd),
        ToolResult("c5", True, AT),
    ]


def test_damaged_rows_are_left_out_and_reported(database: Database) -> None:
    database.session(MAIN, Path("/srv/repo"))
    database.message(MAIN, "user", text("Do the thing."), "{half", "[]")
    database.message(MAIN, "assistant", {"type": "tool", "tool": "bash"})
    (session,) = sessions.group_sessions(sessions.inspect_files(database.path))
    warnings: list[str] = []
    found = list(sessions.read_events(session, warn=warnings.append))
    assert [event for event in found if not isinstance(event, SessionFacts)] == [
        PromptMessage("prt_0002", "Do the thing.", AT)
    ]
    assert warnings == [
        f"{database.path}: session {MAIN}: 2 damaged records",
        f"{database.path}: 1 record of opencode without what they should have, left out",
    ]


def test_other_databases_are_not_transcripts(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as db:
        db.execute("CREATE TABLE session (id)")
    assert sessions.inspect_files(other) == []
    other.write_bytes(other.read_bytes()[:40] + b"garbage" * 1000)
    with pytest.raises(FileError):
        sessions.inspect_files(other)


def test_the_sessions_of_a_project_are_found_and_nothing_is_written(
    database: Database, tmp_path: Path, repo: Path, kedge: Kedge
) -> None:
    data = tmp_path / "data" / "opencode"
    data.mkdir(parents=True)
    other = tmp_path / "other"
    for name, directory in ((MAIN, repo), (CHILD, other)):
        database.session(name, directory)
        database.message(name, "user", text(f"Work in {directory.name}."))
        database.message(name, "assistant", tool(f"call-{name}", "bash"))
    database.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    place = database.path.rename(data / "opencode.db")
    before = place.read_bytes()
    env = {"XDG_DATA_HOME": str(tmp_path / "data"), "HOME": str(tmp_path)}
    (found,) = kedge.json("drift", "replay", "--all", "--agent", "opencode", env=env)
    assert (found["session"], found["goal"], found["actions"]) == (MAIN, "Work in repo.", 1)
    assert place.read_bytes() == before

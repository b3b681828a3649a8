"""The database of the fake bd: issues, links, labels and comments, with bd's rules for them."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

Issue = dict[str, Any]

FILE = Path(".beads", "fake-bd.sqlite")
STATUSES = ["open", "in_progress", "blocked", "deferred", "closed", "pinned", "hooked"]
TYPES = "bug feature task epic chore decision message molecule gate spike story milestone event"
NOT_READY = ("merge-request", "gate", "molecule", "message", "agent", "role", "rig")
HIDDEN = ("agent", "rig", "role", "message")
TIMES = ("created_at", "updated_at", "started_at", "closed_at", "due_at", "defer_until")
UPSERTED = """title description design acceptance_criteria notes status priority issue_type
  assignee estimated_minutes updated_at started_at closed_at external_ref close_reason metadata"""
OTHERS = """id spec_id owner created_by source_system sender ephemeral no_history pinned
  is_template mol_type work_type await_type await_id"""
SCHEMA = """
CREATE TABLE IF NOT EXISTS issues (id TEXT PRIMARY KEY, doc TEXT, blocked INTEGER DEFAULT 0,
  status TEXT AS (json_extract(doc, '$.status')));
CREATE TABLE IF NOT EXISTS labels (issue TEXT, label TEXT, PRIMARY KEY (issue, label));
CREATE TABLE IF NOT EXISTS links (issue TEXT, target TEXT, type TEXT, at TEXT, external INTEGER,
  PRIMARY KEY (issue, target));
CREATE TABLE IF NOT EXISTS comments (issue TEXT, doc TEXT, PRIMARY KEY (issue, doc));
CREATE TABLE IF NOT EXISTS config (key TEXT PRIMARY KEY, value TEXT);
CREATE VIEW IF NOT EXISTS waiting AS
  SELECT d.issue FROM links d JOIN issues t ON t.id = d.target
  JOIN issues i ON i.id = d.issue AND i.status NOT IN ('closed', 'pinned')
  WHERE NOT d.external AND (d.type = 'parent-child' AND t.blocked
    OR d.type IN ('blocks', 'conditional-blocks') AND t.status NOT IN ('closed', 'pinned')
    OR d.type = 'waits-for' AND EXISTS (
      SELECT 1 FROM links c JOIN issues o ON o.id = c.issue WHERE c.target = d.target
      AND c.type = 'parent-child' AND o.status NOT IN ('closed', 'pinned')));
"""
UPDATE_BLOCKED = """UPDATE issues SET blocked = NOT blocked
  WHERE id = ? AND blocked <> (id IN (SELECT issue FROM waiting))"""
CYCLE = """WITH RECURSIVE reached (id) AS (SELECT ? UNION SELECT target FROM links
  JOIN reached ON issue = id WHERE type IN ('blocks', 'conditional-blocks'))
  SELECT id FROM reached WHERE id = ?"""


class BdError(Exception):
    """A failure with exit code 1. With --json it goes to standard output, unless it is `plain`."""

    def __init__(self, message: str, *, hint: str = "", plain: bool = False) -> None:
        super().__init__(message)
        self.hint, self.plain = hint, plain


def round_stamp(text: str) -> str:
    """Return the stamp rounded to seconds, as bd's columns store it."""
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", str(text)):
        raise BdError(f'failed to parse issue from JSONL: parsing time "{text}"', plain=True)
    moment = datetime.fromisoformat(text).astimezone(UTC) + timedelta(seconds=0.5)
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def now() -> str:
    return round_stamp(datetime.now(UTC).isoformat())


def prefix(issue_id: str) -> str:
    return issue_id.partition("-")[0] if "-" in issue_id else ""


class IssueDatabase:
    """Issues as JSON documents, with their links, labels and comments."""

    def __init__(self, file: Path) -> None:
        self.db = sqlite3.connect(file, timeout=30, isolation_level=None)
        self.db.executescript(SCHEMA)

    def column(self, sql: str, *values: Any) -> list[Any]:
        return [row[0] for row in self.db.execute(sql, values)]

    def config(self, key: str) -> str:
        return "".join(self.column("SELECT value FROM config WHERE key = ?", key))

    def find(self, issue_id: str) -> Issue | None:
        docs = self.column("SELECT doc FROM issues WHERE id = ?", issue_id)
        return dict(json.loads(docs[0])) if docs else None

    def get(self, issue_id: str) -> Issue:
        if (issue := self.find(issue_id)) is None:
            raise BdError(f'resolving ID {issue_id}: no issue found matching "{issue_id}"')
        return issue

    def all(self) -> list[Issue]:
        docs = [json.loads(doc) for doc in self.column("SELECT doc FROM issues ORDER BY id")]
        docs.sort(key=lambda issue: str(issue["created_at"]), reverse=True)
        return sorted(docs, key=lambda issue: int(issue["priority"]))

    def children(self, issue_id: str) -> list[str]:
        sql = "SELECT issue FROM links WHERE target = ? AND type = 'parent-child'"
        return self.column(sql, issue_id)

    def put(self, issue: Issue) -> str:
        """Validate the issue as bd does, and store it."""
        size, kind, status = len(issue["title"].encode()), issue["issue_type"], issue["status"]
        kinds = f"{TYPES} {self.config('types.custom')}".split()
        for wrong, message in (
            (not size, "title is required"),
            (size > 500, f"title must be 500 characters or less (got {size})"),
            (status not in [*STATUSES, self.config("status.custom")], f"invalid status: {status}"),
            (kind not in kinds, f"invalid issue type: {kind}"),
            (issue["priority"] not in range(5), "priority must be between 0 and 4"),
            ((status == "closed") != bool(issue.get("closed_at")), "closed_at must fit the status"),
        ):
            if wrong:
                raise BdError(f"validation failed for issue {issue['id']}: {message}", plain=True)
        doc = {key: value for key, value in issue.items() if value not in (None, "", [], {}, False)}
        doc["priority"] = issue["priority"]
        sql = "INSERT INTO issues (id, doc) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET doc = ?2"
        self.db.execute(sql, (issue["id"], json.dumps(doc)))
        return str(issue["id"])

    def add(self, **fields: Any) -> str:
        key = fields.pop("id", None) or f"{self.config('issue_prefix')}-{os.urandom(3).hex()}"
        defaults = {"id": key, "title": "", "status": "open", "priority": 2, "issue_type": "task"}
        return self.put({**defaults, "created_at": now(), "updated_at": now(), **fields})

    def change(self, issue_id: str, **fields: Any) -> None:
        """Update as bd does: closed_at, started_at and pinned follow the status."""
        issue = self.get(issue_id)
        if "status" in fields:
            fields["pinned"] = fields["status"] == "pinned"
            if fields["status"] == "closed":
                fields["closed_at"] = now()
            elif issue["status"] == "closed":
                fields |= {"closed_at": None, "close_reason": None}
            elif fields["status"] == "in_progress":
                fields["started_at"] = issue.get("started_at") or now()
        self.put({**issue, **fields, "updated_at": now()})
        self.update_blocked()

    def update_blocked(self, only: Collection[str] | None = None) -> None:
        """Update the `blocked` flag of all issues, or only of some."""
        ids = self.column("SELECT id FROM issues") if only is None else only
        while sum(self.db.execute(UPDATE_BLOCKED, (issue_id,)).rowcount for issue_id in ids):
            pass

    def check_cycle(self, issue_id: str, target: str, kind: str) -> None:
        if issue_id == target:
            raise BdError(f"cannot add self-dependency: {issue_id} cannot depend on itself")
        if kind in ("blocks", "conditional-blocks") and self.column(CYCLE, target, issue_id):
            raise BdError("adding dependency would create a cycle")

    def link(self, issue_id: str, target: str, kind: str = "blocks") -> None:
        """Add a dependency as `bd dep add` does."""
        external = target.startswith("external:") or prefix(issue_id) != prefix(target)
        ends = [self.find(issue_id), self.find(target)]
        if not ends[0] or not (ends[1] or external):
            raise BdError(f"issue {target if ends[0] else issue_id} not found")
        if kind == "blocks" and len({end["issue_type"] == "epic" for end in ends if end}) > 1:
            raise BdError("tasks can only block other tasks, not epics")
        self.check_cycle(issue_id, target, kind)
        sql = "SELECT type FROM links WHERE issue = ? AND target = ?"
        if self.column(sql, issue_id, target) not in ([], [kind]):
            raise BdError(f"dependency {issue_id} -> {target} already exists with another type")
        values = (issue_id, target, kind, now(), external)
        self.db.execute("INSERT OR REPLACE INTO links VALUES (?, ?, ?, ?, ?)", values)
        self.update_blocked()

    def unlink(self, issue_id: str, target: str) -> None:
        self.db.execute("DELETE FROM links WHERE issue = ? AND target = ?", (issue_id, target))
        self.update_blocked()

    def label(self, issue_id: str, add: Iterable[str] = (), remove: Iterable[str] = ()) -> None:
        for word in add:
            self.db.execute("INSERT OR IGNORE INTO labels VALUES (?, ?)", (issue_id, word))
        for word in remove:
            self.db.execute("DELETE FROM labels WHERE issue = ? AND label = ?", (issue_id, word))

    def to_json(self, issue: Issue, *, whole: bool = False) -> Issue:
        """Return the issue as `list` and `ready` print it, or the `whole` line of the export."""
        key = issue["id"]
        sql = "SELECT issue, target, type, at FROM links WHERE issue = ?"
        names = ("issue_id", "depends_on_id", "type", "created_at")
        links = [dict(zip(names, row, strict=True)) for row in self.db.execute(sql, (key,))]
        notes = self.column("SELECT doc FROM comments WHERE issue = ?", key)
        words = self.column("SELECT label FROM labels WHERE issue = ? ORDER BY label", key)
        related = {"labels": words, "dependencies": links if whole else []}
        related["comments"] = [json.loads(note) for note in notes] if whole else []
        counts = {"dependency_count": sum(link["type"] == "blocks" for link in links)}
        sql = "SELECT 1 FROM links WHERE target = ? AND type = 'blocks'"
        counts |= {"dependent_count": len(self.column(sql, key)), "comment_count": len(notes)}
        parents = [link["depends_on_id"] for link in links if link["type"] == "parent-child"]
        out = {"_type": "issue", **issue} if whole else dict(issue)
        if parents and not whole:
            out["parent"] = parents[0]
        return {**out, **{name: value for name, value in related.items() if value}, **counts}

"""A fake `bd`: the commands, flags, JSON and rules of beads 1.x that matter to kedge.

Its state is a SQLite file in `.beads/`, and `.beads/issues.jsonl` is no part of it. Commands and
flags that it does not know are refused as bd refuses them. Where kedge depends on bd it does what
bd does, not what would be convenient: `import` adds labels and links but removes none, leaves
alone some columns of an issue that is there, skips lines older than what it holds, and does not
look at what waits for an issue that it closes; stamps are kept to the second; `dep add` takes an
id of another prefix for another project's. Standard library only: it runs as `python -I <file>`.
"""

from __future__ import annotations

import csv
import json
import os
import re
import secrets
import shlex
import sqlite3
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

Issue = dict[str, Any]
Flags = dict[str, Any]

QUIET = ("closed", "pinned")
STATUSES = ("open", "in_progress", "blocked", "deferred", "closed", "pinned", "hooked")
TYPES = ("bug", "feature", "task", "epic", "chore", "decision", "message", "molecule", "gate")
TYPES += ("spike", "story", "milestone", "event")
NOT_READY = ("merge-request", "gate", "molecule", "message", "agent", "role", "rig")
INFRA = ("agent", "rig", "role", "message")
LINKS = ("blocks", "conditional-blocks", "waits-for", "parent-child")
TIMES = ("created_at", "updated_at", "started_at", "closed_at", "due_at", "defer_until")
UPSERTED = "title description design acceptance_criteria notes status priority issue_type assignee "
UPSERTED += "estimated_minutes updated_at started_at closed_at external_ref close_reason metadata"
COLUMNS = f"id {UPSERTED} {' '.join(TIMES)} spec_id owner created_by source_system sender "
COLUMNS += "ephemeral no_history pinned is_template mol_type work_type await_type await_id"
SCHEMA = """
CREATE TABLE IF NOT EXISTS issues (id TEXT PRIMARY KEY, doc TEXT, blocked INTEGER DEFAULT 0);
CREATE TABLE IF NOT EXISTS labels (issue TEXT, label TEXT, PRIMARY KEY (issue, label));
CREATE TABLE IF NOT EXISTS links (issue TEXT, target TEXT, type TEXT, external INTEGER,
  created_at TEXT, metadata TEXT, PRIMARY KEY (issue, target));
CREATE TABLE IF NOT EXISTS comments (issue TEXT, doc TEXT, PRIMARY KEY (issue, doc));
CREATE TABLE IF NOT EXISTS config (key TEXT PRIMARY KEY, value TEXT);
"""


class Refused(Exception):
    """What bd ends with exit code 1 for. With --json most commands say it on standard output."""

    def __init__(self, message: str, *, hint: str = "", plain: bool = False) -> None:
        super().__init__(message)
        self.hint = hint
        self.plain = plain


def install(directory: Path) -> Path:
    """Write an executable `bd` into the directory that runs this file."""
    directory.mkdir(parents=True, exist_ok=True)
    program = directory / "bd"
    words = shlex.join([sys.executable, "-I", str(Path(__file__).resolve())])
    program.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    program.chmod(0o755)
    return program


def clock() -> str:
    return second(datetime.now(UTC).isoformat())


def second(text: str) -> str:
    """A stamp as a column of whole seconds holds it."""
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", str(text)):
        raise Refused(f'failed to parse issue from JSONL: parsing time "{text}"', plain=True)
    moment = datetime.fromisoformat(text).astimezone(UTC) + timedelta(microseconds=500_000)
    return moment.replace(microsecond=0, tzinfo=None).isoformat() + "Z"


class Store:
    def __init__(self, file: Path) -> None:
        self.db = sqlite3.connect(file, timeout=30, isolation_level=None)
        self.db.executescript(SCHEMA)

    def rows(self, sql: str, *values: Any) -> list[Any]:
        return self.db.execute(sql, values).fetchall()

    def config(self, key: str) -> str:
        return next(
            (value for (value,) in self.rows("SELECT value FROM config WHERE key=?", key)), ""
        )

    def find(self, issue_id: str) -> Issue | None:
        found = self.rows("SELECT doc FROM issues WHERE id=?", issue_id)
        return dict(json.loads(found[0][0])) if found else None

    def get(self, issue_id: str) -> Issue:
        issue = self.find(issue_id)
        if issue is None:
            raise Refused(f'resolving ID {issue_id}: no issue found matching "{issue_id}"')
        return issue

    def all(self) -> list[Issue]:
        docs = [json.loads(doc) for (doc,) in self.rows("SELECT doc FROM issues ORDER BY id")]
        docs.sort(key=lambda doc: str(doc["created_at"]), reverse=True)
        return sorted(docs, key=lambda doc: int(doc["priority"]))

    def put(self, issue: Issue) -> None:
        """Keep the issue as bd's validation lets it through."""
        size = len(issue.get("title", "").encode())
        allowed = [*TYPES, *self.config("types.custom").split(",")]
        if not size:
            raise Refused(f"validation failed for issue {issue['id']}: title is required")
        if size > 500:
            raise Refused(f"title must be 500 characters or less (got {size})")
        if issue["status"] not in [*STATUSES, *self.config("status.custom").split(",")]:
            raise Refused(f"invalid status: {issue['status']}")
        if issue["issue_type"] not in allowed:
            raise Refused(f"invalid issue type: {issue['issue_type']}")
        if issue["priority"] not in range(5):
            raise Refused(f"priority must be between 0 and 4 (got {issue['priority']})")
        if (issue["status"] == "closed") != bool(issue.get("closed_at")):
            raise Refused("closed_at is set if and only if an issue is closed")
        doc = {key: value for key, value in issue.items() if value not in (None, "", [], {}, False)}
        self.db.execute(
            "INSERT INTO issues (id, doc) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET doc=?2",
            (issue["id"], json.dumps(doc)),
        )

    def change(self, issue_id: str, **fields: Any) -> None:
        """Update as bd does: closed_at, started_at and the pin follow the status."""
        issue = self.get(issue_id)
        was, is_now = issue["status"], fields.get("status", issue["status"])
        if is_now == "closed" and "status" in fields:
            fields.setdefault("closed_at", clock())
        elif was == "closed" and is_now != "closed":
            fields |= {"closed_at": None, "close_reason": None}
        if is_now == "in_progress" and not issue.get("started_at"):
            fields["started_at"] = clock()
        if is_now != "pinned" and "status" in fields:
            fields["pinned"] = False
        self.put(issue | fields | {"updated_at": clock()})
        if (was in QUIET) != (is_now in QUIET):
            parents = self.ends(
                "SELECT target FROM links WHERE type='parent-child' AND issue=?", issue_id
            )
            blocked = self.ends(
                "SELECT issue FROM links WHERE target=? AND type LIKE '%blocks'", issue_id
            )
            self.recompute([issue_id, *blocked, *self.waiting_on(parents)])

    def ends(self, sql: str, *values: Any) -> list[str]:
        return [end for (end,) in self.rows(sql, *values)]

    def waiting_on(self, spawners: Iterable[str]) -> list[str]:
        sql = "SELECT issue FROM links WHERE target=? AND type='waits-for'"
        return [waiter for spawner in spawners for waiter in self.ends(sql, spawner)]

    def children(self, issue_id: str) -> list[str]:
        return self.ends("SELECT issue FROM links WHERE target=? AND type='parent-child'", issue_id)

    def recompute(self, seeds: Iterable[str], *, below: bool = True) -> None:
        """Settle the blocked marks of these issues and, as a rule, of all that is below them."""
        ids = list(dict.fromkeys(seeds))
        for issue_id in ids if below else ():
            ids += [child for child in self.children(issue_id) if child not in ids]
        settled = False
        while not settled:
            settled = True
            for issue_id in ids:
                sql = "UPDATE issues SET blocked=?2 WHERE id=?1 AND blocked<>?2"
                done = self.db.execute(sql, (issue_id, int(self.is_blocked(issue_id))))
                settled = settled and not done.rowcount

    def is_blocked(self, issue_id: str) -> bool:
        issue = self.find(issue_id)
        if issue is None or issue["status"] in QUIET:
            return False
        sql = "SELECT target, type, metadata FROM links WHERE issue=? AND NOT external"
        for target, kind, metadata in self.rows(sql, issue_id):
            other = self.find(target)
            if kind == "parent-child" and self.rows(
                "SELECT 1 FROM issues WHERE id=? AND blocked", target
            ):
                return True
            if kind in ("blocks", "conditional-blocks") and other and other["status"] not in QUIET:
                return True
            states = [self.get(child)["status"] for child in self.children(target)]
            passed = "any-children" in (metadata or "") and "closed" in states
            if kind == "waits-for" and not passed and any(state not in QUIET for state in states):
                return True
        return False

    def check_circle(self, issue_id: str, target: str, kind: str) -> None:
        if issue_id == target:
            raise Refused(f"cannot add self-dependency: {issue_id} cannot depend on itself")
        reached = [target] if kind in ("blocks", "conditional-blocks") else []
        for node in reached:
            sql = "SELECT target FROM links WHERE issue=? AND type LIKE '%blocks'"
            reached += [end for end in self.ends(sql, node) if end not in reached]
        if issue_id in reached:
            raise Refused("adding dependency would create a cycle")

    def link(self, issue_id: str, target: str, kind: str = "blocks", metadata: str = "") -> None:
        """Add a dependency as `bd dep add` does."""
        external = target.startswith("external:") or prefix(issue_id) != prefix(target)
        source, other = self.find(issue_id), self.find(target)
        for name, found in ((issue_id, source), (target, other or external)):
            if not found:
                raise Refused(f"issue {name} not found")
        epics = {(issue or {}).get("issue_type") == "epic" for issue in (source, other)}
        if kind == "blocks" and not external and len(epics) == 2:
            raise Refused("tasks can only block other tasks, and epics other epics")
        self.check_circle(issue_id, target, kind)
        for held in self.ends(
            "SELECT type FROM links WHERE issue=? AND target=?", issue_id, target
        ):
            if held != kind:
                raise Refused(
                    f'dependency {issue_id} -> {target} already exists with type "{held}"'
                )
        values = (issue_id, target, kind, external, clock(), metadata)
        self.db.execute("INSERT OR REPLACE INTO links VALUES (?, ?, ?, ?, ?, ?)", values)
        if kind in LINKS:
            self.recompute([issue_id, *self.waiting_on([target])])

    def unlink(self, issue_id: str, target: str) -> None:
        self.db.execute("DELETE FROM links WHERE issue=? AND target=?", (issue_id, target))
        self.recompute([issue_id, *self.waiting_on([target])])

    def shown(self, issue: Issue, *, whole: bool = False) -> Issue:
        """The issue as `list` and `ready` print it, or as a line of the export."""
        key = issue["id"]
        labels = self.ends("SELECT label FROM labels WHERE issue=? ORDER BY label", key)
        links = [
            {"issue_id": key, "depends_on_id": target, "type": kind, "created_at": at}
            | {"created_by": "fake", "metadata": metadata or "{}"}
            for target, kind, at, metadata in self.rows(
                "SELECT target, type, created_at, metadata FROM links WHERE issue=?", key
            )
        ]
        comments = [json.loads(c) for c in self.ends("SELECT doc FROM comments WHERE issue=?", key)]
        parents = [link["depends_on_id"] for link in links if link["type"] == "parent-child"]
        out = {"_type": "issue", **issue} if whole else dict(issue)
        out |= {"labels": labels} if labels else {}
        if whole:
            out |= {"dependencies": links} if links else {}
            out |= {"comments": comments} if comments else {}
        elif parents:
            out["parent"] = parents[0]
        waiting = self.ends("SELECT issue FROM links WHERE target=? AND type='blocks'", key)
        out["dependency_count"] = sum(link["type"] == "blocks" for link in links)
        return out | {"dependent_count": len(waiting), "comment_count": len(comments)}


def prefix(issue_id: str) -> str:
    return issue_id.partition("-")[0] if "-" in issue_id else ""


def new_issue(store: Store, **fields: Any) -> Issue:
    key = fields.pop("id", None) or f"{store.config('issue_prefix')}-{secrets.token_hex(3)}"
    at = clock()
    issue = {"id": key, "status": "open", "priority": 2, "issue_type": "task", "created_at": at}
    return {**issue, "updated_at": at, **{k: v for k, v in fields.items() if v is not None}}


def content(flags: Flags) -> Issue:
    """The fields that `create` and `update` set with the same flags."""
    names = {"title": "title", "description": "description", "design": "design", "notes": "notes"}
    names |= {"acceptance": "acceptance_criteria", "assignee": "assignee", "type": "issue_type"}
    fields = {key: flags[name] for name, key in names.items() if name in flags}
    if flags.get("body-file") == "-" or "stdin" in flags:
        fields["description"] = sys.stdin.buffer.read().decode()
    if "priority" in flags:
        fields["priority"] = int(flags["priority"].removeprefix("P"))
    if "title" in fields:
        fields["title"] = fields["title"].strip()
    if "external-ref" in flags:
        fields["external_ref"] = flags["external-ref"]
    if "metadata" in flags:
        text = flags["metadata"]
        fields["metadata"] = json.loads(Path(text[1:]).read_text() if text[:1] == "@" else text)
    if "defer" in flags:
        fields["defer_until"] = second(flags["defer"]) if flags["defer"] else None
        fields["status"] = "deferred"
    return fields


def init(_: Store, flags: Flags, __: list[str]) -> None:
    name = flags.get("prefix") or Path.cwd().name.lstrip(".").rstrip("-").replace(".", "_")
    folder = Path.cwd() / ".beads"
    folder.mkdir(exist_ok=True)
    sql = "INSERT OR IGNORE INTO config VALUES ('issue_prefix', ?)"
    Store(folder / "fake-bd.sqlite").db.execute(sql, (name,))


def config_get(store: Store, _: Flags, args: list[str]) -> Any:
    return {"key": args[0], "value": store.config(args[0])}


def config_set(store: Store, _: Flags, args: list[str]) -> None:
    store.db.execute("INSERT OR REPLACE INTO config VALUES (?, ?)", args)


def create(store: Store, flags: Flags, args: list[str]) -> Any:
    fields = {"title": args[0] if args else "", **content(flags)}
    parent = flags.get("parent")
    if parent:
        store.get(parent)
        fields["id"] = f"{parent}.{len(store.children(parent)) + 1}"
    if "id" in flags:
        fields["id"] = flags["id"]
        if "force" not in flags and not flags["id"].startswith(store.config("issue_prefix") + "-"):
            raise Refused(f"prefix mismatch: ID '{flags['id']}' doesn't match (use --force)")
    issue = new_issue(store, **fields)
    store.put(issue)
    for label in flags.get("labels", []):
        store.db.execute("INSERT OR IGNORE INTO labels VALUES (?, ?)", (issue["id"], label))
    if parent:
        store.link(issue["id"], parent, "parent-child")
    for dep in flags.get("deps", []):
        kind, _, other = dep.rpartition(":")
        ends = (other, issue["id"]) if kind == "blocks" else (issue["id"], other)
        store.link(*ends, "blocks" if kind in ("", "depends-on", "blocked-by") else kind)
    return store.get(issue["id"])


def list_(store: Store, flags: Flags, _: list[str]) -> Any:
    hidden = () if "all" in flags or "status" in flags else QUIET
    wanted = flags.get("status", "").split(",") if "status" in flags else None
    found = [
        store.shown(issue)
        for issue in store.all()
        if issue["status"] not in hidden
        and (wanted is None or issue["status"] in wanted)
        and issue["issue_type"] not in (*INFRA, "gate")
    ]
    limit = int(flags.get("limit", 0 if "all" in flags else 50))
    return found[:limit] if limit else found


def ready(store: Store, flags: Flags, _: list[str]) -> Any:
    at = clock()
    asleep = {i["id"] for i in store.all() if i.get("defer_until", "") > at}
    asleep |= {child for issue_id in asleep for child in store.children(issue_id)}
    marked = store.ends("SELECT id FROM issues WHERE blocked")
    found = [
        store.shown(issue)
        for issue in store.all()
        if issue["status"] == "open"
        and not issue.get("pinned")
        and not issue.get("ephemeral")
        and issue["issue_type"] not in NOT_READY
        and issue["id"] not in (*marked, *asleep)
    ]
    limit = int(flags.get("limit", 100))
    return found[:limit] if limit else found


def show(store: Store, _: Flags, args: list[str]) -> Any:
    details = []
    for issue in filter(None, map(store.find, args)):
        sql = "SELECT target, type FROM links WHERE issue=?"
        links = [(store.find(end), kind) for end, kind in store.rows(sql, issue["id"])]
        known = [{**other, "dependency_type": kind} for other, kind in links if other]
        details.append(store.shown(issue) | ({"dependencies": known} if known else {}))
    if not details:
        raise Refused("no issues found matching the provided IDs")
    return details


def update(store: Store, flags: Flags, args: list[str]) -> Any:
    issue_id = store.get(args[0])["id"]
    fields = content(flags)
    if flags.get("defer") == "":
        del fields["status"]
        if store.get(issue_id)["status"] == "deferred":
            fields["status"] = "open"
    if "status" in flags:
        fields["status"] = flags["status"]
    if "metadata" in fields:
        fields["metadata"] = {**store.get(issue_id).get("metadata", {}), **fields["metadata"]}
    if fields:
        store.change(issue_id, **fields)
    for label in flags.get("add-label", []):
        store.db.execute("INSERT OR IGNORE INTO labels VALUES (?, ?)", (issue_id, label))
    for label in flags.get("remove-label", []):
        store.db.execute("DELETE FROM labels WHERE issue=? AND label=?", (issue_id, label))
    return [store.get(issue_id)]


def close(store: Store, flags: Flags, args: list[str]) -> Any:
    reasons = flags.get("reason") or ["Closed"]
    if flags.get("reason-file") == "-":
        reasons = [sys.stdin.buffer.read().decode()]
    for number, issue_id in enumerate(args):
        waiting = store.rows("SELECT 1 FROM issues WHERE id=? AND blocked", issue_id)
        below = [store.get(child)["status"] for child in store.children(issue_id)]
        epic = store.get(issue_id)["issue_type"] == "epic" and set(below) - {"closed"}
        if "force" not in flags and (waiting or epic):
            raise Refused(
                f"cannot close {issue_id}: blocked by open issues (use --force to override)"
            )
        reason = reasons[number if len(reasons) > 1 else 0]
        store.change(issue_id, status="closed", close_reason=reason)
    return [store.get(issue_id) for issue_id in args]


def reopen(store: Store, _: Flags, args: list[str]) -> Any:
    for issue_id in args:
        store.change(issue_id, status="open", defer_until=None)
    return [store.get(issue_id) for issue_id in args]


def dep_add(store: Store, flags: Flags, args: list[str]) -> Any:
    store.link(args[0], args[1], flags.get("type", "blocks"))
    return {"status": "added", "issue_id": args[0], "depends_on_id": args[1]}


def dep_remove(store: Store, _: Flags, args: list[str]) -> Any:
    store.unlink(store.get(args[0])["id"], args[1])
    return {"status": "removed", "issue_id": args[0], "depends_on_id": args[1]}


def label_add(store: Store, _: Flags, args: list[str]) -> Any:
    return update(store, {"add-label": args[-1:]}, args[:1])


def label_remove(store: Store, _: Flags, args: list[str]) -> Any:
    return update(store, {"remove-label": args[-1:]}, args[:1])


def export(store: Store, flags: Flags, _: list[str]) -> None:
    lines = [
        store.shown(issue, whole=True)
        for issue in store.all()
        if "all" in flags
        or not (issue.get("ephemeral") or issue.get("is_template") or issue["issue_type"] in INFRA)
    ]
    if "all" in flags or "include-memories" in flags:
        memories = store.rows("SELECT substr(key, 4), value FROM config WHERE key LIKE 'kv.%'")
        lines += [{"_type": "memory", "key": key, "value": value} for key, value in memories]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    if "output" in flags:
        Path(flags["output"]).write_text(text)
    else:
        sys.stdout.write(text)


def import_(store: Store, _: Flags, args: list[str]) -> Any:
    from_stdin = args == ["-"]
    data = sys.stdin.buffer.read() if from_stdin else Path(args[0]).read_bytes()
    try:
        lines = [json.loads(line) for line in data.decode().split("\n") if line]
    except ValueError as error:
        raise Refused(f"failed to parse JSONL line: {error}", plain=True) from error
    stale, taken, skipped = [], [], []
    for line in lines:
        if line.get("_type") == "memory":
            store.db.execute(
                "INSERT OR REPLACE INTO config VALUES ('kv.' || ?, ?)", (line["key"], line["value"])
            )
        elif line.get("status") != "tombstone":
            (taken if upsert(store, line) else stale).append(line)
    for line in taken:
        for link in line.get("dependencies") or []:
            target, kind = link["depends_on_id"], link["type"]
            try:
                if not target.startswith("external:") and store.find(target) is None:
                    raise Refused("target not found")
                store.check_circle(line["id"], target, kind)
            except Refused as error:
                skipped.append(f"{line['id']} -> {target}: {error}")
                continue
            values = (line["id"], target, kind, target.startswith("external:"), clock(), "")
            store.db.execute("INSERT OR IGNORE INTO links VALUES (?, ?, ?, ?, ?, ?)", values)
    ids = [line["id"] for line in taken]
    store.recompute(ids, below=False)
    answer = {"source": "stdin", "created": len(ids), "skipped": len(stale), "ids": ids}
    answer |= {"stale_skipped_ids": [line["id"] for line in stale]} if stale else {}
    return answer | ({"skipped_dependencies": skipped} if skipped else {})


def upsert(store: Store, line: Issue) -> bool:
    """Take a line of an import, unless the issue that is there is newer."""
    fields = {key: line[key] for key in COLUMNS.split() if line.get(key) is not None}
    fields |= {key: second(fields[key]) for key in TIMES if key in fields}
    issue = new_issue(store, **fields)
    if issue["status"] == "closed":
        issue.setdefault("closed_at", issue["updated_at"])
    held = store.find(issue["id"])
    if held is not None:
        if "updated_at" in fields and second(held["updated_at"]) > fields["updated_at"]:
            return False
        kept = {key: value for key, value in held.items() if key not in UPSERTED.split()}
        issue = {**kept, **{key: issue.get(key) for key in UPSERTED.split()}}
    store.put(issue)
    for label in line.get("labels") or []:
        store.db.execute("INSERT OR IGNORE INTO labels VALUES (?, ?)", (issue["id"], label))
    for comment in line.get("comments") or []:
        values = (issue["id"], json.dumps(comment, sort_keys=True))
        store.db.execute("INSERT OR IGNORE INTO comments VALUES (?, ?)", values)
    return True


def batch(store: Store, _: Flags, __: list[str]) -> Any:
    done = 0
    for number, line in enumerate(sys.stdin.buffer.read().decode().split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        words = tokens(line.strip())
        try:
            batch_line(store, words)
        except (Refused, IndexError) as error:
            raise Refused(f"line {number} ({line.strip()}): {error}", plain=True) from error
        done += 1
    return {"operations": done, "status": "ok"}


def batch_line(store: Store, words: list[str]) -> None:
    if words[0] == "close":
        reason = " ".join(words[2:]) if words[2:] else "Closed"
        store.change(words[1], status="closed", close_reason=reason)
    elif words[0] == "update":
        fields: Issue = dict(word.split("=", 1) for word in words[2:])
        unknown = sorted(set(fields) - {"status", "priority", "title", "assignee"})
        if unknown:
            raise Refused(f'update: unsupported key "{unknown[0]}"')
        if "priority" in fields:
            fields["priority"] = int(fields["priority"])
        store.change(words[1], **fields)
    elif words[:2] == ["dep", "add"]:
        store.link(*words[2:5])
    elif words[:2] == ["dep", "remove"]:
        store.unlink(words[2], words[3])
    elif words[0] == "create":
        title = " ".join(words[3:])
        store.put(new_issue(store, title=title, issue_type=words[1], priority=int(words[2])))
    else:
        raise Refused(f'unsupported batch command "{words[0]}"')


def tokens(line: str) -> list[str]:
    found = re.findall(r'((?:"(?:\\["\\]|[^"])*"|[^\s"])+)', line)
    return [
        re.sub(
            r'"((?:\\["\\]|[^"])*)"', lambda quoted: re.sub(r'\\(["\\])', r"\1", quoted[1]), word
        )
        for word in found
    ]


Command = Callable[[Store, Flags, list[str]], Any]
# A flag: its name, a letter after a comma, `!` for one without a value, `*` for a list in CSV,
# `+` for one that may be repeated.
_CONTENT = "title description,d design notes acceptance assignee,a type,t priority,p metadata "
_CONTENT += "external-ref body-file stdin! defer"
COMMANDS: dict[str, tuple[Command, str]] = {
    "init": (init, "prefix,p"),
    "config get": (config_get, ""),
    "config set": (config_set, ""),
    "create": (create, f"{_CONTENT} id parent force! labels,l* deps*"),
    "list": (list_, "all! status,s limit,n"),
    "ready": (ready, "limit,n"),
    "show": (show, ""),
    "update": (update, f"{_CONTENT} status,s add-label* remove-label*"),
    "close": (close, "reason,r+ reason-file force,f!"),
    "reopen": (reopen, "reason,r"),
    "dep add": (dep_add, "type,t"),
    "dep remove": (dep_remove, ""),
    "label add": (label_add, ""),
    "label remove": (label_remove, ""),
    "export": (export, "output,o all! include-memories!"),
    "import": (import_, ""),
    "batch": (batch, ""),
}


def parse(spec: str, words: list[str]) -> tuple[Flags, list[str]]:
    kinds: dict[str, str] = {}
    letters: dict[str, str] = {}
    for word in f"{spec} json! actor quiet,q!".split():
        name, _, letter = word.rstrip("!*+").partition(",")
        kinds[name] = word[-1] if word[-1] in "!*+" else ""
        letters[letter or name] = name
    flags: Flags = {}
    args: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            args += rest
            break
        if word == "-" or not word.startswith("-"):
            args.append(word)
            continue
        name, given, value = word.lstrip("-").partition("=")
        if not word.startswith("--"):
            name, given, value = letters.get(word[1], word[1]), word[2:], word[2:]
        if name not in kinds:
            raise Refused(f"unknown flag: {word.partition('=')[0]}", plain=True)
        if kinds[name] == "!":
            flags[name] = True
            continue
        if not given and not rest:
            raise Refused(f"flag needs an argument: {word}", plain=True)
        value = value if given else rest.pop(0)
        if kinds[name]:
            more = next(csv.reader([value]), []) if kinds[name] == "*" else [value]
            flags[name] = [*flags.get(name, []), *more]
        else:
            flags[name] = value
    return flags, args


def run(words: list[str]) -> Any:
    for size in (2, 1):
        name = " ".join(words[:size])
        if name in COMMANDS:
            break
    else:
        raise Refused(f'unknown command "{words[0] if words else ""}" for "bd"', plain=True)
    command, spec = COMMANDS[name]
    flags, args = parse(spec, words[size:])
    if command is init:
        return init(Store(Path(":memory:")), flags, args)
    places = [Path(os.environ["BEADS_DIR"])] if "BEADS_DIR" in os.environ else []
    places += [folder / ".beads" for folder in (Path.cwd(), *Path.cwd().parents)]
    files = [place / "fake-bd.sqlite" for place in places if (place / "fake-bd.sqlite").exists()]
    if not files:
        hint = "run 'bd init' to create a new database"
        raise Refused("no beads database found", hint=hint, plain=True)
    store = Store(files[0])
    store.db.execute("BEGIN IMMEDIATE")
    answer = command(store, flags, args)
    store.db.execute("COMMIT")
    store.db.close()
    return answer


def output(value: Any, stream: Any) -> None:
    if os.environ.get("BD_JSON_ENVELOPE") == "1":
        value = {"schema_version": 1, "data": value}
    elif isinstance(value, dict):
        value = {**value, "schema_version": 1}
    stream.write(json.dumps(value, indent=2) + "\n")


def main(words: list[str]) -> int:
    try:
        answer = run(words)
    except Refused as error:
        if "--json" in words and not error.plain:
            output({"error": str(error)}, sys.stdout)
        else:
            sys.stderr.write(f"Error: {error}\n" + (f"Hint: {error.hint}\n" if error.hint else ""))
        return 1
    if answer is not None and "--json" in words:
        output(answer, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""A fake `bd`: the commands, flags, JSON and rules of beads 1.x that matter to kedge.

Its state is a SQLite file in `.beads/`, and `.beads/issues.jsonl` is no part of it. Commands and
flags that it does not know are refused as bd refuses them. Where kedge depends on bd it does what
bd does, not what would be convenient: `import` adds labels and links but removes none, leaves
alone some columns of an issue that is there, skips lines older than what it holds, and does not
look at what waits for an issue that it closes; stamps are kept to the second; `dep add` takes an
id of another prefix for another project's. Standard library only: it runs in isolation.
"""

from __future__ import annotations

import csv
import json
import os
import re
import sqlite3
import sys
from collections.abc import Callable, Collection, Iterable
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
SETTLE = """UPDATE issues SET blocked = NOT blocked
  WHERE id = ? AND blocked <> (id IN (SELECT issue FROM waiting))"""
CIRCLE = """WITH RECURSIVE reached (id) AS (SELECT ? UNION SELECT target FROM links
  JOIN reached ON issue = id WHERE type IN ('blocks', 'conditional-blocks'))
  SELECT id FROM reached WHERE id = ?"""


class Refused(Exception):
    """What bd ends with exit code 1 for. With --json, most of it is said on standard output."""

    def __init__(self, message: str, *, hint: str = "", plain: bool = False) -> None:
        super().__init__(message)
        self.hint, self.plain = hint, plain


def install(directory: Path) -> Path:
    """Write an executable `bd` that runs this file, compiled, since it starts often."""
    import py_compile
    import shlex

    directory.mkdir(parents=True, exist_ok=True)
    program = directory.resolve() / "bd"
    py_compile.compile(__file__, cfile=f"{program}.pyc", doraise=True)
    words = shlex.join([sys.executable, "-I", "-S", f"{program}.pyc"])
    program.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    program.chmod(0o755)
    return program


def second(text: str) -> str:
    """A stamp as a column of whole seconds holds it."""
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", str(text)):
        raise Refused(f'failed to parse issue from JSONL: parsing time "{text}"', plain=True)
    moment = datetime.fromisoformat(text).astimezone(UTC) + timedelta(seconds=0.5)
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def clock() -> str:
    return second(datetime.now(UTC).isoformat())


def prefix(issue_id: str) -> str:
    return issue_id.partition("-")[0] if "-" in issue_id else ""


class Store:
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
            raise Refused(f'resolving ID {issue_id}: no issue found matching "{issue_id}"')
        return issue

    def all(self) -> list[Issue]:
        docs = [json.loads(doc) for doc in self.column("SELECT doc FROM issues ORDER BY id")]
        docs.sort(key=lambda issue: str(issue["created_at"]), reverse=True)
        return sorted(docs, key=lambda issue: int(issue["priority"]))

    def children(self, issue_id: str) -> list[str]:
        sql = "SELECT issue FROM links WHERE target = ? AND type = 'parent-child'"
        return self.column(sql, issue_id)

    def put(self, issue: Issue) -> str:
        """Keep the issue as bd's validation lets it through."""
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
                raise Refused(f"validation failed for issue {issue['id']}: {message}", plain=True)
        doc = {key: value for key, value in issue.items() if value not in (None, "", [], {}, False)}
        doc["priority"] = issue["priority"]
        sql = "INSERT INTO issues (id, doc) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET doc = ?2"
        self.db.execute(sql, (issue["id"], json.dumps(doc)))
        return str(issue["id"])

    def add(self, **fields: Any) -> str:
        key = fields.pop("id", None) or f"{self.config('issue_prefix')}-{os.urandom(3).hex()}"
        defaults = {"id": key, "title": "", "status": "open", "priority": 2, "issue_type": "task"}
        return self.put({**defaults, "created_at": clock(), "updated_at": clock(), **fields})

    def change(self, issue_id: str, **fields: Any) -> None:
        """Update as bd does: closed_at, started_at and the pin follow the status."""
        issue = self.get(issue_id)
        if "status" in fields:
            fields["pinned"] = fields["status"] == "pinned"
            if fields["status"] == "closed":
                fields["closed_at"] = clock()
            elif issue["status"] == "closed":
                fields |= {"closed_at": None, "close_reason": None}
            elif fields["status"] == "in_progress":
                fields["started_at"] = issue.get("started_at") or clock()
        self.put({**issue, **fields, "updated_at": clock()})
        self.settle()

    def settle(self, only: Collection[str] | None = None) -> None:
        """Bring the marks of what is blocked up to date: of all issues, or only of some."""
        ids = self.column("SELECT id FROM issues") if only is None else only
        while sum(self.db.execute(SETTLE, (issue_id,)).rowcount for issue_id in ids):
            pass

    def check_circle(self, issue_id: str, target: str, kind: str) -> None:
        if issue_id == target:
            raise Refused(f"cannot add self-dependency: {issue_id} cannot depend on itself")
        if kind in ("blocks", "conditional-blocks") and self.column(CIRCLE, target, issue_id):
            raise Refused("adding dependency would create a cycle")

    def link(self, issue_id: str, target: str, kind: str = "blocks") -> None:
        """Add a dependency as `bd dep add` does."""
        external = target.startswith("external:") or prefix(issue_id) != prefix(target)
        ends = [self.find(issue_id), self.find(target)]
        if not ends[0] or not (ends[1] or external):
            raise Refused(f"issue {target if ends[0] else issue_id} not found")
        if kind == "blocks" and len({end["issue_type"] == "epic" for end in ends if end}) > 1:
            raise Refused("tasks can only block other tasks, not epics")
        self.check_circle(issue_id, target, kind)
        sql = "SELECT type FROM links WHERE issue = ? AND target = ?"
        if self.column(sql, issue_id, target) not in ([], [kind]):
            raise Refused(f"dependency {issue_id} -> {target} already exists with another type")
        values = (issue_id, target, kind, clock(), external)
        self.db.execute("INSERT OR REPLACE INTO links VALUES (?, ?, ?, ?, ?)", values)
        self.settle()

    def unlink(self, issue_id: str, target: str) -> None:
        self.db.execute("DELETE FROM links WHERE issue = ? AND target = ?", (issue_id, target))
        self.settle()

    def label(self, issue_id: str, add: Iterable[str] = (), remove: Iterable[str] = ()) -> None:
        for word in add:
            self.db.execute("INSERT OR IGNORE INTO labels VALUES (?, ?)", (issue_id, word))
        for word in remove:
            self.db.execute("DELETE FROM labels WHERE issue = ? AND label = ?", (issue_id, word))

    def shown(self, issue: Issue, *, whole: bool = False) -> Issue:
        """The issue as `list` and `ready` print it, or as a line of the export."""
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


def content(flags: Issue) -> Issue:
    """The fields that `create` and `update` set with the same flags."""
    names = {"acceptance": "acceptance_criteria", "type": "issue_type", "defer": "defer_until"}
    names |= {name: name for name in ("title", "description", "design", "notes", "assignee")}
    fields = {key: flags[name] for name, key in names.items() if name in flags}
    if flags.get("body-file") == "-" or "stdin" in flags:
        fields["description"] = sys.stdin.buffer.read().decode()
    if "priority" in flags:
        fields["priority"] = int(flags["priority"].removeprefix("P"))
    if "title" in fields:
        fields["title"] = fields["title"].strip()
    if text := flags.get("metadata"):
        fields["metadata"] = json.loads(Path(text[1:]).read_text() if text[0] == "@" else text)
    if flags.get("defer"):
        fields |= {"defer_until": second(flags["defer"]), "status": "deferred"}
    return fields


def init(_: Store, flags: Issue, __: list[str]) -> None:
    name = flags.get("prefix") or Path.cwd().name.lstrip(".").rstrip("-").replace(".", "_")
    FILE.parent.mkdir(exist_ok=True)
    sql = "INSERT OR IGNORE INTO config VALUES ('issue_prefix', ?)"
    Store(FILE).db.execute(sql, (name,))


def set_config(store: Store, _: Issue, args: list[str]) -> None:
    store.db.execute("INSERT OR REPLACE INTO config VALUES (?, ?)", args)


def create(store: Store, flags: Issue, args: list[str]) -> Any:
    parent, key = flags.get("parent"), flags.get("id")
    if parent:
        key = f"{store.get(parent)['id']}.{len(store.children(parent)) + 1}"
    elif key and "force" not in flags and prefix(key) != prefix(store.config("issue_prefix") + "-"):
        raise Refused(f"prefix mismatch: ID '{key}' doesn't match (use --force to override)")
    key = store.add(**{"title": "".join(args[:1]), **content(flags), "id": key})
    store.label(key, flags.get("labels", []))
    for kind, _, other in [dep.rpartition(":") for dep in flags.get("deps", [])]:
        one, two = (other, key) if kind == "blocks" else (key, other)
        store.link(one, two, "blocks" if kind in ("", "depends-on", "blocked-by") else kind)
    if parent:
        store.link(key, parent, "parent-child")
    return store.get(key)


def list_(store: Store, flags: Issue, _: list[str]) -> Any:
    quiet = () if "all" in flags else ("closed", "pinned")
    found = [issue for issue in store.all() if issue["issue_type"] not in (*HIDDEN, "gate")]
    if "status" in flags:
        found = [issue for issue in found if issue["status"] in flags["status"].split(",")]
    else:
        found = [issue for issue in found if issue["status"] not in quiet]
    limit = int(flags.get("limit", 0 if "all" in flags else 50))
    return [store.shown(issue) for issue in found][: limit or None]


def ready(store: Store, flags: Issue, _: list[str]) -> Any:
    out = {issue["id"] for issue in store.all() if issue.get("defer_until", "") > clock()}
    out |= {child for issue_id in out for child in store.children(issue_id)}
    out |= set(store.column("SELECT id FROM issues WHERE blocked OR status <> 'open'"))
    found = [issue for issue in store.all() if issue["id"] not in out]
    found = [issue for issue in found if issue["issue_type"] not in NOT_READY]
    found = [issue for issue in found if not (issue.get("pinned") or issue.get("ephemeral"))]
    return [store.shown(issue) for issue in found][: int(flags.get("limit", 100)) or None]


def show(store: Store, _: Issue, args: list[str]) -> Any:
    details = []
    for issue in filter(None, map(store.find, args)):
        sql = "SELECT doc, type FROM links JOIN issues ON id = target WHERE issue = ?"
        links = store.db.execute(sql, (issue["id"],)).fetchall()
        known = [{**json.loads(doc), "dependency_type": kind} for doc, kind in links]
        details.append(store.shown(issue) | ({"dependencies": known} if known else {}))
    if not details:
        raise Refused("no issues found matching the provided IDs")
    return details


def update(store: Store, flags: Issue, args: list[str]) -> Any:
    issue, fields = store.get(args[0]), content(flags)
    if flags.get("defer") == "" and issue["status"] == "deferred":
        fields["status"] = "open"
    if "status" in flags:
        fields["status"] = flags["status"]
    if "metadata" in fields:
        fields["metadata"] = {**issue.get("metadata", {}), **fields["metadata"]}
    if fields:
        store.change(args[0], **fields)
    store.label(args[0], flags.get("add-label", []), flags.get("remove-label", []))
    return [store.get(args[0])]


def close(store: Store, flags: Issue, args: list[str]) -> Any:
    reasons = flags.get("reason") or ["Closed"]
    for number, key in enumerate(args):
        below = [store.get(child)["status"] for child in store.children(key)]
        waits = store.column("SELECT 1 FROM issues WHERE id = ? AND blocked", key)
        if "force" not in flags and (waits or set(below) - {"closed"}):
            raise Refused(f"cannot close {key}: blocked by open issues (use --force to override)")
        store.change(key, status="closed", close_reason=reasons[number % len(reasons)])
    return [store.get(key) for key in args]


def reopen(store: Store, _: Issue, args: list[str]) -> Any:
    for key in args:
        store.change(key, status="open", defer_until=None)
    return [store.get(key) for key in args]


def dep(store: Store, flags: Issue, args: list[str]) -> Any:
    store.link(args[0], args[1], flags.get("type", "blocks"))
    return {"status": "added", "issue_id": args[0], "depends_on_id": args[1]}


def undep(store: Store, _: Issue, args: list[str]) -> Any:
    store.unlink(store.get(args[0])["id"], args[1])
    return {"status": "removed", "issue_id": args[0], "depends_on_id": args[1]}


def export(store: Store, flags: Issue, _: list[str]) -> None:
    issues = [
        issue
        for issue in store.all()
        if "all" in flags
        or not (issue.get("ephemeral") or issue.get("is_template") or issue["issue_type"] in HIDDEN)
    ]
    text = "".join(json.dumps(store.shown(issue, whole=True)) + "\n" for issue in issues)
    if "output" in flags:
        Path(flags["output"]).write_text(text)
    else:
        sys.stdout.write(text)


def import_(store: Store, _: Issue, args: list[str]) -> Any:
    data = sys.stdin.buffer.read() if args == ["-"] else Path(args[0]).read_bytes()
    try:
        lines = [json.loads(line) for line in data.decode().split("\n") if line]
    except ValueError as error:
        raise Refused(f"failed to parse JSONL line: {error}", plain=True) from error
    return take(store, lines)


def take(store: Store, lines: list[Issue]) -> Issue:
    """Import issues, and say what was left out."""
    lines = [line for line in lines if line.get("_type", "issue") == "issue"]
    lines = [line for line in lines if line.get("status") != "tombstone"]
    taken = [line for line in lines if upsert(store, line)]
    skipped: list[str] = []
    for key, link in [
        (line["id"], link) for line in taken for link in line.get("dependencies", [])
    ]:
        target, kind = link["depends_on_id"], link.get("type", "blocks")
        outside = target.startswith("external:")
        try:
            if not outside and store.find(target) is None:
                raise Refused("target not found")
            store.check_circle(key, target, kind)
        except Refused as error:
            skipped.append(f"{key} -> {target}: {error}")
        else:
            sql = "INSERT OR IGNORE INTO links VALUES (?, ?, ?, ?, ?)"
            store.db.execute(sql, (key, target, kind, clock(), outside))
    ids = [line["id"] for line in taken]
    store.settle(ids)
    stale = [line["id"] for line in lines if line not in taken]
    left_out = {"stale_skipped_ids": stale, "skipped_dependencies": skipped}
    answer = {"source": "stdin", "created": len(ids), "skipped": len(stale), "ids": ids}
    return {**answer, **{name: value for name, value in left_out.items() if value}}


def upsert(store: Store, line: Issue) -> bool:
    """Take a line of an import, unless the issue that is there is newer."""
    names = [*UPSERTED.split(), *TIMES, *OTHERS.split()]
    fields = {key: line[key] for key in names if line.get(key) is not None}
    fields |= {key: second(fields[key]) for key in TIMES if key in fields}
    if fields.get("status") == "closed":
        fields.setdefault("closed_at", fields.get("updated_at", clock()))
    held = store.find(line["id"])
    if held and held["updated_at"] > fields.get("updated_at", "~"):
        return False
    if held:
        fields = {key: fields[key] for key in UPSERTED.split() if key in fields}
        fields |= {key: value for key, value in held.items() if key not in UPSERTED.split()}
    store.add(**fields)
    store.label(line["id"], line.get("labels", []))
    for comment in line.get("comments", []):
        values = (line["id"], json.dumps(comment, sort_keys=True))
        store.db.execute("INSERT OR IGNORE INTO comments VALUES (?, ?)", values)
    return True


def batch(store: Store, _: Issue, __: list[str]) -> Any:
    lines = sys.stdin.buffer.read().decode().split("\n")
    for number, line in enumerate(lines, 1):
        found = re.findall(r'((?:"(?:\\["\\]|[^"])*"|[^\s"])+)', line)
        words = [re.sub(r'\\(["\\])|"', r"\1", word) for word in found]
        try:
            if words and not words[0].startswith("#"):
                batch_line(store, words)
        except Refused as error:
            raise Refused(f"line {number} ({line.strip()}): {error}", plain=True) from error
    return {"operations": len(lines), "status": "ok"}


def batch_line(store: Store, words: list[str]) -> None:
    if words[0] == "close":
        reason = " ".join(words[2:]) if words[2:] else "Closed"
        store.change(words[1], status="closed", close_reason=reason)
    elif words[0] == "update":
        fields: Issue = dict(word.split("=", 1) for word in words[2:])
        if unknown := sorted(set(fields) - {"status", "priority", "title", "assignee"}):
            raise Refused(f'update: unsupported key "{unknown[0]}"')
        store.change(words[1], **{k: int(v) if k == "priority" else v for k, v in fields.items()})
    elif words[:2] == ["dep", "add"]:
        store.link(*words[2:])
    elif words[:2] == ["dep", "remove"]:
        store.unlink(*words[2:])
    else:
        raise Refused(f'unsupported batch command "{words[0]}"')


# A flag: its name, a letter after a comma, `!` for one without a value, `*` for a list in CSV,
# `+` for one that may be repeated.
_CONTENT = "title description,d design notes acceptance assignee,a type,t priority,p metadata "
_CONTENT += "body-file stdin! defer"
COMMANDS: dict[str, tuple[Callable[[Store, Issue, list[str]], Any], str]] = {
    "init": (init, "prefix,p"),
    "config get": (lambda store, _, args: {"key": args[0], "value": store.config(args[0])}, ""),
    "config set": (set_config, ""),
    "create": (create, f"{_CONTENT} id parent force! labels,l* deps*"),
    "list": (list_, "all! status,s limit,n"),
    "ready": (ready, "limit,n"),
    "show": (show, ""),
    "update": (update, f"{_CONTENT} status,s add-label* remove-label*"),
    "close": (close, "reason,r+ force,f!"),
    "reopen": (reopen, "reason,r"),
    "dep add": (dep, "type,t"),
    "dep remove": (undep, ""),
    "label add": (lambda store, _, args: update(store, {"add-label": args[1:]}, args), ""),
    "label remove": (lambda store, _, args: update(store, {"remove-label": args[1:]}, args), ""),
    "export": (export, "output,o all!"),
    "import": (import_, ""),
    "batch": (batch, ""),
}


def parse(spec: str, words: list[str]) -> tuple[Issue, list[str]]:
    """Flags and arguments as bd's parser takes them: a value may begin with a dash."""
    kinds, letters, flags = {}, {}, dict[str, Any]()
    for word in f"{spec} json! actor quiet,q!".split():
        name, _, letter = word.rstrip("!*+").partition(",")
        kinds[name], letters[letter] = word[-1], name
    args: list[str] = []
    rest = list(words)
    while rest and (word := rest.pop(0)) != "--":
        if word == "-" or not word.startswith("-"):
            args.append(word)
            continue
        name, given, value = word[2:].partition("=")
        if not word.startswith("--"):
            name, given, value = letters.get(word[1], ""), word[2:], word[2:]
        if name not in kinds:
            raise Refused(f"unknown flag: {word.partition('=')[0]}", plain=True)
        if kinds[name] != "!" and not given:
            if not rest:
                raise Refused(f"flag needs an argument: {word}", plain=True)
            value = rest.pop(0)
        if kinds[name] in "*+":
            more = next(csv.reader([value]), []) if kinds[name] == "*" else [value]
            flags[name] = [*flags.get(name, []), *more]
        else:
            flags[name] = value
    return flags, [*args, *rest]


def run(words: list[str]) -> Any:
    name = next((n for n in (" ".join(words[:2]), " ".join(words[:1])) if n in COMMANDS), None)
    if name is None:
        raise Refused(f'unknown command "{" ".join(words[:1])}" for "bd"', plain=True)
    command, spec = COMMANDS[name]
    flags, args = parse(spec, words[len(name.split()) :])
    if command is init:
        return init(Store(Path(":memory:")), flags, args)
    places = [folder / FILE for folder in (Path.cwd(), *Path.cwd().parents)]
    file = next((place for place in places if place.exists()), None)
    if file is None:
        hint = "run 'bd where' to inspect the workspace, or 'bd init' to create a new database"
        raise Refused("no beads database found", hint=hint, plain=True)
    store = Store(file)
    store.db.execute("BEGIN IMMEDIATE")
    answer = command(store, flags, args)
    store.db.execute("COMMIT")
    return answer


def main(words: list[str]) -> int:
    code = 0
    try:
        answer = run(words)
    except Refused as error:
        if "--json" not in words or error.plain:
            sys.stderr.write(f"Error: {error}\n" + (f"Hint: {error.hint}\n" if error.hint else ""))
            return 1
        code, answer = 1, {"error": str(error)}
    if answer is not None and "--json" in words:
        if os.environ.get("BD_JSON_ENVELOPE") == "1":
            answer = {"schema_version": 1, "data": answer}
        elif isinstance(answer, dict):
            answer = {**answer, "schema_version": 1}
        sys.stdout.write(json.dumps(answer, indent=2) + "\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

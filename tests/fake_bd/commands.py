"""The commands of the fake bd, each with the flags that it takes."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fake_bd.database import (
    FILE,
    HIDDEN,
    NOT_READY,
    OTHERS,
    TIMES,
    UPSERTED,
    BdError,
    Issue,
    IssueDatabase,
    now,
    prefix,
    round_stamp,
)

Command = Callable[[IssueDatabase, Issue, list[str]], Any]


def read_fields(flags: Issue) -> Issue:
    """Return the fields that the flags of `create` and `update` set."""
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
        fields |= {"defer_until": round_stamp(flags["defer"]), "status": "deferred"}
    return fields


def init(_: IssueDatabase, flags: Issue, __: list[str]) -> None:
    name = flags.get("prefix") or Path.cwd().name.lstrip(".").rstrip("-").replace(".", "_")
    FILE.parent.mkdir(exist_ok=True)
    sql = "INSERT OR IGNORE INTO config VALUES ('issue_prefix', ?)"
    IssueDatabase(FILE).db.execute(sql, (name,))


def set_config(database: IssueDatabase, _: Issue, args: list[str]) -> None:
    database.db.execute("INSERT OR REPLACE INTO config VALUES (?, ?)", args)


def create(database: IssueDatabase, flags: Issue, args: list[str]) -> Any:
    parent, key = flags.get("parent"), flags.get("id")
    if parent:
        key = f"{database.get(parent)['id']}.{len(database.children(parent)) + 1}"
    elif (
        key
        and "force" not in flags
        and prefix(key) != prefix(database.config("issue_prefix") + "-")
    ):
        raise BdError(f"prefix mismatch: ID '{key}' doesn't match (use --force to override)")
    key = database.add(**{"title": "".join(args[:1]), **read_fields(flags), "id": key})
    database.label(key, flags.get("labels", []))
    for kind, _, other in [dep.rpartition(":") for dep in flags.get("deps", [])]:
        one, two = (other, key) if kind == "blocks" else (key, other)
        database.link(one, two, "blocks" if kind in ("", "depends-on", "blocked-by") else kind)
    if parent:
        database.link(key, parent, "parent-child")
    return database.get(key)


def list_issues(database: IssueDatabase, flags: Issue, _: list[str]) -> Any:
    quiet = () if "all" in flags else ("closed", "pinned")
    found = [issue for issue in database.all() if issue["issue_type"] not in (*HIDDEN, "gate")]
    if "status" in flags:
        found = [issue for issue in found if issue["status"] in flags["status"].split(",")]
    else:
        found = [issue for issue in found if issue["status"] not in quiet]
    limit = int(flags.get("limit", 0 if "all" in flags else 50))
    return [database.to_json(issue) for issue in found][: limit or None]


def ready(database: IssueDatabase, flags: Issue, _: list[str]) -> Any:
    out = {issue["id"] for issue in database.all() if issue.get("defer_until", "") > now()}
    out |= {child for issue_id in out for child in database.children(issue_id)}
    out |= set(database.column("SELECT id FROM issues WHERE blocked OR status <> 'open'"))
    found = [issue for issue in database.all() if issue["id"] not in out]
    found = [issue for issue in found if issue["issue_type"] not in NOT_READY]
    found = [issue for issue in found if not (issue.get("pinned") or issue.get("ephemeral"))]
    return [database.to_json(issue) for issue in found][: int(flags.get("limit", 100)) or None]


def show(database: IssueDatabase, _: Issue, args: list[str]) -> Any:
    details = []
    for issue in filter(None, map(database.find, args)):
        sql = "SELECT doc, type FROM links JOIN issues ON id = target WHERE issue = ?"
        links = database.db.execute(sql, (issue["id"],)).fetchall()
        known = [{**json.loads(doc), "dependency_type": kind} for doc, kind in links]
        details.append(database.to_json(issue) | ({"dependencies": known} if known else {}))
    if not details:
        raise BdError("no issues found matching the provided IDs")
    return details


def update(database: IssueDatabase, flags: Issue, args: list[str]) -> Any:
    issue, fields = database.get(args[0]), read_fields(flags)
    if flags.get("defer") == "" and issue["status"] == "deferred":
        fields["status"] = "open"
    if "status" in flags:
        fields["status"] = flags["status"]
    if "metadata" in fields:
        fields["metadata"] = {**issue.get("metadata", {}), **fields["metadata"]}
    if fields:
        database.change(args[0], **fields)
    database.label(args[0], flags.get("add-label", []), flags.get("remove-label", []))
    return [database.get(args[0])]


def close(database: IssueDatabase, flags: Issue, args: list[str]) -> Any:
    reasons = flags.get("reason") or ["Closed"]
    for number, key in enumerate(args):
        below = [database.get(child)["status"] for child in database.children(key)]
        waits = database.column("SELECT 1 FROM issues WHERE id = ? AND blocked", key)
        if "force" not in flags and (waits or set(below) - {"closed"}):
            raise BdError(f"cannot close {key}: blocked by open issues (use --force to override)")
        database.change(key, status="closed", close_reason=reasons[number % len(reasons)])
    return [database.get(key) for key in args]


def reopen(database: IssueDatabase, _: Issue, args: list[str]) -> Any:
    for key in args:
        database.change(key, status="open", defer_until=None)
    return [database.get(key) for key in args]


def add_dependency(database: IssueDatabase, flags: Issue, args: list[str]) -> Any:
    database.link(args[0], args[1], flags.get("type", "blocks"))
    return {"status": "added", "issue_id": args[0], "depends_on_id": args[1]}


def remove_dependency(database: IssueDatabase, _: Issue, args: list[str]) -> Any:
    database.unlink(database.get(args[0])["id"], args[1])
    return {"status": "removed", "issue_id": args[0], "depends_on_id": args[1]}


def export(database: IssueDatabase, flags: Issue, _: list[str]) -> None:
    issues = [
        issue
        for issue in database.all()
        if "all" in flags
        or not (issue.get("ephemeral") or issue.get("is_template") or issue["issue_type"] in HIDDEN)
    ]
    text = "".join(json.dumps(database.to_json(issue, whole=True)) + "\n" for issue in issues)
    if "output" in flags:
        Path(flags["output"]).write_text(text)
    else:
        sys.stdout.write(text)


def import_file(database: IssueDatabase, _: Issue, args: list[str]) -> Any:
    data = sys.stdin.buffer.read() if args == ["-"] else Path(args[0]).read_bytes()
    try:
        lines = [json.loads(line) for line in data.decode().split("\n") if line]
    except ValueError as error:
        raise BdError(f"failed to parse JSONL line: {error}", plain=True) from error
    return import_issues(database, lines)


def import_issues(database: IssueDatabase, lines: list[Issue]) -> Issue:
    """Import issues; return the counts and what was skipped."""
    lines = [line for line in lines if line.get("_type", "issue") == "issue"]
    lines = [line for line in lines if line.get("status") != "tombstone"]
    taken = [line for line in lines if import_issue(database, line)]
    skipped: list[str] = []
    for key, link in [
        (line["id"], link) for line in taken for link in line.get("dependencies", [])
    ]:
        target, kind = link["depends_on_id"], link.get("type", "blocks")
        outside = target.startswith("external:")
        try:
            if not outside and database.find(target) is None:
                raise BdError("target not found")
            database.check_cycle(key, target, kind)
        except BdError as error:
            skipped.append(f"{key} -> {target}: {error}")
        else:
            sql = "INSERT OR IGNORE INTO links VALUES (?, ?, ?, ?, ?)"
            database.db.execute(sql, (key, target, kind, now(), outside))
    ids = [line["id"] for line in taken]
    database.update_blocked(ids)
    stale = [line["id"] for line in lines if line not in taken]
    left_out = {"stale_skipped_ids": stale, "skipped_dependencies": skipped}
    answer = {"source": "stdin", "created": len(ids), "skipped": len(stale), "ids": ids}
    return {**answer, **{name: value for name, value in left_out.items() if value}}


def import_issue(database: IssueDatabase, line: Issue) -> bool:
    """Import one issue; return False if the existing one is newer."""
    names = [*UPSERTED.split(), *TIMES, *OTHERS.split()]
    fields = {key: line[key] for key in names if line.get(key) is not None}
    fields |= {key: round_stamp(fields[key]) for key in TIMES if key in fields}
    if fields.get("status") == "closed":
        fields.setdefault("closed_at", fields.get("updated_at", now()))
    held = database.find(line["id"])
    if held and held["updated_at"] > fields.get("updated_at", "~"):
        return False
    if held:
        fields = {key: fields[key] for key in UPSERTED.split() if key in fields}
        fields |= {key: value for key, value in held.items() if key not in UPSERTED.split()}
    database.add(**fields)
    database.label(line["id"], line.get("labels", []))
    for comment in line.get("comments", []):
        values = (line["id"], json.dumps(comment, sort_keys=True))
        database.db.execute("INSERT OR IGNORE INTO comments VALUES (?, ?)", values)
    return True


def batch(database: IssueDatabase, _: Issue, __: list[str]) -> Any:
    lines = sys.stdin.buffer.read().decode().split("\n")
    for number, line in enumerate(lines, 1):
        quoted = re.findall(r'((?:"(?:\\["\\]|[^"])*"|[^\s"])+)', line)
        words = [re.sub(r'\\(["\\])|"', r"\1", word) for word in quoted]
        try:
            if words and not words[0].startswith("#"):
                run_batch_line(database, words)
        except BdError as error:
            raise BdError(f"line {number} ({line.strip()}): {error}", plain=True) from error
    return {"operations": len(lines), "status": "ok"}


def run_batch_line(database: IssueDatabase, words: list[str]) -> None:
    if words[0] == "close":
        reason = " ".join(words[2:]) if words[2:] else "Closed"
        database.change(words[1], status="closed", close_reason=reason)
    elif words[0] == "update":
        fields: Issue = dict(word.split("=", 1) for word in words[2:])
        if unknown := sorted(set(fields) - {"status", "priority", "title", "assignee"}):
            raise BdError(f'update: unsupported key "{unknown[0]}"')
        database.change(
            words[1], **{k: int(v) if k == "priority" else v for k, v in fields.items()}
        )
    elif words[:2] == ["dep", "add"]:
        database.link(*words[2:])
    elif words[:2] == ["dep", "remove"]:
        database.unlink(*words[2:])
    else:
        raise BdError(f'unsupported batch command "{words[0]}"')


# A flag: its name, a letter after a comma, `!` for one without a value, `*` for a list in CSV,
# `+` for one that may be repeated.
_CONTENT = "title description,d design notes acceptance assignee,a type,t priority,p metadata "
_CONTENT += "body-file stdin! defer"
COMMANDS: dict[str, tuple[Command, str]] = {
    "init": (init, "prefix,p"),
    "config get": (
        lambda database, _, args: {"key": args[0], "value": database.config(args[0])},
        "",
    ),
    "config set": (set_config, ""),
    "create": (create, f"{_CONTENT} id parent force! labels,l* deps*"),
    "list": (list_issues, "all! status,s limit,n"),
    "ready": (ready, "limit,n"),
    "show": (show, ""),
    "update": (update, f"{_CONTENT} status,s add-label* remove-label*"),
    "close": (close, "reason,r+ force,f!"),
    "reopen": (reopen, "reason,r"),
    "dep add": (add_dependency, "type,t"),
    "dep remove": (remove_dependency, ""),
    "label add": (lambda database, _, args: update(database, {"add-label": args[1:]}, args), ""),
    "label remove": (
        lambda database, _, args: update(database, {"remove-label": args[1:]}, args),
        "",
    ),
    "export": (export, "output,o all!"),
    "import": (import_file, ""),
    "batch": (batch, ""),
}

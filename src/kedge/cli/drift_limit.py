"""`kedge drift limit`: what the user ruled out, and who recorded it."""

from __future__ import annotations

import os
from typing import Any

import click

from kedge import config
from kedge.cli.commands import Group
from kedge.cli.edge import Edge, Reply
from kedge.cli.plain import clean, table
from kedge.cli.session_records import SessionRecords, open_records
from kedge.drift.limits.options import ACTS, LimitOptions, build_limits, write_options
from kedge.drift.report import account
from kedge.drift.watch import limit_records
from kedge.errors import FileError, InvalidValue, KedgeError
from kedge.host import clock
from kedge.host.agent_session import is_user
from kedge.host.redact import redact
from kedge.host.text import count_noun, shorten
from kedge.store import sessions

limit = Group(name="limit", help="List, add and lift what the user ruled out.")
_LONGEST = 80  # characters of a quote in a message
_SESSION = click.option(
    "--session", "chosen", metavar="ID", help="This session instead of the active ones."
)


@limit.command("list")
@click.option("--all", "every", is_flag=True, help="Include limits that were lifted.")
@_SESSION
def list_(edge: Edge, every: bool, chosen: str | None) -> Reply:
    """List the limits of the active sessions."""
    with open_records(edge) as record:
        rows = [record.find(chosen)] if chosen else _list_active(record)
        found = [
            each
            for row in rows
            for each in limit_records.list_limits(record.db, row["id"])
            if every or each["lifted"] is None
        ]
        short = record.short
    if not found:
        where = f"in {count_noun(len(rows), 'session')}" if rows else "no session is being watched"
        edge.warn(f"no limit is in force: {where}")
    return Reply(found, lambda: _show(found, short))


@limit.command()
@click.option("--only", metavar="PATH", multiple=True, help="Change nothing outside of PATH.")
@click.option("--forbid", metavar="PATH", multiple=True, help="Do not change, delete or move it.")
@click.option("--no-read", metavar="PATH", multiple=True, help="Do not even read PATH.")
@click.option(
    "--no",
    "acts",
    metavar="ACT",
    multiple=True,
    help=f"Do not do it: {', '.join(ACTS)}, run:COMMAND or tool:NAME.",
)
@click.option("--keep-api", is_flag=True, help="Keep exported names and signatures as they are.")
@click.option(
    "--target",
    "targets",
    metavar="NAME",
    multiple=True,
    help="Act only on this environment, branch, bucket, host or namespace.",
)
@click.option(
    "--except", "exceptions", metavar="PATH", multiple=True, help="A path or package that is free."
)
@click.option("--ask-first", is_flag=True, help="Allowed, but only after asking the user.")
@click.option("--quote", metavar="TEXT", help="The user's own words; agents must give them.")
@_SESSION
def add(edge: Edge, quote: str | None, chosen: str | None, **given: Any) -> Reply:
    """Record what the user ruled out; it holds from the next action on.

    PATH is a file, a folder or a glob. Paths, --no and --target may be repeated.
    """
    options = LimitOptions(**given)
    by_agent = not is_user(os.environ)
    project = edge.project()
    if by_agent and not config.load(project).settings.drift.agent_limits:
        raise KedgeError(
            "agents do not record limits here: drift.agent_limits is false",
            hint="keep to the user's words all the same",
        )
    if by_agent and not (quote or "").strip():
        raise InvalidValue(
            "an agent records a limit with the user's own words", hint='add --quote "their words"'
        )
    words = redact(quote or "").strip() or write_options(options)
    source = "agent" if by_agent else "user"
    limits = build_limits(
        options, words, source, root=str(project.root), cwd=str(edge.directory.resolve())
    )
    try:
        with open_records(edge) as record, sessions.transaction(record.db):
            names = _choose_sessions(record, chosen, quote, by_agent=by_agent)
            held = [each for name in names for each in limit_records.add(record.db, name, limits)]
    except FileError:
        held = limit_records.find_recorded(project.home(), os.environ, quote or "", limits)
        if not held:
            raise
    return Reply(held, "\n".join(f"in force: {clean(_describe(each))}" for each in held))


@limit.command()
@click.argument("limit_id", metavar="ID")
@_SESSION
def lift(edge: Edge, limit_id: str, chosen: str | None) -> Reply:
    """Lift a limit. Only the user may do so, not an agent."""
    if not is_user(os.environ):
        raise KedgeError(
            "an agent cannot lift a limit",
            hint=f"ask the user to run it in a terminal: kedge drift limit lift {limit_id[:20]}",
        )
    with open_records(edge) as record, sessions.transaction(record.db):
        rows = [record.find(chosen)] if chosen else _list_active(record)
        found = [
            each
            for row in rows
            for each in limit_records.find_by_id(
                limit_records.list_limits(record.db, row["id"]), limit_id
            )
        ]
        if not found or len({each["id"] for each in found}) > 1:
            what = f"{len(found)} limits start with" if found else "no limit in force starts with"
            raise KedgeError(f"{what} {limit_id[:20]!r}", hint="kedge drift limit list shows all")
        for each in found:
            limit_records.lift(record.db, each["session"], each["id"])
    return Reply(found, "\n".join(f"lifted: {clean(_describe(each))}" for each in found))


def _list_active(record: SessionRecords) -> list[dict[str, Any]]:
    since = account.day_before(clock.now())
    return [row for row in record.rows() if record.status_of(row, since).status == account.ACTIVE]


def _choose_sessions(
    record: SessionRecords, chosen: str | None, quote: str | None, *, by_agent: bool
) -> list[str]:
    """Return the sessions that a limit is for: those whose user said it, if there is a quote."""
    names = _list_candidates(record, chosen)
    if not names:
        raise KedgeError(
            "no session is being watched here",
            hint="kedge doctor checks that the agent's hooks run",
        )
    if quote is not None:
        said = [name for name in names if limit_records.has_said(record.db, name, quote)]
        if not said:
            raise limit_records.refuse_quote(quote)
        return said
    if len(names) > 1 and not by_agent:
        shown = ", ".join(record.short[name] for name in names[:5])
        raise InvalidValue(f"{len(names)} sessions are active", hint=f"--session one of: {shown}")
    return names


def _list_candidates(record: SessionRecords, chosen: str | None) -> list[str]:
    if chosen:
        return [record.find(chosen)["id"]]
    own = limit_records.find_own_session(record.db, os.environ)
    return [own] if own else [row["id"] for row in _list_active(record)]


def _describe(each: dict[str, Any]) -> str:
    what = [*each["acts"], *each["paths"], *each["targets"]]
    asks = "ask first: " if each["ask_first"] else ""
    free = f", except {', '.join(each['exceptions'])}" if each["exceptions"] else ""
    quote = shorten(each["quote"], _LONGEST)
    return f"{each['id']}  {asks}{each['kind']} {' '.join(what)}{free}  “{quote}”"


def _show(found: list[dict[str, Any]], short: dict[str, str]) -> str:
    rows = [
        (
            each["id"],
            ("ask first: " if each["ask_first"] else "") + each["kind"],
            " ".join([*each["acts"], *each["paths"], *each["targets"]]),
            ", ".join(each["exceptions"]),
            shorten(each["quote"], _LONGEST),
            each["source"] + (" (lifted)" if each["lifted"] else ""),
            short.get(each["session"], ""),
        )
        for each in found
    ]
    headers = ("limit", "kind", "what", "except", "the user's words", "recorded by", "session")
    return table(headers, rows, empty="no limit is in force\n")

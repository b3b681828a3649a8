"""`kedge knowledge`: add, confirm, challenge and retire lessons."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import asdict, replace
from typing import Any

import click

from kedge import config
from kedge.cli import options, text_input
from kedge.cli.commands import Group
from kedge.cli.edge import Edge, Reply, write
from kedge.cli.plain import clean, table
from kedge.context.diff import make_patch
from kedge.errors import CheckFound, UsageError
from kedge.host.clock import now
from kedge.host.text import count_noun
from kedge.host.tokens import count
from kedge.knowledge.bank import anchors, observations, operations
from kedge.knowledge.bank import check as checks
from kedge.knowledge.bank.bank import Bank, PageEntry
from kedge.knowledge.bank.drafts import Draft
from kedge.knowledge.bank.operations import EntryChange
from kedge.knowledge.bank.staleness import MISSING, STALE, UNKNOWN, assess_staleness
from kedge.knowledge.bank.view import entry_data, format_entry, printable
from kedge.knowledge.recall import relevance, selection
from kedge.knowledge.recall.relevance import Query
from kedge.tasks import choose
from kedge.tasks.board import Board

CHALLENGED = "challenged"  # a state, before that of its age
_TOKENS = 1000  # for relevant entries
_TYPES = click.Choice(["anti-pattern", "heuristic", "pattern", "principle"])
_in = click.option("--in", "where", required=True, metavar="ID", help="The feature or task.")
_evidence = click.option("--evidence", required=True, help="What was observed, in one sentence.")
_after = click.option(
    "--after", type=click.IntRange(1), help="Finished features that make an entry stale."
)
_at = click.option(
    "--at",
    multiple=True,
    metavar="PATH[#NAME]",
    help="The code that the entry is about; repeatable.",
)


command = Group(help="Add, confirm, challenge and retire lessons.")


@command.command("list")
@click.option("--type", "type_", type=_TYPES, help="Only this type.")
@click.option("--for", "text", metavar="TEXT", help="Only entries relevant to this text.")
@click.option("--task", metavar="ID", help="Only entries relevant to this task.")
@click.option("--diff", is_flag=True, help="Only entries relevant to uncommitted changes.")
@click.option("--path", "paths", multiple=True, help="Only entries relevant to a path; repeatable.")
@click.option("--tokens", type=click.IntRange(1), help=f"The token budget; {_TOKENS} by default.")
def list_(
    edge: Edge,
    type_: str | None,
    text: str | None,
    task: str | None,
    diff: bool,
    paths: tuple[str, ...],
    tokens: int | None,
) -> Reply:
    """List all entries, or those relevant to something."""
    bank = _open_bank(edge)
    entries = [one for one in bank.entries() if type_ in (None, one.entry.type)]
    query = _build_query(bank, text, task, diff, paths)
    if query is not None:
        return _rank_reply(bank, entries, query, tokens or _TOKENS)
    if tokens is not None:
        raise UsageError("--tokens needs --for, --task, --diff or --path")

    def lines() -> str:
        rows = [
            (one.entry.type, one.entry.name, str(data["last_observed"]["value"] or ""),
             str(data["count"] or ""), data["state"])
            for one in entries
            if (data := _entry_data(bank, one))
        ]  # fmt: skip
        headers = ("type", "name", "last observed", "count", "state")
        return table(headers, rows, empty="no entries")

    return Reply(lambda: [_entry_data(bank, one) for one in entries], lines, bank.warnings)


@command.command()
@click.argument("name")
@click.option("--type", "type_", type=_TYPES, required=True, help="The kind of lesson.")
@click.option("--text", required=True, help="The lesson and its reason; - reads standard input.")
@click.option("--in", "where", metavar="ID", help="The feature or task where it was learned.")
@click.option("--confidence", default="medium", help="low, medium or high; medium by default.")
@_at
@click.option("--force", is_flag=True, help="Add the entry even if a similar one exists.")
@options.allow_secret
def add(
    edge: Edge,
    name: str,
    type_: str,
    text: str,
    where: str | None,
    confidence: str,
    at: tuple[str, ...],
    force: bool,
    allow: tuple[str, ...],
) -> Reply:
    """Add an entry, unless a similar one exists."""
    bank = _open_bank(edge)
    label = bank.label(where) if where is not None else now()[:10]
    places = dict.fromkeys(str(anchors.make(bank.project, one)) for one in at)
    draft = Draft(type_, name, text_input.read_value(text), label, confidence, label, tuple(places))
    return _change_reply(bank, operations.add(bank, draft, force=force, allow=allow), "added")


@command.command()
@click.argument("name")
@_in
@_evidence
@_at
@options.allow_secret
def confirm(
    edge: Edge, name: str, where: str, evidence: str, at: tuple[str, ...], allow: tuple[str, ...]
) -> Reply:
    """Record that an entry was confirmed."""
    bank = _open_bank(edge)
    return _change_reply(
        bank, operations.confirm(bank, name, where, evidence, at, allow=allow), "confirmed"
    )


@command.command()
@click.argument("name")
@_in
@_evidence
@options.allow_secret
def challenge(edge: Edge, name: str, where: str, evidence: str, allow: tuple[str, ...]) -> Reply:
    """Record that an entry was contradicted."""
    bank = _open_bank(edge)
    return _change_reply(
        bank, operations.challenge(bank, name, where, evidence, allow=allow), "challenged"
    )


@command.command()
@click.argument("name")
@_in
@click.option("--text", required=True, help="What holds now; - reads standard input.")
@options.allow_secret
def update(edge: Edge, name: str, where: str, text: str, allow: tuple[str, ...]) -> Reply:
    """Replace the text of an entry that no longer holds as it is."""
    bank = _open_bank(edge)
    new = text_input.read_value(text)
    return _change_reply(bank, operations.update(bank, name, where, new, allow=allow), "updated")


@command.command()
@_after
@click.option("--all", "every", is_flag=True, help="All entries, with their age.")
@click.option("--keep", metavar="NAME", help="Reset the age of this entry without an observation.")
@click.option("--in", "where", metavar="ID", help="With --keep: the current feature or task.")
@click.option("--reason", default="", help="With --keep: why.")
@options.allow_secret
def stale(
    edge: Edge,
    after: int | None,
    every: bool,
    keep: str | None,
    where: str | None,
    reason: str,
    allow: tuple[str, ...],
) -> Reply:
    """List the entries that were not observed for a long time, to confirm, update or retire."""
    bank = _open_bank(edge)
    if keep is not None:
        if where is None:
            raise UsageError("--keep needs --in ID", hint="name the current feature or task")
        return _change_reply(bank, operations.keep(bank, keep, where, reason, allow=allow), "kept")
    rows, unknown = [], 0
    for one in bank.entries():
        staleness = assess_staleness(one.entry, bank.completions, after or bank.stale_after)
        unknown += staleness.state in (MISSING, UNKNOWN)
        if every or staleness.state == STALE:
            rows.append({**_entry_data(bank, one), **asdict(staleness)})
    if unknown and not every:
        entries = count_noun(unknown, "entry", "entries")
        edge.warn(f"the age of {entries} is not known: kedge knowledge stale --all lists them")

    def text() -> str:
        cells = [(r["state"], r["type"], r["name"], r["why"]) for r in rows]
        return table(("state", "type", "name", "why"), cells, empty="nothing is stale")

    return Reply(rows, text, bank.warnings)


@command.command()
@click.argument("name")
@click.option("--reason", required=True, help="Why the entry no longer holds.")
@options.allow_secret
def retire(edge: Edge, name: str, reason: str, allow: tuple[str, ...]) -> Reply:
    """Move an entry to retired.md, with the reason and the date."""
    bank = _open_bank(edge)
    return _change_reply(bank, operations.retire(bank, name, reason, allow=allow), "retired")


@command.command()
@_after
def check(edge: Edge, after: int | None) -> Reply:
    """Find stale, duplicate and orphaned entries; exit with 4 if there are any."""
    bank = _open_bank(edge)
    entries = count_noun(len(bank.entries()), "entry", "entries")
    defects, unknown = checks.find_defects(bank, after or bank.stale_after)
    edge.warn(*bank.warnings, *unknown)
    if not defects:
        return Reply([], f"{entries} checked, no problems")
    for one in defects:
        line = f"{one.file}:{one.line}: {one.name}: {one.message}: {one.hint}"
        write(clean(line.replace("\n", " ")) + "\n")
    raise CheckFound(
        f"{count_noun(len(defects), 'problem')} in {entries}",
        hint="each line says what to do",
        data=[asdict(one) for one in defects],
    )


@command.command()
@click.option("--yes", is_flag=True, help="Write the changes instead of printing them.")
def backfill(edge: Edge, yes: bool) -> Reply:
    """Print the missing metadata as a patch."""
    bank = _open_bank(edge)
    with bank.lock() if yes else nullcontext():
        changed = operations.backfill(bank)
        bank.write(list(changed) if yes else [])
    patch = "".join(make_patch(old.file, old.data, new.data) for old, new in changed)
    files = [new.file for _, new in changed]
    data = {"written": yes and bool(changed), "files": files, "patch": printable(patch)}
    text: str | bytes = patch.encode("utf-8", "surrogateescape")
    if not changed:
        text = "no metadata is missing"
    elif yes:
        text = f"written: {', '.join(files)}"
    return Reply(data, text, bank.warnings)


def _open_bank(edge: Edge) -> Bank:
    project = edge.project()
    loaded = config.load(project)
    edge.warn(*loaded.warnings)
    return Bank(project, loaded.settings)


def _entry_data(bank: Bank, one: PageEntry) -> dict[str, Any]:
    states = bank.anchor_states(one.entry)
    staleness = assess_staleness(one.entry, bank.completions, bank.stale_after)
    return {
        **entry_data(one.entry),
        "anchors": [{**asdict(anchor), "state": state} for anchor, state in states],
        "state": _describe_state(bank, one, staleness.state),
        "age": staleness.age,
    }


def _describe_state(bank: Bank, one: PageEntry, age: str) -> str:
    """Return what a reader should know first: orphaned, challenged, or how old it is."""
    if bank.is_orphaned(one.entry):
        return "orphaned"
    return CHALLENGED if observations.is_challenged(one.entry) else age


def _change_reply(bank: Bank, change: EntryChange, verb: str) -> Reply:
    where = f"{change.entry.file}:{change.entry.line + 1}"
    text = f"{verb}: {change.entry.name} ({where})" if change.changed else "nothing to write"
    data = {**entry_data(change.entry), "changed": change.changed}
    return Reply(data, clean(text), [*bank.warnings, *change.warnings])


def _build_query(
    bank: Bank, text: str | None, task: str | None, diff: bool, paths: tuple[str, ...]
) -> Query | None:
    if text is None and task is None and not diff and not paths:
        return None
    if (text is not None) + (task is not None) + diff > 1:
        raise UsageError("--for, --task and --diff cannot be combined")
    if task is not None:
        item = Board(choose.open_backend(bank.project, bank.settings.tasks)).get(task)
        return selection.query_for_task(item, paths)
    if diff:
        repo = bank.project.repo
        if repo is None:
            raise UsageError("--diff needs a git repository", hint="use --path or --for")
        base = ["HEAD"] if repo.head() else []
        query = relevance.query_from_diff(repo.git("diff", *base).decode("utf-8", "replace"))
        return replace(query, paths=(*query.paths, *paths))
    return relevance.query_from_text(text or "", paths)


def _rank_reply(bank: Bank, entries: list[PageEntry], query: Query, budget: int) -> Reply:
    """Return the relevant entries that fit the budget; one that is too long is left out."""
    live = {id(one.entry): one for one in entries if not bank.is_orphaned(one.entry)}
    if len(live) < len(entries):
        bank.warnings.append(f"{len(entries) - len(live)} orphaned left out: kedge knowledge check")
    data, shown = [], []
    for match in relevance.rank_entries([one.entry for one in live.values()], query):
        text = format_entry(match.entry)
        size = count(text + "\n")
        if size <= budget:
            budget -= size
            shown.append(text)
            why = {"score": match.score, "why": match.why, "tokens": size}
            data.append({**_entry_data(bank, live[id(match.entry)]), **why})
    return Reply(data, clean("\n".join(shown)), bank.warnings)

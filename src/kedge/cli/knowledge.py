"""`kedge knowledge`: lessons that are kept, confirmed, challenged and retired."""

from __future__ import annotations

from kedge import config
from kedge.cli import syntax
from kedge.cli.edge import Edge, Reply, write
from kedge.cli.plain import clean, table
from kedge.errors import CheckFound, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kedge.knowledge.bank import Bank, Found
    from kedge.knowledge.lessons import Written
    from kedge.knowledge.relevance import Asked

_TYPES = syntax.Choice(["anti-pattern", "heuristic", "pattern"])
_in = syntax.option("--in", "where", required=True, metavar="ID", help="The feature or the task.")
_evidence = syntax.option("--evidence", required=True, help="What was seen there, in a sentence.")
_after = syntax.option(
    "--after", type=syntax.IntRange(1), help="Features that make an entry stale."
)
_allow = syntax.option(
    "--allow-secret", "allow", multiple=True, metavar="ID", help="Let this finding through."
)
_at = syntax.option(
    "--at", multiple=True, metavar="PATH[#NAME]", help="The code that it is about; repeatable."
)


command = syntax.group("Keep lessons, confirm, challenge and retire them.")


@command.command("List the entries, or those that matter.")
@syntax.option("--type", "type_", type=_TYPES, help="Only these.")
@syntax.option("--for", "text", metavar="TEXT", help="Those that matter for this.")
@syntax.option("--task", metavar="ID", help="Those that matter for a task.")
@syntax.option("--diff", is_flag=True, help="Those that matter for what is not committed.")
@syntax.option("--path", "paths", multiple=True, help="Those that matter for a path; repeatable.")
@syntax.option("--tokens", type=syntax.IntRange(1), help="How much to print; 1000.")
def list_(
    here: Edge,
    type_: str | None,
    text: str | None,
    task: str | None,
    diff: bool,
    paths: tuple[str, ...],
    tokens: int | None,
) -> Reply:
    bank = _bank(here)
    found = [one for one in bank.found() if type_ in (None, one.entry.type)]
    asked = _asked(bank, text, task, diff, paths)
    if asked is not None:
        return _relevant(bank, found, asked, tokens)
    if tokens is not None:
        raise UsageError("--tokens goes with --for, --task, --diff or --path")

    def lines() -> str:
        rows = [
            (one.entry.type, one.entry.name, str(data["last_observed"]["value"] or ""),
             str(data["count"] or ""), data["state"])
            for one in found
            if (data := _data(bank, one))
        ]  # fmt: skip
        headers = ("type", "name", "last observed", "count", "state")
        return table(headers, rows, empty="nothing was learned yet")

    return Reply(lambda: [_data(bank, one) for one in found], lines, bank.warnings)


@command.command("Add an entry, unless there is one like it.")
@syntax.argument("name")
@syntax.option("--type", "type_", type=_TYPES, required=True)
@syntax.option("--text", required=True, help="What was learned, and why; - reads standard input.")
@syntax.option("--in", "where", metavar="ID", help="The feature or the task it was learned in.")
@syntax.option("--confidence", default="medium", help="low, medium or high; medium.")
@_at
@syntax.option("--force", is_flag=True, help="Add it although another says much the same.")
@_allow
def add(
    here: Edge,
    name: str,
    type_: str,
    text: str,
    where: str | None,
    confidence: str,
    at: tuple[str, ...],
    force: bool,
    allow: tuple[str, ...],
) -> Reply:
    from kedge.cli import task_input
    from kedge.host.clock import now
    from kedge.knowledge import anchors, lessons
    from kedge.knowledge.write import Draft

    bank = _bank(here)
    told = bank.where(where) if where is not None else now()[:10]
    made = dict.fromkeys(str(anchors.make(bank.project, one)) for one in at)
    draft = Draft(type_, name, task_input.text(text) or "", told, confidence, told, tuple(made))
    return _written(bank, lessons.add(bank, draft, force=force, allow=allow), "added")


@command.command("Record that an entry was seen to hold.")
@syntax.argument("name")
@_in
@_evidence
@_at
@_allow
def confirm(
    here: Edge,
    name: str,
    where: str,
    evidence: str,
    at: tuple[str, ...],
    allow: tuple[str, ...],
) -> Reply:
    from kedge.knowledge import lessons

    bank = _bank(here)
    return _written(
        bank, lessons.confirm(bank, name, where, evidence, at, allow=allow), "confirmed"
    )


@command.command("Record that an entry was contradicted.")
@syntax.argument("name")
@_in
@_evidence
@_allow
def challenge(here: Edge, name: str, where: str, evidence: str, allow: tuple[str, ...]) -> Reply:
    from kedge.knowledge import lessons

    bank = _bank(here)
    return _written(bank, lessons.challenge(bank, name, where, evidence, allow=allow), "challenged")


@command.command("List what was not observed for long.")
@_after
@syntax.option("--keep", metavar="NAME", help="Keep this one for as long again: no observation.")
@syntax.option("--in", "where", metavar="ID", help="With --keep: the feature or the task of now.")
@syntax.option("--reason", default="", help="With --keep: why.")
@_allow
def stale(
    here: Edge,
    after: int | None,
    keep: str | None,
    where: str | None,
    reason: str,
    allow: tuple[str, ...],
) -> Reply:
    from kedge.knowledge import lessons, observe

    bank = _bank(here)
    if keep is not None:
        if where is None:
            raise UsageError("--keep needs --in ID", hint="name the feature or task of now")
        return _written(bank, lessons.keep(bank, keep, where, reason, allow=allow), "kept")
    rows = []
    for one in bank.found():
        stand = observe.standing(one.entry, bank.clock, after or bank.stale_after)
        if stand.state != observe.FRESH:
            rows.append({**_data(bank, one), **stand._asdict()})

    def text() -> str:
        cells = [(r["state"], r["type"], r["name"], r["why"]) for r in rows]
        return table(("state", "type", "name", "why"), cells, empty="nothing is stale")

    return Reply(rows, text, bank.warnings)


@command.command("Move an entry to retired.md, with reason and date.")
@syntax.argument("name")
@syntax.option("--reason", required=True, help="Why it holds no longer.")
@_allow
def retire(here: Edge, name: str, reason: str, allow: tuple[str, ...]) -> Reply:
    from kedge.knowledge import lessons

    bank = _bank(here)
    return _written(bank, lessons.retire(bank, name, reason, allow=allow), "retired")


@command.command("Find what is stale, twice or adrift (exit 4).")
@_after
def check(here: Edge, after: int | None) -> Reply:
    from kedge.knowledge import check as checks

    bank = _bank(here)
    count = len(bank.found())
    found, unknown = checks.check(bank, after or bank.stale_after)
    here.warn(*bank.warnings, *unknown)
    if not found:
        entries = f"{count} entr{'ies' if count != 1 else 'y'}"
        return Reply([], f"{entries} checked, nothing found")
    for one in found:
        line = f"{one.file}:{one.line}: {one.name}: {one.message}: {one.hint}"
        write(clean(line.replace("\n", " ")) + "\n")
    raise CheckFound(
        f"{len(found)} thing{'s' if len(found) != 1 else ''} found in {count} entries",
        hint="each line says what to do",
        data=[one._asdict() for one in found],
    )


@command.command("Add metadata that is missing, as a patch.")
@syntax.option("--yes", is_flag=True, help="Write it, instead of printing it.")
def backfill(here: Edge, yes: bool) -> Reply:
    from kedge.context.diff import patch
    from kedge.knowledge import lessons

    bank = _bank(here)
    changed = lessons.write_backfill(bank) if yes else lessons.backfill(bank)
    made = "".join(patch(old.file, old.data, new.data) for old, new in changed)
    data = {"written": yes and bool(changed), "files": [new.file for _, new in changed]}
    text = made.encode("utf-8", "surrogateescape")
    if not changed:
        return Reply({**data, "patch": ""}, "nothing is missing", bank.warnings)
    if yes:
        files = ", ".join(new.file for _, new in changed)
        return Reply({**data, "patch": _text(made)}, f"written: {files}", bank.warnings)
    return Reply({**data, "patch": _text(made)}, text, bank.warnings)


def _bank(here: Edge) -> Bank:
    from kedge.knowledge.bank import Bank

    project = here.project()
    loaded = config.load(project)
    here.warn(*loaded.warnings)
    return Bank(project, loaded.settings)


def _data(bank: Bank, one: Found) -> dict[str, Any]:
    from kedge.knowledge import observe
    from kedge.knowledge.view import data

    states = bank.states(one.entry)
    stand = observe.standing(one.entry, bank.clock, bank.stale_after)
    return {
        **data(one.entry),
        "anchors": [{**anchor._asdict(), "state": state} for anchor, state in states],
        "state": "orphaned" if bank.is_orphaned(one.entry) else stand.state,
        "age": stand.age,
    }


def _written(bank: Bank, done: Written, verb: str) -> Reply:
    from kedge.knowledge.view import data

    place = f"{done.entry.file}:{done.entry.line + 1}"
    text = f"{verb}: {done.entry.name} ({place})" if done.changed else "nothing to write"
    said = {**data(done.entry), "changed": done.changed}
    return Reply(said, clean(text), [*bank.warnings, *done.warnings])


def _asked(
    bank: Bank, text: str | None, task: str | None, diff: bool, paths: tuple[str, ...]
) -> Asked | None:
    from kedge.knowledge import relevance

    if text is None and task is None and not diff and not paths:
        return None
    if (text is not None) + (task is not None) + diff > 1:
        raise UsageError("--for, --task and --diff exclude each other")
    if task is not None:
        from kedge.tasks import choose
        from kedge.tasks.board import Board

        found = Board(choose.backend(bank.project, bank.settings.tasks)).get(task)
        words = (found.title, found.title, found.description, *found.acceptance, *found.labels)
        return relevance.of_text("\n".join(words), (*found.scope_in, *paths))
    if diff:
        repo = bank.project.repo
        if repo is None:
            raise UsageError("--diff needs a git repository", hint="use --path or --for")
        base = ["HEAD"] if repo.head() else []
        asked = relevance.of_diff(repo.git("diff", *base).decode("utf-8", "replace"))
        return asked._replace(paths=(*asked.paths, *paths))
    return relevance.of_text(text or "", paths)


def _relevant(bank: Bank, found: list[Found], asked: Asked, tokens: int | None) -> Reply:
    from kedge.host.tokens import count
    from kedge.knowledge import relevance

    live = {id(one.entry): one for one in found if not bank.is_orphaned(one.entry)}
    entries = [one.entry for one in live.values()]
    matches = relevance.relevant(
        entries, **asked._asdict(), budget=tokens if tokens is not None else relevance.BUDGET
    )
    if len(live) < len(found):
        bank.warnings.append(f"{len(found) - len(live)} orphaned left out: kedge knowledge check")
    shown = [relevance.shown(one.entry) for one in matches]
    data = [
        {
            **_data(bank, live[id(m.entry)]),
            "score": m.score,
            "why": m.why,
            "tokens": count(text + "\n"),
        }
        for m, text in zip(matches, shown, strict=True)
    ]
    return Reply(data, clean("\n".join(shown)), bank.warnings)


def _text(patch: str) -> str:
    return patch.encode("utf-8", "surrogateescape").decode("utf-8", "replace")

"""`kedge retro`: gather what a finished feature or task teaches, and apply the answer."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import click

from kedge import config
from kedge.cli import options, text_input
from kedge.cli.commands import KedgeCommand
from kedge.cli.edge import Edge, Reply, write
from kedge.cli.plain import clean
from kedge.context.budget import TextPart, fit_parts, suggest_budget
from kedge.errors import InvalidValue, UsageError
from kedge.handoff import lifecycle
from kedge.handoff.context_store import ContextStore
from kedge.host.redact import redact_value
from kedge.host.tokens import count
from kedge.knowledge.bank.bank import Bank
from kedge.knowledge.bank.view import entry_data
from kedge.knowledge.retro import answer, apply, bundle, bundle_text
from kedge.knowledge.retro import subject as works
from kedge.knowledge.retro.apply import ApplyResult
from kedge.knowledge.retro.bundle import Bundle, ReadHandoff
from kedge.knowledge.retro.subject import Subject
from kedge.settings import MAX_TOKENS

TOKENS = 8000
_MIN_TOKENS = 500
_PARTS = ("tasks", "reviews", "log", "git", "drift", "checks", "knowledge", "stale", "answer")
_VERBS = {"new": "added", "confirmed": "confirmed", "challenged": "challenged"}


@click.command(cls=KedgeCommand)
@click.argument("named", metavar="FEATURE|TASK")
@click.option(
    "--tokens",
    type=click.IntRange(_MIN_TOKENS, MAX_TOKENS),
    help=f"The token budget; {TOKENS} by default.",
)
@click.option(
    "--part", "parts", multiple=True, type=click.Choice(_PARTS), help="Only this part; repeatable."
)
@click.option("--since", metavar="COMMIT", help="The commit that the work started from.")
@click.option("--until", metavar="COMMIT", help="The last commit of the work.")
@click.option(
    "--apply", "answer", metavar="FILE", help="Apply this answer; - reads standard input."
)
@click.option(
    "--partial", is_flag=True, help="With --apply: apply the valid entries and skip the rest."
)
@options.allow_secret
def command(
    edge: Edge,
    named: str,
    tokens: int | None,
    parts: tuple[str, ...],
    since: str | None,
    until: str | None,
    answer: str | None,
    partial: bool,
    allow: tuple[str, ...],
) -> Reply:
    """Gather what finished work teaches and apply the answer."""
    if answer is None and (partial or allow):
        raise UsageError("--partial and --allow-secret need --apply", hint="--apply FILE")
    if answer is not None and (tokens or parts or since or until):
        raise UsageError(
            "--apply cannot be combined with --tokens, --part, --since or --until",
            hint="leave out --apply to print",
        )
    project = edge.project()
    loaded = config.load(project)
    edge.warn(*loaded.warnings)
    bank = Bank(project, loaded.settings)
    work = works.find_subject(bank, named)
    edge.warn(*bank.warnings, *_warn_of_open_tasks(work))
    if answer is None:
        return bundle_reply(bank, work, tokens or TOKENS, parts, (since, until))
    return _apply(edge, bank, work, answer, partial=partial, allow=allow)


def _warn_of_open_tasks(work: Subject) -> list[str]:
    tasks = [task.id for task in work.open_tasks]
    more = f" and {len(tasks) - 5} more" if len(tasks) > 5 else ""
    return [f"not finished yet: {', '.join(tasks[:5])}{more}"] if tasks else []


def bundle_reply(
    bank: Bank,
    work: Subject,
    budget: int = TOKENS,
    parts: tuple[str, ...] = (),
    span: tuple[str | None, str | None] = (None, None),
) -> Reply:
    """Return what the work teaches, as data and as text. `span` has its first and last commit."""
    gathered = bundle.gather_bundle(bank, work, _handoff_reader(bank), *span)
    head = "" if parts else clean(bundle_text.render_head(gathered))
    pieces = []
    for one in bundle_text.render_parts(gathered, parts):
        title, content = clean(one.title), clean(one.text)
        part = TextPart(one.source, title, content, one.kept)
        again = _more_command(work, span, suggest_budget([part]), one.source)
        pieces.append(replace(part, more=again))
    whole = _more_command(work, span, suggest_budget(pieces))
    shared = fit_parts(pieces, budget, bundle_text.WEIGHTS, head, whole)
    text = (head + shared.text).rstrip() + "\n"
    warnings = list(gathered.warnings)
    if count(text) > budget:
        warnings.append(
            f"the parts that cannot be cut take {count(text)} tokens, more than {budget}"
        )
    return Reply(
        lambda: _bundle_data(gathered, text, budget, [one.data() for one in shared.parts]),
        text,
        warnings,
    )


def _more_command(
    work: Subject, span: tuple[str | None, str | None], tokens: int, part: str = ""
) -> str:
    """Return the command that prints the part in full."""
    words = ["kedge", "retro", work.id, *(["--since", span[0]] if span[0] else [])]
    words += ["--until", span[1]] if span[1] else []
    words += ["--part", part] if part else []
    return shlex.join([*words, "--tokens", str(max(tokens, _MIN_TOKENS))])


def _bundle_data(gathered: Bundle, text: str, budget: int, sections: list[dict[str, Any]]) -> Any:
    work = gathered.subject
    about = {"kind": work.kind, "id": work.id, "title": work.title, "label": work.label}
    sizes = {"tokens": count(text), "budget": budget, "sections": sections}
    return {"work": about, "text": text, **sizes, "parts": redact_value(gathered.data())}


def _handoff_reader(bank: Bank) -> ReadHandoff:
    """Return a function that summarises a task's handoff, if it has one."""
    store = ContextStore(bank.project)

    def read_handoff(task: str) -> Mapping[str, Any] | None:
        return lifecycle.summarise(store.read(task).context) if store.exists(task) else None

    return read_handoff


def _apply(
    edge: Edge, bank: Bank, work: Subject, file: str, *, partial: bool, allow: tuple[str, ...]
) -> Reply:
    _, text = text_input.read_file(file, edge.directory)
    try:
        done = apply.apply_answer(
            bank, work, answer.parse_answer(text), partial=partial, allow=allow
        )
    except InvalidValue as error:
        if isinstance(error.data, list) and not edge.json:
            for row in error.data:
                write(clean(str(answer.Problem(**row)).replace("\n", " ")) + "\n")
        raise
    problems = [f"not applied: {one}" for one in done.problems]
    return Reply(
        _result_data(work, done), lambda: _describe_result(done), [*problems, *done.warnings]
    )


def _result_data(work: Subject, done: ApplyResult) -> dict[str, Any]:
    return {
        "work": work.id,
        "label": work.label,
        "changed": done.changed,
        "recorded": done.recorded,
        "steps": [
            {
                "kind": one.kind,
                "where": one.item.where,
                "changed": one.changed,
                "entry": entry_data(one.entry),
            }
            for one in done.steps
        ],
        "problems": [asdict(one) for one in done.problems],
    }


def _describe_result(done: ApplyResult) -> str:
    lines = [
        f"{_VERBS[one.kind]}: {one.entry.name} ({one.entry.file})"
        for one in done.steps
        if one.changed
    ]
    same = sum(not one.changed for one in done.steps)
    if same and lines:
        lines.append(f"already present: {same}")
    if not lines:
        recorded = "; the retro is recorded" if done.recorded else ": everything is present already"
        lines.append(f"nothing to write{recorded}")
    return clean("\n".join(lines))

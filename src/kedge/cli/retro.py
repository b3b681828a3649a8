"""`kedge retro`: what a finished feature or task teaches."""

from __future__ import annotations

from collections.abc import Mapping

from kedge import config
from kedge.cli import syntax
from kedge.cli.edge import Edge, Reply, write
from kedge.cli.plain import clean
from kedge.errors import InvalidValue, UsageError
from kedge.settings import MOST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kedge.knowledge.bank import Bank
    from kedge.knowledge.bundle import Bundle, Live
    from kedge.knowledge.retro import Applied
    from kedge.knowledge.work import Work

TOKENS = 8000
_LEAST = 500
_PARTS = ("tasks", "reviews", "log", "git", "drift", "checks", "knowledge", "stale", "answer")
_VERBS = {"new": "added", "confirmed": "confirmed", "challenged": "challenged"}


@syntax.command("Gather what finished work teaches, and apply the answer.")
@syntax.argument("named", metavar="FEATURE|TASK")
@syntax.option("--tokens", type=syntax.IntRange(_LEAST, MOST), help=f"The budget; {TOKENS}.")
@syntax.option(
    "--part", "parts", multiple=True, type=syntax.Choice(_PARTS), help="Only this; repeatable."
)
@syntax.option("--since", metavar="COMMIT", help="The commit that the work was begun on.")
@syntax.option(
    "--apply", "answer", metavar="FILE", help="Apply this answer; - reads standard input."
)
@syntax.option(
    "--partial", is_flag=True, help="With --apply: what is right, although the rest is not."
)
@syntax.option(
    "--allow-secret", "allow", multiple=True, metavar="ID", help="Let this finding through."
)
def command(
    here: Edge,
    named: str,
    tokens: int | None,
    parts: tuple[str, ...],
    since: str | None,
    answer: str | None,
    partial: bool,
    allow: tuple[str, ...],
) -> Reply:
    from kedge.knowledge import work as works
    from kedge.knowledge.bank import Bank

    if answer is None and (partial or allow):
        raise UsageError("--partial and --allow-secret go with --apply", hint="--apply FILE")
    if answer is not None and (tokens or parts or since):
        raise UsageError("--tokens, --part and --since are for printing", hint="leave out --apply")
    project = here.project()
    loaded = config.load(project)
    here.warn(*loaded.warnings)
    bank = Bank(project, loaded.settings)
    work = works.find(bank, named)
    here.warn(*bank.warnings, *_unfinished(work))
    if answer is None:
        return printed(bank, work, tokens or TOKENS, parts, since)
    return _applied(here, bank, work, answer, partial=partial, allow=allow)


def _unfinished(work: Work) -> list[str]:
    left = [task.id for task in work.open_tasks]
    more = f" and {len(left) - 5} more" if len(left) > 5 else ""
    return [f"not finished yet: {', '.join(left[:5])}{more}"] if left else []


def printed(
    bank: Bank,
    work: Work,
    budget: int = TOKENS,
    parts: tuple[str, ...] = (),
    since: str | None = None,
) -> Reply:
    """The bundle, as data and as text."""
    from kedge.context.budget import Part, enough, share
    from kedge.host.tokens import count
    from kedge.knowledge import bundle, bundle_text

    made = bundle.gather(bank, work, _live(bank), since)
    head = "" if parts else bundle_text.head(made)
    pieces = []
    for one in bundle_text.pieces(made, parts):
        size = enough([Part(one.source, one.title, one.text, one.kept)])
        pieces.append(Part(*one, more=_again(work, since, size, one.source)))
    whole = _again(work, since, enough(pieces))
    shared = share(pieces, budget, bundle_text.WEIGHTS, head, whole)
    text = (head + shared.text).rstrip() + "\n"
    warnings = list(made.warnings)
    if count(text) > budget:
        warnings.append(f"what may not be cut takes {count(text)} tokens, above {budget}")
    return Reply(
        lambda: _data(made, text, budget, [one.data() for one in shared.given]), text, warnings
    )


def _again(work: Work, since: str | None, tokens: int, part: str = "") -> str:
    """The command that prints more of the same."""
    import shlex

    words = ["kedge", "retro", work.id, *(["--since", since] if since else [])]
    words += ["--part", part] if part else []
    return shlex.join([*words, "--tokens", str(max(tokens, _LEAST))])


def _data(made: Bundle, text: str, budget: int, sections: list[dict[str, Any]]) -> Any:
    from kedge.host.redact import redact_value
    from kedge.host.tokens import count

    work = made.work
    about = {"kind": work.kind, "id": work.id, "title": work.title, "label": work.label}
    sizes = {"tokens": count(text), "budget": budget, "sections": sections}
    return {"work": about, "text": text, **sizes, "parts": redact_value(made.data())}


def _live(bank: Bank) -> Live:
    """The record of a handoff that has not ended."""
    from kedge.handoff import lifecycle
    from kedge.handoff.store import Store

    store = Store(bank.project)

    def live(task: str) -> Mapping[str, Any] | None:
        return lifecycle.record(store.read(task).context) if store.exists(task) else None

    return live


def _applied(
    here: Edge, bank: Bank, work: Work, file: str, *, partial: bool, allow: tuple[str, ...]
) -> Reply:
    from kedge.cli import task_input
    from kedge.knowledge import answer, retro

    _, text = task_input.read(file, here.directory)
    try:
        done = retro.apply(bank, work, answer.read(text), partial=partial, allow=allow)
    except InvalidValue as error:
        if isinstance(error.data, list) and not here.json:
            for row in error.data:
                write(clean(str(answer.Problem(**row)).replace("\n", " ")) + "\n")
        raise
    problems = [f"not applied: {one}" for one in done.problems]
    return Reply(_done(work, done), lambda: _told(done), [*problems, *done.warnings])


def _done(work: Work, done: Applied) -> dict[str, Any]:
    from kedge.knowledge.view import data

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
                "entry": data(one.entry),
            }
            for one in done.steps
        ],
        "problems": [one._asdict() for one in done.problems],
    }


def _told(done: Applied) -> str:
    lines = [
        f"{_VERBS[one.kind]}: {one.entry.name} ({one.entry.file})"
        for one in done.steps
        if one.changed
    ]
    same = sum(not one.changed for one in done.steps)
    if same and lines:
        lines.append(f"there already: {same}")
    if not lines:
        recorded = "; the retro is on record" if done.recorded else ": all of it is there already"
        lines.append(f"nothing to write{recorded}")
    return clean("\n".join(lines))

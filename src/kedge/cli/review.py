"""`kedge review`: who reviewed which tree, what came of it, and what the next reviewer is told."""

from __future__ import annotations

from kedge import config
from kedge.cli import syntax
from kedge.cli.edge import Edge, Reply
from kedge.cli.plain import clean, table
from kedge.errors import GitError, InvalidValue, TaskNotFound, UsageError
from kedge.knowledge.review_words import FAILED, MAJOR, MINOR, RESULTS
from kedge.knowledge.reviews import KINDS, PHASES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kedge.host.project import Project
    from kedge.knowledge.review_answer import Answer
    from kedge.knowledge.reviews import Claim, Review
    from kedge.knowledge.topic import Topic

_phase = syntax.option("--phase", type=syntax.Choice(PHASES), help="The phase of a feature.")
_SHORT = 12  # digits of a tree in a table


command = syntax.group("Record reviews, and tell the next reviewer what came of them.")


@command.command("Record a review of the working tree as it is.")
@syntax.argument("subject", metavar="SUBJECT")
@syntax.option("--reviewer", required=True, metavar="NAME", help="Who reviewed.")
@syntax.option("--result", type=syntax.Choice(RESULTS), help="The verdict; else that of --from.")
@_phase
@syntax.option("--kind", type=syntax.Choice(KINDS), help="What was looked for; else by the name.")
@syntax.option("--iteration", type=syntax.IntRange(1), help="Which look it is; else the next.")
@syntax.option(
    "--of", "cap", type=syntax.IntRange(1), help="How many there may be; else review.cap."
)
@syntax.option("--tree", metavar="ID", help="The tree that was reviewed; else the working tree's.")
@syntax.option(
    "--finding", "findings", multiple=True, metavar="'[ID] [SEVERITY] TEXT'",
    help="blocker, major, minor or note; repeatable.",
)  # fmt: skip
@syntax.option(
    "--verified", multiple=True, metavar="'CLAIM | SOURCE'", help="Looked up; repeatable."
)
@syntax.option("--unverified", multiple=True, metavar="CLAIM", help="Not looked up; repeatable.")
@syntax.option("--no-external-claims", "no_claims", is_flag=True, help="There were none to verify.")
@syntax.option("--tool-missing", "tools", multiple=True, metavar="NAME", help="Repeatable.")
@syntax.option("--summary", default="", help="The review in a sentence.")
@syntax.option("--from", "file", metavar="FILE", help="The reviewer's answer; - reads stdin.")
def record(
    here: Edge,
    subject: str,
    reviewer: str,
    result: str | None,
    phase: str | None,
    kind: str | None,
    iteration: int | None,
    cap: int | None,
    tree: str | None,
    findings: tuple[str, ...],
    verified: tuple[str, ...],
    unverified: tuple[str, ...],
    no_claims: bool,
    tools: tuple[str, ...],
    summary: str,
    file: str | None,
) -> Reply:
    from kedge.knowledge import outcome, reviews
    from kedge.knowledge.review_findings import finding

    project = here.project()
    settings = config.load(project).settings
    topic = _topic(here, project, subject)
    past, _ = reviews.read(project, topic)
    answer = _answer(here, file)
    said = _result(here, result, answer)
    claims = answer.claims
    known = (*claims.verified, *map(_claim, verified))
    open_ = (*claims.unverified, *unverified)
    if no_claims and (known or open_):
        raise UsageError("--no-external-claims, and claims", hint="leave one of them out")
    none = no_claims or (claims.none and not known and not open_)
    draft = reviews.Review(
        subject=topic.key,
        reviewer=reviewer,
        result=said,
        tree=_tree(here, project, tree, _last(past, reviewer, phase)),
        iteration=iteration or 0,
        cap=settings.review.cap,
        phase=phase,
        kind=kind or reviews.kind_of(reviewer),
        summary=summary or answer.summary,
        findings=(
            *answer.findings,
            *(finding(one, MAJOR if said == FAILED else MINOR) for one in findings),
        ),
        verified=known,
        unverified=open_,
        verification=reviews.NO_CLAIMS if none else reviews.NOT_STATED,
        tools_missing=(*claims.tools_missing, *tools),
    )
    timeout = settings.tasks.lock_timeout
    made, warnings = reviews.record(project, draft, cap=cap, lock_timeout=timeout)
    text = f"{made.reviewer}: {outcome.result(made)}, tree {made.tree}"
    return Reply(made.data(), clean(text), [*topic.warnings, *warnings])


@command.command("Print what came of the reviews, for the next reviewer's prompt.")
@syntax.argument("subject", metavar="SUBJECT")
@_phase
@syntax.option("--reviewer", metavar="NAME", help="Only this one's.")
def outcome_(here: Edge, subject: str, phase: str | None, reviewer: str | None) -> Reply:
    from kedge.host import tokens
    from kedge.knowledge import outcome, reviews

    project = here.project()
    topic = _topic(here, project, subject)
    past, warnings = reviews.read(project, topic)
    found = outcome.standing(past, phase=phase, reviewer=reviewer)
    if not found:
        return Reply({"text": "", "tokens": 0, "reviews": []}, None, [*topic.warnings, *warnings])
    now = _look(here, project)
    same = {one.tree for one in found if now is not None and _same(project, one.tree, now)}
    text = outcome.block(past, phase=phase, reviewer=reviewer, tree=now, same=same)
    rows = [
        {
            **one.data(),
            "outcome": outcome.result(one),
            "unresolved": [finding.id for finding in outcome.unresolved(one)],
            "tree_now": now,
            "changed": now is not None and one.tree not in same,
        }
        for one in found
    ]
    data = {"text": text, "tokens": tokens.count(text), "reviews": rows}
    return Reply(data, clean(text), [*topic.warnings, *warnings])


@command.command("List the reviews of a task or a feature, the oldest first.")
@syntax.argument("subject", metavar="SUBJECT")
def list_(here: Edge, subject: str) -> Reply:
    from kedge.knowledge import reviews

    project = here.project()
    topic = _topic(here, project, subject)
    past, warnings = reviews.read(project, topic)

    def text() -> str:
        rows = [row for one in past for row in _rows(one)]
        headers = ("iteration", "phase", "reviewer", "result", "tree", "what")
        return table(headers, rows, empty=f"{topic.name} was not reviewed")

    return Reply([one.data() for one in past], text, [*topic.warnings, *warnings])


def _rows(one: Review) -> list[tuple[str, ...]]:
    head = (
        f"{one.iteration}/{one.cap}",
        one.phase or "",
        one.reviewer,
        one.result,
        one.tree[:_SHORT],
    )
    found = [f"{each.id} ({each.severity}): {each.text}" for each in one.findings]
    return [(*head, what) for what in found or [one.summary]]


def _topic(here: Edge, project: Project, subject: str) -> Topic:
    """The task or the feature; one that is gone is known by its reviews."""
    from kedge.knowledge import reviews
    from kedge.knowledge.topic import Topic, find

    try:
        return find(project, subject, here=here.directory)
    except TaskNotFound:
        if not reviews.read(project, subject)[0]:
            raise
        return Topic(reviews.key_of(subject))


def _answer(here: Edge, file: str | None) -> Answer:
    from kedge.cli import task_input
    from kedge.knowledge import review_answer

    if file is None:
        return review_answer.Answer()
    name, text = task_input.read(file, here.directory)
    if not text.strip():
        raise InvalidValue(f"{name} is empty", hint="ask the reviewer again")
    return review_answer.read(text)


def _result(here: Edge, told: str | None, answer: Answer) -> str:
    if told is None and answer.result is None:
        raise UsageError("there is no verdict", hint=f"--result {'|'.join(RESULTS)}")
    if told is not None and answer.result not in (None, told):
        here.warn(f"the answer says {answer.result}; it is recorded as {told}")
    return told or answer.result or ""


def _claim(text: str) -> Claim:
    from kedge.knowledge.reviews import Claim

    claim, bar, source = text.partition("|")
    if not bar or not claim.strip() or not source.strip():
        raise UsageError(
            f"--verified {text!r} has no source",
            hint="--verified 'CLAIM | SOURCE', else --unverified",
        )
    return Claim(claim.strip(), source.strip())


def _last(past: list[Review], reviewer: str, phase: str | None) -> str | None:
    mine = [one for one in past if one.series == (reviewer.casefold(), phase)]
    return mine[-1].tree if mine else None


def _tree(here: Edge, project: Project, named: str | None, last: str | None) -> str:
    """The tree of the working tree, or the one that is named, if there is such a tree.

    What is as it was in the review before, but for the records of the work, is that tree.
    """
    from kedge.handoff import snapshots

    now: str = snapshots.look(project)
    if last is not None and _same(project, last, now):
        now = last
    return now if named is None else _named(here, project, named, now)


def _named(here: Edge, project: Project, named: str, now: str) -> str:
    from kedge.handoff import snapshots

    if named == now:
        return now
    try:
        changes = snapshots.compare(project, named, now)
    except GitError as error:
        raise InvalidValue(
            f"there is no tree {named} here",
            hint="leave --tree out: kedge takes that of the working tree",
        ) from error
    if not changes:
        return now
    many = "1 path differs" if len(changes) == 1 else f"{len(changes)} paths differ"
    here.warn(f"the working tree is not the tree that was reviewed: {many}")
    return named


def _look(here: Edge, project: Project) -> str | None:
    from kedge.handoff import snapshots

    try:
        return snapshots.look(project)
    except GitError as error:
        here.warn(f"whether the tree has changed cannot be told: {error.message}")
        return None


def _same(project: Project, tree: str, now: str) -> bool:
    """Whether nothing but records of the work differ; a tree that is gone is another one."""
    from kedge.handoff import snapshots
    from kedge.knowledge.report_check import is_beside

    try:
        return all(is_beside(one.path) for one in snapshots.compare(project, tree, now))
    except GitError:
        return False

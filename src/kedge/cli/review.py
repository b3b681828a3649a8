"""`kedge review`: record reviews and summarise them for the next reviewer."""

from __future__ import annotations

import click

from kedge import config
from kedge.cli import text_input
from kedge.cli.commands import Group
from kedge.cli.edge import Edge, Reply
from kedge.cli.plain import clean, table
from kedge.errors import GitError, InvalidValue, TaskNotFound, UsageError
from kedge.handoff.snapshot import snapshots
from kedge.host import tokens
from kedge.host.project import Project
from kedge.knowledge.log.file_check import is_bookkeeping
from kedge.knowledge.reviews import outcome, records
from kedge.knowledge.reviews.answer import ReviewAnswer, parse_answer
from kedge.knowledge.reviews.findings import parse_finding
from kedge.knowledge.reviews.records import KINDS, PHASES, Claim, Review
from kedge.knowledge.reviews.vocabulary import FAILED, MAJOR, MINOR, RESULTS
from kedge.knowledge.topic import Topic, find_topic

_phase = click.option("--phase", type=click.Choice(PHASES), help="The phase of a feature.")
_TREE_DIGITS = 12  # digits of a tree in a table


command = Group(help="Record reviews and brief the next reviewer.")


@command.command()
@click.argument("subject", metavar="SUBJECT")
@click.option("--reviewer", required=True, metavar="NAME", help="Who reviewed.")
@click.option(
    "--result", type=click.Choice(RESULTS), help="The verdict; by default the one in --from."
)
@_phase
@click.option(
    "--kind", type=click.Choice(KINDS), help="The kind of review; by default from the name."
)
@click.option(
    "--correct", is_flag=True, help="Replace the reviewer's last verdict on the same tree."
)
@click.option("--iteration", type=click.IntRange(1), help="The iteration; the next by default.")
@click.option(
    "--of", "cap", type=click.IntRange(1), help="The most iterations; review.cap by default."
)
@click.option("--tree", metavar="ID", help="The reviewed tree; the working tree by default.")
@click.option(
    "--finding", "findings", multiple=True, metavar="'[ID] [SEVERITY] TEXT'",
    help="A finding; SEVERITY is blocker, major, minor or note; repeatable.",
)  # fmt: skip
@click.option(
    "--verified",
    multiple=True,
    metavar="'CLAIM | SOURCE'",
    help="A claim that was verified; repeatable.",
)
@click.option(
    "--unverified",
    multiple=True,
    metavar="CLAIM",
    help="A claim that was not verified; repeatable.",
)
@click.option(
    "--no-external-claims", "no_claims", is_flag=True, help="There were no claims to verify."
)
@click.option(
    "--tool-missing",
    "tools",
    multiple=True,
    metavar="NAME",
    help="A tool that was missing; repeatable.",
)
@click.option("--summary", default="", help="The review in one sentence.")
@click.option(
    "--from", "file", metavar="FILE", help="The reviewer's answer; - reads standard input."
)
def record(
    edge: Edge,
    subject: str,
    reviewer: str,
    result: str | None,
    phase: str | None,
    kind: str | None,
    correct: bool,
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
    """Record a review of the working tree."""
    project = edge.project()
    settings = config.load(project).settings
    topic = _find_topic(edge, project, subject)
    past, _ = records.read_reviews(project, topic)
    mine = [one for one in past if one.series == (reviewer.casefold(), phase)]
    answer = _read_answer(edge, file)
    verdict = _choose_result(edge, result, answer)
    claims = answer.claims
    known = (*claims.verified, *map(_parse_claim, verified))
    open_ = (*claims.unverified, *unverified)
    if no_claims and (known or open_):
        raise UsageError(
            "--no-external-claims cannot be combined with claims",
            hint="leave out --no-external-claims, or the claims",
        )
    none = no_claims or (claims.none and not known and not open_)
    draft = records.Review(
        subject=topic.key,
        reviewer=reviewer,
        result=verdict,
        tree=_choose_tree(edge, project, tree, mine[-1].tree if mine else None),
        iteration=iteration or 0,
        cap=settings.review.cap,
        phase=phase,
        kind=kind or records.guess_kind(reviewer),
        summary=summary or answer.summary,
        findings=(
            *answer.findings,
            *(parse_finding(one, MAJOR if verdict == FAILED else MINOR) for one in findings),
        ),
        verified=known,
        unverified=open_,
        verification=records.NO_CLAIMS if none else records.NOT_STATED,
        tools_missing=(*claims.tools_missing, *tools),
        corrects=correct,
    )
    if correct and iteration is not None:
        raise UsageError(
            "--correct cannot be combined with --iteration", hint="a correction keeps its number"
        )
    timeout = settings.tasks.lock_timeout
    review, warnings = records.record_review(project, draft, cap=cap, lock_timeout=timeout)
    text = f"{review.reviewer}: {outcome.describe_result(review)}, tree {review.tree}"
    return Reply(review.data(), clean(text), [*topic.warnings, *warnings])


@command.command("outcome")
@click.argument("subject", metavar="SUBJECT")
@_phase
@click.option("--reviewer", metavar="NAME", help="Only this reviewer.")
def outcome_(edge: Edge, subject: str, phase: str | None, reviewer: str | None) -> Reply:
    """Print the outcome of past reviews, for the next reviewer's prompt."""
    project = edge.project()
    topic = _find_topic(edge, project, subject)
    past, warnings = records.read_reviews(project, topic)
    latest = outcome.latest_reviews(past, phase=phase, reviewer=reviewer)
    if not latest:
        return Reply({"text": "", "tokens": 0, "reviews": []}, None, [*topic.warnings, *warnings])
    now = _read_tree(edge, project)
    same = {one.tree for one in latest if now is not None and _is_same_tree(project, one.tree, now)}
    text = outcome.render_outcome(past, phase=phase, reviewer=reviewer, tree=now, same=same)
    rows = [
        {
            **one.data(),
            "outcome": outcome.describe_result(one),
            "unresolved": [finding.id for finding in outcome.list_unresolved(one)],
            "tree_now": now,
            "changed": now is not None and one.tree not in same,
        }
        for one in latest
    ]
    data = {"text": text, "tokens": tokens.count(text), "reviews": rows}
    return Reply(data, clean(text), [*topic.warnings, *warnings])


@command.command("list")
@click.argument("subject", metavar="SUBJECT")
def list_(edge: Edge, subject: str) -> Reply:
    """List the reviews of a task or feature, oldest first."""
    project = edge.project()
    topic = _find_topic(edge, project, subject)
    past, warnings = records.read_reviews(project, topic)

    def text() -> str:
        rows = [row for one in past for row in _rows(one)]
        headers = ("iteration", "phase", "reviewer", "result", "tree", "what")
        return table(headers, rows, empty=f"{topic.name} was not reviewed")

    return Reply([one.data() for one in past], text, [*topic.warnings, *warnings])


def _rows(one: Review) -> list[tuple[str, ...]]:
    iteration, tree = f"{one.iteration}/{one.cap}", one.tree[:_TREE_DIGITS]
    iteration += " corrected" if one.corrects else ""
    head = (iteration, one.phase or "", one.reviewer, one.result, tree)
    findings = [f"{each.id} ({each.severity}): {each.text}" for each in one.findings]
    return [(*head, what) for what in findings or [one.summary]]


def _find_topic(edge: Edge, project: Project, subject: str) -> Topic:
    """Return the task or feature; one that no longer exists is found by its reviews."""
    try:
        return find_topic(project, subject, here=edge.directory)
    except TaskNotFound:
        if not records.read_reviews(project, subject)[0]:
            raise
        return Topic(records.subject_key(subject))


def _read_answer(edge: Edge, file: str | None) -> ReviewAnswer:
    if file is None:
        return ReviewAnswer()
    name, text = text_input.read_file(file, edge.directory)
    if not text.strip():
        raise InvalidValue(f"{name} is empty", hint="ask the reviewer again")
    return parse_answer(text)


def _choose_result(edge: Edge, flag: str | None, answer: ReviewAnswer) -> str:
    if flag is None and answer.result is None:
        raise UsageError("no verdict given", hint=f"--result {'|'.join(RESULTS)}")
    if flag is not None and answer.result not in (None, flag):
        edge.warn(f"the answer says {answer.result}, but --result {flag} is recorded")
    return flag or answer.result or ""


def _parse_claim(text: str) -> Claim:
    claim, bar, source = text.partition("|")
    if not bar or not claim.strip() or not source.strip():
        raise UsageError(
            f"--verified {text!r} has no source",
            hint="use --verified 'CLAIM | SOURCE', or --unverified CLAIM",
        )
    return Claim(claim.strip(), source.strip())


def _choose_tree(edge: Edge, project: Project, named: str | None, last: str | None) -> str:
    """Return the named tree, or the working tree's.

    If only kedge's own records changed since the last review, its tree is the current one.
    """
    now: str = snapshots.read_tree(project)
    if last is not None and _is_same_tree(project, last, now):
        now = last
    if named is None or named == now:
        return now
    try:
        changes = snapshots.compare(project, named, now)
    except GitError as error:
        raise InvalidValue(
            f"no tree {named} in this repository",
            hint="leave out --tree to use the working tree",
        ) from error
    if not changes:
        return now
    count = "1 path differs" if len(changes) == 1 else f"{len(changes)} paths differ"
    edge.warn(f"the working tree is not the reviewed tree: {count}")
    return named


def _read_tree(edge: Edge, project: Project) -> str | None:
    try:
        return snapshots.read_tree(project)
    except GitError as error:
        edge.warn(f"cannot tell whether the tree has changed: {error.message}")
        return None


def _is_same_tree(project: Project, tree: str, now: str) -> bool:
    """True if only kedge's own records differ; False if the tree no longer exists."""
    try:
        return all(is_bookkeeping(one.path) for one in snapshots.compare(project, tree, now))
    except GitError:
        return False

"""The beads backend, against a `bd` that keeps its issues in a database of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.errors import (
    BrokenTasks,
    LockTimeout,
    ProgramError,
    ReadOnly,
    TaskError,
    TaskExists,
    TaskNotFound,
)
from kedge.host import files
from kedge.model.ids import TaskId
from kedge.model.task import Block, BlockType, Status, Task
from kedge.tasks.backend import Backend, Change
from kedge.tasks.beads.backend import Beads
from kedge.tasks.beads.issue import list_items, read_export, to_tasks
from kedge.tasks.beads.plan import plan
from kedge.tasks.board import Board
from kedge.testing import fake_bd
from kedge.testing.tasks import BackendSuite, draft

AT = "2026-03-01T10:00:00Z"
WHY = Block(BlockType.TOOLING, "no compiler")


class World:
    """A project with issues in bd, and a log of what bd was asked."""

    def __init__(self, root: Path, program: Path) -> None:
        self.root = root
        self.program = program

    def bd(self, *args: str) -> Any:
        done = subprocess.run(
            [self.program, *args, "--json"], cwd=self.root, capture_output=True, timeout=60
        )
        assert done.returncode == 0, done
        return json.loads(done.stdout)

    @contextmanager
    def store(self) -> Iterator[fake_bd.Store]:
        """bd's database itself, to prepare and to look at without a process."""
        store = fake_bd.Store(self.root / fake_bd.FILE)
        with closing(store.db):
            yield store

    def seed(self, *issues: dict[str, Any]) -> None:
        with self.store() as store:
            fake_bd.take(
                store, [{"title": "x", "created_at": AT, "updated_at": AT, **i} for i in issues]
            )

    def issue(self, issue_id: str) -> dict[str, Any]:
        """The line of the export."""
        with self.store() as store:
            return store.shown(store.get(issue_id), whole=True)

    def ready(self) -> set[str]:
        """What bd itself offers, without epics, which kedge works through their tasks."""
        return {i["id"] for i in self.bd("ready") if i["issue_type"] != "epic"}

    def beads(self, program: Path | None = None, **more: Any) -> Beads:
        return Beads(self.root, program=str(program or self.program), **more)

    @property
    def board(self) -> Board:
        return Board(self.beads())

    def spy(self) -> tuple[Board, Callable[[], list[str]]]:
        """A board whose bd notes each command that it is given, and what it was given so far."""
        log = self.root / "log"
        board = Board(self.beads(self.script(f'echo "$*" >> {log}\nexec {self.program} "$@"')))

        def asked() -> list[str]:
            found = log.read_text().splitlines() if log.exists() else []
            log.unlink(missing_ok=True)
            return [line.removesuffix(" --json") for line in found if line != "export"]

        return board, asked

    def script(self, text: str) -> Path:
        program = self.root / "other" / "bd"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
        return program

    def agree(self, *ids: str) -> None:
        """kedge and bd offer these tasks, and no others."""
        assert {task.id for task in self.board.ready()} == set(ids)
        assert self.ready() == set(ids)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fake_bd.install(tmp_path_factory.mktemp("bin"))


@pytest.fixture(scope="module")
def template(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("template")
    subprocess.run([program, "init", "--prefix", "kx"], cwd=root, check=True)
    return root / ".beads"


@pytest.fixture
def world(tmp_path: Path, program: Path, template: Path) -> World:
    shutil.copytree(template, tmp_path / ".beads")
    return World(tmp_path, program)


class TestConformance(BackendSuite):
    @pytest.fixture(autouse=True)
    def _prepare(self, world: World) -> None:
        self.world = world

    def make(self, root: Path) -> Backend:
        assert root == self.world.root
        return self.world.beads()


# From bd


def test_an_issue_as_a_task(world: World) -> None:
    world.seed(
        {"id": "kx-e1", "issue_type": "epic"},
        {"id": "kx-b2", "status": "closed", "close_reason": "Closed", "closed_at": AT},
        {
            "id": "kx-a1",
            "title": "Tie up",
            "description": "first\n\n  second",
            "acceptance_criteria": "## Done when\n- [ ] it holds\n- [x] it is dry",
            "status": "in_progress",
            "priority": 0,
            "issue_type": "bug",
            "assignee": "ada",
            "started_at": AT,
            "labels": ["sea", "air"],
            "design": "a knot",
            "dependencies": [
                {"depends_on_id": "kx-b2", "type": "blocks"},
                {"depends_on_id": "kx-e1", "type": "parent-child"},
            ],
            "metadata": {"team": "quay"},
        },
    )
    tasks = {task.id: task for task in world.beads().read().tasks}
    done = tasks[TaskId("kx-b2")]
    assert (done.status, done.close_reason, done.closed_at) == (Status.DONE, "Closed", AT)
    assert tasks[TaskId("kx-a1")] == Task(
        id=TaskId("kx-a1"),
        title="Tie up",
        type="bug",
        status=Status.IN_PROGRESS,
        priority="P0",
        description="first\n\n  second",
        acceptance=("it holds", "it is dry"),
        labels=("air", "sea"),
        epic=TaskId("kx-e1"),
        depends_on=(TaskId("kx-b2"),),
        assignee="ada",
        created_at=AT,
        updated_at=AT,
        started_at=AT,
        extra={"design": "a knot", "metadata": {"team": "quay"}},
    )


@pytest.mark.parametrize(
    ("issue", "status", "reason"),
    [
        ({}, Status.OPEN, None),
        ({"status": "open"}, Status.OPEN, None),
        ({"status": "in_progress"}, Status.IN_PROGRESS, None),
        ({"status": "hooked"}, Status.IN_PROGRESS, None),
        ({"status": "blocked"}, Status.BLOCKED, None),
        ({"status": "closed"}, Status.DONE, None),
        ({"status": "deferred"}, Status.BLOCKED, "deferred in beads"),
        ({"defer_until": "2999-01-01T00:00:00Z"}, Status.BLOCKED, "deferred in beads until 2999"),
        ({"defer_until": "2001-01-01T00:00:00Z"}, Status.OPEN, None),
        ({"status": "pinned"}, Status.BLOCKED, "pinned in beads"),
        ({"pinned": True}, Status.BLOCKED, "pinned in beads"),
        ({"status": "in-review"}, Status.BLOCKED, "its status in beads is 'in-review'"),
        ({"issue_type": "gate"}, Status.BLOCKED, "beads does not offer a gate as work"),
    ],
)
def test_states_of_bd(issue: dict[str, Any], status: Status, reason: str | None) -> None:
    (task,), warnings = to_tasks({"kx-1": {"id": "kx-1", "title": "x", **issue}}, AT)
    assert not warnings
    assert task.status is status
    assert (task.blocked is None) == (reason is None)
    if task.blocked and reason:
        assert task.blocked.type is BlockType.EXTERNAL
        assert task.blocked.reason.startswith(reason)


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("", ()),
        ("one\n\ntwo\n", ("one", "two")),
        ("* one\n+ two\n• three", ("one", "two", "three")),
        ("1. one\n2) two", ("one", "two")),
        ("# Title\n\nIt works.\n---\n- [ ] a\n- [X] b\r\n", ("It works.", "a", "b")),
        ("- a\n  more\n\n  last\n\n- b", ("a\nmore\n\nlast", "b")),
        ("- a\n  - nested\nplain", ("a\n- nested", "plain")),
        ("- a\n\tby a tab", ("a\nby a tab",)),
    ],
)
def test_acceptance_in_free_text(text: str, items: tuple[str, ...]) -> None:
    assert list_items(text) == items


def line(**fields: Any) -> str:
    """A line of an export."""
    return json.dumps({"id": "kx-1", "title": "x", **fields})


def test_lines_that_are_no_issues_are_skipped() -> None:
    lines = [
        '{"_schema": "beads-jsonl/1"}',
        line(),
        line(id="kx-2", status="tombstone"),
        '{"_type": "memory", "key": "a", "value": "b"}',
        "",
        line(id="kx-3", _type="issue"),
    ]
    tasks, warnings = read_export("\n".join(lines).encode(), "x")
    assert [task.id for task in tasks] == ["kx-1", "kx-3"]
    assert warnings == []


@pytest.mark.parametrize(
    "stamp", ["2026-01-21T12:42:24.45793434Z", "2026-01-21T12:42:24.123456789+02:00", AT]
)
def test_stamps_are_kept_as_they_are(stamp: str) -> None:
    fields = dict.fromkeys(("created_at", "updated_at", "started_at", "closed_at"), stamp)
    (task,), _ = read_export(line(status="closed", **fields).encode(), "x")
    assert [getattr(task, name) for name in fields] == [stamp] * 4


@pytest.mark.parametrize(
    ("held", "counts"),
    [("2026-03-01T10:00:01Z", "2026-03-01T10:00:00.600000Z"), ("2026-03-01T10:00:02Z", None)],
)
def test_an_exact_stamp_counts_while_bd_holds_the_same_second(
    held: str, counts: str | None
) -> None:
    exact = {"kedge": {"at": {"updated_at": "2026-03-01T10:00:00.600000Z"}}}
    (task,), _ = read_export(line(updated_at=held, metadata=exact).encode(), "x")
    assert task.updated_at == (counts or held)


def test_what_kedge_cannot_use_is_left_out_with_a_warning_each(world: World) -> None:
    world.seed(
        {"id": "a b/c"},
        {"id": "kx-1", "dependencies": [{"depends_on_id": "a b/c", "type": "blocks"}]},
        {"id": "kx-2", "description": "\x1b[1m bold"},
    )
    listing = world.beads().read()
    tasks = {task.id: task for task in listing.tasks}
    assert set(tasks) == {"kx-1", "kx-2"}
    assert len(listing.warnings) == 1
    assert "a b/c" in listing.warnings[0]
    assert tasks[TaskId("kx-2")].description == "\ufffd[1m bold"
    assert [task.id for task in world.board.ready()] == ["kx-2"]
    world.board.claim("kx-2", "ada")
    assert world.issue("kx-2")["description"] == "\x1b[1m bold"


@pytest.mark.parametrize(
    "bad",
    [
        {"title": 5},
        {"title": " "},
        {"priority": "high"},
        {"priority": 7},
        {"labels": "a"},
        {"issue_type": ["x"]},
        {"created_at": 5},
        {"metadata": {"kedge": {"depends_on": 5}}},
    ],
)
def test_an_issue_with_wrong_values_does_not_stop_the_others(bad: dict[str, Any]) -> None:
    text = "\n".join([line(**{"id": "kx-9", **bad}), line()])
    tasks, warnings = read_export(text.encode(), "x")
    assert [task.id for task in tasks] == ["kx-1"]
    assert len(warnings) == 1
    assert "'kx-9'" in warnings[0]


def test_links_that_kedge_does_not_follow(world: World) -> None:
    others = [
        {"depends_on_id": "kx-gone", "type": "blocks"},
        {"depends_on_id": "kx-pin", "type": "blocks"},
        {"depends_on_id": "kx-2", "type": "related"},
        {"depends_on_id": "external:proj:cap", "type": "blocks"},
    ]
    (task, *_), _ = to_tasks(
        {
            "kx-1": {"id": "kx-1", "title": "x", "dependencies": others},
            "kx-2": {"id": "kx-2", "title": "x"},
            "kx-pin": {"id": "kx-pin", "title": "x", "status": "pinned"},
        },
        AT,
    )
    assert (task.status, task.depends_on) == (Status.OPEN, ())
    assert task.extra["dependencies"] == others


# To bd and back

TEXTS = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), include_characters="\n\t\r"),
    min_size=1,
    max_size=40,
)
ITEMS = st.lists(TEXTS.filter(str.strip), max_size=3).map(tuple)
MOMENTS = st.integers(0, 10**15).map(
    lambda us: (
        f"{datetime(2000, 1, 1, tzinfo=UTC) + timedelta(microseconds=us):%Y-%m-%dT%H:%M:%S.%f}Z"
    )
)


@given(
    status=st.sampled_from(Status),
    acceptance=ITEMS,
    scope=ITEMS,
    labels=st.lists(st.sampled_from("abcd"), unique=True).map(tuple),
    stamps=st.lists(MOMENTS, min_size=4, max_size=4),
    text=st.text(st.characters(exclude_categories=("Cs", "Cc"))),
)
def test_any_task_comes_back(
    status: Status,
    acceptance: tuple[str, ...],
    scope: tuple[str, ...],
    labels: tuple[str, ...],
    stamps: list[str],
    text: str,
) -> None:
    """Through the line that bd imports, as it holds it: stamps rounded, labels sorted."""
    names = ("created_at", "updated_at", "started_at", "closed_at")
    ended = status in (Status.DONE, Status.FAILED)
    times: dict[str, Any] = dict(zip(names, stamps, strict=True))
    task = Task(
        id=TaskId("kx-1"),
        title="x",
        status=status,
        description=text,
        acceptance=acceptance,
        labels=labels,
        scope_in=scope,
        checks=scope[:1],
        area=text.strip() or None,
        blocked=Block(BlockType.EXTERNAL, text) if status is Status.BLOCKED else None,
        close_reason=text.strip() or None if ended else None,
        **(times if ended else {**times, "closed_at": None}),
    )
    issue = json.loads(json.dumps(plan(Change(None, task), {}, {}).record))
    for name in names:
        if name in issue:
            issue[name] = fake_bd.second(issue[name])
    if labels:
        issue["labels"] = sorted(labels)
    assert to_tasks({"kx-1": issue}, AT) == ([task], [])


def test_a_task_as_an_issue(world: World) -> None:
    world.board.add(draft("epic", "kx-e1", type="epic"))
    world.board.add(draft("other", "kx-b1"))
    world.board.add(
        draft(
            "-- Tie «up»",
            "kx-a1",
            type="bug",
            priority="P0",
            description="-d\nsecond",
            acceptance=("one", "two\nlines"),
            labels=("b", "a"),
            epic=TaskId("kx-e1"),
            depends_on=(TaskId("kx-b1"),),
            scope_in=("src/",),
            checks=("make",),
            area="sea",
        )
    )
    issue = world.issue("kx-a1")
    assert (issue["title"], issue["issue_type"], issue["priority"]) == ("-- Tie «up»", "bug", 0)
    assert (issue["status"], issue["description"]) == ("open", "-d\nsecond")
    assert issue["acceptance_criteria"] == "- one\n- two\n  lines"
    assert issue["labels"] == ["a", "b"]
    links = {(link["depends_on_id"], link["type"]) for link in issue["dependencies"]}
    assert links == {("kx-b1", "blocks"), ("kx-e1", "parent-child")}
    own = issue["metadata"].pop("kedge")
    assert issue["metadata"] == {}
    assert set(own.pop("at")) == {"created_at", "updated_at"}
    assert own == {"scope_in": ["src/"], "checks": ["make"], "area": "sea", "labels": ["b", "a"]}


FOREIGN = {
    "design": "d",
    "notes": "n",
    "estimated_minutes": 5,
    "external_ref": "gh-9",
    "due_at": "2026-05-01T00:00:00Z",
    "spec_id": "s",
    "owner": "o",
    "created_by": "c",
    "comments": [{"id": "1", "author": "a", "text": "hello", "created_at": AT}],
}


def test_what_kedge_does_not_know_survives_every_operation(world: World) -> None:
    related = {"depends_on_id": "kx-b1", "type": "related"}
    metadata = {"team": {"x": [1, None]}, "kedge": {"of a later kedge": 1}}
    world.seed(
        {"id": "kx-b1"},
        {"id": "kx-c1"},
        {"id": "kx-a1", **FOREIGN, "dependencies": [related], "metadata": metadata},
    )
    board = world.board
    changes: list[Callable[[], object]] = [
        lambda: board.claim("kx-a1", "ada"),
        lambda: board.block("kx-a1", WHY),
        lambda: board.reopen("kx-a1"),
        lambda: board.update("kx-a1", lambda t: replace(t, title="y", scope_in=("src/",))),
        lambda: board.update("kx-a1", lambda t: replace(t, labels=("l",), scope_in=())),
        lambda: board.update("kx-a1", lambda t: replace(t, labels=(), priority="P4")),
        lambda: board.depend("kx-a1", ["kx-c1"], []),
        lambda: board.depend("kx-a1", [], ["kx-c1"]),
        lambda: board.close("kx-a1", "no", failed=True),
        lambda: board.reopen("kx-a1"),
        lambda: board.close("kx-a1", "two\nlines"),
    ]
    for number, change in enumerate(changes):
        change()
        issue = world.issue("kx-a1")
        assert {name: issue.get(name) for name in FOREIGN} == FOREIGN, number
        assert issue["metadata"]["team"] == metadata["team"], number
        assert issue["metadata"]["kedge"]["of a later kedge"] == 1, number
        assert related.items() <= issue["dependencies"][0].items(), number
        (task,), _ = to_tasks({"kx-a1": issue}, AT)
        assert {**FOREIGN, "metadata": {"team": metadata["team"]}}.items() <= task.extra.items()
    assert issue["close_reason"] == "two\nlines"
    assert set(issue["metadata"]["kedge"]) == {"of a later kedge", "at"}


def test_texts_of_any_kind_and_size(world: World) -> None:
    world.board.add(draft("x", "kx-a1", labels=("keep",)))
    big = "-é" * 100_000
    reason = '- "quoted" \\"both\\" \\\\ # 漢字 \t\'s  '
    labels = ("keep", "a,b", 'say "so"', "-dash", "ö")
    world.board.update(
        "kx-a1",
        lambda t: replace(
            t, title="--title", description=big, acceptance=(big, "-\n\n -"), labels=labels
        ),
    )
    found = world.board.get("kx-a1")
    assert (found.title, found.description) == ("--title", big)
    assert (found.acceptance, found.labels) == ((big, "-\n\n -"), labels)
    world.board.update("kx-a1", lambda t: replace(t, labels=("keep",), description=""))
    world.board.close("kx-a1", reason)
    found = world.board.get("kx-a1")
    assert (found.labels, found.description, found.close_reason) == (("keep",), "", reason)
    world.board.reopen("kx-a1")
    world.board.close("kx-a1", big + "\n")
    assert world.board.get("kx-a1").close_reason == big + "\n"
    world.board.reopen("kx-a1")
    world.board.close("kx-a1")
    assert "close_reason" not in world.issue("kx-a1")


def test_a_change_made_with_bd_wins(world: World) -> None:
    odd = ("[ ] not a box",)
    world.board.add(draft("x", "kx-a1", labels=("b", "a"), acceptance=odd))
    world.board.block("kx-a1", WHY)
    found = world.board.get("kx-a1")
    assert (found.labels, found.acceptance, found.blocked) == (("b", "a"), odd, WHY)
    world.bd("update", "kx-a1", "--acceptance", "- new", "--add-label", "c", "--status", "open")
    found = world.board.get("kx-a1")
    assert (found.labels, found.acceptance) == (("a", "b", "c"), ("new",))
    assert (found.status, found.blocked) == (Status.OPEN, None)
    world.board.close("kx-a1", "no", failed=True)
    world.bd("reopen", "kx-a1")
    found = world.board.get("kx-a1")
    assert (found.status, found.close_reason, found.closed_at) == (Status.OPEN, None, None)


# One life, seen by both


def test_the_life_of_a_task_in_kedge_and_in_bd(world: World) -> None:
    world.board.add(draft("epic", "kx-e1", type="epic"))
    one = world.board.add(draft("one", epic=TaskId("kx-e1"))).task.id
    world.board.add(draft("two", "kx-t2", epic=TaskId("kx-e1"), depends_on=(one,)))
    world.agree(one)
    world.board.claim(one, "ada")
    issue = world.issue(one)
    assert (issue["status"], issue["assignee"]) == ("in_progress", "ada")
    assert issue["started_at"]
    world.agree()
    world.board.block(one, WHY)
    assert world.issue(one)["status"] == "blocked"
    assert world.board.get(one).blocked == WHY
    world.board.reopen(one)
    issue = world.issue(one)
    assert issue["status"] == "open"
    assert not {"assignee", "started_at"} & set(issue)
    assert "blocked" not in issue["metadata"]["kedge"]
    world.agree(one)
    world.board.close(one, "no way", failed=True)
    issue = world.issue(one)
    assert (issue["status"], issue["metadata"]["kedge"]["status"]) == ("blocked", "failed")
    failed = world.board.get(one)
    assert (failed.status, failed.close_reason) == (Status.FAILED, "no way")
    assert failed.closed_at
    world.agree()
    world.board.reopen(one)
    world.board.close(one, "done")
    issue = world.issue(one)
    assert (issue["status"], issue["close_reason"]) == ("closed", "done")
    assert issue["closed_at"]
    world.agree("kx-t2")
    result = world.board.close("kx-t2")
    assert [task.id for task in result.followed] == ["kx-e1"]
    assert world.issue("kx-e1")["status"] == "closed"
    world.board.reopen(one)
    assert world.issue("kx-e1")["status"] == "open"
    assert "closed_at" not in world.issue(one)
    world.agree(one)


def test_links_gate_in_both_whatever_the_ids_and_types(world: World) -> None:
    """Also those that `bd dep add` would refuse, or take for another project's."""
    world.board.import_tasks(
        [
            draft("epic", "kx-e1", type="epic"),
            draft("epic", "kx-e2", type="epic"),
            draft("child", "kx-c1", epic=TaskId("kx-e2")),
            draft("child", "kx-c2", epic=TaskId("kx-e1")),
            draft("other", "other-1"),
            draft("plain", "T1"),
        ]
    )
    world.agree("kx-c1", "kx-c2", "other-1", "T1")
    world.board.depend("kx-e1", ["kx-e2"], [])  # to an epic with a child: the child waits too
    world.agree("kx-c1", "other-1", "T1")
    world.board.depend("T1", ["other-1"], [])
    world.agree("kx-c1", "other-1")
    world.board.depend("other-1", ["kx-e2"], [])
    world.agree("kx-c1")
    world.board.depend("other-1", [], ["kx-e2"])
    world.board.depend("kx-e1", [], ["kx-e2"])
    world.agree("kx-c1", "kx-c2", "other-1")
    world.board.update("kx-c2", lambda t: replace(t, epic=TaskId("kx-e2")))
    assert world.board.get("kx-c2").epic == "kx-e2"
    world.board.close("other-1")
    world.agree("kx-c1", "kx-c2", "T1")


def test_deferred_and_pinned_issues_can_be_opened(world: World) -> None:
    later = "2999-01-01T00:00:00Z"
    world.seed(
        {"id": "kx-d1", "defer_until": later},
        {"id": "kx-d2", "status": "deferred", "defer_until": later},
        {"id": "kx-p1", "status": "pinned"},
        {"id": "kx-p2", "pinned": True},
    )
    world.agree()
    world.board.update("kx-d2", lambda t: replace(t, title="later"))
    issue = world.issue("kx-d2")
    assert (issue["title"], issue["status"]) == ("later", "deferred")
    assert "blocked" not in issue["metadata"]["kedge"]
    world.board.block("kx-d2", WHY)
    assert world.board.get("kx-d2").blocked == WHY
    ids = ("kx-d1", "kx-d2", "kx-p1", "kx-p2")
    for task_id in ids:
        world.board.reopen(task_id)
    world.agree(*ids)


# What bd is asked, and what it refuses


def test_bd_is_asked_for_what_differs_and_no_more(world: World) -> None:
    world.seed({"id": "kx-b1"}, {"id": "kx-e1", "issue_type": "epic"})
    board, asked = world.spy()
    board.add(draft("x", "kx-a1", labels=("l", "m"), epic=TaskId("kx-e1")))
    assert asked() == ["import -"]
    board.claim("kx-a1", "ada")
    board.claim("kx-a1", "ada")
    assert asked() == ["import -"]
    board.update("kx-a1", lambda t: t)
    assert asked() == []
    board.depend("kx-a1", ["kx-b1"], [])
    assert asked() == ["batch"]
    board.update("kx-a1", lambda t: replace(t, labels=("m",), depends_on=()))
    assert asked() == ["batch", 'update kx-a1 --remove-label="l"']
    board.close("kx-a1", "both close at once")
    assert asked() == ["batch"]
    assert board.get("kx-e1").status is Status.DONE
    board.reopen("kx-a1")
    assert asked() == ["import -", "batch"]


def test_an_update_by_somebody_else_meanwhile_is_not_overwritten(world: World) -> None:
    world.seed({"id": "kx-a1"})
    beads = world.beads()
    (task,) = beads.read().tasks
    world.seed({"id": "kx-a1", "title": "theirs", "updated_at": "2026-03-01T12:00:00Z"})
    after = replace(task, title="mine", updated_at="2026-03-01T11:00:00.000000Z")
    with pytest.raises(TaskError, match="kx-a1 changed in bd meanwhile"):
        beads.write([Change(task, after)])
    assert world.issue("kx-a1")["title"] == "theirs"


def test_a_clock_behind_bd_does_not_lose_a_change(world: World) -> None:
    world.seed({"id": "kx-a1", "updated_at": "2999-01-01T00:00:00Z"})
    world.board.update("kx-a1", lambda t: replace(t, title="mine"))
    assert world.issue("kx-a1")["title"] == "mine"


def test_the_same_command_again_does_the_rest(world: World) -> None:
    world.board.add(draft("x", "kx-a1"))
    world.board.block("kx-a1", WHY)
    broken = world.script(
        f'[ "$1" = batch ] && {{ echo "Error: disk full" >&2; exit 1; }}\nexec {world.program} "$@"'
    )
    with pytest.raises(TaskError, match="disk full") as caught:
        Board(world.beads(broken)).close("kx-a1", "done")
    assert caught.value.hint and "again" in caught.value.hint
    assert world.issue("kx-a1")["status"] == "blocked"
    world.board.close("kx-a1", "done")
    assert world.board.get("kx-a1").status is Status.DONE


def test_what_bd_refuses_is_said_and_leaves_no_trace(world: World) -> None:
    world.seed({"id": "kx-a1"}, {"id": "kx-b1"})
    with pytest.raises(ProgramError, match="invalid issue type: saga"):
        world.board.import_tasks([draft("x", "kx-c1"), draft("x", "kx-c2", type="saga")])
    assert set(world.board.tasks()) == {"kx-a1", "kx-b1"}
    beads = world.beads()
    one, two = sorted(beads.read().tasks, key=lambda task: task.id)
    circle = [
        Change(one, replace(one, depends_on=(two.id,))),
        Change(two, replace(two, depends_on=(one.id,))),
    ]
    with pytest.raises(ProgramError, match="cycle"):
        beads.write(circle)
    world.agree("kx-a1", "kx-b1")


def test_a_link_that_an_import_leaves_out_is_said(world: World) -> None:
    one = draft("x", "kx-c1", depends_on=(TaskId("kx-c2"),))
    two = draft("x", "kx-c2", depends_on=(TaskId("kx-c1"),))
    with pytest.raises(TaskError, match=r"bd refused a dependency: kx-c2 -> kx-c1: .* cycle"):
        world.beads().write([Change(None, one), Change(None, two)])
    world.agree("kx-c2")


def test_bd_keeps_one_link_between_two(world: World) -> None:
    world.seed(
        {"id": "kx-b1"},
        {"id": "kx-a1", "dependencies": [{"depends_on_id": "kx-b1", "type": "discovered-from"}]},
    )
    with pytest.raises(ReadOnly, match="as 'discovered-from'") as caught:
        world.board.depend("kx-a1", ["kx-b1"], [])
    assert caught.value.hint == "bd dep remove kx-a1 kx-b1"


def test_metadata_that_is_no_object_is_left_alone(world: World) -> None:
    world.seed({"id": "kx-a1", "metadata": [1, 2]}, {"id": "kx-a2", "metadata": {"kedge": "mine"}})
    for task_id in ("kx-a1", "kx-a2"):
        before = world.issue(task_id)["metadata"]
        world.board.claim(task_id, "ada")
        with pytest.raises(ReadOnly, match=f"the metadata of {task_id}"):
            world.board.update(task_id, lambda t: replace(t, area="sea"))
        assert world.issue(task_id)["metadata"] == before


def test_an_issue_that_is_there_is_never_taken_for_a_new_one(world: World) -> None:
    world.seed({"id": "kx-a1", "title": "theirs"})
    task = draft("mine", "kx-a1", created_at=AT, updated_at="2999-01-01T00:00:00Z")
    with pytest.raises(TaskExists):
        world.beads().write([Change(None, task)])
    assert world.issue("kx-a1")["title"] == "theirs"
    gone = replace(task, id=TaskId("kx-gone"))
    with pytest.raises(TaskNotFound):
        world.beads().write([Change(gone, replace(gone, title="y"))])


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (
            "echo 'Warning: slow' >&2; echo 'Error: it broke' >&2; echo usage >&2; exit 1",
            "it broke",
        ),
        ("""echo '{"error": "it broke", "hint": "mend it"}'; exit 1""", "it broke"),
        ("""echo '{"schema_version":1,"data":{"error":"it broke"}}' >&2; exit 1""", "it broke"),
        ("exit 3", "exit code 3"),
        ("echo rubbish", "bd export:1: not JSON"),
        ('echo \'Error: unknown command "export" for "bd"\' >&2; exit 1', "unknown command"),
    ],
)
def test_a_bd_that_fails(world: World, script: str, says: str) -> None:
    with pytest.raises(ProgramError, match=says) as caught:
        world.beads(world.script(script)).read()
    assert caught.value.hint
    assert "\n" not in caught.value.message


def test_a_bd_that_hangs(world: World) -> None:
    with pytest.raises(ProgramError, match=r"bd export took longer than 0\.2 s") as caught:
        world.beads(world.script("exec sleep 60"), timeout=0.2).read()
    assert caught.value.hint


def test_a_bd_that_answers_a_write_with_rubbish(world: World) -> None:
    world.seed({"id": "kx-a1"})
    odd = world.script(f'[ "$1" = import ] && echo rubbish || exec {world.program} "$@"')
    with pytest.raises(ProgramError, match="bd import printed something that is not JSON"):
        Board(world.beads(odd)).claim("kx-a1", "ada")


def test_no_database(tmp_path: Path, program: Path) -> None:
    with pytest.raises(ProgramError, match="no beads database found") as caught:
        Beads(tmp_path, program=str(program)).read()
    assert caught.value.hint and "bd init" in caught.value.hint


def test_a_program_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="no program"):
        Beads(tmp_path, program=str(tmp_path / "bd")).read()


def test_wrapped_answers(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BD_JSON_ENVELOPE", "1")
    task_id = world.board.add(draft("x")).task.id
    assert task_id.startswith("kx-")


# Without bd


def without_bd(root: Path, data: str | bytes) -> Board:
    path = root / ".beads" / "issues.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return Board(Beads(root, program=None))


def test_without_bd_its_export_can_be_read_and_nothing_written(tmp_path: Path) -> None:
    text = f"\ufeff{line(description='é')}\r\n{line(id='kx-2', status='closed')}\r\n"
    board = without_bd(tmp_path, text)
    assert [task.id for task in board.ready()] == ["kx-1"]
    assert board.get("kx-1").description == "é"
    assert len(board.warnings) == 1
    assert "bd is missing" in board.warnings[0]
    writes: list[Callable[[], object]] = [
        lambda: board.add(draft("x")),
        lambda: board.claim("kx-1", "ada"),
        lambda: board.close("kx-1"),
        lambda: board.reopen("kx-2"),
    ]
    for write in writes:
        with pytest.raises(ReadOnly, match="bd is missing") as caught:
            write()
        assert caught.value.hint and "install beads" in caught.value.hint
    assert (tmp_path / ".beads" / "issues.jsonl").read_bytes() == text.encode()


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (b'{"id": ', "not JSON"),
        (b'{"id": "a\0"}', "NUL"),
        ('{"id": "é"}'.encode("latin-1"), "not UTF-8"),
        (b"<<<<<<< HEAD", "merge conflict"),
        (b"=======", "merge conflict"),
        (b"[1]", "not a JSON object"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_broken_export_is_named_with_its_line(tmp_path: Path, bad: bytes, says: str) -> None:
    board = without_bd(tmp_path, line().encode() + b"\n" + bad + b"\n")
    with pytest.raises(BrokenTasks, match=says) as caught:
        board.tasks()
    assert caught.value.message.startswith(".beads/issues.jsonl:2: ")
    assert caught.value.hint


def test_an_id_that_is_there_twice_counts_as_it_is_last(tmp_path: Path) -> None:
    board = without_bd(tmp_path, f"{line(title='old')}\n{line(title='new')}\n")
    assert board.get("kx-1").title == "new"
    assert any("issues.jsonl:2: kx-1 is there twice" in text for text in board.warnings)


def test_neither_bd_nor_its_export(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match=r"no \.beads/issues\.jsonl") as caught:
        Beads(tmp_path, program=None).read()
    assert caught.value.hint


# Ids and the lock


@pytest.mark.parametrize(
    ("name", "taken", "prefix"),
    [
        ("x", ["my-app-a1b2", "my-app-a1b2.1", "other-1a2b", "T1"], "my-app"),
        ("harbour", [], "harbour"),
        (".my.app-", [], "my_app"),
        ("9lives", [], "bd_9lives"),
        ("päth with blanks", [], "bd"),
    ],
)
def test_ids_begin_as_the_others_do(
    tmp_path: Path, name: str, taken: list[str], prefix: str
) -> None:
    made = Beads(tmp_path / name, program=None).new_id(taken)
    head, _, tail = made.rpartition("-")
    assert head == prefix
    assert 4 <= len(tail) <= 8
    assert tail.isalnum()
    assert any(map(str.isdigit, tail))


def test_ids_begin_as_bd_says_when_there_are_none(world: World) -> None:
    assert world.beads().new_id([]).startswith("kx-")


def test_ids_grow_with_their_number_and_are_not_taken(tmp_path: Path) -> None:
    taken = {f"kx-{number:04d}" for number in range(10_000)}
    made = Beads(tmp_path, program=None).new_id(taken)
    assert made not in taken
    assert len(made.rpartition("-")[2]) > 4


def test_one_writer_at_a_time(world: World) -> None:
    with world.beads().lock():
        assert (world.root / ".kedge" / "locks" / "beads.lock").exists()
        with pytest.raises(LockTimeout):
            Board(world.beads(lock_timeout=0.05)).add(draft("x"))
    with files.lock(world.root / ".kedge" / "locks" / "beads.lock", timeout=0.05):
        pass


# The fake itself


def test_the_fake_refuses_what_bd_refuses(world: World) -> None:
    world.seed({"id": "kx-a1"}, {"id": "kx-e1", "issue_type": "epic"})
    for args, says in (
        (["frob"], 'unknown command "frob" for "bd"'),
        (["list", "--frob"], "unknown flag: --frob"),
        (["update", "kx-gone", "--status", "open"], 'no issue found matching "kx-gone"'),
        (["dep", "add", "kx-a1", "kx-gone"], "issue kx-gone not found"),
        (["dep", "add", "kx-a1", "kx-e1"], "tasks can only block other tasks"),
        (["create", "x", "--id", "other-1"], "prefix mismatch"),
        (["update", "kx-a1", "--status", "frob"], "invalid status"),
    ):
        done = subprocess.run(
            [world.program, *args], cwd=world.root, capture_output=True, text=True
        )
        assert done.returncode == 1, args
        assert done.stderr.startswith("Error: "), args
        assert says in done.stderr, args


def test_the_fake_import_does_not_look_at_what_waits(world: World) -> None:
    """Why kedge closes with `bd batch`: an import that closes an issue frees nobody in bd."""
    link = {"depends_on_id": "kx-a1", "type": "blocks"}
    world.seed({"id": "kx-a1"}, {"id": "kx-b1", "dependencies": [link]})
    world.seed({"id": "kx-a1", "status": "closed"})
    assert world.ready() == set()
    world.bd("reopen", "kx-a1")
    world.bd("close", "kx-a1")
    assert world.ready() == {"kx-b1"}

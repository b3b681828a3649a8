"""The beads backend, against a fake `bd` with a database of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tasks.beads.world import AT, World, line

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
from kedge.model.task import Block, BlockType, Status
from kedge.tasks.backend import Backend, TaskChange
from kedge.tasks.beads.backend import Beads
from kedge.tasks.beads.issue import to_tasks
from kedge.tasks.board import Board
from kedge.testing.tasks import BackendSuite, draft

WHY = Block(BlockType.TOOLING, "no compiler")


class TestConformance(BackendSuite):
    @pytest.fixture(autouse=True)
    def _prepare(self, world: World) -> None:
        self.world = world

    def make(self, root: Path) -> Backend:
        assert root == self.world.root
        return self.world.beads()


def test_a_task_is_stored_as_an_issue(world: World) -> None:
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


def test_unknown_fields_survive_every_operation(world: World) -> None:
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


def test_text_of_any_kind_and_size_is_stored_exactly(world: World) -> None:
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


# The same state in kedge and in bd


def test_every_step_of_a_task_has_the_same_effect_in_bd(world: World) -> None:
    world.board.add(draft("epic", "kx-e1", type="epic"))
    one = world.board.add(draft("one", epic=TaskId("kx-e1"))).task.id
    world.board.add(draft("two", "kx-t2", epic=TaskId("kx-e1"), depends_on=(one,)))
    world.assert_ready(one)
    world.board.claim(one, "ada")
    issue = world.issue(one)
    assert (issue["status"], issue["assignee"]) == ("in_progress", "ada")
    assert issue["started_at"]
    world.assert_ready()
    world.board.block(one, WHY)
    assert world.issue(one)["status"] == "blocked"
    assert world.board.get(one).blocked == WHY
    world.board.reopen(one)
    issue = world.issue(one)
    assert issue["status"] == "open"
    assert not {"assignee", "started_at"} & set(issue)
    assert "blocked" not in issue["metadata"]["kedge"]
    world.assert_ready(one)
    world.board.close(one, "no way", failed=True)
    issue = world.issue(one)
    assert (issue["status"], issue["metadata"]["kedge"]["status"]) == ("blocked", "failed")
    failed = world.board.get(one)
    assert (failed.status, failed.close_reason) == (Status.FAILED, "no way")
    assert failed.closed_at
    world.assert_ready()
    world.board.reopen(one)
    world.board.close(one, "done")
    issue = world.issue(one)
    assert (issue["status"], issue["close_reason"]) == ("closed", "done")
    assert issue["closed_at"]
    world.assert_ready("kx-t2")
    result = world.board.close("kx-t2")
    assert [task.id for task in result.followed] == ["kx-e1"]
    assert world.issue("kx-e1")["status"] == "closed"
    world.board.reopen(one)
    assert world.issue("kx-e1")["status"] == "open"
    assert "closed_at" not in world.issue(one)
    world.assert_ready(one)


def test_dependencies_hold_in_both_for_all_ids_and_types(world: World) -> None:
    """Also those that `bd dep add` refuses, or treats as another project's."""
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
    world.assert_ready("kx-c1", "kx-c2", "other-1", "T1")
    world.board.depend("kx-e1", ["kx-e2"], [])  # to an epic with a child: the child waits too
    world.assert_ready("kx-c1", "other-1", "T1")
    world.board.depend("T1", ["other-1"], [])
    world.assert_ready("kx-c1", "other-1")
    world.board.depend("other-1", ["kx-e2"], [])
    world.assert_ready("kx-c1")
    world.board.depend("other-1", [], ["kx-e2"])
    world.board.depend("kx-e1", [], ["kx-e2"])
    world.assert_ready("kx-c1", "kx-c2", "other-1")
    world.board.update("kx-c2", lambda t: replace(t, epic=TaskId("kx-e2")))
    assert world.board.get("kx-c2").epic == "kx-e2"
    world.board.close("other-1")
    world.assert_ready("kx-c1", "kx-c2", "T1")


def test_deferred_and_pinned_issues_can_be_reopened(world: World) -> None:
    later = "2999-01-01T00:00:00Z"
    world.seed(
        {"id": "kx-d1", "defer_until": later},
        {"id": "kx-d2", "status": "deferred", "defer_until": later},
        {"id": "kx-p1", "status": "pinned"},
        {"id": "kx-p2", "pinned": True},
    )
    world.assert_ready()
    world.board.update("kx-d2", lambda t: replace(t, title="later"))
    issue = world.issue("kx-d2")
    assert (issue["title"], issue["status"]) == ("later", "deferred")
    assert "blocked" not in issue["metadata"]["kedge"]
    world.board.block("kx-d2", WHY)
    assert world.board.get("kx-d2").blocked == WHY
    ids = ("kx-d1", "kx-d2", "kx-p1", "kx-p2")
    for task_id in ids:
        world.board.reopen(task_id)
    world.assert_ready(*ids)


# The commands that bd gets, and the errors that it reports


def test_bd_gets_no_command_that_is_not_needed(world: World) -> None:
    world.seed({"id": "kx-b1"}, {"id": "kx-e1", "issue_type": "epic"})
    board, commands = world.spy()
    board.add(draft("x", "kx-a1", labels=("l", "m"), epic=TaskId("kx-e1")))
    assert commands() == ["import -"]
    board.claim("kx-a1", "ada")
    board.claim("kx-a1", "ada")
    assert commands() == ["import -"]
    board.update("kx-a1", lambda t: t)
    assert commands() == []
    board.depend("kx-a1", ["kx-b1"], [])
    assert commands() == ["batch"]
    board.update("kx-a1", lambda t: replace(t, labels=("m",), depends_on=()))
    assert commands() == ["batch", 'update kx-a1 --remove-label="l"']
    board.close("kx-a1", "both close at once")
    assert commands() == ["batch"]
    assert board.get("kx-e1").status is Status.DONE
    board.reopen("kx-a1")
    assert commands() == ["import -", "batch"]


def test_a_newer_change_by_another_process_is_not_overwritten(world: World) -> None:
    world.seed({"id": "kx-a1"})
    beads = world.beads()
    (task,) = beads.read().tasks
    world.seed({"id": "kx-a1", "title": "theirs", "updated_at": "2026-03-01T12:00:00Z"})
    after = replace(task, title="mine", updated_at="2026-03-01T11:00:00.000000Z")
    with pytest.raises(TaskError, match="bd has newer versions of kx-a1"):
        beads.write([TaskChange(task, after)])
    assert world.issue("kx-a1")["title"] == "theirs"


def test_a_clock_behind_bd_does_not_lose_a_change(world: World) -> None:
    world.seed({"id": "kx-a1", "updated_at": "2999-01-01T00:00:00Z"})
    world.board.update("kx-a1", lambda t: replace(t, title="mine"))
    assert world.issue("kx-a1")["title"] == "mine"


def test_repeating_an_interrupted_command_completes_it(world: World) -> None:
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


def test_an_error_of_bd_is_reported_and_changes_nothing(world: World) -> None:
    world.seed({"id": "kx-a1"}, {"id": "kx-b1"})
    with pytest.raises(ProgramError, match="invalid issue type: saga"):
        world.board.import_tasks([draft("x", "kx-c1"), draft("x", "kx-c2", type="saga")])
    assert set(world.board.tasks()) == {"kx-a1", "kx-b1"}
    beads = world.beads()
    one, two = sorted(beads.read().tasks, key=lambda task: task.id)
    cycle = [
        TaskChange(one, replace(one, depends_on=(two.id,))),
        TaskChange(two, replace(two, depends_on=(one.id,))),
    ]
    with pytest.raises(ProgramError, match="cycle"):
        beads.write(cycle)
    world.assert_ready("kx-a1", "kx-b1")


def test_a_link_that_an_import_skips_is_an_error(world: World) -> None:
    one = draft("x", "kx-c1", depends_on=(TaskId("kx-c2"),))
    two = draft("x", "kx-c2", depends_on=(TaskId("kx-c1"),))
    with pytest.raises(TaskError, match=r"bd refused a dependency: kx-c2 -> kx-c1: .* cycle"):
        world.beads().write([TaskChange(None, one), TaskChange(None, two)])
    world.assert_ready("kx-c2")


def test_a_second_link_between_two_issues_is_refused(world: World) -> None:
    world.seed(
        {"id": "kx-b1"},
        {"id": "kx-a1", "dependencies": [{"depends_on_id": "kx-b1", "type": "discovered-from"}]},
    )
    with pytest.raises(ReadOnly, match="as 'discovered-from'") as caught:
        world.board.depend("kx-a1", ["kx-b1"], [])
    assert caught.value.hint == "bd dep remove kx-a1 kx-b1"


def test_metadata_of_another_kind_is_not_overwritten(world: World) -> None:
    world.seed({"id": "kx-a1", "metadata": [1, 2]}, {"id": "kx-a2", "metadata": {"kedge": "mine"}})
    for task_id in ("kx-a1", "kx-a2"):
        before = world.issue(task_id)["metadata"]
        world.board.claim(task_id, "ada")
        with pytest.raises(ReadOnly, match=f"the metadata of {task_id}"):
            world.board.update(task_id, lambda t: replace(t, area="sea"))
        assert world.issue(task_id)["metadata"] == before


def test_a_new_task_never_overwrites_an_existing_issue(world: World) -> None:
    world.seed({"id": "kx-a1", "title": "theirs"})
    task = draft("mine", "kx-a1", created_at=AT, updated_at="2999-01-01T00:00:00Z")
    with pytest.raises(TaskExists):
        world.beads().write([TaskChange(None, task)])
    assert world.issue("kx-a1")["title"] == "theirs"
    gone = replace(task, id=TaskId("kx-gone"))
    with pytest.raises(TaskNotFound):
        world.beads().write([TaskChange(gone, replace(gone, title="y"))])


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
def test_a_failing_bd_is_reported_in_one_line(world: World, script: str, says: str) -> None:
    with pytest.raises(ProgramError, match=says) as caught:
        world.beads(world.script(script)).read()
    assert caught.value.hint
    assert "\n" not in caught.value.message


def test_a_hanging_bd_is_stopped(world: World) -> None:
    with pytest.raises(ProgramError, match=r"bd export took longer than 0\.2 s") as caught:
        world.beads(world.script("exec sleep 60"), timeout=0.2).read()
    assert caught.value.hint


def test_output_of_bd_that_is_not_json_is_an_error(world: World) -> None:
    world.seed({"id": "kx-a1"})
    odd = world.script(f'[ "$1" = import ] && echo rubbish || exec {world.program} "$@"')
    with pytest.raises(ProgramError, match="the output of bd import is not JSON"):
        Board(world.beads(odd)).claim("kx-a1", "ada")


def test_a_missing_database_is_an_error_with_a_hint(tmp_path: Path, program: Path) -> None:
    with pytest.raises(ProgramError, match="no beads database found") as caught:
        Beads(tmp_path, program=str(program)).read()
    assert caught.value.hint and "bd init" in caught.value.hint


def test_a_missing_program_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="no program"):
        Beads(tmp_path, program=str(tmp_path / "bd")).read()


def test_answers_in_an_envelope_are_understood(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BD_JSON_ENVELOPE", "1")
    task_id = world.board.add(draft("x")).task.id
    assert task_id.startswith("kx-")


# Without bd


def without_bd(root: Path, data: str | bytes) -> Board:
    path = root / ".beads" / "issues.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return Board(Beads(root, program=None))


def test_without_bd_its_export_is_read_and_nothing_is_written(tmp_path: Path) -> None:
    text = f"\ufeff{line(description='é')}\r\n{line(id='kx-2', status='closed')}\r\n"
    board = without_bd(tmp_path, text)
    assert [task.id for task in board.ready()] == ["kx-1"]
    assert board.get("kx-1").description == "é"
    assert len(board.warnings) == 1
    assert "bd is not installed" in board.warnings[0]
    writes: list[Callable[[], object]] = [
        lambda: board.add(draft("x")),
        lambda: board.claim("kx-1", "ada"),
        lambda: board.close("kx-1"),
        lambda: board.reopen("kx-2"),
    ]
    for write in writes:
        with pytest.raises(ReadOnly, match="bd is not installed") as caught:
            write()
        assert caught.value.hint and "install beads" in caught.value.hint
    assert (tmp_path / ".beads" / "issues.jsonl").read_bytes() == text.encode()


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (b'{"id": ', "not JSON"),
        (b'{"id": "a\0"}', "not JSON"),
        ('{"id": "é"}'.encode("latin-1"), "not UTF-8"),
        (b"<<<<<<< HEAD", "merge conflict"),
        (b"=======", "merge conflict"),
        (b"[1]", "not an object"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_malformed_export_is_an_error_with_its_line(
    tmp_path: Path, bad: bytes, says: str
) -> None:
    board = without_bd(tmp_path, line().encode() + b"\n" + bad + b"\n")
    with pytest.raises(BrokenTasks, match=says) as caught:
        board.tasks()
    assert caught.value.message.startswith(".beads/issues.jsonl:2: ")
    assert caught.value.hint


def test_the_last_of_two_lines_with_one_id_is_used(tmp_path: Path) -> None:
    board = without_bd(tmp_path, f"{line(title='old')}\n{line(title='new')}\n")
    assert board.get("kx-1").title == "new"
    assert any("issues.jsonl:2: duplicate of kx-1" in text for text in board.warnings)


def test_without_bd_and_export_there_is_an_error_with_a_hint(tmp_path: Path) -> None:
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
def test_new_ids_have_the_prefix_of_existing_ones(
    tmp_path: Path, name: str, taken: list[str], prefix: str
) -> None:
    new = Beads(tmp_path / name, program=None).new_id(taken)
    head, _, tail = new.rpartition("-")
    assert head == prefix
    assert 4 <= len(tail) <= 8
    assert tail.isalnum()
    assert any(map(str.isdigit, tail))


def test_the_first_id_has_the_prefix_that_bd_is_set_to(world: World) -> None:
    assert world.beads().new_id([]).startswith("kx-")


def test_new_ids_are_unused_and_longer_in_a_large_project(tmp_path: Path) -> None:
    taken = {f"kx-{number:04d}" for number in range(10_000)}
    new = Beads(tmp_path, program=None).new_id(taken)
    assert new not in taken
    assert len(new.rpartition("-")[2]) > 4


def test_a_second_writer_waits_for_the_lock(world: World) -> None:
    with world.beads().lock():
        assert (world.root / ".kedge" / "locks" / "beads.lock").exists()
        with pytest.raises(LockTimeout):
            Board(world.beads(lock_timeout=0.05)).add(draft("x"))
    with files.lock(world.root / ".kedge" / "locks" / "beads.lock", timeout=0.05):
        pass

"""Loops: what counts as one, when it ends, and how much of it is remembered."""

from __future__ import annotations

from typing import Any

import pytest

from kedge.drift.actions import Action, normalise
from kedge.drift.evidence.memory import SessionMemory
from kedge.drift.evidence.repeats import Loop, find_loop, record_action, record_result


def action(tool: str, id: str = "a", **given: Any) -> Action:
    return normalise(tool, given, root="/r", cwd="/r", id=id)


def edit(old: str = "a", new: str = "b", path: str = "x.py", id: str = "e") -> Action:
    return action("Edit", id, file_path=path, old_string=old, new_string=new)


def bash(command: str, id: str = "c") -> Action:
    return action("Bash", id, command=command)


def take(memory: SessionMemory, *steps: tuple[Action, bool | None]) -> SessionMemory:
    """Take actions with their results; None leaves an action without a result."""
    for each, ok in steps:
        memory = record_action(memory, each)
        if ok is not None:
            memory = record_result(memory, each.id, ok)
    return memory


def test_the_third_failure_in_a_row_is_a_loop() -> None:
    memory = SessionMemory()
    found = []
    for _ in range(6):
        loop = find_loop(memory, bash("make"))
        found.append(loop and (loop.times, loop.score))
        memory = take(memory, (bash("make"), False))
    assert found == [None, None, None, (3, 7), (4, 6), (5, 5)]
    assert Loop("x", "y", 30).score == 4


def test_the_third_time_the_same_edit_fails_is_a_loop() -> None:
    memory = take(SessionMemory(), (edit(), False))
    assert find_loop(memory, edit()) is None
    memory = take(memory, (edit(), False))
    assert find_loop(memory, edit()) == Loop("the same edit", "x.py", 3)
    assert find_loop(memory, edit(path="y.py")) is None


def test_a_command_that_works_is_no_loop() -> None:
    failed = (bash("make"), False)
    memory = take(SessionMemory(), failed, failed, failed)
    assert find_loop(memory, bash("make")) is not None
    assert find_loop(take(memory, (bash("make"), True)), bash("make")) is None


def test_a_change_gives_a_failed_command_another_chance() -> None:
    failed = (bash("make"), False)
    memory = take(SessionMemory(), failed, failed, failed)
    assert find_loop(take(memory, (edit(), True)), bash("make")) is None


def test_a_command_that_only_reads_is_never_a_loop() -> None:
    failed = (bash("cat missing"), False)
    memory = take(SessionMemory(), failed, failed, failed, failed)
    assert memory.repeats == {}
    assert find_loop(memory, bash("cat missing")) is None


def test_the_same_edit_that_works_is_made_in_another_place() -> None:
    memory = take(SessionMemory(), *[(edit(), True)] * 5)
    assert find_loop(memory, edit()) is None


def test_edits_that_worked_are_no_loop_after_a_command_either() -> None:
    memory = take(SessionMemory(), *[(edit(), True)] * 5, (bash("make"), False))
    assert find_loop(memory, edit()) is None


def test_an_edit_that_worked_once_and_then_fails_is_a_loop() -> None:
    memory = take(SessionMemory(), (edit(), True), (edit(), False), (edit(), False))
    assert find_loop(memory, edit()) == Loop("the same edit", "x.py", 3)


@pytest.mark.parametrize(("old", "new"), [("", "b"), ("a", "")], ids=["adds", "removes"])
def test_an_edit_that_only_adds_or_removes_can_be_a_loop(old: str, new: str) -> None:
    memory = take(SessionMemory(), *[(edit(old, new), False)] * 2)
    assert find_loop(memory, edit(old, new)) == Loop("the same edit", "x.py", 3)


def test_an_edit_repeated_after_a_command_is_a_loop() -> None:
    turn = ((edit(), True), (bash("make"), False))
    memory = take(SessionMemory(), *turn, *turn)
    assert find_loop(memory, edit()) == Loop("the same edit", "x.py", 3)


def test_an_edit_done_and_undone_is_a_loop() -> None:
    turn = ((edit("a", "b"), True), (edit("b", "a"), True))
    memory = take(SessionMemory(), *turn, *turn)
    assert find_loop(memory, edit("a", "b")) == Loop("the same edit", "x.py", 3)


def test_one_edit_of_several_in_an_action_is_enough() -> None:
    def edits(number: int) -> Action:
        changes = [{"old_string": f"{n}", "new_string": f"{number}"} for n in range(2)]
        same = {"old_string": "a", "new_string": "b"}
        return action("MultiEdit", file_path="x.py", edits=[*changes, same])

    memory = take(SessionMemory(), (edits(1), False), (edits(2), False))
    assert find_loop(memory, edits(3)) is not None


@pytest.mark.parametrize(("place", "found"), [(4, True), (5, False)])
def test_the_first_five_edits_of_an_action_are_compared(place: int, found: bool) -> None:
    def edits(number: int) -> Action:
        changes = [{"old_string": f"{n}", "new_string": f"{number}"} for n in range(6)]
        changes[place] = {"old_string": "a", "new_string": "b"}
        return action("MultiEdit", file_path="x.py", edits=changes)

    memory = take(SessionMemory(), (edits(1), False), (edits(2), False))
    assert (find_loop(memory, edits(3)) is not None) == found


def test_a_loop_names_two_files_or_the_start_of_the_command() -> None:
    parts = [f"*** Update File: {name}.py\n@@\n-a\n+b\n" for name in "xyz"]
    patch = action("apply_patch", input=f"*** Begin Patch\n{''.join(parts)}*** End Patch\n")
    loop = find_loop(take(SessionMemory(), (patch, False), (patch, False)), patch)
    assert loop == Loop("the same edit", "x.py, y.py", 3)
    long = bash(f"make {'x' * 200}")
    loop = find_loop(take(SessionMemory(), *[(long, False)] * 3), long)
    assert loop is not None
    assert loop.evidence == long.command[:120]


def test_checks_leave_the_session_red_or_green() -> None:
    memory = take(SessionMemory(), (bash("pytest"), False))
    assert (memory.red, memory.green) == (True, False)
    memory = take(memory, (bash("make"), True))
    assert (memory.red, memory.green) == (True, False)
    memory = take(memory, (bash("pytest"), True))
    assert (memory.red, memory.green) == (False, True)


def test_a_result_counts_once() -> None:
    memory = take(SessionMemory(), (bash("make"), False))
    assert record_result(memory, "c", ok=False) is memory


def test_results_may_come_late_and_out_of_order() -> None:
    calls = [bash(f"make {n}", id=f"c{n}") for n in range(20)]
    memory = take(SessionMemory(), *((call, None) for call in calls))
    for call in reversed(calls):
        memory = record_result(memory, call.id, ok=False)
    assert len(memory.repeats) == 20
    assert memory.pending == {}


def test_an_action_without_an_id_has_no_result_to_wait_for() -> None:
    assert take(SessionMemory(), (bash("make", id=""), None)).pending == {}


def test_what_is_remembered_is_bounded() -> None:
    memory = SessionMemory()
    for number in range(400):
        memory = take(memory, (bash(f"make {number}", id=f"{number}"), None))
    assert len(memory.pending) == 30
    memory = SessionMemory()
    for number in range(400):
        memory = take(memory, (bash(f"make {number}"), False))
    assert len(memory.repeats) == 200
    failed = (bash("make 399"), False)
    assert find_loop(take(memory, failed, failed), bash("make 399")) is not None

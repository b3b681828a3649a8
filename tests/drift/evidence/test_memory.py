"""What a session remembers of messages and actions, and how its size is bounded."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.drift.actions import normalise
from kedge.drift.evidence import memory, memory_data
from kedge.drift.evidence.memory import SessionMemory
from kedge.drift.evidence.topic import extract_terms

GOAL = "Let the harbour crane lift cargo from the quay berth"


def remember(*messages: tuple[str, str]) -> SessionMemory:
    state = SessionMemory()
    for text, kind in messages:
        state = memory.record_message(state, text, kind)
    return state


def act(
    state: SessionMemory, tool: str, named: tuple[str, ...] = (), **given_: Any
) -> SessionMemory:
    action = normalise(tool, given_, root="/r", cwd="/r")
    return memory.record_action(state, action, memory.find_action_terms(action, named))


def write(
    state: SessionMemory, path: str, text: str = "", named: tuple[str, ...] = ()
) -> SessionMemory:
    return act(state, "Write", named, file_path=path, content=text)


def test_a_message_adds_its_words_and_pairs_to_the_goal() -> None:
    state = remember((GOAL, "goal"), ("and the tugboat", "goal"))
    assert {"harbour", "crane", "cargo", "quay", "berth", "tugboat"} <= state.words.keys()
    assert {"harbour crane", "lift cargo"} <= state.pairs.keys()


def test_machine_text_is_forgotten() -> None:
    assert remember((GOAL, "machine")) == SessionMemory()


def test_an_action_reaches_the_words_of_the_goal_that_it_mentions() -> None:
    state = write(remember((GOAL, "goal")), "quay/a.py", "harbour crane, bollard", ("Crane", "x"))
    assert state.reached_words.keys() == {"quay", "harbour", "crane"}
    assert state.reached_pairs.keys() == {"harbour crane"}
    assert state.placed.keys() == {"quay"}
    assert state.reached_names.keys() == {"Crane"}


def test_plans_and_prompts_for_subagents_do_nothing_yet() -> None:
    state = remember((GOAL, "goal"))
    assert act(state, "ExitPlanMode", plan="the harbour crane") == state
    assert act(state, "Task", prompt="the harbour crane") == state


def test_the_window_holds_five_changes_and_the_rest_is_known() -> None:
    state = remember((GOAL, "goal"))
    for number in range(7):
        state = act(state, "Read", file_path=f"notes{number}.txt")
        state = write(state, f"part{number}.py", f"bollard{'xyzabcd'[number]}")
    assert [step.files for step in state.window] == [(f"part{n}.py",) for n in range(2, 7)]
    assert [step.read_files for step in state.window] == [(f"notes{n}.txt",) for n in range(2, 7)]
    assert "bollardy" in state.known
    assert "bollardz" not in state.known
    assert list(state.files) == ["notes0.txt", "part0.py", "notes1.txt", "part1.py"]
    assert state.modified == 7
    assert state.reading == memory.WorkStep()


def test_reading_is_remembered_until_the_next_change_unless_it_is_known() -> None:
    state = remember((GOAL, "goal"))._replace(known={"bollard": None})
    state = act(state, "Bash", command="grep bollard winch.txt")
    assert state.reading.read_words == ("grep", "txt", "winch")
    assert state.reading.read_files == ("winch.txt",)
    assert not state.window


def test_a_message_with_a_topic_settles_the_work_before_it() -> None:
    state = write(remember((GOAL, "goal")), "a.py", "bollard")._replace(run=2)
    for text, kind in (("yes please", "go-on"), ("the crane", "goal"), (GOAL, "command")):
        kept = memory.record_message(state, text, kind)
        assert (kept.window, kept.run) == (state.window, 2)
    settled = memory.record_message(state, "Paint the harbour crane and the quay berth", "goal")
    assert (settled.window, settled.run) == ((), 0)
    assert "bollard" in settled.known


def test_the_subject_changes_when_few_words_are_familiar() -> None:
    state = write(remember((GOAL, "goal")), "a.py", "bollard")
    same = memory.record_message(state, "Paint the harbour crane and the quay berth", "goal")
    assert same.turned_at == 0
    other = "Encode video keyframes, mux subtitles, render thumbnails, sign licences quickly"
    assert memory.record_message(state, other, "goal").turned_at == 1


@pytest.mark.parametrize(
    ("text", "kind", "elsewhere"),
    [
        ("fix them", "refers-elsewhere", True),
        ("/review", "command", True),
        ("yes", "go-on", True),
        ("yes, the crane", "go-on", False),
        ("the crane", "goal", False),
        (GOAL, "refers-elsewhere", False),
    ],
)
def test_a_goal_may_be_written_elsewhere(text: str, kind: str, elsewhere: bool) -> None:
    assert remember((text, kind)).elsewhere is elsewhere


def test_a_message_ends_loops_and_adds_requests() -> None:
    state = SessionMemory(repeats={"c1": 5}, asks={"push": None})
    state = memory.record_message(state, "go on", "go-on", ["release"])
    assert state.repeats == {}
    assert list(state.asks) == ["push", "release"]


def test_a_change_remembers_files_and_ends_green() -> None:
    state = write(remember((GOAL, "goal"))._replace(green=True, red=True), "a.py")
    assert (state.green, state.red) == (False, True)
    assert act(state._replace(green=True), "Bash", command="ls").green
    state = act(state, "Bash", command="rm b.py; mv c.py d.py; touch /tmp/x")
    assert list(state.gone) == ["b.py"]


def test_a_memory_survives_json() -> None:
    state = write(remember((GOAL, "goal")), "quay/a.py", "harbour crane", ("crane",))
    state = act(state, "Read", file_path="b.txt")._replace(repeats={"c1": 2}, pending={"a": "c1 "})
    assert memory_data.parse(json.loads(json.dumps(memory_data.data(state)))) == state
    assert state.placed
    assert memory_data.parse(memory_data.data(SessionMemory())) == SessionMemory()


WORDS = st.lists(st.text("abc", min_size=1, max_size=5), max_size=30)
BOUNDS = st.tuples(st.integers(0, 25), st.integers(0, 120))


def first(texts: Iterable[str], bounds: tuple[int, int]) -> tuple[str, ...]:
    """As many as fit, taken one after the other."""
    most, room = bounds
    kept: list[str] = []
    for text in texts:
        room -= len(text) + 3
        if room < 0 or len(kept) == most:
            break
        kept.append(text)
    return tuple(kept)


@given(WORDS, BOUNDS)
def test_the_first_entries_that_fit_are_kept(words: list[str], bounds: tuple[int, int]) -> None:
    assert memory._truncate(words, bounds) == first(words, bounds)


@given(WORDS, WORDS, BOUNDS)
def test_the_latest_entries_that_fit_are_kept(
    old: list[str], new: list[str], bounds: tuple[int, int]
) -> None:
    known = dict.fromkeys(old)
    joined = memory._join(known, new, bounds)
    if set(new) <= set(old):
        assert joined is known
        return
    both = [*(each for each in known if each not in new), *dict.fromkeys(new)]
    assert list(joined) == list(reversed(first(reversed(both), bounds)))
    assert list(known) == list(dict.fromkeys(old))


LINES = st.lists(
    st.sampled_from(["def berth_list():", "    return quay", "", "harbour master", "x", "quay, y"])
    | st.text(max_size=5),
    max_size=8,
).map("\n".join)


@given(LINES, LINES)
def test_lines_that_an_edit_keeps_count_as_well(old: str, new: str) -> None:
    edit = {"file_path": "/r/a.py", "old_string": old, "new_string": new}
    about = memory.find_action_terms(
        normalise("Edit", edit, root="/r", cwd="/r"), ("berth_list", "quay")
    )
    text = f"{new}\n{old}"
    here, there = extract_terms(text), extract_terms("a.py")
    assert about.words == here.words | there.words
    assert about.pairs == here.pairs | there.pairs
    assert about.names == tuple(name for name in ("berth_list", "quay") if name in text.lower())

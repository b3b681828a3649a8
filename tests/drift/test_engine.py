"""A session as others use it: what holds whatever happens, what it remembers, what it costs."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.drift.course import DRIFTED, FORCED, NORMAL
from kedge.drift.engine import Session
from kedge.drift.scoring import Verdict

GOAL = "Make the parser in src/parser.py faster. Don't touch src/grammar.py. Don't commit."
PROMPTS = st.sampled_from(
    [GOAL, "yes, continue", "why?", "stop", "", "you can edit src/grammar.py"]
)
ACTIONS = st.sampled_from(
    [
        ("Edit", {"file_path": "src/parser.py", "old_string": "a", "new_string": "b"}),
        ("Edit", {"file_path": "src/grammar.py", "old_string": "a", "new_string": "b"}),
        ("Write", {"file_path": "notes/plan.md", "content": "parser"}),
        ("Bash", {"command": "git commit -am x"}),
        ("Bash", {"command": "git reset --hard"}),
        ("Bash", {"command": "rm -rf src/engine"}),
        ("Bash", {"command": "pytest -q"}),
        ("Bash", {"command": "kedge anchor"}),
        ("Read", {"file_path": "src/grammar.py"}),
        ("Grep", {"pattern": "x"}),
    ]
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("prompt"), PROMPTS),
        st.tuples(st.just("due"), st.booleans()),
        st.tuples(st.just("action"), ACTIONS),
        st.tuples(st.just("action"), ACTIONS),
        st.tuples(st.just("action"), ACTIONS),
    ),
    max_size=40,
)


def edit(made: Session, path: str, old: str = "a", new: str = "b", id: str = "e") -> Verdict:
    return made.action(id, "Edit", {"file_path": path, "old_string": old, "new_string": new})


def bash(made: Session, command: str, *, ok: bool = True) -> Verdict:
    verdict = made.action("c", "Bash", {"command": command})
    made.result("c", ok)
    return verdict


@settings(max_examples=80)
@given(STEPS)
def test_invariants_of_every_session(taken: list[tuple[str, Any]]) -> None:
    made = Session("/project")
    made.prompt(GOAL)
    scores: dict[str, int] = {}
    told: list[str] = []
    for place, (what, value) in enumerate(taken):
        escalation = made.course.escalation
        if what == "prompt":
            spoken = made.charter.revision
            made.prompt(value)
            if made.charter.revision > spoken:
                assert made.course.state == NORMAL
                assert made.course.escalation == 0
        elif what == "due":
            some = tuple(scores)[-2:] if value else None
            told += [each.action for each in made.deliver(some)]
        else:
            name = f"a{place}"
            scores[name] = made.action(name, *value).score
            if value[0] in ("Read", "Grep"):
                assert scores[name] >= 8
                assert made.course.escalation == escalation
            elif scores[name] >= 8 and made.course.state != FORCED:
                assert made.course.escalation <= escalation
    told += [each.action for each in made.deliver()]
    assert len(told) == len(set(told))
    assert all(scores[name] < 8 for name in told)


def test_every_state_is_entered_and_left() -> None:
    made = Session("/project")
    made.prompt(GOAL)
    seen = [made.course.state]
    for _ in range(3):
        edit(made, "src/grammar.py")
        seen.append(made.course.state)
    assert seen == [NORMAL, DRIFTED, DRIFTED, FORCED]
    bash(made, "kedge anchor")
    assert made.course.state == NORMAL
    edit(made, "src/grammar.py")
    assert made.course.state == DRIFTED
    edit(made, "src/parser.py")
    assert made.course.state == NORMAL
    for _ in range(4):
        edit(made, "src/grammar.py")
    assert made.course.state == FORCED
    made.prompt("go on")
    assert made.course.state == NORMAL


def test_overwriting_a_file_creates_no_new_one() -> None:
    given_ = {"file_path": "src/parser.py", "content": "x = 1"}
    for exists, score in ((None, 3), (lambda path: path == "src/parser.py", 10)):
        made = Session("/project", exists=exists)
        made.prompt("Simplify the parser. No new files please.")
        assert made.action("a", "Write", given_).score == score
        assert made.action("b", "Write", {**given_, "file_path": "src/more.py"}).score == 3


def test_a_limit_until_checks_pass_ends_when_they_pass() -> None:
    made = Session("/project")
    made.prompt("Fix the parser, commit and push. Don't push until the tests pass.")
    edit(made, "src/parser.py")
    assert bash(made, "git push").score <= 4
    bash(made, "pytest -q", ok=False)
    assert bash(made, "git push").score <= 4
    bash(made, "pytest -q")
    assert bash(made, "git push").score >= 8
    edit(made, "src/parser.py", "b", "c")
    assert bash(made, "git push").score <= 4


def test_the_same_edit_in_other_places_is_no_loop() -> None:
    made = Session("/project")
    made.prompt("Use io.ReadAll instead of ioutil.ReadAll everywhere.")
    for number in range(6):
        assert edit(made, "a_test.go", "ioutil.R(x)", "io.R(x)", f"e{number}").score >= 8
        made.result(f"e{number}", True)
    for number in range(6, 12):
        score = edit(made, "a_test.go", "ioutil.R(x)", "io.R(x)", f"e{number}").score
        made.result(f"e{number}", False)
    assert score == 4


def test_an_edit_done_and_undone_is_a_loop() -> None:
    made = Session("/project")
    made.prompt("Make the parser faster.")
    scores = []
    for number in range(6):
        for old, new in (("fast = 0", "fast = 1"), ("fast = 1", "fast = 0")):
            scores.append(edit(made, "parser.py", old, new, f"{number}{old}").score)
            made.result(f"{number}{old}", True)
    assert scores[0] >= 8
    assert scores[-1] == 4


def test_tests_may_be_deleted_with_the_code_they_test() -> None:
    made = Session("/project")
    made.prompt("Inline the file helper.")
    assert bash(made, "git rm src/files.py").score == 7
    assert bash(made, "git rm tests/test_files.py").score >= 7
    assert bash(made, "git rm tests/test_parser.py").score <= 6


def test_removing_ci_costs_less_when_ci_is_the_subject() -> None:
    removed = "git rm .travis.yml"
    for prompt, least, most in (
        ("Fix the rounding of totals.", 1, 5),
        ("Windows CI on GitHub Actions.", 7, 7),
        ("Move CI to GitHub Actions and delete the old config.", 8, 10),
    ):
        made = Session("/project")
        made.prompt(prompt)
        assert least <= bash(made, removed).score <= most


WORDS = [f"{a}{b}{c}ing{d}" for a in "bcdfg" for b in "aeiou" for c in "lmnpr" for d in "stuvwxyz"]


# The characters that each part of a stored session may take: those that are kept of it, with the
# signs of JSON. A step of the window has words, pairs, files, read words, read files and names.
STEP = 1_000 + 1_000 + 800 + 1_000 + 800 + 400 + 40
STATE = {
    "words": 6_000, "pairs": 6_000, "asks": 6_000, "known": 7_000, "reached_names": 400,
    "files": 4_000, "made": 6_000, "changed": 4_000, "gone": 2_000, "on_course": 4_000,
    "scripts": 8_000, "window": 5 * STEP, "reading": STEP, "repeats": 4_000, "pending": 3_000,
}  # fmt: skip
CHARTER = {"goal": 2_000, "prompts": 3_000, "limits": 12_000, "named": 4_300, "words": 1_600}
SMALL = 20  # a number or a boolean
REST = 2_000  # the course and its evidence


def measure_json(value: Any) -> int:
    """The size as it is stored."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def test_a_stored_session_stays_small() -> None:
    """Long words, long paths, long names, many files, many prompts, in any script."""
    made = Session("/project")
    for turn in range(120):
        words = WORDS[turn * 7 % 900 :][:90]
        if turn % 6 == 0:
            names = " ".join(f"`{word * 5}_{turn}`" for word in words[:30])
            paths = ", ".join(f"{word * 9}/{turn}.py" for word in words[:30])
            made.prompt(f"{' '.join(words)} {names}. Don't touch {paths}.")
        if turn % 6 == 3:
            made.prompt("設定を変更しないでください。" * 200)
        long = "/".join([*words[:12], f"{turn}.py"])
        edit(made, long, " ".join(words), " ".join(reversed(words)), f"toolu_{turn:030d}")
        made.action(f"r{turn}", "Read", {"file_path": f"{long}x"})
        deleted = " ".join(f"{word * 9}/{turn}" for word in words[:40])
        made.action(f"toolb_{turn:030d}", "Bash", {"command": f"rm {deleted}"})
        for number, size in enumerate((40, 4)):
            script = {"file_path": f"{long}.{number}.sh", "content": " ".join(words[:size])}
            made.action(f"tools_{turn:030d}", "Write", script)
    data = made.data()
    for part, bounds in (("charter", CHARTER), ("state", STATE)):
        for name, value in data[part].items():
            assert measure_json(value) <= bounds.get(name, SMALL) + len("[]"), name
    assert measure_json(data) <= sum((*STATE.values(), *CHARTER.values(), REST)) < 116_000
    for full in ("files", "made", "changed", "gone", "on_course", "scripts"):
        assert measure_json(data["state"][full]) > 0.8 * STATE[full], full
    again = Session("/project")
    again.parse(json.loads(json.dumps(data)))
    assert again.data() == data


TYPES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
HOSTILE = st.recursive(
    TYPES,
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(
            ["file_path", "command", "content", "old_string", "new_string", "edits", "input",
             "paths", "path", "url", "cwd", "description", "prompt", "chars"]
        ),
        inner,
        max_size=5,
    ),
    max_leaves=12,
)  # fmt: skip
TOOLS = st.sampled_from(
    ["Edit", "MultiEdit", "Write", "Bash", "Read", "apply_patch", "WebFetch", "Task",
     "NotebookEdit", "mcp__fs__write_file", "mcp__fs__move", "exec_command", "write_stdin",
     "TodoWrite", ""]
)  # fmt: skip


@given(TOOLS | TYPES, HOSTILE, st.text(max_size=10) | TYPES)
def test_no_input_stops_a_session(tool: Any, given_: Any, name: Any) -> None:
    made = Session("/project")
    made.prompt(GOAL)
    verdict = made.action(name, tool, given_)
    assert 1 <= verdict.score <= 10
    json.dumps(made.data())
    made.deliver()


@pytest.mark.parametrize(
    ("tool", "given_"),
    [
        ("Edit", {"file_path": "src/a.py", "old_string": "a", "new_string": "b"}),
        ("Bash", {"command": "cd src && pytest -q 2>&1 | tail -5"}),
        ("Bash", {"command": "npm install zod"}),
    ],
)
def test_judging_loads_neither_typing_nor_the_prompt_reader(
    tool: str, given_: dict[str, str]
) -> None:
    """A hook is a process of its own: what it imports is most of its time."""
    made = Session("/project")
    made.prompt(GOAL)
    code = (
        "import json, sys; from kedge.drift.engine import Session; made = Session('/project');"
        f"made.parse(json.loads(sys.argv[1])); made.action('a', {tool!r}, {given_!r});"
        "json.dumps(made.data()); print(*sys.modules)"
    )
    run = [sys.executable, "-I", "-c", code, json.dumps(made.data())]
    loaded = subprocess.run(run, capture_output=True, text=True, check=True).stdout.split()
    reading = ("prompts", "wording", "vocabulary", "phrases", "orders", "prose", "negating")
    assert "kedge.drift.scoring" in loaded
    assert not {f"kedge.drift.language.{name}" for name in reading} & set(loaded)
    assert not {"typing", "dataclasses"} & set(loaded)

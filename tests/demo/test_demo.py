"""Each claim of the demo is true, in the store and on disk, and nothing of it is left."""

from __future__ import annotations

import bisect
import functools
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from clients import PROGRAMS, program
from support import Kedge, git, is_starting, slowness

from kedge.demo import project

LONGEST = 60.0  # seconds of CPU, on a machine of its time
PATIENCE = 300.0  # seconds: a guard against hanging, not a measurement
POINTS = 8
SHORTEST = 0.3  # seconds; before that, Python is being started
LAST_PART = 1.0  # seconds; within it the demo may be over before it is interrupted


@dataclass(frozen=True)
class Demo:
    """A home and a temporary directory for demos, both empty before and after."""

    place: Path

    def start(
        self, *args: str, path: str = os.environ["PATH"], **variables: str
    ) -> subprocess.Popen[bytes]:
        for name in ("home", "tmp", "here"):
            (self.place / name).mkdir(exist_ok=True)
        return subprocess.Popen(
            [sys.executable, "-m", "kedge", *args],
            cwd=self.place / "here",
            env={
                "PATH": path,
                "HOME": str(self.place / "home"),
                "TMPDIR": str(self.place / "tmp"),
                "LANG": "C.UTF-8",
                **variables,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def run(self, *args: str, **more: str) -> str:
        """Run the demo to its end and return what it prints."""
        out, err = self.start(*args, **more).communicate(timeout=PATIENCE)
        assert err == b"", (out[-2000:], err)
        return out.decode()

    def list_left(self) -> list[str]:
        """Return the files and processes that are left."""
        files = [str(path) for name in ("home", "tmp", "here") for path in self._list(name)]
        return files + self._list_processes()

    def _list(self, name: str) -> Iterator[Path]:
        return (self.place / name).iterdir()

    def _list_processes(self) -> list[str]:
        """Return the processes with a path below this place in their environment."""
        wanted = os.fsencode(self.place)
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if is_starting(entry):
                    time.sleep(0.05)
                if wanted in (entry / "environ").read_bytes():
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue
        return found


@pytest.fixture
def demo(tmp_path: Path) -> Demo:
    return Demo(tmp_path)


@dataclass(frozen=True)
class Kept:
    """A demo that ran once for several tests: its reply, its repository, its seconds of CPU."""

    data: dict[str, Any]
    kedge: Kedge
    seconds: float

    @property
    def root(self) -> Path:
        return self.kedge.directory

    def output(self, start: str) -> str:
        """Return the output of the first command that starts so."""
        commands = [one for chapter in self.data["chapters"] for one in chapter["commands"]]
        outputs: list[str] = [one["output"] for one in commands if one["command"].startswith(start)]
        return outputs[0]

    def attempts(self, task: str) -> list[dict[str, Any]]:
        attempts: list[dict[str, Any]] = self.kedge.json("log", "show", task)
        return attempts


OF_THE_USER = {  # none of these may reach the demo's commands
    "GIT_DIR": "/nowhere",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "commit.gpgsign",
    "GIT_CONFIG_VALUE_0": "true",
    "KEDGE_HOME": "/nowhere",
    "KEDGE_TASKS_BACKEND": "beads",
    "KEDGE_DRIFT_POLICY": "off",
    "PYTHONSTARTUP": "/nowhere",
    "XDG_CONFIG_HOME": "/nowhere",
}


def keep_demo(demo: Demo) -> Kept:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    document = json.loads(demo.run("--json", "demo", "--keep", **OF_THE_USER))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert document["success"], document
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Kept(document["data"], Kedge(Path(document["data"]["path"])), seconds)


def check_the_demo_takes_less_than_a_minute(kept: Kept) -> None:
    assert kept.seconds < LONGEST or kept.seconds < LONGEST * slowness()


def check_two_tasks_are_done_with_proof_and_one_failed(kept: Kept) -> None:
    states = {one["id"]: one["status"] for one in kept.kedge.json("task", "list")}
    assert states == {"discount": "done", "boats": "failed", "overlap": "done", "prices": "done"}
    for task in ("discount", "overlap"):
        last = kept.attempts(task)[-1]
        assert last["outcome"] == "done"
        assert [(one["exit_code"], one["tree"]) for one in last["checks"]] == [
            (0, last["end_tree"])
        ]
    subjects = git(kept.root, "log", "--format=%s").splitlines()
    assert "task(discount): A week costs a tenth less" in subjects
    assert "task(overlap): Give a berth to one boat at a time" in subjects
    assert not any("task(boats)" in one for one in subjects)
    assert subjects[-len(project.HISTORY) :] == [one.subject for one in reversed(project.HISTORY)]


def check_the_checks_say_what_the_demo_says(kept: Kept) -> None:
    for task, code in (("discount", 0), ("overlap", 0), ("boats", 1)):
        ran = subprocess.run(["./check", task], cwd=kept.root, capture_output=True)
        assert ran.returncode == code, ran.stderr


def check_every_false_claim_was_found_out(kept: Kept) -> None:
    outcomes = {
        task: [one["outcome"] for one in kept.attempts(task)]
        for task in ("discount", "boats", "overlap")
    }
    assert outcomes == {
        "discount": ["drifted", "done"],
        "boats": ["no-change", "failed-checks"],
        "overlap": ["failed-checks", "done"],
    }
    for task in ("boats", "overlap"):
        assert "The agent said it was done, but" in kept.attempts(task)[0]["reason"]
    assert "weakened check" in kept.attempts("discount")[0]["reason"]
    assert "skip" not in (kept.root / "tests" / "test_fees.py").read_text()
    assert "steps strayed, at worst" in kept.kedge("log", "show", "discount").out


def check_the_forbidden_file_is_as_it_was(kept: Kept) -> None:
    assert (kept.root / "data" / "tariff.json").read_text() == project.TARIFF
    assert git(kept.root, "log", "--format=%s", "--", "data").splitlines() == [
        project.HISTORY[0].subject
    ]


def check_hooks_recorded_how_the_agent_strayed(kept: Kept) -> None:
    sessions = kept.kedge.json("drift", "status", "--all")
    assert len(sessions) == 6
    assert [one["needs_review"] for one in sessions] == [False] * 5 + [True]
    record = kept.kedge.json("drift", "explain", sessions[-1]["id"])
    strayed = {one["what"]: one for one in record["events"]}
    assert list(strayed) == [
        "edit data/tariff.json",
        "edit berths/bookings.py",
        "edit tests/test_fees.py",
    ]
    forbidden, outside, skipped = strayed.values()
    assert forbidden["decision"] == "ask"  # and nobody was there to say yes
    assert "data/tariff.json" not in record["files"]
    assert "scope" in [rule["rule"] for rule in outside["evidence"]]
    assert "This leaves the scope of the task" in outside["correction"]
    assert "weakened check" in [rule["rule"] for rule in skipped["evidence"]]


def check_the_correction_was_heeded(kept: Kept) -> None:
    first = kept.attempts("discount")[0]
    assert "berths/bookings.py" not in first["files"]
    assert first["drift"]["worst"] in ("intervene", "halt")


def check_the_failed_work_is_kept_aside(kept: Kept) -> None:
    aside = git(kept.root, "show", "refs/kedge/set-aside/boats:berths/export.py")
    assert 'line.split(";")' in aside
    assert "NotImplementedError" in (kept.root / "berths" / "export.py").read_text()


def check_the_changed_byte_was_found_and_taken_back(kept: Kept) -> None:
    assert "README.md" in kept.output("kedge context begin prices --agent reviewer")
    assert "costs 10 % less" in (kept.root / "README.md").read_text()
    (line,) = (kept.root / ".kedge" / "handoffs" / "prices.jsonl").read_text().splitlines()
    assert "nobody agreed to 50 %" in line


def check_the_page_exists_and_names_the_sessions(kept: Kept) -> None:
    page = Path(kept.data["report"]).read_text()
    assert page.startswith("<!doctype html>")
    for words in ("data/tariff.json", "berths/bookings.py", "weakened check"):
        assert words in page
    assert not re.search(r"""(src|href)=["']?https?:""", page)


def check_nothing_runs_any_more_and_nothing_else_is_left(kept: Kept) -> None:
    place = kept.root.parent.parent.parent
    assert Demo(place).list_left() == [str(kept.root.parent)]


def test_each_claim_is_true_in_the_store_and_on_disk(demo: Demo) -> None:
    """One demo for all of them: it takes a while."""
    kept = keep_demo(demo)
    check_the_demo_takes_less_than_a_minute(kept)
    check_two_tasks_are_done_with_proof_and_one_failed(kept)
    check_the_checks_say_what_the_demo_says(kept)
    check_every_false_claim_was_found_out(kept)
    check_the_forbidden_file_is_as_it_was(kept)
    check_hooks_recorded_how_the_agent_strayed(kept)
    check_the_correction_was_heeded(kept)
    check_the_failed_work_is_kept_aside(kept)
    check_the_changed_byte_was_found_and_taken_back(kept)
    check_the_page_exists_and_names_the_sessions(kept)
    check_nothing_runs_any_more_and_nothing_else_is_left(kept)


def test_the_story_in_a_pipe(demo: Demo) -> None:
    """Without a git identity, an agent and Python on PATH; nothing is left."""
    programs = demo.place / "bin"
    programs.mkdir()
    for name in ("git", "grep", "rm", "sed", "sh"):
        (programs / name).symlink_to(str(shutil.which(name)))
    text = demo.run("demo", path=str(programs))
    assert demo.list_left() == []
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 110
    assert text.index("drifted: ") < text.index("2 done, 1 failed")
    shown = [line for line in text.splitlines() if line.startswith("   $ ")]
    assert len(shown) > 20
    assert_readme_shows(text)


def assert_readme_shows(text: str) -> None:
    """The README's picture is a part of the real output, but for ids."""
    page = (Path(__file__).parents[2] / "README.md").read_text()
    (picture,) = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    real = [_without_ids(line) for line in text.splitlines()]
    for line in picture.splitlines():
        assert _without_ids(line) in real, line


def _without_ids(line: str) -> str:
    return re.sub(r"\b[0-9a-f]{7,40}\b", "…", line.strip())


@pytest.mark.long
@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_the_story_with_a_real_client(demo: Demo, agent: str) -> None:
    program(agent)
    path = os.pathsep.join([str(PROGRAMS), os.environ["PATH"]])
    data = json.loads(demo.run("--json", "demo", "--agent", agent, path=path))["data"]
    assert len(data["chapters"]) == 6
    assert demo.list_left() == []


def test_a_missing_client_is_named(demo: Demo) -> None:
    programs = demo.place / "bin"
    programs.mkdir()
    for name in ("git", "sh"):
        (programs / name).symlink_to(str(shutil.which(name)))
    child = demo.start("demo", "--agent", "codex", path=str(programs))
    _, err = child.communicate(timeout=PATIENCE)
    assert child.returncode == 1
    assert err.decode().splitlines()[0] == "error: codex is not on PATH"
    assert demo.list_left() == []


@dataclass(frozen=True)
class Moment:
    """A moment in the demo: some seconds after a number of lines."""

    lines: int
    seconds: float


@functools.cache
def time_lines(path: str, *args: str) -> list[float]:
    """Run the demo once, and return when each line came, in seconds."""
    with tempfile.TemporaryDirectory() as place:
        begin = time.monotonic()
        with Demo(Path(place)).start("demo", *args, path=path) as child:
            assert child.stdout is not None
            times = [time.monotonic() - begin for _ in child.stdout]
        assert child.returncode == 0
    return times


def choose_moment(*args: str, path: str = os.environ["PATH"]) -> Moment:
    """Choose a moment between the start and the last command, each as likely as any other.

    By lines, because the time that a demo takes depends on what else the machine does.
    """
    times = [0.0, *time_lines(path, *args)]
    before_end = next(n for n, at in enumerate(times) if times[-1] - at < LAST_PART)
    at = random.Random(os.urandom(8)).uniform(SHORTEST, times[before_end])
    lines = bisect.bisect_right(times, at) - 1
    return Moment(lines, at - times[lines])


def interrupt(demo: Demo, moment: Moment, number: signal.Signals, *args: str, **more: str) -> None:
    with demo.start("demo", *args, **more) as child:
        assert child.stdout is not None
        for _ in range(moment.lines):
            assert child.stdout.readline(), moment
        time.sleep(moment.seconds)
        child.send_signal(number)
        out, err = child.communicate(timeout=PATIENCE)
    assert child.returncode in (130, -number), (moment, out[-500:], err)
    assert b"Traceback" not in err, (moment, err)
    assert demo.list_left() == [], moment


@pytest.mark.parametrize("number", range(POINTS))
def test_an_interrupt_leaves_nothing(demo: Demo, number: int) -> None:
    """At any moment, from the first second to the last command."""
    ending = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[number % 3]
    interrupt(demo, choose_moment(), ending, *(["--keep"] if number % 4 == 0 else []))


@pytest.mark.long
@pytest.mark.parametrize("number", range(6))
def test_an_interrupted_client_leaves_nothing(demo: Demo, number: int) -> None:
    agent = ("claude", "codex")[number % 2]
    program(agent)
    path = os.pathsep.join([str(PROGRAMS), os.environ["PATH"]])
    moment = choose_moment("--agent", agent, path=path)
    interrupt(demo, moment, signal.SIGTERM, "--agent", agent, path=path)


def test_a_reader_that_goes_away_leaves_nothing(demo: Demo) -> None:
    child = demo.start("demo")
    assert child.stdout is not None
    assert child.stdout.readline()
    child.stdout.close()
    assert child.wait(timeout=PATIENCE) == 141
    assert child.stderr is not None
    child.stderr.close()
    assert demo.list_left() == []

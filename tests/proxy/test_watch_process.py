"""The process that judges: what is printed in it, what it answers wrongly, and how it is replaced.

A program beside the real one breaks it on purpose: functions that do harm answer some questions.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from support import TIMEOUT, git

from kedge.proxy import watch_process
from kedge.proxy.watch_process import WatchFailed, WatchProcess

HARM = """\
import os, subprocess, time
from pathlib import Path
from kedge.proxy import watch_process
from kedge.proxy.recording import Recorder

def wait_for(path):
    while not Path(path).exists():
        time.sleep(0.005)

def speak(self):
    print("hello", flush=True)
    os.write(1, b"hello from C")
    subprocess.run(["sh", "-c", "echo hello from a program; cat"])
    return "spoken"

def stall(self):
    time.sleep(3600)

def damage(self, data):
    watch_process._pack = lambda value: data
    return ""

def fall_silent(self, go):
    os.closerange(3, 50)
    wait_for(go)
    os._exit(9)

def wait(self, go):
    wait_for(go)
    return "waited"

for each in (speak, stall, damage, fall_silent, wait):
    setattr(Recorder, each.__name__, each)
watch_process.main(*sys.argv[1:])
"""


@pytest.fixture
def watch(repo: Path, monkeypatch: pytest.MonkeyPatch) -> WatchProcess:
    git(repo, "commit", "-qm", "first", "--allow-empty")
    start, _ = watch_process._PROGRAM.split("from kedge", 1)
    monkeypatch.setattr(watch_process, "_PROGRAM", start + HARM)
    return WatchProcess(repo, None)


def run(watch: WatchProcess, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def whole() -> None:
        try:
            async with asyncio.timeout(TIMEOUT):
                await work()
        finally:
            await watch.close()

    asyncio.run(whole())


async def wait_until(is_true: Callable[[], bool]) -> None:
    while not is_true():
        await asyncio.sleep(0.005)


def test_what_is_printed_in_it_is_not_an_answer(
    repo: Path, watch: WatchProcess, capfd: pytest.CaptureFixture[str]
) -> None:
    async def work() -> None:
        assert await watch.ask("speak") == "spoken"
        assert await watch.ask("find_root", str(repo)) == str(repo)

    run(watch, work)
    printed = capfd.readouterr().err
    for text in ("hello\n", "hello from C", "hello from a program"):
        assert text in printed


@pytest.mark.parametrize(
    "data",
    [
        b"hello, I am text\n" * 9,
        b"\0\0\0\4" * 9,
        watch_process._HEAD.pack(watch_process._MARK, 1 << 31),
        watch_process._HEAD.pack(watch_process._MARK, 9) + b"no pickle",
    ],
)
def test_a_damaged_answer_ends_it_and_the_next_question_starts_another(
    repo: Path, watch: WatchProcess, data: bytes
) -> None:
    async def work() -> None:
        await watch.start()
        before = watch.pid
        assert before is not None
        waiting = asyncio.create_task(watch.ask("stall"))
        await asyncio.sleep(0)
        with pytest.raises(WatchFailed, match="damaged answer"):
            await watch.ask("damage", data)
        with pytest.raises(WatchFailed, match="damaged answer"):
            await waiting
        with pytest.raises(ProcessLookupError):
            os.kill(before, 0)
        assert await watch.ask("find_root", str(repo)) == str(repo)
        assert watch.pid not in (None, before)

    run(watch, work)


def test_the_end_of_one_fails_no_question_to_the_next(
    repo: Path, watch: WatchProcess, tmp_path: Path
) -> None:
    """The first one has said its last word, but its end comes after the second one's start."""
    first, second = tmp_path / "first", tmp_path / "second"

    async def work() -> None:
        lost = asyncio.create_task(watch.ask("fall_silent", str(first)))
        await wait_until(lambda: watch.pid is not None)
        before = watch.pid
        await wait_until(lambda: watch.pid is None)
        kept = asyncio.create_task(watch.ask("wait", str(second)))
        await wait_until(lambda: watch.pid not in (None, before))
        first.touch()
        with pytest.raises(WatchFailed, match="ended with code 9"):
            await lost
        second.touch()
        assert await kept == "waited"

    run(watch, work)

"""Find and end every process that a program started, also those that left its process group.

A process is found through its living parents, or through a mark in its environment once they are
gone. A daemon that has lost both is found by `orphans`, as long as kedge itself lives.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kedge.errors import ProgramError
from kedge.host import proc

VARIABLE = "KEDGE_CHILD"
_PROC = Path("/proc")
_PATIENCE, _GRACE, _PAUSE = 5.0, 5.0, 0.05  # seconds, for a git at work
_ROUNDS = 20  # a process that forks while it is killed is found in the next round


@dataclass(frozen=True, slots=True)
class _Process:
    pid: int
    parent: int
    marked: bool
    name: str = ""


def add_mark(env: Mapping[str, str], mark: str) -> dict[str, str]:
    """Return the environment with the mark added to those of the surrounding programs."""
    return {**env, VARIABLE: f"{env.get(VARIABLE, '')} {mark}".strip()}


def members(leader: int, mark: str) -> list[int]:
    """Return the ids of the leader's descendants and of marked processes, without zombies."""
    processes = list(_list_processes(mark))
    children: dict[int, list[int]] = {}
    for process in processes:
        children.setdefault(process.parent, []).append(process.pid)
    chosen = {process.pid for process in processes if process.marked}
    waiting = [leader, *chosen]
    while waiting:
        for pid in children.get(waiting.pop(), ()):
            if pid not in chosen:
                chosen.add(pid)
                waiting.append(pid)
    return sorted(chosen - {leader, os.getpid()})


def list_children(parent: int) -> list[int]:
    """Return the children of a process, without zombies."""
    return [one.pid for one in _list_processes("") if one.parent == parent]


def find_git() -> list[int]:
    """Return the processes that are a git."""
    return [one.pid for one in _list_processes("") if _is_git(one)]


def send(leader: int, number: int, others: Iterable[int] = ()) -> None:
    """Send a signal to the leader's group and to the others, except those that have ended."""
    for kill, pid in ((os.killpg, leader), *((os.kill, pid) for pid in others)):
        try:
            kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def kill(leader: int, mark: str, others: Iterable[int] = ()) -> None:
    """Kill the leader's group, the others, and every process that has the mark."""
    send(leader, signal.SIGKILL, others)
    for _ in range(_ROUNDS):
        left = members(leader, mark)
        if not left:
            return
        send(leader, signal.SIGKILL, left)


def end_marked(mark: str) -> None:
    """Kill every process that has the mark, after a program that was not ended properly.

    A git at work may finish, and is then asked to end: killed, it would leave its locks behind.
    """
    _end_git(mark)
    for _ in range(_ROUNDS):
        processes = _list_processes(mark)
        left = [one.pid for one in processes if one.marked and one.pid != os.getpid()]
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not left:
            return


def _end_git(mark: str) -> None:
    """Wait until the marked git processes have ended; ask those that take long to end."""
    for patience, number in ((_PATIENCE, signal.SIGTERM), (_GRACE, signal.SIGKILL)):
        end = time.monotonic() + patience
        while left := [one.pid for one in _list_processes(mark) if one.marked and _is_git(one)]:
            if time.monotonic() > end:
                for pid in left:
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.kill(pid, number)
                break
            time.sleep(_PAUSE)


def _is_git(process: _Process) -> bool:
    return process.pid != os.getpid() and process.name.split("-")[0] == "git"


def _list_processes(mark: str) -> Iterator[_Process]:
    """Yield all processes that run, except zombies."""
    return _read_proc(mark) if _PROC.joinpath("self", "stat").exists() else _run_ps(mark)


def _read_proc(mark: str) -> Iterator[_Process]:
    wanted = mark.encode()
    for entry in _PROC.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            head, _, tail = entry.joinpath("stat").read_bytes().rpartition(b")")
            state, parent = tail.split()[:2]
            if state in (b"Z", b"X"):
                continue
            name = head.partition(b"(")[2].decode("utf-8", "replace")
            yield _Process(int(entry.name), int(parent), _has_mark(entry, wanted), name)
        except (OSError, ValueError):  # it ended meanwhile
            continue


def _has_mark(entry: Path, mark: bytes) -> bool:
    try:
        environment = entry.joinpath("environ").read_bytes()
    except OSError:  # another user's process
        return False
    name = VARIABLE.encode() + b"="
    return any(one.startswith(name) and mark in one for one in environment.split(b"\0"))


def _run_ps(mark: str) -> Iterator[_Process]:
    options = ["-axww", "-o", "pid=,ppid=,stat=,command="]
    if sys.platform == "darwin":
        options.append("-E")  # the environment, after the command
    try:
        listed = proc.run(["ps", *options], timeout=5).stdout.decode("utf-8", "replace")
    except ProgramError:
        return
    for line in listed.splitlines():
        words = line.split(None, 3)
        if len(words) == 4 and words[0].isdigit() and words[1].isdigit() and words[2][0] != "Z":
            marked = f"{VARIABLE}=" in words[3] and mark in words[3]
            name = words[3].split()[0].rpartition("/")[2]
            yield _Process(int(words[0]), int(words[1]), marked, name)

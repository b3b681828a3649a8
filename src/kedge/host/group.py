"""Every process that comes from a program, also one that has left its group.

A process is known by its parents for as long as those live, and by a mark in its environment
after that. One that has lost both, as nothing does by accident, is not found.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from kedge.errors import ProgramError
from kedge.host import proc
from kedge.host.record import NamedTuple

VARIABLE = "KEDGE_CHILD"
_PROC = Path("/proc")
_ROUNDS = 20  # a process that forks while it is ended is met again in the next round


class _Process(NamedTuple):
    pid: int
    parent: int
    marked: bool


def marked(env: Mapping[str, str], mark: str) -> dict[str, str]:
    """The environment with the mark, beside those of the programs that this one runs in."""
    return {**env, VARIABLE: f"{env.get(VARIABLE, '')} {mark}".strip()}


def members(leader: int, mark: str) -> list[int]:
    """The processes that come from the leader, itself left out. Zombies are none."""
    found = list(_linux(mark) if _PROC.joinpath("self", "stat").exists() else _by_ps(mark))
    children: dict[int, list[int]] = {}
    for process in found:
        children.setdefault(process.parent, []).append(process.pid)
    chosen = {process.pid for process in found if process.marked}
    waiting = [leader, *chosen]
    while waiting:
        for pid in children.get(waiting.pop(), ()):
            if pid not in chosen:
                chosen.add(pid)
                waiting.append(pid)
    return sorted(chosen - {leader, os.getpid()})


def send(leader: int, number: int, others: Iterable[int] = ()) -> None:
    """Signal the leader's group and the others; whoever is gone is passed over."""
    for kill, pid in ((os.killpg, leader), *((os.kill, pid) for pid in others)):
        try:
            kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def kill(leader: int, mark: str, others: Iterable[int] = ()) -> None:
    """End the leader's group, the others and all that bear the mark, without a word."""
    send(leader, signal.SIGKILL, others)
    for _ in range(_ROUNDS):
        left = members(leader, mark)
        if not left:
            return
        send(leader, signal.SIGKILL, left)


def end_marked(mark: str) -> None:
    """End whatever bears the mark and is left of a program whose own end nobody saw to."""
    for _ in range(_ROUNDS):
        found = _linux(mark) if _PROC.joinpath("self", "stat").exists() else _by_ps(mark)
        left = [process.pid for process in found if process.marked and process.pid != os.getpid()]
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not left:
            return


def _linux(mark: str) -> Iterator[_Process]:
    sign = mark.encode()
    for entry in _PROC.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            state, parent = entry.joinpath("stat").read_bytes().rpartition(b")")[2].split()[:2]
            if state in (b"Z", b"X"):
                continue
            yield _Process(int(entry.name), int(parent), _bears(entry, sign))
        except (OSError, ValueError):  # it ended while it was looked at
            continue


def _bears(entry: Path, sign: bytes) -> bool:
    try:
        environment = entry.joinpath("environ").read_bytes()
    except OSError:  # another user's
        return False
    name = VARIABLE.encode() + b"="
    return any(one.startswith(name) and sign in one for one in environment.split(b"\0"))


def _by_ps(mark: str) -> Iterator[_Process]:
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
            bears = f"{VARIABLE}=" in words[3] and mark in words[3]
            yield _Process(int(words[0]), int(words[1]), bears)

"""Run commands on a disk that is full, or nearly so.

As root, on a small file system that a filler leaves some pages of. Otherwise files are limited in
size, which fails in the same places with another reason.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from faults import judge, state
from faults.case import Case
from faults.kills import Reference, judge_end, prepare
from faults.world import Command, World

PAGE = 4096
SIZE = 24 << 20  # bytes of the file system
FREE = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128)  # pages


def can_mount() -> bool:
    return os.geteuid() == 0


@contextlib.contextmanager
def mounted(top: Path) -> Iterator[None]:
    """Mount a small file system on a directory; nothing where that needs more rights."""
    top.mkdir(parents=True, exist_ok=True)
    if not can_mount():
        yield
        return
    options = f"size={SIZE},mode=0700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "faults", str(top)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(top)], check=True)


def run_command(top: Path, command: Command, steps: list[int]) -> list[Case]:
    """Run a command with each of these numbers of free pages."""
    with mounted(top):
        world = World(top / "w")
        reference = prepare(world, command)
        return [_run_full(world, command, reference, free) for free in steps]


def _run_full(world: World, command: Command, reference: Reference, free: int) -> Case:
    world.restore()
    case = Case("disk", command.name, f"{free} pages left")
    filler = world.top.with_name("filler")
    if can_mount():
        _fill(filler, free * PAGE)
        ended = world.run(command)
        filler.unlink()
    else:
        ended = world.run(command, limit=max(free, 1) * PAGE)  # its messages are files, too
    now = state.read_files(world)
    codes = reference.codes
    case.problems += judge.find_bad_answer(command, ended, (*codes, 0))
    case.problems += state.find_damage(world, reference.before, now, reference.once)
    again = world.run(command)
    end = state.read_state(world)
    case.problems += judge_end(again, end, reference)
    return case


def _fill(filler: Path, free: int) -> None:
    """Leave this many bytes of the file system."""
    about = os.statvfs(filler.parent)
    size = about.f_bavail * about.f_frsize - free
    with filler.open("wb") as file:
        if size > 0:
            os.posix_fallocate(file.fileno(), 0, size)

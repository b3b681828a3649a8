"""`make faults`: try everything, print counts, and say how to repeat what failed."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from faults import database, disk, hooks, kills, repository, tracer, world
from faults.case import Case
from faults.commands import every_command

KINDS = ("kills", "disk", "database", "repository", "hooks", "input")
SEED = 7
MOST = 60  # kills of one command
MOST_COSTLY = 150
AT_ONCE = 100
_RAM_DISK = Path("/dev/shm")  # noqa: S108
_PART = 20  # broken inputs for one process

Job = Callable[[Path], list[Case]]


def main(arguments: list[str]) -> int:
    options = _parse(arguments)
    if missing := tracer.explain_missing():
        print(f"make faults: {missing}", file=sys.stderr)
        return 2
    if not disk.can_mount() and "disk" in options.kinds:
        print("not root: files are limited in size instead of filling a disk")
    jobs = dict(_list_jobs(options))
    begin = time.monotonic()
    cases = _run(jobs, options.workers)
    _print(cases, time.monotonic() - begin, verbose=options.verbose)
    return 1 if any(one.problems for one in cases) or not cases else 0


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools/faults", description=__doc__)
    parser.add_argument("kinds", nargs="*", choices=[[], *KINDS], help="by default all")
    parser.add_argument("--command", default="", help="only commands whose name starts so")
    parser.add_argument("--at", default="", help="only this fault: a number, or a name")
    parser.add_argument("--most", type=int, default=MOST, help="kills of one command")
    parser.add_argument("--seed", type=int, default=SEED, help="of the sample")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("-v", "--verbose", action="store_true", help="print each failing case")
    options = parser.parse_args(arguments)
    options.kinds = options.kinds or list(KINDS)
    return options


def _list_jobs(options: argparse.Namespace) -> Iterator[tuple[str, Job]]:
    """Yield the work in parts that can run at the same time."""
    at, name, most, seed = options.at, options.command, options.most, options.seed
    commands = [one for one in every_command() if one.name.startswith(name)]
    if "kills" in options.kinds:
        for one in sorted(commands, key=lambda one: not one.costly):
            points = [at] if at else []
            count = max(most, MOST_COSTLY) if one.costly and most >= MOST else most
            yield f"kills of {one.name}", partial(_kill, one.name, points, count, seed)
    if "disk" in options.kinds:
        steps = [int(at.split()[0])] if at else list(disk.FREE)
        for one in commands:
            yield f"full disks for {one.name}", partial(_fill_disk, one.name, steps)
    if "database" in options.kinds:
        kinds = [at] if at else list(database.DAMAGES)
        for one in commands:
            locked = [database.LOCKED] if not at and one.name in database.LOCKED_FOR else []
            yield f"damage for {one.name}", partial(_damage, one.name, [*kinds, *locked])
    if "repository" in options.kinds:
        for trick in repository.list_tricks():
            if not at or at == trick:
                yield f"trick {trick}", partial(_try_trick, trick, name)
    if "hooks" in options.kinds:
        yield "hooks at once", partial(hooks.run_at_once, count=int(at) if at else AT_ONCE)
    if "input" in options.kinds:
        names = [at] if at else list(hooks.list_inputs())
        for start in range(0, len(names), _PART):
            part = names[start : start + _PART]
            yield f"broken input {start}", partial(hooks.run_inputs, names=part)


def _command(name: str) -> kills.Command:
    return next(one for one in every_command() if one.name == name)


def _kill(name: str, points: list[str], most: int, seed: int, top: Path) -> list[Case]:
    return kills.run_command(top, _command(name), points, most, seed)


def _fill_disk(name: str, steps: list[int], top: Path) -> list[Case]:
    return disk.run_command(top, _command(name), steps)


def _damage(name: str, kinds: list[str], top: Path) -> list[Case]:
    return database.run_command(top, _command(name), kinds)


def _try_trick(trick: str, name: str, top: Path) -> list[Case]:
    return repository.run_trick(top, trick, [name] if name else [])


# Running


def _run(jobs: dict[str, Job], workers: int) -> list[Case]:
    """Run the jobs in processes of their own, which fork the commands."""
    parent = _RAM_DISK if os.access(_RAM_DISK, os.W_OK) else None
    scratch = tempfile.mkdtemp(prefix="kedge-faults-", dir=parent)
    cases: list[Case] = []
    try:
        with ProcessPoolExecutor(
            workers, get_context("spawn"), initializer=_start_worker, initargs=(scratch,)
        ) as pool:
            running = {pool.submit(_run_job, name, job): name for name, job in jobs.items()}
            for number, done in enumerate(as_completed(running), 1):
                cases += done.result()
                _show_progress(number, len(running), cases)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return cases


def _start_worker(scratch: str) -> None:
    global _place  # noqa: PLW0603 - one for this process
    _place = Path(scratch, str(os.getpid()))
    (_place / "tmp").mkdir(parents=True)
    tempfile.tempdir = str(_place / "tmp")
    world.import_everything()


_place = Path()


def _run_job(name: str, job: Job) -> list[Case]:
    try:
        return job(_place / "world")
    except Exception as error:  # noqa: BLE001 - one job that fails is a failing case
        where = "".join(traceback.format_exception(error))[-1500:]
        return [Case("tool", name, "", problems=[f"{error}\n{where}"])]


def _show_progress(number: int, count: int, cases: list[Case]) -> None:
    if sys.stderr.isatty() or number % 20 == 0:
        bad = sum(1 for one in cases if one.problems)
        print(f"{number} of {count} parts, {len(cases)} cases, {bad} failed", file=sys.stderr)


# Reporting


def _print(cases: list[Case], seconds: float, *, verbose: bool) -> None:
    failed = [one for one in cases if one.problems]
    for kind, count in sorted(Counter(one.kind for one in cases).items()):
        bad = [one for one in failed if one.kind == kind]
        names = Counter(problem.partition(":")[0] for one in bad for problem in one.problems)
        says = ", ".join(f"{number} {name[:40]}" for name, number in names.most_common(6))
        print(f"{kind:12}{count:7} tried{len(bad):6} failed  {says}")
    print(f"{seconds / 60:.1f} minutes")
    shown: Counter[str] = Counter()
    for one in failed:
        key = f"{one.kind} {one.command} {one.problems[0][:40]}"
        shown[key] += 1
        if shown[key] == 1 or verbose:
            print(f"\n{one.repeat}   {one.about}")
            for problem in one.problems:
                print(f"    {problem[:700]}")

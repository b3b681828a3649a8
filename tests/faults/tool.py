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
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import active_children, get_context
from pathlib import Path
from random import Random
from typing import Any

from faults import database, disk, hooks, kills, repository, tracer, world
from faults.case import Case
from faults.commands import every_command

KINDS = ("kills", "disk", "database", "repository", "hooks", "input")
SEED = 7
MOST = 60  # kills of one command
AT_ONCE = 100
_RAM_DISK = Path("/dev/shm")
_SHARE = 3  # each path is tried with every third command, another third for each trick
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
    if not jobs:
        print("make faults: nothing has that name", file=sys.stderr)
        return 2
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
    parser.add_argument("--sample", action="store_true", help="a few of each kind")
    parser.add_argument("--seed", type=int, default=SEED, help="of the sample")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("-v", "--verbose", action="store_true", help="print each failing case")
    options = parser.parse_args(arguments)
    options.kinds = options.kinds or list(KINDS)
    return options


def _list_jobs(options: argparse.Namespace) -> Iterator[tuple[str, Job]]:
    """Yield the work in parts that can run at the same time."""
    at, name, seed = options.at, options.command, options.seed
    random = Random(seed)

    def pick(found: Iterable[Any], count: int) -> list[Any]:
        """Return all, or so many of them for a sample."""
        every = list(found)
        return random.sample(every, min(count, len(every))) if options.sample else every

    commands = [one for one in every_command() if one.name.startswith(name)]
    if at:  # a failure names its command in full
        commands = [one for one in commands if one.name == name] or commands
    cheap = [one for one in commands if not (one.costly and options.sample)]
    if "kills" in options.kinds:
        for one in sorted(pick(cheap, 8), key=lambda one: one.costly):
            most = 2 if options.sample else options.most
            most = most // 2 if one.costly else most
            points = [at] if at else []
            yield f"kills of {one.name}", partial(_kill, one.name, points, most, seed)
    if "disk" in options.kinds:
        for one in pick(cheap, 4):
            steps = [int(at.split()[0])] if at else pick(disk.FREE, 2)
            yield f"full disks for {one.name}", partial(_fill_disk, one.name, steps)
    if "database" in options.kinds:
        for one in pick(cheap, 4):
            kinds = [at] if at else pick(database.DAMAGES, 3)
            wait = not at and not options.sample and one.name in database.LOCKED_FOR
            if wait:
                kinds.append(database.LOCKED)
            yield f"damage for {one.name}", partial(_damage, one.name, kinds)
    if "repository" in options.kinds:
        for number, trick in enumerate([at] if at else pick(repository.list_tricks(), 4)):
            every = [one.name for one in repository.commands()]
            part = every if trick in repository.FOR_ALL else every[number % _SHARE :: _SHARE]
            names = [name] if name else pick(part, 4)
            yield f"trick {trick}", partial(repository.run_trick, name=trick, only=names)
    if "hooks" in options.kinds:
        count = int(at) if at else 12 if options.sample else AT_ONCE
        yield "hooks at once", partial(hooks.run_at_once, count=count)
    if "input" in options.kinds:
        names = [at] if at else pick(hooks.list_inputs(), 12)
        for start in range(0, len(names), _PART):
            part = names[start : start + _PART]
            yield f"broken input {start}", partial(hooks.run_inputs, names=part)


def _command(name: str) -> world.Command:
    return next(one for one in every_command() if one.name == name)


def _kill(name: str, points: list[str], most: int, seed: int, top: Path) -> list[Case]:
    return kills.run_command(top, _command(name), points, most, seed)


def _fill_disk(name: str, steps: list[int], top: Path) -> list[Case]:
    return disk.run_command(top, _command(name), steps)


def _damage(name: str, kinds: list[str], top: Path) -> list[Case]:
    return database.run_command(top, _command(name), kinds)


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
            try:
                for number, done in enumerate(as_completed(running), 1):
                    cases += done.result()
                    _show_progress(number, len(running), cases)
            except (KeyboardInterrupt, BrokenProcessPool) as end:
                stopped = f"stopped before the end: {type(end).__name__}"
                cases.append(Case("tool", "", "", problems=[stopped]))
                pool.shutdown(wait=False, cancel_futures=True)
                for process in active_children():
                    process.kill()
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

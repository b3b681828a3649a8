"""Kill a command before each of its file-changing system calls, and look at what is left."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from pathlib import Path

from faults import state
from faults.case import Case
from faults.state import State
from faults.world import Command, Ended, World

ALONE = " alone"  # kedge is killed, and what it started goes on


@dataclass
class Reference:
    """A command undisturbed: once, and again."""

    before: State
    once: State
    twice: State
    codes: tuple[int | None, int | None]
    calls: list[str]
    output: str = ""


def prepare(world: World, command: Command) -> Reference:
    """Bring a world to where the command starts, and see how it ends undisturbed."""
    world.backend = command.backend
    world.create()
    command.prepare(world)
    world.save()
    before = state.read_state(world)
    first = world.run(command)
    once = state.read_state(world)
    broken = state.find_broken(world, once.raw)
    if broken or first.code not in (0, 4):
        raise AssertionError(f"{command.name}: {first.code} {first.err} {broken}")
    again = world.run(command)
    twice = state.read_state(world)
    return Reference(before, once, twice, (first.code, again.code), first.calls)


def choose_points(reference: Reference, most: int, seed: int) -> list[int]:
    """Return the calls to kill at: all, or the first, the last and a sample."""
    count = len(reference.calls)
    if count <= most:
        return list(range(count))
    chosen = random.Random(seed).sample(range(1, count - 1), most - 2)
    return sorted([0, *chosen, count - 1])


def kill(
    world: World, command: Command, reference: Reference, at: int, *, alone: bool = False
) -> Case | None:
    """Kill the command once and run it again; None if it ended before that call."""
    world.restore()
    killed = world.run(command, at, alone=alone)
    if len(killed.calls) <= at:
        return None
    result = Case("kills", command.name, f"{at}{ALONE if alone else ''}", killed.calls[at])
    now = state.read_files(world)
    half_made = state.find_half_made(world)
    found = state.find_damage(world, reference.before, now, reference.once)
    result.problems += [one for one in found if not (half_made and one.startswith("git fsck: "))]
    if locks := state.find_locks(world):
        result.about += f", and git left {' '.join(locks)}"  # as a killed git does
    if half_made:
        result.about += f", and git left the half-made {' '.join(half_made)}"
    again = world.run(replace(command, argv=command.then or command.argv))
    if command.then and again.code == 1:  # killed before there was anything to resume
        again = world.run(command)
    end = state.read_state(world)
    result.problems += judge_end(again, end, reference, loosely=command.costly)
    result.problems += state.find_broken(world, end.raw)
    if locks := state.find_locks(world):
        result.problems.append(f"lock at the end: {' '.join(locks)}")
    return result


def judge_end(
    again: Ended, end: State, reference: Reference, *, loosely: bool = False
) -> list[str]:
    """Return what is wrong with the end: it must be that of one undisturbed run, or of two."""
    found = []
    if again.code not in reference.codes:
        found.append(f"again: exit code {again.code}: {again.err.strip()[:300]}")
    goals = [reference.once, reference.twice]
    if loosely:
        end, goals = end.outline(), [one.outline() for one in goals]
    if not any(end.same(one) for one in goals):
        found.append(f"another end: {goals[0].explain(end)}")
    return found


def run_command(top: Path, command: Command, points: list[str], most: int, seed: int) -> list[Case]:
    """Kill a command at these points; by default at all or a sample, and at some of them alone."""
    world = World(top)
    reference = prepare(world, command)
    if not points:
        chosen = choose_points(reference, most, seed)
        points = [*map(str, chosen), *(f"{at}{ALONE}" for at in chosen[4::8])]
    found = []
    for point in points:
        number, alone, _ = point.partition(ALONE)
        found.append(kill(world, command, reference, int(number), alone=bool(alone)))
    return [one for one in found if one is not None]

"""The structure of a repository: what can be read from file names and configuration.

Everything here is a function of the paths and the bytes that it is given. Nothing is run, and
whatever the files hold, nothing is raised: what cannot be read is named in `problems`.
"""

from __future__ import annotations

from collections.abc import Sequence

from kedge.host.record import NamedTuple
from kedge.repomap.project.parts import KINDS, Command, Kind, Module, Place, Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "KINDS",
    "Command",
    "Kind",
    "Module",
    "Place",
    "Source",
    "Structure",
    "describe",
]


class Structure(NamedTuple):
    """What a newcomer is told first, the most important first in each list."""

    stack: tuple[str, ...] = ()
    commands: tuple[Command, ...] = ()
    entry_points: tuple[Place, ...] = ()
    key_files: tuple[Place, ...] = ()
    modules: tuple[Module, ...] = ()
    conventions: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def dump(self) -> tuple[Any, ...]:
        """As plain values."""
        return tuple(
            [tuple(one) if isinstance(one, tuple) else one for one in part] for part in self
        )

    @classmethod
    def load(cls, values: Sequence[Any]) -> Structure:
        stack, commands, entries, keys, modules, conventions, problems = values
        return cls(
            tuple(stack),
            tuple(Command(*value) for value in commands),
            tuple(Place(*value) for value in entries),
            tuple(Place(*value) for value in keys),
            tuple(Module(*value) for value in modules),
            tuple(conventions),
            tuple(problems),
        )


def describe(source: Source, subjects: Sequence[str] = ()) -> Structure:
    """The structure of the repository; `subjects` are those of its recent commits.

    It is a function of the paths, of the subjects and of what `read` gives for the paths that it
    is asked for. Some of these may not be among the paths, such as lock files.
    """
    from kedge.repomap.project.survey import survey

    return survey(source, subjects)

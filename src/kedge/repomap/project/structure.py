"""The structure of a repository: stack, commands, entry points, key files and conventions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any

from kedge.repomap.project.parts import Command, DescribedPath, Module


@dataclass(frozen=True, slots=True)
class Structure:
    """The structure of a repository; the most important come first in each list."""

    stack: tuple[str, ...] = ()
    commands: tuple[Command, ...] = ()
    entry_points: tuple[DescribedPath, ...] = ()
    key_files: tuple[DescribedPath, ...] = ()
    modules: tuple[Module, ...] = ()
    conventions: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def dump(self) -> tuple[Any, ...]:
        """Return plain values for `load`."""
        return astuple(self)

    @classmethod
    def load(cls, values: Sequence[Any]) -> Structure:
        stack, commands, entries, keys, modules, conventions, problems = values
        return cls(
            tuple(stack),
            tuple(Command(*value) for value in commands),
            tuple(DescribedPath(*value) for value in entries),
            tuple(DescribedPath(*value) for value in keys),
            tuple(Module(*value) for value in modules),
            tuple(conventions),
            tuple(problems),
        )

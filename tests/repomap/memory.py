"""A repository in memory, for the structural layer of the map."""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import dedent

from kedge.repomap.structure import Structure, describe


class Memory:
    """Files by their paths. None stands for what cannot be read.

    Texts are dedented, and have tabs where their kind of file needs them.
    """

    def __init__(self, files: dict[str, str | bytes | None]) -> None:
        self.files = files
        self.reads: list[str] = []

    @property
    def paths(self) -> Sequence[str]:
        return sorted(self.files)

    def read(self, path: str) -> bytes | None:
        self.reads.append(path)
        content = self.files.get(path)
        if not isinstance(content, str):
            return content
        text = dedent(content).lstrip("\n")
        if path.endswith(("Makefile", "go.mod")):
            text = re.sub(r"^ {4}", "\t", text, flags=re.MULTILINE)
        return text.encode()


def look(
    files: dict[str, str | bytes | None], *, code: str = "", subjects: Sequence[str] = ()
) -> Structure:
    """The structure of these files and of the empty code files that are named."""
    every: dict[str, str | bytes | None] = dict.fromkeys(code.split(), "")
    return describe(Memory(every | files), subjects)


def told(structure: Structure) -> list[tuple[str, str, str]]:
    """The commands as plain tuples."""
    return [(one.kind, one.command, one.source) for one in structure.commands]


def only(structure: Structure, kind: str) -> list[str]:
    return [one.command for one in structure.commands if one.kind == kind]

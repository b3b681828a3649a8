"""A repository in memory, for tests of its structure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import dedent

from kedge.repomap.project.structure import Structure
from kedge.repomap.project.survey import describe


class Memory:
    """Files by path; None for an unreadable one.

    Texts are dedented, with tabs in makefiles and go.mod.
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
    """The structure of these files and of empty files at the paths in `code`."""
    every: dict[str, str | bytes | None] = dict.fromkeys(code.split(), "")
    return describe(Memory(every | files), subjects)


def command_tuples(structure: Structure) -> list[tuple[str, str, str]]:
    """The commands as plain tuples."""
    return [(one.kind, one.command, one.source) for one in structure.commands]


def only(structure: Structure, kind: str) -> list[str]:
    return [one.command for one in structure.commands if one.kind == kind]

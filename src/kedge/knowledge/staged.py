"""The knowledge bank with changes that are not written yet, so that many are written as one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kedge.knowledge.bank import Bank
from kedge.knowledge.entries import Page


class Staged(Bank):
    """What works on a bank works on this, and is seen by what follows. Each file is read once.

    Whoever makes one holds the lock of the bank, and has found out where things are observed.
    """

    def __init__(self, bank: Bank, where: str) -> None:
        super().__init__(bank.project, bank.settings)
        self._where = where
        self._read: dict[str, Page | None] = {}
        self._staged: dict[str, Page] = {}

    def page(self, file: str) -> Page | None:
        if file in self._staged:
            return self._staged[file]
        if file not in self._read:
            self._read[file] = super().page(file)
        return self._read[file]

    def write(self, changes: list[tuple[Page | None, Page]]) -> None:
        self._staged.update({new.file: new for _, new in changes})

    def where(self, named: str) -> str:  # noqa: ARG002 - the bank's
        return self._where

    @contextmanager
    def locked(self) -> Iterator[None]:
        yield

    def changes(self) -> list[tuple[Page | None, Page]]:
        """Each file that differs, as it was read and as it would be."""
        pairs = [(self._read.get(file), page) for file, page in sorted(self._staged.items())]
        return [(old, new) for old, new in pairs if old is None or old.data != new.data]

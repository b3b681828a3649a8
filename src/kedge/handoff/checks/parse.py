"""What a log says, by the tools that are recognised in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from kedge.handoff.checks import text
from kedge.handoff.checks.logs.reader import SHORTEST, Reader
from kedge.handoff.checks.summary import Summary

_RUNNERS = re.compile(
    r"(?:^|[\s/;&|(])(?:(pytest|py\.test|jest|vitest|ruff|mypy)|(go|cargo) +(?:\S+ +)?test)(?=\s|$)"
)
_Take = Callable[[str], None]
_NAMES = {"py.test": "pytest", "go": "go test", "cargo": "cargo test"}


def parse(log: bytes, command: str = "", root: str | None = None) -> tuple[Summary, ...]:
    """One summary for each tool that is recognised in the log, in the order of `_readers`.

    The command is only a hint, for output that could be of several tools. Paths below `root`
    are told relative to it. Never raises, whatever the log holds.
    """
    hinted = hints(command)
    readers = [make(root, hinted=make.tool in hinted) for make in _readers()]
    by_start, others = _by_start(readers)
    cut = False
    for line in text.lines(text.bounded(log)):
        if len(line) >= SHORTEST:
            if text.is_cut(line):
                cut = True
            for take in by_start.get(line[0], others):
                take(line)
    return tuple(_summaries(readers, cut))


def _by_start(readers: Sequence[Reader]) -> tuple[dict[str, list[_Take]], list[_Take]]:
    """Who is to be given a line that begins with a character, and with any other one."""
    starts = {start for reader in readers for start in reader.starts}
    return (
        {s: [r.line for r in readers if s in r.starts or not r.starts] for s in starts},
        [reader.line for reader in readers if not reader.starts],
    )


def _summaries(readers: list[Reader], cut: bool) -> Iterator[Summary]:
    for reader in readers:
        if summary := reader.summary():
            yield replace(summary, partial=True) if cut and reader.adds_up else summary


def hints(command: str) -> set[str]:
    """The tools that the command names."""
    found = (match[1] or match[2] for match in _RUNNERS.finditer(command))
    return {_NAMES.get(name, name) for name in found}


def _readers() -> tuple[type[Reader], ...]:
    from kedge.handoff.checks.logs import (
        cargo,
        coverage,
        eslint,
        go,
        jest,
        mypy,
        pytest,
        ruff,
        tsc,
        vitest,
    )

    return (
        *(pytest.Reader, jest.Reader, vitest.Reader, go.Reader, cargo.Reader, cargo.Compiler),
        *(ruff.Reader, ruff.Formatter, mypy.Reader, tsc.Reader, eslint.Reader, eslint.Biome),
        *(coverage.CoveragePy, coverage.Istanbul, coverage.Go, coverage.Llvm),
    )

"""Parse a log into one summary for each tool that it recognises."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from kedge.handoff.checks import output
from kedge.handoff.checks.logs.reader import SHORTEST, LogReader
from kedge.handoff.checks.summary import ToolSummary

_RUNNERS = re.compile(
    r"(?:^|[\s/;&|(])(?:(pytest|py\.test|jest|vitest|ruff|mypy)|(go|cargo) +(?:\S+ +)?test)(?=\s|$)"
)
_NAMES = {"py.test": "pytest", "go": "go test", "cargo": "cargo test"}


def parse_log(log: bytes, command: str = "", root: str | None = None) -> tuple[ToolSummary, ...]:
    """Return one summary for each tool recognised in the log, in the order of `_readers`.

    The command is only a hint, for output that could come from several tools. Paths below `root`
    become relative to it. Never raises, whatever the log holds.
    """
    hinted = find_tools(command)
    readers = [make(root, hinted=make.tool in hinted) for make in _readers()]
    cut = False
    for line in output.split_lines(output.bound_log(log)):
        if len(line) >= SHORTEST:
            cut = cut or output.is_cut(line)
            for reader in readers:
                reader.line(line)
    return tuple(_summaries(readers, cut))


def _summaries(readers: list[LogReader], cut: bool) -> Iterator[ToolSummary]:
    for reader in readers:
        if summary := reader.summary():
            yield replace(summary, partial=True) if cut and reader.adds_up else summary


def find_tools(command: str) -> set[str]:
    """Return the tools that the command names."""
    names = (match[1] or match[2] for match in _RUNNERS.finditer(command))
    return {_NAMES.get(name, name) for name in names}


def _readers() -> tuple[type[LogReader], ...]:
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
        pytest.PytestReader,
        jest.JestReader,
        vitest.VitestReader,
        go.GoTestReader,
        cargo.CargoTestReader,
        cargo.RustcReader,
        ruff.RuffReader,
        ruff.RuffFormatReader,
        mypy.MypyReader,
        tsc.TscReader,
        eslint.EslintReader,
        eslint.BiomeReader,
        coverage.CoveragePyReader,
        coverage.IstanbulReader,
        coverage.GoCoverReader,
        coverage.LlvmCovReader,
    )

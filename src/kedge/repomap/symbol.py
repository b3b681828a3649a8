"""A definition that a source file offers to others."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Symbol:
    name: str
    kind: str
    line: int  # starting at 1
    signature: str
    parent: str | None  # the enclosing type or module
    end: int  # its last line


@dataclass(frozen=True, slots=True)
class Extract:
    symbols: tuple[Symbol, ...]
    failed: str | None = None  # why nothing could be read; syntax errors alone are no failure

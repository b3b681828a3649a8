"""What is read from a sample of each language: every definition, its line, kind and signature."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedge.repomap.languages import BY_NAME
from kedge.repomap.symbols import extract

SAMPLES = Path(__file__).parent.parent / "data" / "languages"
NAMES = sorted(path.name.removesuffix(".golden.txt") for path in SAMPLES.glob("*.golden.txt"))
PARSED = [language.name for language in BY_NAME.values() if language.grammar]


@pytest.mark.parametrize("name", NAMES)
def test_the_definitions_of_a_sample(name: str) -> None:
    (sample,) = (path for path in SAMPLES.glob(f"{name}.*") if "golden" not in path.name)
    found = extract(BY_NAME[name], sample.read_bytes(), sample.name.removesuffix(".txt"))
    assert found.failed is None
    lines = [f"{s.line} {s.kind} {s.parent or '-'} {s.name} | {s.signature}" for s in found.symbols]
    assert lines == (SAMPLES / f"{name}.golden.txt").read_text().splitlines()


def test_every_grammar_has_a_sample() -> None:
    assert sorted(set(PARSED) - set(NAMES)) == []

"""What a file talks about, without parsing it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from kedge.repomap.index import MOST
from kedge.repomap.languages import LANGUAGES, Language
from kedge.repomap.words import LONGEST, words

SAMPLES = Path(__file__).parents[1] / "data" / "languages"
PARSED = [language for language in LANGUAGES if language.grammar]
KINDS = {"class", "interface", "struct", "enum", "trait", "type", "function", "method", "object"}
HOSTILE = (
    *(
        "(",
        "a(",
        "<",
        "a<b",
        " ",
        "\n",
        "\t",
        "a.",
        "a::",
        "a, ",
        "#",
        "\n#",
        "\n} ",
        "def ",
        "a b ",
    ),
    *("import ", "from a import (", "\nuse a::{b,", "\nfunc (", "\npublic static ", "typedef a ("),
    *(
        "type (\n",
        "\nx = (",
        "async ",
        "\nsource ${a}/",
        "fun <",
        "\nlocal a.b.",
        "require('",
        "\0",
    ),
)


@pytest.mark.parametrize("language", PARSED, ids=lambda language: language.name)
def test_it_finds_most_of_what_is_defined(language: Language) -> None:
    (sample,) = (
        path
        for path in SAMPLES.glob(f"{language.name}.*")
        if not path.name.startswith(f"{language.name}.golden")
    )
    golden = (SAMPLES / f"{language.name}.golden.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.partition(" | ")[0].split() for line in golden]
    wanted = {
        row[3] for row in rows if row[1] in KINDS and len(row[3]) > 3 and row[3].isidentifier()
    }
    _, defined, _ = words(language.name, sample.read_bytes())
    assert len(wanted & set(defined)) >= 0.85 * len(wanted), wanted - set(defined)


def test_names_are_counted_without_keywords_and_noise() -> None:
    text = f"def moor(berth): return berth or be {'x' * (LONGEST + 1)} 42abc " + "tide " * 50
    names, defined, _ = words("python", text.encode())
    assert names == {"moor": 1, "berth": 2, "tide": MOST}
    assert defined == ["moor"]


@pytest.mark.parametrize("language", sorted({language.name for language in LANGUAGES}))
def test_no_text_takes_long(language: str) -> None:
    start = time.process_time()
    for part in HOSTILE:
        words(language, (part * (100_000 // len(part))).encode())
    assert time.process_time() - start < 5

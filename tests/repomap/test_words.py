"""Names and definitions in every language, and hostile input."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import in_time

from kedge.repomap.index import MOST
from kedge.repomap.languages import LANGUAGES, Language
from kedge.repomap.words import LONGEST, find_words

SAMPLES = Path(__file__).parents[1] / "data" / "languages"
PARSED = [language for language in LANGUAGES if language.grammar]
# Constants, variables, properties and namespaces are not expected: many are local.
COUNTED = {"object", "class", "interface", "struct", "enum", "trait", "type", "function", "method"}
# `#secret`, `afloat?` and `name=` are words with a sign; `operator+` and `ns::open` are not.
WORD = re.compile(r"#?([A-Za-z_][A-Za-z0-9_]{3,})[?!=]?")
LISP_WORD = re.compile(r"([A-Za-z_][A-Za-z0-9_-]{3,})[?!%]?")
MEGABYTE = 1_000_000
RUNS = [
    *(
        b"(",
        b"a(",
        b"<",
        b"a<b",
        b" ",
        b"\n",
        b"\t",
        b"\0",
        b"a.",
        b"a::",
        b"a, ",
        b"a b ",
        b"#",
        b"\n#",
    ),
    *(b"\n} ", b"def ", b"async ", b"import ", b"from a import (", b"\nuse a::{b,", b"\nfunc ("),
    *(b"\npublic static ", b"typedef a (", b"type (\n", b"\nx = (", b"\nsource ${a}/", b"fun <"),
    *(b"\nlocal a.b.", b"require('", bytes(range(256))),
]

OUTLINED = """
    commonlisp d elisp elm gleam matlab ocaml pony racket solidity
""".split()  # noqa: SIM905
ANNOUNCED = [language for language in LANGUAGES if language.grammar or language.name in OUTLINED]

each_announced = pytest.mark.parametrize("language", ANNOUNCED, ids=lambda language: language.name)
each_parsed = pytest.mark.parametrize("language", PARSED, ids=lambda language: language.name)


def _source(language: Language) -> bytes:
    golden = SAMPLES / f"{language.name}.golden.txt"
    (path,) = set(SAMPLES.glob(f"{language.name}.*")) - {golden}
    return path.read_bytes()


def _list_definitions(language: Language) -> set[str]:
    text = (SAMPLES / f"{language.name}.golden.txt").read_text(encoding="utf-8")
    rows = (line.partition(" | ")[0].split(" ", 3) for line in text.splitlines())
    word = LISP_WORD if language.name in ("commonlisp", "elisp", "racket") else WORD
    found = (word.fullmatch(name) for _, kind, _, name in rows if kind in COUNTED)
    return {match[1] for match in found if match}


def _find_defined(language: str, source: str) -> list[str]:
    return find_words(language, source.encode())[1]


@each_announced
def test_most_definitions_are_found_without_a_parser(language: Language) -> None:
    listed = _list_definitions(language)
    missing = listed.difference(find_words(language.name, _source(language))[1])
    assert len(listed) > 5
    assert len(missing) <= 0.15 * len(listed), sorted(missing)


@each_announced
def test_definitions_are_among_the_names(language: Language) -> None:
    names, defined, _ = find_words(language.name, _source(language))
    assert defined
    assert set(defined) <= set(names)
    assert len(defined) == len(set(defined))


@pytest.mark.parametrize(
    ("language", "source", "expected"),
    [
        (
            "c",
            "struct ship *\nfind_ship(int a)\n{\n    return other(a);\n}\n",
            ["ship", "find_ship"],
        ),
        (
            "c",
            "typedef unsigned long ship_id;\ntypedef int (*hook_t)(int);\n",
            ["ship_id", "hook_t"],
        ),
        ("cpp", "void Ship<T>::moor() &&\n{\n  std::move(line);\n}\n", ["moor"]),
        ("cpp", "class HARBOUR_API Ship final {\n};\n", ["Ship"]),
        (
            "java",
            "  Map<String, List<A>> names(int a,\n      int b) {\n    return call(a);\n",
            ["names"],
        ),
        ("csharp", "  void INamed<T>.Rename(string name) => Call(name);\n", ["Rename"]),
        ("go", "type (\n\tShip struct {\n\t\tName string\n\t}\n\tDeck int\n)\n", ["Ship", "Deck"]),
        ("javascript", "  async moor(line = f()) {\n    this.call(line);\n  }\n", ["moor"]),
        ("javascript", "Ship.prototype.dock = function (berth) {\n", ["dock"]),
        ("javascript", "describe('ship', () => {\n  if (sail(1)) {\n    run();\n  }\n});\n", []),
        ("typescript", "  sail(\n    to: Port,\n  ): Promise<void>;\n", ["sail"]),
        ("typescript", "  onArrive = async (port: Port): Promise<void> => {\n", ["onArrive"]),
        ("lua", "M.moor = function(line)\n", ["moor"]),
        ("ruby", "class Ship::Deck\nend\nPoint = Struct.new(:x)\n", ["Deck", "Point"]),
        ("python", "subclass Ship\nundef moor\n", []),
        ("python", "MAX_BERTHS = 4\nundefined(class_name)\n", ["MAX_BERTHS"]),
    ],
)
def test_definitions_are_distinguished_from_uses(
    language: str, source: str, expected: list[str]
) -> None:
    assert _find_defined(language, source) == expected


def test_windows_line_endings() -> None:
    source = "public class Ship\r\n{\r\n    public int Sail(\r\n        int to)\r\n    {\r\n"
    assert _find_defined("csharp", source) == ["Ship", "Sail"]


def test_keywords_numbers_and_too_short_or_long_words_are_not_names() -> None:
    fits = "x" * LONGEST
    source = f"class if else ab abc 1234 0xffff _private {fits} {fits}x größe return None".encode()
    assert set(find_words("python", source)[0]) == {"abc", "_private", fits}
    assert find_words("python", b"def return(): pass\nclass ab: pass\n")[1] == []


def test_counts_are_capped() -> None:
    names = find_words("python", b"twice twice " + b"often " * 1000)[0]
    assert names == {"twice": 2, "often": MOST}


@pytest.mark.parametrize(
    ("language", "unit"),
    [
        ("python", b"import "),
        ("python", b"x import "),
        ("python", b"\nfrom a import ("),
        ("python", b"import a; import b\n"),
        ("go", b"\nimport ("),
        ("go", b"\ntype (\n"),
        ("kotlin", b"fun < "),
        ("rust", b"\nuse a::{"),
        ("rust", b"type a "),
        ("c", b"typedef "),
        ("c", b"\nlocal "),
        ("cpp", b"#include <"),
        ("cpp", b"\n** ** ** {"),
        ("java", b"\na b<c<"),
        ("javascript", b"\nf("),
        ("javascript", b"\nf((\n)"),
        ("vue", b"function (\n\nA = type a "),
        ("shell", b"\n. $("),
        ("scala", b"\nimport a.{"),
        ("ocaml", b"\nlet rec "),
        ("ocaml", b"\nlet ("),
        ("pony", b"\nclass \\"),
        ("racket", b"\n(def"),
        ("elisp", b"\n(defun ((("),
        ("matlab", b"\nfunction ["),
        ("d", b"\na b!("),
    ],
)
def test_unclosed_constructs_take_no_time(language: str, unit: bytes) -> None:
    source = unit * (MEGABYTE // len(unit))
    with in_time(1):
        find_words(language, source)


@each_announced
def test_a_megabyte_in_one_line_takes_no_time(language: Language) -> None:
    source = b"class Ship(int a) { moor(); } <({[".ljust(40) * (MEGABYTE // 40)
    with in_time(1):
        find_words(language.name, source)


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_repeated_patterns_take_no_time(language: Language) -> None:
    with in_time(3):
        for unit in RUNS:
            find_words(language.name, (unit * (100_000 // len(unit))))


@each_parsed
def test_an_empty_file_has_no_words(language: Language) -> None:
    assert find_words(language.name, b"") == ({}, [], [])
    assert find_words(language.name, b"\n\0\xff\n") == ({}, [], [])


@given(st.sampled_from([language.name for language in LANGUAGES]), st.binary(max_size=300))
def test_junk_never_raises(language: str, junk: bytes) -> None:
    names, defined, _ = find_words(language, junk)
    assert set(defined) <= set(names)


@each_parsed
@given(st.data())
def test_a_truncated_file_never_raises(language: Language, data: st.DataObject) -> None:
    source = _source(language)
    begin, end = sorted(data.draw(st.tuples(*[st.integers(0, len(source))] * 2)))
    names, defined, _ = find_words(language.name, source[:begin] + source[end:])
    assert set(defined) <= set(names)


def test_the_hash_seed_does_not_matter() -> None:
    program = (
        "import sys; from pathlib import Path; from kedge.repomap.words import find_words\n"
        "for name, path in zip(sys.argv[1::2], sys.argv[2::2]):\n"
        "    print(find_words(name, Path(path).read_bytes()))\n"
    )
    named = [("rust", "rust.rs.txt"), ("typescript", "typescript.ts.txt"), ("cpp", "cpp.cpp.txt")]
    arguments = [part for name, file in named for part in (name, str(SAMPLES / file))]
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program, *arguments],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(outputs) == 1
    assert b"Harbour" in outputs.pop()

"""Definitions in every language, compared with a listing, and hostile input."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import in_time

from kedge.repomap import grammars, outlines
from kedge.repomap.languages import BY_NAME, LANGUAGES, Language, language_of, refine
from kedge.repomap.outline_rules import RULES
from kedge.repomap.symbol import Extract, Symbol
from kedge.repomap.symbols import extract

SAMPLES = Path(__file__).parents[1] / "data" / "languages"
READABLE = [language for language in LANGUAGES if language.readable]
PARSED = [language for language in LANGUAGES if language.grammar]
OUTLINED = [language.name for language in READABLE if language.name in RULES and language.outline]

each_readable = pytest.mark.parametrize("language", READABLE, ids=lambda language: language.name)
each_parsed = pytest.mark.parametrize("language", PARSED, ids=lambda language: language.name)


def _sample(language: Language) -> tuple[str, bytes]:
    found = {path.name.removesuffix(".txt"): path for path in SAMPLES.glob(f"{language.name}.*")}
    del found[f"{language.name}.golden"]
    ((name, path),) = found.items()
    return name, path.read_bytes()


def _listing(symbols: tuple[Symbol, ...]) -> list[str]:
    return [
        f"{symbol.line} {symbol.kind} {symbol.parent or '-'} {symbol.name} | {symbol.signature}"
        for symbol in symbols
    ]


def _names(language: str, source: str | bytes, path: str = "file") -> list[str]:
    data = source.encode() if isinstance(source, str) else source
    found = extract(BY_NAME[language], data, path)
    assert found.failed is None
    return [symbol.name for symbol in found.symbols]


def _signatures(language: str, source: str) -> list[str]:
    return [symbol.signature for symbol in extract(BY_NAME[language], source.encode(), "f").symbols]


@each_readable
def test_every_language_lists_the_definitions_of_its_sample(language: Language) -> None:
    name, source = _sample(language)
    _check_listing(name, source, language)


@pytest.mark.parametrize(
    ("name", "language"), [("ocaml-interface.mli", "ocaml"), ("matlab-script.m", "matlab")]
)
def test_a_language_may_have_several_sorts_of_files(name: str, language: str) -> None:
    _check_listing(name, (SAMPLES / f"{name}.txt").read_bytes(), BY_NAME[language])


def _check_listing(name: str, source: bytes, language: Language) -> None:
    by_name = language_of(name)
    assert by_name is not None
    assert refine(by_name, name, source) == language
    golden = SAMPLES / f"{name.partition('.')[0]}.golden.txt"
    found = extract(by_name, source, name)
    assert found.failed is None
    assert _listing(found.symbols) == golden.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    ("language", "rule"),
    [(language, place) for language in OUTLINED for place in range(len(RULES[language]))],
)
def test_every_rule_is_needed_by_a_sample(
    language: str, rule: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = [path for path in SAMPLES.glob(f"{language}[.-]*") if "golden" not in path.name]
    listings = []
    rules = RULES[language]
    for kept in (rules, rules[:rule] + rules[rule + 1 :]):
        monkeypatch.setitem(RULES, language, kept)
        outlines._compile_rules.cache_clear()
        found = [extract(BY_NAME[language], path.read_bytes(), "file") for path in samples]
        listings.append(found)
    outlines._compile_rules.cache_clear()
    assert listings[0] != listings[1]


@each_readable
def test_a_signature_is_one_short_line(language: Language) -> None:
    name, source = _sample(language)
    found = extract(language, source, name).symbols
    assert found
    for symbol in found:
        assert 0 < len(symbol.signature) <= 120
        assert not re.search(r"[\r\n\t]|  ", symbol.signature)
        assert 1 <= symbol.line <= source.count(b"\n") + 1


@each_readable
def test_line_endings_and_byte_order_marks_do_not_matter(language: Language) -> None:
    name, source = _sample(language)
    plain = extract(language, source, name)
    assert extract(language, source.replace(b"\n", b"\r\n"), name) == plain
    if not source.startswith(b"#!"):
        assert extract(language, b"\xef\xbb\xbf" + source, name) == plain


@each_readable
def test_an_empty_file_has_no_symbols(language: Language) -> None:
    for source in (b"", b"\n", b"\0", b"\xef\xbb\xbf", b" " * 1000):
        found = extract(language, source, "file")
        assert [symbol.kind for symbol in found.symbols] in ([], ["component"])
        assert found.failed is None


def test_local_definitions_are_left_out() -> None:
    source = (
        "def f():\n  class A:\n    def g(self): pass\n  def h(): pass\n  X = 1\ndef i(): pass\n"
    )
    assert _names("python", source) == ["f", "i"]
    source = (
        "const f = () => { const g = () => 1; function h() {} class A { m() {} } }\nconst b = 1"
    )
    assert _names("javascript", source) == ["f"]


def test_a_file_with_syntax_errors_still_has_symbols() -> None:
    assert _names("python", "def f(:\n  pass\n\nclass A:\n  def g(self): pass\n")[-2:] == ["A", "g"]
    assert _names("go", "package a\nfunc f( {\n}\nfunc g() int { return 1 }\n")[-1] == "g"
    broken = "class A {\n  fun f() { in1.x }\n  val x = = 3\n}\nopen class B(val a: Int) {\n"
    assert {"A", "B"} <= set(_names("kotlin", broken))
    assert "g" in _names(
        "shell", "f() {\n  print ${(s.x.)y}\n  if (( $+z )) {\n\nfunction g() {\n}\n"
    )


def test_comments_and_bodies_stay_out_of_signatures() -> None:
    source = "def f(\n  a,  # one\n  b='#', # two\n):\n  return a\n"
    assert _signatures("python", source) == ["def f(a, b='#')"]
    source = "int f(int a, /* one */\n      int b) // two\n{ return 1; }\n"
    assert _signatures("c", source) == ["int f(int a, int b)"]
    source = "export const f = async (a: A): Promise<B> => {\n  return a;\n};\n"
    assert _signatures("typescript", source) == ["export const f = async (a: A): Promise<B> => …"]


def test_a_long_signature_is_cut() -> None:
    (line,) = _signatures("python", f"def f({', '.join(f'argument_{n}' for n in range(99))}): pass")
    assert len(line) == 120
    assert line.startswith("def f(argument_0, argument_1, ")
    assert line.endswith("…")


def test_statements_of_a_script_are_not_definitions() -> None:
    source = (
        "Ship.dock = function () {};\n"
        "Ship.moor ||= function () {};\n"
        "Ship.sail || function () {};\n"
        "Ship['tow'] = function () {};\n"
        "new Crane(() => { function lift() {} });\n"
        "crane(() => { function lower() {} });\n"
    )
    for language in ("javascript", "typescript", "tsx"):
        assert _names(language, source) == ["dock", "lift"]
    source = (
        "class Ship {\n  #hull = 1;\n  ['deck'] = 2;\n  mast = 3;\n  sail = () => 4;\n  row() {}\n"
        "  abstract tow(): void;\n}\n"
        "interface Port { [key: string]: Ship; new (a: Ship): Port; (b: Ship): void;\n"
        "  name: string; open: () => void; close(): void }\n"
    )
    assert _names("typescript", source) == [
        "Ship",
        "mast",
        "sail",
        "row",
        "tow",
        "Port",
        "open",
        "close",
    ]


def test_only_assignments_are_module_variables() -> None:
    source = "HULL = 1\nDECK: int\nMAST: int = 2\nHULL += 1\nHULL | DECK\nBOOM == MAST\n"
    assert _names("python", source) == ["HULL", "DECK", "MAST"]
    source = "if a:\n  HULL = 1\nelif b:\n  DECK = 2\nelse:\n  MAST = 3\n  BOOM += 1\n"
    assert _names("python", source) == ["HULL", "MAST"]


def test_a_prototype_is_listed_if_the_definition_is_elsewhere() -> None:
    assert _names("c", "int f(int);\nint g(int);\nint f(int x) { return x; }\n") == ["g", "f"]


def test_the_language_of_a_header_is_detected_by_its_content() -> None:
    cpp = b"#pragma once\nnamespace a {\nclass B {\n public:\n  void c();\n};\n}\n"
    assert _names("c", cpp, "b.h") == ["a", "B", "c"]
    c = b'#ifdef __cplusplus\nextern "C" {\nclass X {};\n#endif\nint class(int new);\n'
    assert _names("c", c, "b.h")[-1] == "class"
    assert "B" not in _names("c", b"int f(void);\n/* class B { */\n", "b.h")


@each_parsed
def test_every_query_fits_its_grammar(language: Language) -> None:
    grammars.load_reader.__wrapped__(language)


def test_a_missing_grammar_is_reported_and_not_cached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    language = replace(BY_NAME["go"], grammar="tree_sitter_of_nobody")
    found = extract(language, b"package a\nfunc f() {}\n", "a.go")
    assert found == Extract((), "the grammar is not installed (tree_sitter_of_nobody)")
    monkeypatch.setitem(sys.modules, "tree_sitter_of_nobody", import_module("tree_sitter_go"))
    (symbol,) = extract(language, b"package a\nfunc f() {}\n", "a.go").symbols
    assert symbol.name == "f"


def test_an_invalid_query_is_reported_and_not_cached(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    language = replace(BY_NAME["lua"], query="broken")
    (tmp_path / "broken.scm").write_text("(no_such_node) @function")
    monkeypatch.setattr(grammars, "QUERIES", tmp_path)
    found = extract(language, b"function f() end", "a.lua")
    assert found.symbols == ()
    assert found.failed is not None
    assert found.failed.startswith("the query does not fit the grammar (")
    (tmp_path / "broken.scm").write_text("(function_declaration name: (_) @name) @function")
    assert [s.name for s in extract(language, b"function f() end", "a.lua").symbols] == ["f"]


def test_a_slow_parse_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grammars, "SECONDS", 0.3)
    language = replace(BY_NAME["python"], title="for this test")
    with in_time(5):
        found = extract(language, b"is not\n" * 30_000, "a.py")
    assert found.symbols == ()
    assert found.failed is not None
    assert "took longer" in found.failed
    assert [s.name for s in extract(language, b"def f(): pass\n", "a.py").symbols] == ["f"]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Callable[[Language], Language]:
    """Gives each language a time limit of its own, so that no test waits for the usual one."""
    monkeypatch.setattr(grammars, "SECONDS", 0.2)
    return lambda language: replace(language, title="impatient")


@each_readable
@pytest.mark.parametrize("opening", ["(", "[", "{", "<", "a(", "a{", "f(){", '"', "/*", "if a "])
def test_deep_nesting_neither_crashes_nor_hangs(
    language: Language, opening: str, impatient: Callable[[Language], Language]
) -> None:
    closing = {"(": ")", "[": "]", "{": "}", "<": ">"}.get(opening[-1], opening[-1])
    with in_time(2):
        extract(impatient(language), (opening * 10_000 + closing * 10_000).encode(), "file")
        extract(impatient(language), (opening * 10_000).encode(), "file")


@pytest.mark.parametrize("language", OUTLINED)
def test_many_definitions_take_no_time(language: str) -> None:
    units = ("\nint f(\n", "\nvoid f(a,", "\n(defun a", "\nlet a", "\nfn a(", "\n  function a\n")
    with in_time(3):
        for unit in units:
            extract(BY_NAME[language], (unit * (100_000 // len(unit))).encode(), "file")


def test_nested_classes_are_listed_to_some_depth() -> None:
    source = "".join(f"{' ' * depth}class A{depth}:\n" for depth in range(100))
    assert _names("python", source)[:3] == ["A0", "A1", "A2"]
    source = "function f() {" * 10_000 + "}" * 10_000
    assert _names("javascript", source) == ["f"]


@pytest.mark.parametrize("junk", [b"\0" * 50_000, b"\xff" * 50_000, b"[" + b"," * 50_000 + b"]"])
@each_parsed
def test_junk_neither_crashes_nor_hangs(
    language: Language, junk: bytes, impatient: Callable[[Language], Language]
) -> None:
    with in_time(2):
        extract(impatient(language), junk, "file")


@each_readable
def test_arbitrary_bytes_never_raise(language: Language) -> None:
    _, sample = _sample(language)
    words = sorted(set(re.findall(rb"\w+|[^\w\s]|\s", sample)))

    @given(st.lists(st.one_of(st.sampled_from(words), st.binary(max_size=4)), max_size=60))
    def check(parts: list[bytes]) -> None:
        found = extract(language, b"".join(parts), "dir/file.name")
        assert isinstance(found, Extract)
        assert all(len(symbol.signature) <= 120 for symbol in found.symbols)

    check()


def test_the_same_bytes_give_the_same_symbols() -> None:
    name, source = _sample(BY_NAME["typescript"])
    assert extract(BY_NAME["typescript"], source, name) == extract(
        BY_NAME["typescript"], source, name
    )


def test_the_time_for_a_file_grows_with_its_size() -> None:
    name, sample = _sample(BY_NAME["python"])
    extract(BY_NAME["python"], b"", name)

    def measure(size: int) -> float:
        """Return the seconds of CPU for a file of this size, at best."""
        source, times = sample * (size // len(sample)), []
        for _ in range(3):
            start = time.process_time()
            assert len(extract(BY_NAME["python"], source, name).symbols) > size // 1000
            times.append(time.process_time() - start)
        return min(times)

    assert measure(240_000) < 8 * measure(60_000)


def test_importing_the_module_loads_no_grammar() -> None:
    code = "import sys, kedge.repomap.symbols; print('tree_sitter' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    ("path", "source", "spans"),
    [
        (
            "a.py",
            "class Ship:\n    def moor(self):\n        pass\n\n    x = 1\n\n\ndef go():\n    go\n",
            {"Ship": (1, 5), "moor": (2, 3), "go": (8, 9)},
        ),
        (
            "a.ml",
            "let moor ship =\n  ship\n\nlet sail () =\n  1\n",
            {"moor": (1, 3), "sail": (4, 5)},
        ),
        (
            "a.sol",
            "contract Port {\n    function moor() {\n    }\n    function go() {\n    }\n}\n"
            "contract Quay {\n}\n",
            {"Port": (1, 6), "moor": (2, 3), "go": (4, 6), "Quay": (7, 8)},
        ),
        (
            "Tide.vue",
            "<script>\nfunction moor() {\n  return 1\n}\n</script>\n<template/>\n",
            {"Tide": (1, 6), "moor": (2, 4)},
        ),
    ],
)
def test_a_definition_has_a_first_and_a_last_line(
    path: str, source: str, spans: dict[str, tuple[int, int]]
) -> None:
    language = language_of(path)
    assert language is not None
    found = {
        one.name: (one.line, one.end) for one in extract(language, source.encode(), path).symbols
    }
    assert {name: found[name] for name in spans} == spans


def test_a_definition_in_a_broken_file_ends_at_its_line_or_later() -> None:
    source = b"class Ship:\n    pass\n\nclass (((:\n  def\n\nclass Port {{{\n"
    for one in extract(BY_NAME["python"], source, "a.py").symbols:
        assert one.end >= one.line

"""Each part of a definition's score decides an order of its own: without that part, its test fails.

The definitions of a test are alike but for one thing. Equal scores are ordered by line, so the
definition that should win comes last.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from repomap.port import fill
from support import Kedge, git

from kedge.repomap import definitions
from kedge.repomap.definitions import Definition, Source, rank_definitions
from kedge.repomap.languages import language_of
from kedge.repomap.symbols import extract
from kedge.text import words

ALIKE = "def moor(ship):\n    return ship\n\n\ndef sail(ship):\n    return ship\n"
CPP = "namespace port {\nint moor() { return 1; }\n}\n"
GETTER = (
    "class Ship:\n    def name(self):\n        return self._name\n\n"
    "    def sail(self, to):\n        self.cast_off()\n        self.steer(to)\n"
    "        self.anchor()\n        return to\n"
)

BOTH = pytest.mark.parametrize("text", ["lanterns", ""], ids=["with a text", "without a text"])


def read(
    text: str,
    path: str = "ship.py",
    *,
    score: float = 1.0,
    place: int = 0,
    changes: Mapping[str, float] | None = None,
) -> Source:
    language = language_of(path)
    assert language is not None
    symbols = extract(language, text.encode(), path).symbols
    return Source(path, score, place, text, symbols, changes or {})


def rank(text: str, *sources: Source) -> list[Definition]:
    return rank_definitions(sources, text, words.weigh_terms(text))


def order(text: str, *sources: Source) -> list[str]:
    return [one.symbol.name for one in rank(text, *sources)]


@BOTH
def test_alike_definitions_are_in_the_order_of_their_lines(text: str) -> None:
    assert order(text, read(ALIKE)) == ["moor", "sail"]


def test_words_of_a_name() -> None:
    code = "def moor(lamp):\n    return lamp\n\n\ndef lamp(ship):\n    return lamp\n"
    assert order("lamps", read(code)) == ["lamp", "moor"]


def test_words_of_a_signature() -> None:
    code = "def moor(ship):\n    lamp = 1\n    return lamp\n\n\n"
    code += "def sail(lamp):\n    ship = 1\n    return lamp\n"
    assert order("lamps", read(code)) == ["sail", "moor"]


def test_words_of_a_body() -> None:
    code = ALIKE.replace("sail(ship):\n    return ship", "sail(ship):\n    return lamp")
    assert order("lamps", read(code)) == ["sail", "moor"]


def test_words_of_the_comment_above_a_definition() -> None:
    code = "def moor(ship):\n    return ship\n\n\n# Light a lamp.\ndef sail(ship): return ship\n"
    assert order("lamps", read(code)) == ["sail", "moor"]


def test_words_of_a_member_do_not_count_for_its_class() -> None:
    code = "class Ship:\n    def moor(self):\n        lamp = 1\n        return lamp\n"
    by_name = {one.symbol.name: one.parts for one in rank("lamps", read(code))}
    assert by_name["moor"][definitions.BODY] > 0
    assert by_name["Ship"][definitions.BODY] == 0


def test_a_word_counts_more_in_a_short_definition() -> None:
    rest = "".join(f"    x{n} = 1\n" for n in range(60))
    code = f"def moor(ship):\n    lamp = 1\n{rest}\n\ndef sail(ship):\n    lamp = 1\n"
    parts = {one.symbol.name: one.parts[definitions.BODY] for one in rank("lamps", read(code))}
    assert parts["sail"] > 1.3 * parts["moor"]


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    code = "def ship(line):\n    return line\n\n\ndef lamp(line):\n    return line\n"
    found = rank_definitions([read(code)], "ship lamp", {"ship": 1.0, "lamp": 3.0})
    assert [one.symbol.name for one in found] == ["lamp", "ship"]


def test_the_exact_name_in_the_text() -> None:
    code = "def moorShip(line):\n    return line\n\n\ndef MoorShip(line):\n    return line\n"
    assert order("MoorShip fails", read(code)) == ["MoorShip", "moorShip"]
    assert order("moor a ship", read(code)) == ["moorShip", "MoorShip"]


def test_a_name_of_one_word_is_not_an_exact_name() -> None:
    (one,) = rank("sail further", read("def sail(): pass\n"))
    assert one.parts[definitions.EXACT] == 0


@BOTH
def test_definitions_of_a_better_file(text: str) -> None:
    worse = read("def moor(ship):\n    return ship\n", "a.py", score=0.5)
    better = read("\n\ndef sail(ship):\n    return ship\n", "b.py", score=1.0)
    assert order(text, worse, better) == ["sail", "moor"]


def test_with_a_text_definitions_of_the_first_file() -> None:
    later = read("def moor(ship):\n    x = 1\n    return x\n", "a.py", place=9)
    first = read("\n\ndef sail(ship):\n    return 1\n", "b.py", place=0)
    assert order("lanterns", later, first) == ["sail", "moor"]


@BOTH
def test_getters_come_after_larger_definitions(text: str) -> None:
    assert order(text, read(GETTER))[0] == "sail"


def test_without_a_text_definitions_that_change_often() -> None:
    assert order("", read(ALIKE, changes={"sail": 3.0})) == ["sail", "moor"]
    assert order("", read(ALIKE, changes={"sail": 3.0, "moor": 9.0})) == ["moor", "sail"]


@BOTH
def test_values_come_after_functions(text: str) -> None:
    assert order(text, read("LINES = 1\ndef moor(): pass\n")) == ["moor", "LINES"]


@BOTH
def test_namespaces_come_after_what_is_in_them(text: str) -> None:
    assert order(text, read(CPP, "ship.cpp")) == ["moor", "port"]


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("def test_sail(): pass\ndef moor(): pass\n", ["moor", "test_sail"]),
        ("def sail_test(): pass\ndef moor(): pass\n", ["moor", "sail_test"]),
        ("def contest(): pass\ndef moor(): pass\n", ["contest", "moor"]),
    ],
)
def test_without_a_text_tests_beside_the_code_come_after_it(code: str, names: list[str]) -> None:
    assert order("", read(code)) == names


def test_definitions_of_one_name_are_one_and_the_best_is_kept() -> None:
    code = (
        "class Pilot {\n  int guide(int ship) { return 1; }\n  int guide(int lamp, int x) {}\n}\n"
    )
    found = rank("the lamp", read(code, "Pilot.java"))
    assert [one.symbol.signature for one in found if one.symbol.name == "guide"] == [
        "int guide(int lamp, int x)"
    ]
    two = "class A:\n    def go(self): pass\n\n\nclass B:\n    def go(self): pass\n"
    assert order("", read(two)).count("go") == 2
    assert order("", read(ALIKE, "a.py"), read(ALIKE, "b.py")).count("moor") == 2


def test_a_score_is_the_weighted_sum_of_its_parts() -> None:
    for text, weights in (("the lamp", definitions.WITH_TEXT), ("", definitions.WITHOUT)):
        found = rank(text, read(GETTER, changes={"sail": 2.0}), read(CPP, "a.cpp", place=1))
        for one in found:
            total = sum(weight * one.parts[name] for name, weight in weights.items())
            assert one.score == pytest.approx(total)
        assert [one.score for one in found] == sorted((o.score for o in found), reverse=True)


@given(st.text(), st.text(st.sampled_from("aİß\n def():#\r\x0c"), max_size=80))
def test_any_text_and_source_can_be_ranked(text: str, code: str) -> None:
    source = read(f"def moor():\n    {code}\n\ndef sail(): pass\n")
    found = rank(text, source)
    assert len(found) == len({(one.symbol.name, one.symbol.parent) for one in found})
    assert found == rank(text, source)


# Through the command


def test_the_definition_about_the_text_is_shown_first(harbour: Path, kedge: Kedge) -> None:
    for text, name in [("the depth at a berth", "depth_at"), ("high water", "high_water")]:
        data = kedge.json("map", "--for", f"{text} in tide.py")
        first = next(one for one in data["symbols"] if one["path"] == "src/harbour/tide.py")
        assert first["name"] == name


def test_the_definition_that_changes_often_is_shown_first(repo: Path, kedge: Kedge) -> None:
    for number in range(4):
        fill(repo, {"ship.py": ALIKE.replace("sail(ship):\n", f"sail(ship):\n    x = {number}\n")})
        git(repo, "add", "-A")
        git(repo, "commit", "--quiet", "-m", "paint")
    fill(repo, {"ship.py": ALIKE})
    assert [one["name"] for one in kedge.json("map")["symbols"]] == ["sail", "moor"]
    git(repo, "config", "remote.origin.promisor", "true")
    plain = kedge.json("map", "--no-cache")["symbols"]
    assert [one["name"] for one in plain] == ["moor", "sail"]

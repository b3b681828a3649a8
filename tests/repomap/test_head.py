"""The head of the map: little text, the best commands, and a tree that covers the code."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from repomap.port import fill
from support import Kedge

from kedge.host import tokens
from kedge.repomap.head import render_head
from kedge.repomap.project.parts import Command, DescribedPath, Module
from kedge.repomap.project.structure import Structure
from kedge.repomap.tree import divide_code

STRUCTURE = Structure(
    stack=(
        "Python ≥3.11 (uv; flask, click, attrs, rich)",
        "TypeScript (npm; react 19) in web/",
        "CI: GitHub Actions",
    ),
    commands=(
        Command("install", "uv sync", "pyproject.toml"),
        Command("test", "uv run pytest", "pyproject.toml"),
        Command("lint", "pre-commit run --all-files", "x"),
        Command("format", "pre-commit run --all-files", "x"),
        Command("typecheck", "uv run mypy", "x"),
        Command("test", "uv run tox", "tox.ini"),
    ),
    entry_points=(DescribedPath("harbour/cli.py", "console script"),),
    key_files=(DescribedPath("README.md", "overview"),),
    modules=(
        Module("harbour", 100, "addons, proxy, tools"),
        Module("harbour/proxy", 30, "The core (a server) of it"),
        Module("web", 60, "React front end"),
    ),
    conventions=("tests: test_*.py in test/",),
)


def spread(**counts: int) -> dict[str, float]:
    """Files of equal weight, by directory; `__` separates directories."""
    return {
        f"{name.replace('__', '/')}/f{n}.py": 1.0
        for name, count in counts.items()
        for n in range(count)
    }


CODE = spread(harbour=4, harbour__addons=40, harbour__proxy=30, harbour__tools=26) | spread(
    web=60, test=70, release=1
)


def head(weights: dict[str, float], budget: int = 1500, structure: Structure = STRUCTURE) -> str:
    return "\n".join(render_head(structure, divide_code(weights), budget))


def test_a_head_reads_well() -> None:
    assert head(CODE).split("\n") == [
        "Python ≥3.11 (uv; flask, click, attrs), TypeScript (npm; react 19) in web/"
        " · test `uv run pytest` · lint `pre-commit run --all-files` · types `uv run mypy`"
        " · install `uv sync` · starts in harbour/cli.py",
        "harbour/ (100 files): addons/ (40) · proxy/ The core of it (30) · tools/ (26)",
        "test/ (70) · web/ React front end (60) · 1 more",
    ]


def test_there_is_one_command_per_kind_and_two_in_a_large_map() -> None:
    assert "tox" not in head(CODE)
    large = head(CODE, 4000)
    assert "test `uv run pytest` or `uv run tox`" in large
    assert large.count("pre-commit") == 1
    for words in ("- entry: harbour/cli.py", "- key files: README.md", "- tests: ", "rich"):
        assert words in large
        assert words not in head(CODE)


def test_a_large_part_is_never_missing() -> None:
    weights = spread(**{f"p{n}": 5 for n in range(16)}, tiny=1)
    text = head(weights)
    assert [name for name in (f"p{n}/" for n in range(16)) if name not in text] == []
    assert "tiny" not in text
    assert text.endswith(" · 1 more")


def test_a_part_that_only_matters_to_the_ranking_is_listed() -> None:
    weights = spread(core=99) | {"tides/a.py": 5.0}
    assert "tides/ (1)" in head(weights)
    assert "tides" not in head(weights | {"tides/a.py": 0.1})


def test_a_part_with_most_of_the_code_is_opened_several_levels_deep() -> None:
    weights = spread(src__a__one=30, src__a__two=30, src__b=8, docs=3)
    assert head(weights, structure=Structure()).split("\n") == [
        "src/ (68 files): b/ (8)",
        "src/a/ (60): one/ (30) · two/ (30)",
        "docs/ (3)",
    ]


def test_the_largest_part_comes_first_also_if_it_is_not_opened() -> None:
    weights = spread(src=90, utils__a=6, utils__b=6)
    assert head(weights, structure=Structure()).split("\n") == [
        "src/ (90 files)",
        "utils/ (12): a/ (6) · b/ (6)",
    ]


def test_a_part_that_nothing_describes_is_opened_before_others_are_described() -> None:
    code = spread(**{f"p{n}": 20 for n in range(7)}, src__a=20, src__b=20)
    modules = tuple(Module(f"p{n}", 20, f"Words on the purpose of {n}") for n in range(7))
    text = head(code, 500, Structure(modules=modules))
    assert "src/ (40 files): a/ (20) · b/ (20)" in text
    assert "p6/ (20)" in text


def test_a_part_with_most_of_the_code_is_opened_before_anything_is_described() -> None:
    code = spread(**{f"p{n}": 4 for n in range(5)}, **{f"core__inner{n}": 20 for n in range(4)})
    names = ["core", *(f"p{n}" for n in range(5))]
    what = "Words and more words on the purpose of it all"
    structure = Structure(modules=tuple(Module(name, 1, what) for name in names))
    assert "inner0/ (20) · inner1/ (20) · inner2/ (20)" in head(code, 500, structure)


def test_directories_with_one_large_part_are_opened_together() -> None:
    weights = spread(lib=1, lib__plug=10, lib__plug__conn=8, lib__plug__parsers=6)
    assert head(weights, structure=Structure()) == "lib/plug/ (24 files): conn/ (8) · parsers/ (6)"


def test_a_part_that_opening_does_not_explain_stays_closed() -> None:
    weights = spread(src=90, src__modules=5, src__more=4)
    assert head(weights, structure=Structure()) == "src/ (99 files)"


def test_files_at_the_root_are_a_part() -> None:
    weights = {f"f{n}.go": 1.0 for n in range(5)} | spread(cmd=5)
    assert head(weights, structure=Structure()) == "cmd/ (5 files) · ./ (5)"


def test_a_single_file_is_not_called_files() -> None:
    assert head(spread(src=1), structure=Structure()) == "src/ (1 file)"


def test_tests_are_listed_but_not_opened_before_the_code() -> None:
    weights = spread(tests__a=300, tests__b=300, src__x=40, src__y=40)
    assert "src/ (80 files): x/ (40) · y/ (40)\ntests/ (600)" in head(weights, 500, Structure())


def test_code_is_opened_beside_many_more_tests() -> None:
    weights = spread(pkg__tests=900, pkg__src__client=60, pkg__src__server=40, docs=2)
    lines = head(weights, structure=Structure()).splitlines()
    assert lines[:2] == [
        "pkg/ (1000 files): tests/ (900)",
        "pkg/src/ (100): client/ (60) · server/ (40)",
    ]


@pytest.mark.parametrize(("budget", "most"), [(500, 90), (1500, 230), (4000, 600)])
def test_the_head_costs_little(budget: int, most: int) -> None:
    weights = spread(
        **{f"part{a}__inner{b}__deep{c}": 4 for a in range(9) for b in range(6) for c in range(5)}
    )
    modules = tuple(Module(f"part{n}", 1, f"What part {n} is for, in words") for n in range(9))
    structure = Structure(STRUCTURE.stack, STRUCTURE.commands, modules=modules)
    used = tokens.count(head(weights, budget, structure) + "\n")
    assert 0.7 * most < used <= most


def test_no_structure_and_no_code_need_no_head() -> None:
    assert render_head(Structure(), divide_code({}), 1500) == []


names = st.lists(st.sampled_from(["a", "b", "src", "tests"]), min_size=1, max_size=5).map("/".join)


@given(st.dictionaries(names, st.floats(0, 4), max_size=60), st.integers(100, 8000))
def test_any_head_fits(weights: dict[str, float], budget: int) -> None:
    assert tokens.count(head(weights, budget) + "\n") <= 0.15 * budget + 15


def test_the_map_begins_with_the_head(harbour: Path, kedge: Kedge) -> None:
    fill(harbour, {f"web/page_{n}.ts": "export const x = 1\n" for n in range(5)})
    lines = kedge("map", "--output", "-").out.splitlines()
    assert lines[0] == "# Map of the code"
    assert lines[1].startswith("Python ≥3.11")
    assert "test `pytest`" in lines[1]
    assert "src/harbour/ Berths and boats" in lines[2]
    assert "web/ (5)" in lines[2]

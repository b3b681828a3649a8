"""Path patterns, case by case; `test_globs_and_git.py` compares them with git."""

from __future__ import annotations

import pytest
from support import in_time

from kedge.errors import InvalidValue
from kedge.text.globs import MOST_CHOICES, Glob, expand_braces, is_glob, literal_prefix


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*.py", "src/deep/a.py", True),
        ("/*.py", "src/a.py", False),
        ("src/*.py", "src/deep/a.py", False),
        ("src/**/*.py", "src/a.py", True),
        ("src/**", "src", False),
        ("src/**", "src/a/b", True),
        ("docs", "a/docs/b.md", True),
        ("a/docs", "a/docs/b.md", True),
        ("a/docs", "b/a/docs", False),
        ("docs/", "docs", False),
        ("docs/", "a/docs/b.md", True),
        ("[[]x]", "[x]", True),
        ("pages/[id].tsx", "pages/[id].tsx", True),
        ("pages/[id].tsx", "pages/i.tsx", True),
        ("[a", "[a", True),
        ("?", "é", True),
        ("a/*/c", "a/b\nb/c", True),
        ("\\*.py", "*.py", True),
        ("\\*.py", "a.py", False),
        ("a\\b*", "abc", True),
        ("\\a", "a", True),
        ("a\\", "a", False),
        ("a\\", "a\\", True),
        ("a*b*c", "aXbYc", True),
        ("a*b*c", "aXc", False),
        ("a*b*b*c", "aXbYc", False),
        ("**a", "bca", True),
        ("[a-c]x", "bx", True),
        ("[a-c]x", "dx", False),
        ("[a-a]x", "ax", True),
        ("[c-a]x", "bx", False),
        ("[!c-a]x", "bx", True),
        ("[!ab]x", "cx", True),
        ("[!ab]x", "ax", False),
        ("[^ab]x", "ax", False),
        ("[]a]x", "]x", True),
        ("[a-]x", "-x", True),
        ("[-a]x", "-x", True),
        ("[a-b-d]x", "-x", True),
        ("[a-b-d]x", "cx", False),
        ("[\\]]x", "]x", True),
        ("[a-\\c]x", "bx", True),
        ("[abc", "a", False),
    ],
)
def test_a_pattern_matches_a_path_or_a_directory_above_it(
    pattern: str, path: str, matches: bool
) -> None:
    assert Glob(pattern).matches(path) is matches


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("src/*", "src/a", True),
        ("src/*", "src/a/b", False),
        ("src/**", "src/a/b", True),
        ("/src/**/go.mod", "src/go.mod", True),
        ("/src/**/go.mod", "src/a/b/go.mod", True),
        ("src/", "src", False),
    ],
)
def test_an_exact_match_does_not_cover_what_is_below(
    pattern: str, path: str, matches: bool
) -> None:
    assert Glob(pattern).matches_exactly(path) is matches


def test_braces_stand_for_each_choice() -> None:
    assert sorted(expand_braces("{a,b/{c,d}}.ts")) == ["a.ts", "b/c.ts", "b/d.ts"]
    assert expand_braces("{a}") == ["{a}"]
    with pytest.raises(InvalidValue, match=f"more than {MOST_CHOICES} patterns"):
        expand_braces("{a,b}" * 30)


def test_braces_may_expand_to_64_patterns() -> None:
    letters = [f"a{n}" for n in range(65)]
    assert sorted(expand_braces(f"{{{','.join(letters[:64])}}}")) == sorted(letters[:64])
    assert len(expand_braces("{a,b}" * 6)) == 64
    with pytest.raises(InvalidValue):
        expand_braces(f"{{{','.join(letters)}}}")


@pytest.mark.parametrize(
    ("pattern", "fixed"),
    [("src/app/*.py", "src/app"), ("*.py", ""), ("src/app.py", "src/app.py"), ("a/[b]/c", "a")],
)
def test_the_directory_that_a_pattern_begins_with(pattern: str, fixed: str) -> None:
    assert literal_prefix(pattern) == fixed
    assert is_glob(pattern) is (fixed != pattern)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 40 + "b", "a" * 4000),
        ("**/" * 40 + "b", "/".join("a" * 400)),
        ("**/a/" * 20 + "b", "/".join("a" * 400)),
        ("[!b]*" * 40 + "b", "a" * 4000),
    ],
)
def test_no_pattern_makes_matching_slow(pattern: str, path: str) -> None:
    with in_time(1):
        assert not Glob(pattern).matches(path)

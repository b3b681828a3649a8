"""Path patterns, compared with git's own reading of `.gitignore`."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import git, in_time

from kedge.errors import InvalidValue
from kedge.text.globs import MOST_CHOICES, Glob, expand_braces, is_glob, literal_prefix

_SIGNS = ["a", "b", "ab", ".", "-", "]", "*", "?", "\\a", "\\*", "\\["]
_CLASSES = ["[a]", "[!a]", "[^a]", "[a-b]", "[b-a]", "[]a]", "[!]a]", "[-a]", "[a-]", "[\\]]", "["]
_WHOLE = re.compile(r"\\.|\[[!^]?(?:\\.|[^\\])(?:\\.|[^\]\\])*\]")  # an escape or a class
parts = (
    st.lists(st.sampled_from([*_SIGNS, *_CLASSES]), min_size=1, max_size=5)
    .map("".join)
    .filter(lambda part: "[" not in _WHOLE.sub("", part))  # kedge takes an open one literally
    .filter(lambda part: "**" not in part)  # git reads `a**/b` as `a/**/b`, against its manual
)
patterns = st.tuples(
    st.sampled_from(["", "", "/", "**/"]),
    st.lists(st.one_of(parts, st.just("**")), min_size=1, max_size=4).map("/".join),
    st.sampled_from(["", "", "/", "/**"]),
).map("".join)
# No name of a path looks like a pattern: kedge would take that literally.
names = st.text(alphabet="ab.-]", min_size=1, max_size=3).filter(lambda name: name.strip("."))
paths = st.lists(names, min_size=1, max_size=4).map("/".join)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("globs")
    git(root, "init", "-q")
    return root


def ask_git(root: Path, patterns: list[str], paths: list[str]) -> set[tuple[str, str]]:
    """Return the pairs that git matches, from one process: a directory for each pattern."""
    asked = {}
    for number, pattern in enumerate(patterns):
        folder = root / f"d{number}"
        folder.mkdir(exist_ok=True)
        (folder / ".gitignore").write_text(f"{pattern}\n")
        asked.update({f"d{number}/{path}": (pattern, path) for path in paths})
    done = subprocess.run(
        ["git", "check-ignore", "--no-index", "-z", "--stdin"],
        cwd=root,
        input="\0".join(asked).encode(),
        capture_output=True,
        timeout=60,
    )
    assert done.returncode in (0, 1), done.stderr
    return {asked[path] for path in done.stdout.decode().split("\0") if path}


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
        ("a*b*c", "aXcYb", False),
        ("**a", "bca", True),
        ("[a-c]x", "bx", True),
        ("[a-c]x", "dx", False),
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


@settings(max_examples=60, deadline=None)
@given(
    st.lists(patterns, min_size=10, max_size=40, unique=True),
    st.lists(paths, min_size=10, max_size=40, unique=True),
)
def test_patterns_match_what_git_matches(
    repository: Path, patterns: list[str], paths: list[str]
) -> None:
    have = {(one, path) for one in patterns for path in paths if Glob(one).matches(path)}
    assert have == ask_git(repository, patterns, paths)

"""Path patterns, compared with git's own reading of `.gitignore`."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import git

from kedge.text.globs import Glob

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

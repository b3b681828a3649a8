"""Scopes: every form of entry and the paths it matches, none outside the repository."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support import in_time

from kedge.errors import ConfigError, FileError, InvalidValue, KedgeError
from kedge.handoff.scope.scopes import ScopePaths, expand, find_vanished, make_matcher
from kedge.host.project import Project


@pytest.fixture
def project(repo: Path) -> Project:
    (repo / "src" / "my code").mkdir(parents=True)
    (repo / "src" / "app.py").touch()
    (repo / "My docs").mkdir()
    return Project(repo, None)


def _macros(project: Project, text: str, name: str = ".kedge/scopes.toml") -> None:
    path = project.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("entries", "inside", "outside"),
    [
        (["src/app.py"], ["src/app.py"], ["src/app.pyc", "app.py", "x/src/app.py", "SRC/app.py"]),
        (["src/"], ["src/a", "src/a/b/c.py", "src/.x"], ["srcs/a", "x/src/a", "Src/a"]),
        (["src"], ["src", "src/a"], ["src2"]),
        (["README.md"], ["README.md"], ["docs/README.md"]),
        (["*.md"], ["a.md", "docs/x/b.md", ".md"], ["a.mdx", "a/md"]),
        (["src/*.py"], ["src/a.py"], ["src/x/a.py", "a.py"]),
        (["src/**/*.py"], ["src/a.py", "src/x/a.py", "src/x/y/a.py"], ["a.py", "src/a.pyi"]),
        (["**/test_*.py"], ["test_a.py", "x/y/test_b.py"], ["xtest_a.py"]),
        (["src/**"], ["src/a", "src/a/b"], ["src", "srcx"]),
        (["a/**/b"], ["a/b", "a/x/b", "a/x/y/b/c"], ["a/bb", "b"]),
        (["packages/*/src"], ["packages/a/src/x.ts", "packages/a/src"], ["packages/src/x.ts"]),
        (["*.{ts,tsx}"], ["a.ts", "x/b.tsx"], ["a.js", "a.{ts,tsx}x"]),
        (["{a,b{1,2}}/x"], ["a/x", "b1/x", "b2/x"], ["b/x", "c/x"]),
        (["app/[id]/page.tsx"], ["app/[id]/page.tsx", "app/i/page.tsx"], ["app/x/page.tsx"]),
        (["app/[id]/*.tsx"], ["app/[id]/a.tsx", "app/d/a.tsx"], ["app/id/a.tsx"]),
        (["v[0-9].txt", "w[!a].txt"], ["v1.txt", "wb.txt"], ["vx.txt", "wa.txt"]),
        (["w[^a].txt"], ["wb.txt"], ["wa.txt"]),
        (["a?c"], ["abc"], ["ac", "a/c", "abbc"]),
        (["src/", "!src/gen/**"], ["src/a", "src/gen"], ["src/gen/x", "src/gen/y/z"]),
        (["!src/gen/", "src/gen/keep.py"], [], ["src/gen/keep.py", "src/x"]),
        (["!docs/"], ["src/a", "x"], ["docs", "docs/a"]),
        (["src/", "!*.lock"], ["src/a"], ["src/a.lock", "src/x/b.lock"]),
        (["."], ["a", "a/b"], []),
        (["./src//x/./y"], ["src/x/y"], ["y"]),
        (["`src/app.py`", "./My notes/"], ["src/app.py", "My notes/x"], ["My"]),
        (["My docs/", "src/my code/**"], ["My docs/a", "src/my code/a b"], ["src/mycode/a"]),
        ([], [], ["a"]),
        (["the login form"], [], ["the login form", "the"]),
    ],
)
def test_entries_and_the_paths_they_match(
    project: Project, entries: list[str], inside: list[str], outside: list[str]
) -> None:
    in_scope = make_matcher(expand(project, entries).paths)
    assert [path for path in inside if not in_scope(path)] == []
    assert [path for path in outside if in_scope(path)] == []
    backwards = make_matcher(expand(project, entries[::-1]).paths)
    assert all(backwards(path) == in_scope(path) for path in inside + outside)


def test_prose_is_not_a_path(project: Project) -> None:
    entries = ["the login form", "fix src/app.py", "e.g. this", "src/my code/x", "docs/new file.md"]
    assert expand(project, [*entries, " ", "src/app.py "]) == ScopePaths(
        paths=("src/app.py", "src/my code/x"),
        prose=("docs/new file.md", "e.g. this", "fix src/app.py", "the login form"),
    )


@pytest.mark.parametrize("entry", ["``a b`", "`a` or `b`", "a\0 b", "x" * 300 + " y"])
def test_what_cannot_be_a_path_with_a_space_is_prose(project: Project, entry: str) -> None:
    assert expand(project, [entry]) == ScopePaths(prose=(entry,))


def test_macros_expand_to_their_entries(project: Project) -> None:
    _macros(project, 'ui = ["mobile/ui/", ":theme", "!mobile/ui/gen/**"]\ntheme = "theme/*.css"\n')
    found = expand(project, [":ui", "docs/", ":unheard-of"])
    assert found == ScopePaths(
        paths=("!mobile/ui/gen/**", "docs/", "mobile/ui/", "theme/*.css"),
        unknown=(":unheard-of",),
        sources=(".kedge/scopes.toml",),
    )
    assert expand(project, ["docs/"]).sources == ()


def test_macros_are_read_from_scope_globs_json(project: Project) -> None:
    name = "docs/templates/scope-globs.json"
    _macros(
        project, json.dumps({"ui": ["ui/**"], ":api": ["api/**"], "both": [":ui", ":api"]}), name
    )
    assert expand(project, [":both"]).paths == ("api/**", "ui/**")
    _macros(project, 'ui = ["mobile/**"]\n')
    found = expand(project, [":both"])
    assert found.paths == ("api/**", "mobile/**")
    assert found.sources == (".kedge/scopes.toml", name)


def test_a_macro_can_be_an_exception(project: Project) -> None:
    _macros(project, 'gen = ["gen/", ":deep"]\ndeep = ["x/deep/**"]\nodd = ["a/", "!a/b"]\n')
    assert expand(project, ["x/", "!:gen"]).paths == ("!gen/", "!x/deep/**", "x/")
    with pytest.raises(InvalidValue, match="exception to an exception"):
        expand(project, ["!:odd"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('a = [":a"]\n', "scope :a contains itself: :a → :a"),
        ('a = [":b"]\nb = [":c"]\nc = ["x", ":b"]\n', "contains itself"),
        ('a = [":b"]\nb = ["!:a"]\n', "contains itself"),
    ],
)
def test_a_macro_that_contains_itself_is_refused(project: Project, text: str, says: str) -> None:
    _macros(project, text)
    with pytest.raises(InvalidValue) as caught:
        expand(project, [":a"])
    assert says in caught.value.message
    assert caught.value.hint


def test_long_chains_of_macros(project: Project) -> None:
    """Each macro is followed once, and one that is nested very deep is refused."""
    chain = "".join(f'n{n} = [":n{n + 1}", ":n{n + 1}", "!:m"]\n' for n in range(20_000))
    _macros(project, chain + 'm = ["gen/"]\nn20000 = ["end/"]\n')
    with in_time(20):
        assert expand(project, [":n19960"]).paths == ("!gen/", "end/")
        with pytest.raises(InvalidValue, match="nested more than 50 levels") as caught:
            expand(project, [":n0"])
        assert len(caught.value.message) < 200


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        (".kedge/scopes.toml", "ui = [\n", ".kedge/scopes.toml:"),
        (".kedge/scopes.toml", "ui = 3\n", "ui must be a list"),
        (".kedge/scopes.toml", "[scopes]\nui = []\n", "scopes must be a list"),
        (".kedge/scopes.toml", '"a b" = ["x"]\n', "is not a valid name"),
        ("docs/templates/scope-globs.json", "{\n]", "scope-globs.json:2: this is not JSON"),
        ("docs/templates/scope-globs.json", "[]", "is not a JSON object"),
        ("docs/templates/scope-globs.json", "[" * 100_000, "this is not JSON"),
    ],
)
def test_invalid_macro_files_are_refused(project: Project, name: str, text: str, says: str) -> None:
    _macros(project, text, name)
    with pytest.raises(ConfigError) as caught:
        expand(project, [":ui"])
    assert says in caught.value.message
    assert caught.value.hint


def test_a_macro_file_that_is_not_utf_8_is_refused(project: Project) -> None:
    _macros(project, "")
    (project.root / ".kedge/scopes.toml").write_bytes(b'# \xe9\nui = ["x"]\n')
    with pytest.raises(ConfigError, match=r"scopes\.toml:1: it is not UTF-8"):
        expand(project, [":ui"])


@pytest.mark.parametrize(
    "entry",
    ["../x", "a/../../x", "src/..", "/etc/passwd", "/my file", "../my file", "a\0b", "!../x",
     "!/etc", "`/etc`", "out/", "out/x/**", "!out", "x" * 1001],
)  # fmt: skip
def test_no_entry_leaves_the_repository(project: Project, tmp_path: Path, entry: str) -> None:
    (project.root / "out").symlink_to(tmp_path)
    for entries in ([entry], [":m"]):
        _macros(project, json.dumps({"m": [entry]}), "docs/templates/scope-globs.json")
        with pytest.raises((InvalidValue, FileError)) as caught:
            expand(project, entries)
        assert "\n" not in caught.value.message
        assert len(caught.value.message) < 400
        assert caught.value.hint


def test_a_macro_file_outside_the_repository_is_refused(project: Project, tmp_path: Path) -> None:
    (tmp_path / "scopes.toml").write_text('ui = ["x"]\n')
    (project.root / ".kedge").mkdir()
    (project.root / ".kedge/scopes.toml").symlink_to(tmp_path / "scopes.toml")
    with pytest.raises(FileError):
        expand(project, [":ui"])


def test_entries_for_missing_paths_have_vanished(project: Project) -> None:
    (project.root / "dangling").symlink_to("nowhere")
    entries = ["src/app.py", "src/", "src/gone.py", "gone/", "gone/**", "!out.py", "dangling", "."]
    assert find_vanished(project, expand(project, entries).paths) == ("gone/", "src/gone.py")


def test_too_many_entries_are_refused(project: Project) -> None:
    with pytest.raises(InvalidValue, match="5001 entries"):
        expand(project, [f"f{n}" for n in range(5001)])
    assert len(expand(project, [f"f{n}" for n in range(5000)]).paths) == 5000
    with pytest.raises(InvalidValue, match="expands to more than"):
        expand(project, ["{a,b}" * 7])
    assert len(expand(project, ["{a,b}" * 6]).paths) == 1
    assert make_matcher(["{a,b}" * 6])("abbaab")


SEGMENTS = st.sampled_from(
    ["a", "b", "ab", "*", "**", "a*", "*b", "?", "a?b", "[ab]", "[!a]", "a**b"]
)
PATTERNS = st.lists(SEGMENTS, min_size=1, max_size=5).map("/".join)
NAMES = st.lists(st.text(alphabet="abc.", min_size=1, max_size=4), min_size=1, max_size=5).filter(
    lambda parts: not {".", ".."} & {*parts}
)


def _slowly(pattern: list[str], parts: list[str]) -> bool:
    """Match by brute force: the pattern against the path and each directory above it."""
    if not pattern:
        return True
    if pattern[0] == "**":
        if pattern == ["**"]:
            return bool(parts)
        return _slowly(pattern[1:], parts) or bool(parts and _slowly(pattern, parts[1:]))
    return bool(parts) and _fits(pattern[0], parts[0]) and _slowly(pattern[1:], parts[1:])


def _fits(pattern: str, name: str) -> bool:
    if not pattern:
        return not name
    if pattern[0] == "*":
        return any(_fits(pattern[1:], name[start:]) for start in range(len(name) + 1))
    if pattern[0] == "[":
        inside, _, rest = pattern[1:].partition("]")
        wanted = name[:1] not in inside[1:] if inside[0] == "!" else name[:1] in inside
        return bool(name) and wanted and _fits(rest, name[1:])
    return bool(name) and pattern[0] in ("?", name[0]) and _fits(pattern[1:], name[1:])


def _git_pattern(pattern: str) -> list[str]:
    parts = pattern.split("/")
    return ["**", *parts] if len(parts) == 1 and re.search(r"[*?\[]", pattern) else parts


@settings(max_examples=500)
@given(st.lists(PATTERNS, max_size=3), st.lists(PATTERNS, max_size=2), st.lists(NAMES, max_size=8))
@example(["a/**/b/**/ab"], [], [["a", "b", "a", "b", "ab"]])
def test_the_matcher_agrees_with_a_brute_force_matcher(
    wanted: list[str], refused: list[str], names: list[list[str]]
) -> None:
    in_scope = make_matcher([*wanted, *(f"!{pattern}" for pattern in refused)])
    for parts in names:
        yes = any(_slowly(_git_pattern(pattern), parts) for pattern in wanted)
        no = any(_slowly(_git_pattern(pattern), parts) for pattern in refused)
        assert in_scope("/".join(parts)) == ((yes or (not wanted and bool(refused))) and not no)


@settings(max_examples=60)
@given(PATTERNS.filter(lambda pattern: re.search(r"[*?\[]", pattern)), st.lists(NAMES, min_size=1))
def test_patterns_mean_what_they_mean_to_git(
    repo: Path, pattern: str, names: list[list[str]]
) -> None:
    paths = ["/".join(parts) for parts in names]
    (repo / ".gitignore").write_text(pattern + "\n")
    done = subprocess.run(
        ["git", "check-ignore", "--no-index", "--stdin", "-z"],
        cwd=repo,
        input="\0".join(paths).encode(),
        capture_output=True,
    )
    assert done.returncode in (0, 1), done
    in_scope = make_matcher([pattern])
    assert {path for path in paths if in_scope(path)} == {*done.stdout.decode().split("\0")} - {""}


@given(st.text(max_size=40), st.text(max_size=40))
@example("[[a-]", "x")
@example("[a--b]", "x")
@example("[!]", "!")
def test_any_entry_is_used_or_refused(project: Project, entry: str, path: str) -> None:
    try:
        found = expand(project, [entry])
    except KedgeError as error:
        assert "\n" not in error.message
        return
    in_scope = make_matcher(found.paths)
    assert in_scope(path) in (True, False)
    find_vanished(project, found.paths)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 400 + "b", "a" * 250),
        ("**/" * 300 + "x", "/".join("a" * 1000)),
        ("**/a/" * 199 + "x", "/".join("a" * 1000)),
        ("a*" * 400 + "/" + "b", "a" * 4000),
        ("*" * 900 + "x", "a" * 4000),
        ("?*" * 400 + "x", "a" * 4000),
        ("[a]*" * 200 + "x", "a" * 4000),
        ("src", "/".join(["d"] * 50_000)),
        ("{" * 500, "a" * 1000),
        ("{" + "," * 900, "a" * 1000),
    ],
    ids=range(10),
)
def test_hostile_patterns_take_bounded_time(project: Project, pattern: str, path: str) -> None:
    with in_time(5):
        in_scope = make_matcher(expand(project, [pattern]).paths)
        assert not in_scope(path)


def test_many_paths_and_entries_take_bounded_time(project: Project) -> None:
    paths = [f"src/mod{n % 50}/part{n % 7}/file{n}.py" for n in range(40_000)]
    entries = [*(f"src/mod{n}/**/*.py" for n in range(10)), "docs/", "*.md", "!src/mod3/part1/"]
    with in_time(10):
        in_scope = make_matcher(expand(project, entries).paths)
        assert sum(map(in_scope, paths)) == sum(
            re.match(r"src/mod\d/", path) is not None and not path.startswith("src/mod3/part1/")
            for path in paths
        )

"""Plain command lines are read without click, and say just what click says."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import Kedge

from kedge.cli import clicked, commands, reading, syntax
from kedge.cli.edge import Edge
from kedge.cli.map import tokens_or_auto
from kedge.errors import UsageError

FLAGS = ("json", "quiet", "verbose")
Declared = syntax.Option | syntax.Argument


def tree() -> Iterator[tuple[tuple[str, ...], list[syntax.Group], syntax.Command]]:
    """Every command there is, by its words, with the groups that it is in."""
    for name in commands.root.names():
        found = commands.root.find(name)
        if isinstance(found, syntax.Command):
            yield (name,), [commands.root], found
        elif found is not None:
            for below in found.names():
                leaf = found.find(below)
                assert isinstance(leaf, syntax.Command)
                yield (name, below), [commands.root, found], leaf


TREE = {" ".join(path): (path, groups, command) for path, groups, command in tree()}


@pytest.fixture(autouse=True)
def _somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")


def by_click(argv: list[str]) -> tuple[Any, ...] | str | None:
    """What click makes of a line; what it says against it; or None for help."""
    edge = Edge(json=False)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            call = clicked.read(edge, argv)
    except UsageError as error:
        return error.message
    return seen(edge, call) if isinstance(call, reading.Call) else None


def by_us(argv: list[str]) -> tuple[Any, ...] | str | None:
    """What a plain line asks for; what is said against it; or None for a line that is not plain."""
    call = reading.read(commands.root, argv)
    if call is None:
        return None
    edge = Edge(json=False)
    try:
        edge.enter(call.above, call.everywhere)
    except UsageError as error:
        return error.message
    return seen(edge, call)


def agreed(argv: list[str]) -> bool:
    """Whether the line is left to click, or asks for what click says it does."""
    ours = by_us(argv)
    return ours is None or ours == by_click(argv)


def seen(edge: Edge, call: reading.Call) -> tuple[Any, ...]:
    """All that a command's function could tell; in words, which tell 1 from True."""
    flags = [getattr(edge, name) for name in FLAGS]
    given = sorted((name, repr(value)) for name, value in call.given.items())
    return call.command, given, repr(edge.given), edge.directory, flags


def right(of: syntax.Type) -> list[str]:
    match of:
        case syntax.Choice():
            return [*of.words, *([] if of.case_sensitive else [of.words[0].lower()])]
        case syntax.IntRange():
            return [str(of.least), f" {of.least + 1} ", f"+{of.most or 10_000}"]
        case syntax.FloatAbove():
            return ["1", "0.5", "1e3", "inf", "1_0"]
        case syntax.Path():
            return ["folder", "."]
    if of is int:
        return ["0", "-7"]
    return ["100", "auto"] if of is tokens_or_auto else ["a=b c", "--json"]


def wrong(of: syntax.Type) -> list[str]:
    """What is none for most types, and what is just not one; of texts, the oddest."""
    if of is str:
        return ["", "-"]
    tried = ["", "-", "--", "-5", "0", "1_000", "x", "nan", "²", "9" * 5000]
    if isinstance(of, syntax.IntRange):
        tried += [str(of.least - 1), str((of.most or 0) + 1)]
    return [*tried, "file", "loop", "nowhere/x", "n" * 300]


def values(of: syntax.Type) -> st.SearchStrategy[str]:
    data = st.text(max_size=8).map(str.encode) | st.binary(max_size=8)
    text = data.map(lambda found: os.fsdecode(found.replace(b"\0", b"")))
    return st.sampled_from(right(of)) | st.sampled_from(wrong(of)) | text


def said(one: Declared) -> st.SearchStrategy[list[str]]:
    """One way to say it, right or wrong."""
    if isinstance(one, syntax.Argument):
        return values(one.type).map(lambda value: [value])
    word = st.sampled_from(one.spellings)
    alone = word.map(lambda w: [w])
    value = values(one.type)
    joined = st.builds(lambda w, v: [f"{w}={v}"], word, value)
    attached = st.builds(lambda w, v: [w + v], word, value)
    if not one.takes_value:
        return alone | alone | joined | attached
    return st.builds(lambda w, v: [w, v], word, value) | joined | attached | alone


ODD = st.sampled_from(
    [["--"], ["-"], [""], ["-x"], ["-qv"], ["-h"], ["--help"], ["--version"], ["--bogus"], ["more"]]
)


@st.composite
def lines(draw: st.DrawFn) -> list[str]:
    path, groups, command = draw(st.sampled_from(list(TREE.values())))
    argv: list[str] = []
    for group, word in zip(groups, path, strict=True):
        takes = st.sampled_from([*group.takes, *syntax.EVERYWHERE]).flatmap(said)
        for part in draw(st.lists(takes | takes | ODD, max_size=1)):
            argv += part
        argv.append(word)
    needed = [one for one in command.takes if one.required or draw(st.integers(0, 3)) == 0]
    parts = [draw(said(one)) for one in needed]
    every = st.sampled_from([*command.takes, *syntax.EVERYWHERE]).flatmap(said)
    parts += draw(st.lists(every | ODD, max_size=2))
    return [*argv, *(word for part in draw(st.permutations(parts)) for word in part)]


@settings(max_examples=300)
@given(lines())
def test_a_line_that_is_read_says_what_click_says(argv: list[str]) -> None:
    assert agreed(argv)


@pytest.mark.parametrize("name", TREE)
def test_every_right_way_to_say_what_a_command_takes_is_plain(name: str) -> None:
    for argv in said_in_turn(*TREE[name], right):
        ours = by_us(argv)
        assert ours is not None, argv
        assert ours == by_click(argv)


@pytest.mark.parametrize("name", TREE)
def test_no_wrong_value_is_taken_for_a_right_one(name: str) -> None:
    for argv in said_in_turn(*TREE[name], wrong):
        assert agreed(argv), argv


def said_in_turn(
    path: tuple[str, ...],
    groups: list[syntax.Group],
    command: syntax.Command,
    tried: Callable[[syntax.Type], list[str]],
) -> Iterator[list[str]]:
    """Each option and each argument with each value, among what cannot be left out."""

    def needed(but: Declared | None = None) -> list[str]:
        found = [one for one in command.takes if one.required and one is not but]
        return [word for one in found for word in first(one)]

    def first(one: Declared) -> list[str]:
        value = right(one.type)[0]
        return [value] if isinstance(one, syntax.Argument) else [one.spellings[0], value]

    yield [*path, *needed()]
    yield ["-v", "-C", "folder", *path[:1], "--quiet", *path[1:], *needed(), "--json", "-q"]
    for above in groups[-1].takes:
        for value in tried(above.type):
            yield [*path[:-1], above.spellings[0], value, path[-1], *needed()]
    for one in command.takes:
        rest = needed(one)
        if isinstance(one, syntax.Argument):
            for value in tried(one.type):
                yield [*path, *rest, "--", value]
                yield [*path, *rest, value.replace("--json", "-")]
        elif one.is_flag is not False:  # a value that may be left out is for click
            for word in one.spellings:
                if not one.takes_value:
                    yield [*path, word, *rest]
                    continue
                for value in tried(one.type):
                    yield [*path, *rest, word, value]
                    yield [*path, *first(one), *rest, f"{word}={value}"]


LEFT = [
    *("", "task", "-h", "task ready -h", "--json --version", "-qv task ready", "task -- ready"),
    *(
        "-C. task ready",
        "-C=. task ready",
        "task ready --limit",
        "task ready --limit=0",
        "task redy",
        "task show",
    ),
    *("run --resume", "run --resume x", "task ready --jsno", "task ready --json=x"),
    *("task show one two", "task show -1"),
]


@pytest.mark.parametrize("line", LEFT)
def test_what_is_out_of_the_ordinary_is_left_to_click(line: str) -> None:
    assert reading.read(commands.root, line.split()) is None


PLAIN = [
    "--version",
    "task ready",
    "task ready --json --limit 3",
    "-C . --json -q task --backend jsonl list --status open",
    "task show t-1",
    "task update t-1 --label=harbour",
    "map --output -",
    "map --tokens auto",
    "anchor t-1",
    "prompt t-1 --tokens 1000",
    "context show t-1",
    "context list",
    "log show t-1",
    "log read t-1",
    "drift status --all",
    "review list t-1",
    "knowledge list",
    "config show",
    "config path --user",
    "hook claude",
    "update --check",
    "task show nothing",
    "-C nowhere task ready",
]


def test_a_plain_line_never_loads_click(repo: Path, kedge: Kedge) -> None:
    kedge("task", "add", "Moor", "--id", "t-1", "--description", "d", "--accept", "it is moored")
    kedge("context", "init", "t-1")
    code = "import sys\nfrom kedge.__main__ import main\ntry:\n    main()\nfinally:\n"
    code += "    print('click' in sys.modules, file=sys.stderr)"
    for line in [*PLAIN, "task --help", "task ready --bogus"]:
        done = subprocess.run(
            [sys.executable, "-c", code, *line.split()],
            cwd=repo,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.stderr.splitlines()[-1] == str(line not in PLAIN), done

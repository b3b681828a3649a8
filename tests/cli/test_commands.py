"""The commands: each has help, is imported only when it is used, and accepts the global options."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from support import Kedge, assert_clear

from kedge import __version__
from kedge.cli import edge
from kedge.cli.commands import SECTIONS, root

NAMES = [name for section in SECTIONS.values() for name in section]


def walk(command: click.Command, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name="kedge")
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from walk(child, *path, name)


COMMANDS = dict(walk(root))


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_has_help_and_describes_each_option(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert edge.run([*path, "--help"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith(" ".join(["Usage: kedge", *path]))
    assert printed.err == ""
    assert COMMANDS[path].help
    for option in COMMANDS[path].params:
        if isinstance(option, click.Option):
            assert option.help, option.name


def test_the_overview_shows_the_help_of_each_command(capsys: pytest.CaptureFixture[str]) -> None:
    edge.run(["--help"])
    overview = " ".join(capsys.readouterr().out.split())
    for section, commands in SECTIONS.items():
        assert f"{section}: " in overview
        for name, words in commands.items():
            assert f"{name} {words}" in overview
            assert COMMANDS[(name,)].help == words


def loaded_after(cwd: Path, *argv: str) -> set[str]:
    """Return the modules that a command line has loaded."""
    code = (
        "import io, json, sys\n"
        "from kedge.cli.edge import run\n"
        "out, sys.stdout = sys.stdout, io.StringIO()\n"
        "code = run(sys.argv[1:])\n"
        "json.dump(sorted(sys.modules), out)\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *argv], cwd=cwd, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    ("argv", "expected"),
    [(["--help"], set()), (["task", "--help"], {"task"}), (["task", "ready"], {"task"})],
)
def test_only_the_command_that_is_used_is_imported(
    repo: Path, argv: list[str], expected: set[str]
) -> None:
    loaded = loaded_after(repo, *argv)
    assert {name for name in NAMES if f"kedge.cli.{name}" in loaded} == expected
    heavy = {"rich", "msgspec", "aiohttp", "tree_sitter", "jinja2", "yaml", "sqlite3", "asyncio"}
    assert not loaded & heavy


def test_version(kedge: Kedge) -> None:
    assert kedge("--version").out == f"kedge {__version__}\n"
    assert kedge("--json", "--version").data == {"text": f"kedge {__version__}\n"}


POSITIONS = {
    "before": ["{}", "task", "list"],
    "between": ["task", "{}", "list"],
    "after": ["task", "list", "{}"],
}


@pytest.fixture
def warned(repo: Path, kedge: Kedge) -> Kedge:
    """A project whose task list has a warning."""
    (repo / "tasks").mkdir()
    (repo / "tasks" / "broken.task.yaml").write_text("title: [\n")
    return kedge


@pytest.mark.parametrize("position", POSITIONS)
def test_global_options_are_accepted_anywhere(warned: Kedge, position: str) -> None:
    def run(option: str) -> tuple[str, str]:
        ran = warned(*(word.format(option) for word in POSITIONS[position]))
        return ran.out, ran.err

    plain = warned("task", "list").err
    assert plain.startswith("warning: ")
    for flag in ("-q", "--quiet"):
        assert run(flag) == ("", "")
    for flag in ("-v", "--verbose"):
        assert run(flag)[1] == "note: tasks are kept by the task_yaml backend\n" + plain
    out, err = run("--json")
    assert json.loads(out)["warnings"] == [plain.removeprefix("warning: ").strip()]
    assert err == ""


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_accepts_the_global_options(path: tuple[str, ...]) -> None:
    options = {word for option in COMMANDS[path].params for word in option.opts}
    assert options >= {"--json", "-q", "--quiet", "-v", "--verbose"}


def test_what_follows_two_dashes_is_no_option(repo: Path, kedge: Kedge) -> None:
    ran = kedge("task", "show", "--", "--json", code=1)
    assert_clear(ran, code=1, says="'--json'")


@pytest.mark.parametrize(
    ("argv", "says", "hint"),
    [
        (["tsk"], "no command 'tsk' in kedge", "did you mean 'task'?"),
        (["task", "cliam"], "no command 'cliam' in kedge task", "did you mean 'claim'?"),
        (["zzz"], "no command 'zzz' in kedge", "kedge --help"),
        (["task", "add", "x", "--prioritty", "P1"], "--prioritty", "did you mean --priority?"),
        (["task", "add", "x", "--prio", "P1"], "--prio", "did you mean --priority?"),
        (["completion"], "from: bash, zsh, fish", "kedge completion --help"),
        (["task", "list", "--zzz"], "--zzz", "kedge task list --help"),
        (["task", "show"], "'ID'", "kedge task show --help"),
        (["task", "show", "a", "b"], "unexpected extra argument", "kedge task show --help"),
        (["task", "ready", "--limit", "0"], "'--limit'", "kedge task ready --help"),
    ],
)
def test_wrong_usage_is_one_line_with_a_hint(
    kedge: Kedge, argv: list[str], says: str, hint: str
) -> None:
    ran = kedge(*argv, code=2)
    assert_clear(ran, code=2, says=says)
    assert ran.err.splitlines()[1] == f"hint: {hint}"


def test_a_command_without_arguments_shows_its_help(kedge: Kedge) -> None:
    assert kedge().out == kedge("--help").out == kedge("-h").out
    assert kedge("task").out == kedge("task", "--help").out
    assert "Usage: kedge task" in kedge("--json", "task").data["text"]
    assert "Usage: kedge" in kedge("--json", "--help").data["text"]

"""The `kedge` command: its sections, lazily imported subcommands, and options they all accept."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from kedge import __version__
from kedge.errors import UsageError

# Each command is `kedge.cli.<name>.command`.
SECTIONS: dict[str, dict[str, str]] = {
    "Set up": {
        "init": "Set up the repository: managed sections, constitution, map, hooks.",
        "update": "Refresh the managed sections, the map and the hooks.",
        "uninstall": "Remove what kedge wrote and keep your own text.",
        "doctor": "Check that agents receive what kedge set up.",
        "config": "Show and change settings.",
        "trust": "Approve the commands that the repository names.",
        "completion": "Print a script that completes commands in a shell.",
        "statusline": "Print Claude Code's status line; called by Claude Code.",
    },
    "Tell": {
        "map": "Write a ranked map of the code within a token budget.",
        "anchor": "Print what matters for a task, within a token budget.",
        "prompt": "Print the prompt that an agent gets for a task.",
        "task": "List, add, claim and close tasks.",
    },
    "Work": {
        "run": "Run an agent on tasks until each is proven done.",
        "exec": "Start an agent whose requests go through kedge serve.",
        "context": "Hand a task from agent to agent without commits in between.",
    },
    "Watch": {
        "drift": "Compare what agents do with what they were asked.",
        "serve": "Judge agents' tool calls before they run, and show in a browser what agents do.",
        "mcp": "Serve kedge's tools to an MCP client; called by clients.",
        "hook": "Answer an agent's hook; called by agents.",
    },
    "Learn": {
        "log": "Show past attempts and record implementers' reports.",
        "review": "Record reviews and brief the next reviewer.",
        "retro": "Gather what finished work teaches and apply the answer.",
        "feature": "Print the parts of a feature's documents that a task needs.",
        "knowledge": "Add, confirm, challenge and retire lessons.",
    },
    "Try": {"demo": "Show how kedge notices an agent that strays, in a scratch repository."},
}


def _global_options(*, hidden: bool) -> list[click.Option]:
    """`--json`, `-q` and `-v`, which set the edge's attribute of the same name."""

    def set_on_edge(ctx: click.Context, param: click.Parameter, value: bool) -> None:
        if value and param.name:
            setattr(ctx.obj, param.name, True)

    helps = {
        ("--json",): "Print one JSON document.",
        ("-q", "--quiet"): "Print no warnings.",
        ("-v", "--verbose"): "Print notes about what kedge does.",
    }
    return [
        click.Option(
            names, is_flag=True, expose_value=False, hidden=hidden, help=text, callback=set_on_edge
        )
        for names, text in helps.items()
    ]


class KedgeCommand(click.Command):
    """A command that accepts the global options and passes the edge to its function first."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += _global_options(hidden=True)

    def invoke(self, ctx: click.Context) -> Any:
        assert self.callback is not None  # noqa: S101 - every command is made from a function
        return ctx.invoke(self.callback, ctx.obj, **ctx.params)


class Group(click.Group):
    """A group that accepts the global options and suggests a name for a mistyped command."""

    command_class = KedgeCommand

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += _global_options(hidden=not isinstance(self, LazyGroup))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            from difflib import get_close_matches

            near = get_close_matches(name, self.list_commands(ctx), n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"{ctx.command_path} --help"
            raise UsageError(f"no command {name!r} in {ctx.command_path}", hint=hint)
        return super().resolve_command(ctx, args)


class LazyGroup(Group):
    """The commands of SECTIONS. A command's module is imported when that command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return [name for section in SECTIONS.values() for name in section]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = import_module(f"kedge.cli.{cmd_name}").command
        return command

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        formatter: click.HelpFormatter,
    ) -> None:
        for title, section in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(list(section.items()))


def _change_directory(ctx: click.Context, _: click.Parameter, value: Path | None) -> None:
    if value is not None:
        ctx.obj.change_directory(value)


@click.group(
    "kedge",
    cls=LazyGroup,
    epilog="--json, -q and -v are also accepted after the command.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "-C",
    "directory",
    metavar="DIR",
    type=click.Path(path_type=Path),
    expose_value=False,
    callback=_change_directory,
    help="Work in DIR instead of the current directory.",
)
@click.version_option(__version__, message="kedge %(version)s")
def root() -> None:
    """Keep AI coding agents on course: tell them what matters, watch what they do, prove what
    was handed over."""


def usage_error(error: click.ClickException) -> UsageError:
    """Return click's error as a one-line message with a hint."""
    near = getattr(error, "possibilities", None) or []
    typed = getattr(error, "option_name", "")
    near = [name for name in near if name.startswith(typed)] or near
    hint = f"did you mean {' or '.join(near)}?" if near else None
    if hint is None and isinstance(error, click.UsageError) and error.ctx is not None:
        hint = f"{error.ctx.command_path} --help"
    message = error.message if near else error.format_message()
    return UsageError(re.sub(r"\s*\n\s*", " ", message.rstrip(".")), hint=hint)

"""Command lines as click reads them: help, errors with their hints, and every line not plain."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence
from functools import cache

import click

from kedge import __version__
from kedge.cli import commands, syntax
from kedge.cli.edge import Edge, Reply
from kedge.cli.reading import Call
from kedge.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def read(edge: Edge, argv: Sequence[str]) -> Call | Reply | None:
    """The call that a command line asks for; help is a reply, or printed already.

    What was said above the command, or is taken everywhere, is told to the edge right away.
    """
    try:
        with Root().make_context("kedge", list(argv), obj=edge) as context:
            call: Call = context.command.invoke(context)
            return call
    except click.exceptions.NoArgsIsHelpError as error:
        return Reply({"text": error.message}, error.message)
    except click.exceptions.Exit:  # --help and --version have said all
        return None
    except click.ClickException as error:
        raise _usage(error) from error


def _usage(error: click.ClickException) -> UsageError:
    near = getattr(error, "possibilities", None)
    hint = f"did you mean {' or '.join(near)}?" if near else None
    if hint is None and isinstance(error, click.UsageError) and error.ctx is not None:
        hint = f"{error.ctx.command_path} --help"
    message = error.message if near else error.format_message()
    return UsageError(message.rstrip(".").replace("\n", " "), hint=hint)


class Command(click.Command):
    """A command that takes the global options after its name too."""

    def __init__(self, declared: syntax.Command) -> None:
        def call(**given: Any) -> Call:
            return Call(declared, given, {}, frozenset())

        params = [_param(one) for one in declared.takes]
        super().__init__(declared.name, callback=call, params=params, help=declared.help)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*super().get_params(ctx), *_everywhere(hidden=True)]


class Group(click.Group):
    """A group whose commands take the global options, too."""

    def __init__(self, declared: syntax.Group, name: str, **more: Any) -> None:
        @click.pass_obj
        def enter(edge: Edge, /, **given: Any) -> None:
            edge.enter(given)

        params = [_param(one) for one in declared.takes]
        super().__init__(name, callback=enter, params=params, help=declared.help, **more)
        self.declared = declared

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's
        return self.declared.names()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        found = self.declared.find(cmd_name)
        if found is None:
            return None
        return Group(found, cmd_name) if isinstance(found, syntax.Group) else Command(found)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.declared.find(name) is None and not name.startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(name, self.list_commands(ctx), n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"{ctx.command_path} --help"
            raise UsageError(f"no command {name!r} in {ctx.command_path}", hint=hint)
        return super().resolve_command(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*super().get_params(ctx), *_everywhere(hidden=ctx.parent is not None)]


class Root(Group):
    """The `kedge` command."""

    def __init__(self) -> None:
        super().__init__(
            commands.root,
            "kedge",
            epilog="--json, -q and -v are also taken after the command.",
            context_settings={"help_option_names": ["-h", "--help"]},
        )
        version = click.version_option(
            __version__, prog_name="kedge", message="%(prog)s %(version)s"
        )
        version(self)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's
        formatter: click.HelpFormatter,
    ) -> None:
        for title, section in commands.SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(list(section.items()))


@cache
def _everywhere(*, hidden: bool) -> list[click.Option]:
    def told(ctx: click.Context, param: click.Parameter, value: Any) -> None:
        if value and param.name:
            ctx.ensure_object(Edge).enter({}, [param.name])

    return [
        click.Option(
            one.words, is_flag=True, expose_value=False, hidden=hidden, help=one.help, callback=told
        )
        for one in syntax.EVERYWHERE
    ]


def _param(one: syntax.Option | syntax.Argument) -> click.Parameter:
    named: dict[str, Any] = {"required": one.required, "metavar": one.metavar}
    if one.type is not str:
        named["type"] = _type(one.type)
    if isinstance(one, syntax.Argument):
        return click.Argument([one.name], nargs=one.nargs, **named)
    # What was not declared is not given: click tells a default of None from none.
    for name in ("is_flag", "flag_value", "default"):
        if getattr(one, name) is not None:
            named[name] = getattr(one, name)
    named |= {"multiple": one.multiple, "show_default": one.show_default, "help": one.help}
    return click.Option(one.words, **named)


def _type(of: syntax.Type) -> Any:
    match of:
        case syntax.Choice():
            return click.Choice(of.words, case_sensitive=of.case_sensitive)
        case syntax.IntRange():
            return click.IntRange(of.least, of.most)
        case syntax.FloatAbove():
            return click.FloatRange(of.bound, min_open=True)
        case syntax.Path():
            there = of.directory
            return click.Path(exists=there, file_okay=not there, path_type=pathlib.Path)
    return of if of is int else _told(of)


def _told(of: syntax.Type) -> syntax.Type:
    """The type, with what it says against a text as a message of click's."""

    def made(text: str) -> Any:
        try:
            return of(text)
        except ValueError as error:
            raise click.BadParameter(str(error)) from error

    return made

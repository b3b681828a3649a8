"""The edge of the command line: options, output, errors and exit codes, in one place.

A command's function returns a `Reply`, raises a KedgeError, or does neither. Everything that is
printed, in text or as the one JSON document of `--json`, is printed here.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import click

from kedge import __version__
from kedge.cli import commands
from kedge.cli.plain import clean
from kedge.errors import KedgeError, UsageError
from kedge.host.project import Project

if TYPE_CHECKING:
    from kedge.cli.progress import Progress

EXIT_PIPE = 141  # as a shell shows a program that lost its reader


class Reply(NamedTuple):
    """What a command answers: data for `--json`, and the same as text for people.

    Either may be a function, for what need not be made when the other is asked for. Text that are
    bytes goes out as it is.
    """

    data: Any = None
    text: str | bytes | Callable[[], str | None] | None = None
    warnings: Sequence[str] = ()


class Edge:
    """The invocation: its global options and what it found out about the project."""

    def __init__(self, *, json: bool) -> None:
        self.json = json
        self.quiet = False
        self.verbose = False
        self.directory = Path()
        self.warnings: list[str] = []
        self.out: TextIO = sys.stdout
        self.streamed = False

    def project(self) -> Project:
        from kedge.host import project

        return project.find(self.directory)

    def warn(self, *texts: str) -> None:
        self.warnings += [text for text in texts if text not in self.warnings]

    def progress(self, what: str) -> Progress:
        """To be told how far the work has come; shown on a terminal when it takes a while."""
        from kedge.cli.progress import Progress, Silent

        watched = not (self.quiet or self.json) and sys.stderr.isatty()
        return Progress(what) if watched else Silent(what)

    def line(self, data: Any) -> None:
        """One line of a stream of JSON, at once. What a command streams takes the place of the one
        document."""
        import json

        self.streamed = True
        with contextlib.redirect_stdout(self.out):
            _write(json.dumps(data) + "\n")
            self.out.flush()

    def agreed(self, question: str, refusal: str, hint: str, shown: str = "") -> bool:
        """What the user says to a question. Where nobody can be asked, that is refused."""
        if self.json or not sys.stdin.isatty():
            raise KedgeError(refusal, hint=hint)
        if shown:
            click.echo(shown, err=True)
        return click.confirm(question, err=True)

    def note(self, text: str) -> None:
        """Something to know with `--verbose` only."""
        if self.verbose:
            _tell(f"note: {text}")


def run(argv: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    edge = Edge(json=_asks_for_json(argv))
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # the caller has closed it
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
    try:
        code = _answer(edge, argv)
        sys.stdout.flush()
    except BrokenPipeError:
        code = EXIT_PIPE
    except OSError:  # said already
        code = 1
    if code in (1, EXIT_PIPE):
        _give_up_unwritten()
    return code


def _give_up_unwritten() -> None:
    """Keep the interpreter's last flush from complaining about a stream that takes nothing."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _answer(edge: Edge, argv: Sequence[str]) -> int:
    captured = io.StringIO()
    edge.out = sys.stdout
    try:
        with contextlib.redirect_stdout(captured) if edge.json else contextlib.nullcontext():
            reply = _invoke(edge, argv)
        if reply is not None:
            edge.warn(*reply.warnings)
            _print(edge, reply)
        elif edge.json:
            _envelope(edge, {"text": captured.getvalue()})
        return 0
    except BrokenPipeError:
        raise
    except KedgeError as error:
        return _fail(edge, error)
    except click.ClickException as error:
        return _fail(edge, _usage(error))
    except (KeyboardInterrupt, click.Abort):
        return _fail(edge, _Interrupted("interrupted"))
    except Exception as error:  # noqa: BLE001 - the one place where a bug ends
        from kedge.cli.bugs import report

        return _fail(edge, report(error, argv, edge.directory))


def _invoke(edge: Edge, argv: Sequence[str]) -> Reply | None:
    try:
        with root.make_context("kedge", list(argv), obj=edge) as context:
            reply: Reply | None = root.invoke(context)
            return reply
    except click.exceptions.NoArgsIsHelpError as error:
        return Reply({"text": error.message}, error.message)
    except click.exceptions.Exit:  # --help and --version have said all
        return None


class _NoOutput(KedgeError):
    """Standard output takes nothing, so that the error can only be said on standard error."""

    code = "no-output"


class _Interrupted(KedgeError):
    code = "interrupted"
    exit_code = 130


def _fail(edge: Edge, error: KedgeError) -> int:
    if edge.json and not edge.streamed and not isinstance(error, _NoOutput):
        try:
            _envelope(edge, error.data, error)
        except _NoOutput as second:
            return _fail(edge, second)
    else:
        _show_warnings(edge)
        _tell(f"error: {error.message}")
        if error.hint:
            _tell(f"hint: {error.hint}")
    return error.exit_code


def _print(edge: Edge, reply: Reply) -> None:
    if edge.json and edge.streamed:
        _show_warnings(edge)
        return
    if edge.json:
        _envelope(edge, reply.data() if callable(reply.data) else reply.data)
        return
    text = reply.text() if callable(reply.text) else reply.text
    if isinstance(text, bytes):
        _write(text)
    elif text:
        _write(text if text.endswith("\n") else text + "\n")
    _show_warnings(edge)


def _envelope(edge: Edge, data: Any, error: KedgeError | None = None) -> None:
    import json

    document = {
        "success": error is None,
        "data": data,
        "error": error.message if error else None,
        "code": error.code if error else None,
        "hint": error.hint if error else None,
        "warnings": edge.warnings,
    }
    # In ASCII: right in every encoding, and no control character gets through to a terminal.
    _write(json.dumps(document, indent=2) + "\n")


def _write(text: str | bytes) -> None:
    """Write all of it: an unbuffered stream may take a part and say nothing."""
    stream = sys.stdout
    raw = getattr(stream, "buffer", None)
    if raw is None:
        stream.write(text if isinstance(text, str) else text.decode("utf-8", "backslashreplace"))
        return
    if isinstance(text, str):
        text = text.encode(stream.encoding, "backslashreplace")
    try:
        stream.flush()
        left = memoryview(text)
        while left:
            left = left[raw.write(left) :]
        raw.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise _NoOutput(
            f"cannot write the answer: {reason}", hint="what the command did is done"
        ) from error


def _show_warnings(edge: Edge) -> None:
    if not edge.quiet:
        for warning in edge.warnings:
            _tell(f"warning: {warning}")


def _tell(text: str) -> None:
    sys.stderr.write(clean(text.replace("\n", " ")) + "\n")


def _usage(error: click.ClickException) -> UsageError:
    near = getattr(error, "possibilities", None)
    hint = f"did you mean {' or '.join(near)}?" if near else None
    if hint is None and isinstance(error, click.UsageError) and error.ctx is not None:
        hint = f"{error.ctx.command_path} --help"
    message = error.message if near else error.format_message()
    return UsageError(message.rstrip(".").replace("\n", " "), hint=hint)


def _asks_for_json(argv: Sequence[str]) -> bool:
    """Known before parsing, so that a usage error is a JSON document too."""
    before = list(argv)
    if "--" in before:
        before = before[: before.index("--")]
    return "--json" in before


def _set(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def callback(ctx: click.Context, _: click.Parameter, value: Any) -> None:
        if value:
            setattr(ctx.ensure_object(Edge), name, value)

    return callback


@cache
def _global_options(*, hidden: bool) -> list[click.Option]:
    flags = [
        (["--json"], "json", "Print one JSON document."),
        (["-q", "--quiet"], "quiet", "Print no warnings."),
        (["-v", "--verbose"], "verbose", "Say more about what is done."),
    ]
    return [
        click.Option(
            names, is_flag=True, expose_value=False, hidden=hidden, help=text, callback=_set(target)
        )
        for names, target, text in flags
    ]


class Command(click.Command):
    """A command that takes the global options after its name too."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*super().get_params(ctx), *_global_options(hidden=True)]


class Group(click.Group):
    """A group whose commands take the global options, too."""

    command_class = Command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(name, self.list_commands(ctx), n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"{ctx.command_path} --help"
            raise UsageError(f"no command {name!r} in {ctx.command_path}", hint=hint)
        return super().resolve_command(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*super().get_params(ctx), *_global_options(hidden=ctx.parent is not None)]


class Root(Group):
    """The `kedge` command. A subcommand's module is imported when that command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's
        return [name for section in commands.SECTIONS.values() for name in section]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        from importlib import import_module

        found: click.Command = import_module(f"kedge.cli.{cmd_name}").command
        return found

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's
        formatter: click.HelpFormatter,
    ) -> None:
        for title, section in commands.SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(list(section.items()))


@click.group(
    cls=Root,
    help="Keep AI coding agents on course: tell them what matters, watch what they do, prove what "
    "was handed over.",
    epilog="--json, -q and -v are also taken after the command.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "-C",
    "directory",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Work in DIR instead of the current directory.",
)
@click.version_option(__version__, prog_name="kedge", message="%(prog)s %(version)s")
@click.pass_obj
def root(edge: Edge, directory: Path | None) -> None:
    if directory is not None:
        from kedge.host.git import is_directory

        if not is_directory(directory):
            raise UsageError(f"-C: no directory {str(directory)!r}", hint="check the path")
        edge.directory = directory


def group(help: str) -> Callable[[Callable[..., Any]], Group]:  # noqa: A002 - click's word
    """A command group of kedge."""
    return click.group(cls=Group, help=help)


def command(help: str) -> Callable[[Callable[..., Any]], Command]:  # noqa: A002 - click's word
    """A command of kedge that belongs to no group."""
    return click.command(cls=Command, help=help)

"""The edge of the command line: options, output, errors and exit codes, in one place.

A command's function returns a `Reply` or raises a `KedgeError`. This module prints both, as text or
as the one JSON document of `--json`, and returns the exit code.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from kedge.cli.commands import root, usage_error
from kedge.cli.plain import clean
from kedge.errors import Interrupted, KedgeError, UsageError
from kedge.host.project import Project

if TYPE_CHECKING:
    from kedge.cli.progress import Progress


EXIT_PIPE = 141  # what a shell reports for a program killed by SIGPIPE


@dataclass(frozen=True, slots=True)
class Reply:
    """The result of a command: data for `--json`, and the same as text for people.

    Either may be a function, which is called only if that form is printed. Bytes are printed
    unchanged.
    """

    data: Any = None
    text: str | bytes | Callable[[], str | None] | None = None
    warnings: Sequence[str] = ()


class Edge:
    """One invocation of kedge: its global options, its warnings, and how to reach the user."""

    def __init__(self, *, json: bool) -> None:
        self.json = json
        self.quiet = False
        self.verbose = False
        self.directory = Path()
        self.settings: dict[str, Any] = {}  # from options of the group, such as --backend
        self.warnings: list[str] = []
        self.out: TextIO = sys.stdout
        self.streamed = False  # JSON lines were printed instead of one document

    def change_directory(self, directory: Path) -> None:
        from kedge.host.git import is_directory

        if not is_directory(directory):
            raise UsageError(f"-C: no directory {str(directory)!r}", hint="check the path")
        self.directory = directory

    def project(self) -> Project:
        from kedge.host import project

        return project.find(self.directory)

    def warn(self, *texts: str) -> None:
        self.warnings += [text for text in texts if text not in self.warnings]

    def progress(self, what: str) -> Progress:
        """Return a progress bar, which is shown on a terminal if the work takes a while."""
        from kedge.cli.progress import Progress, Silent

        visible = not (self.quiet or self.json) and sys.stderr.isatty()
        return Progress(what) if visible else Silent(what)

    def stream(self, data: Any) -> None:
        """Print one line of JSON now. A command that streams prints no final document."""
        import json

        self.streamed = True
        with contextlib.redirect_stdout(self.out):
            write(json.dumps(data) + "\n")
            self.out.flush()

    @property
    def can_ask(self) -> bool:
        """True if there is a terminal to ask the user on."""
        return not self.json and sys.stdin is not None and sys.stdin.isatty()

    def confirm(self, question: str, refusal: str, hint: str, details: str = "") -> bool:
        """Ask the user a yes-or-no question; raise if there is no terminal to ask on."""
        if not self.can_ask:
            raise KedgeError(refusal, hint=hint)
        if details:
            tell(details + "\n")
        try:
            return click.confirm(question, err=True)
        except click.Abort:
            raise KeyboardInterrupt from None

    def say(self, text: str) -> None:
        """Print to standard error what happens beside the result; nothing for --quiet or --json."""
        if not (self.quiet or self.json):
            tell(clean(text) + "\n")

    def note(self, text: str) -> None:
        """Print a note if the user asked for `--verbose`."""
        if self.verbose:
            _tell_line(f"note: {text}")


def run(argv: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    edge = Edge(json=_has_json_flag(argv))
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
    try:
        code = _run_command(edge, argv)
        sys.stdout.flush()
    except BrokenPipeError:
        code = EXIT_PIPE
    except OSError:  # already reported
        code = 1
    if code in (1, EXIT_PIPE):
        _discard_unwritten()
    return code


def _discard_unwritten() -> None:
    """Redirect a broken stdout to /dev/null, so that the interpreter's last flush is silent."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run_command(edge: Edge, argv: Sequence[str]) -> int:
    captured = io.StringIO()
    edge.out = sys.stdout
    try:
        with contextlib.redirect_stdout(captured) if edge.json else contextlib.nullcontext():
            reply = _invoke(edge, argv)
        if reply is not None:
            edge.warn(*reply.warnings)
            _print(edge, reply)
        elif edge.json:
            _print_document(edge, {"text": captured.getvalue()})
        return 0
    except BrokenPipeError:
        raise
    except KedgeError as error:
        return _fail(edge, error)
    except KeyboardInterrupt:
        return _fail(edge, Interrupted("interrupted"))
    except Exception as error:  # noqa: BLE001 - every bug is reported here
        from kedge.cli.bugs import report

        return _fail(edge, report(error, argv, edge.directory))


def _invoke(edge: Edge, argv: Sequence[str]) -> Reply | None:
    """Run the command; return None for `--help` and `--version`, which click prints itself."""
    try:
        with root.make_context("kedge", list(argv), obj=edge) as context:
            reply: Reply | None = root.invoke(context)
            return reply
    except click.exceptions.NoArgsIsHelpError as error:
        return Reply({"text": error.message}, error.message)
    except click.exceptions.Exit:
        return None
    except click.ClickException as error:
        raise usage_error(error) from error


class _NoOutput(KedgeError):
    """Standard output cannot be written, so this error is printed on standard error only."""

    code = "no-output"


def _fail(edge: Edge, error: KedgeError) -> int:
    if edge.json and not edge.streamed and not isinstance(error, _NoOutput):
        try:
            _print_document(edge, error.data, error)
        except _NoOutput as second:
            return _fail(edge, second)
    else:
        _show_warnings(edge)
        _tell_line(f"error: {error.message}")
        if error.hint:
            _tell_line(f"hint: {error.hint}")
    return error.exit_code


def _print(edge: Edge, reply: Reply) -> None:
    if edge.json and edge.streamed:
        _show_warnings(edge)
        return
    if edge.json:
        _print_document(edge, reply.data() if callable(reply.data) else reply.data)
        return
    text = reply.text() if callable(reply.text) else reply.text
    if isinstance(text, bytes):
        write(text)
    elif text:
        write(text if text.endswith("\n") else text + "\n")
    _show_warnings(edge)


def _print_document(edge: Edge, data: Any, error: KedgeError | None = None) -> None:
    import json

    document = {
        "success": error is None,
        "data": data,
        "error": error.message if error else None,
        "code": error.code if error else None,
        "hint": error.hint if error else None,
        "warnings": edge.warnings,
    }
    # ASCII is valid in every encoding, and no control character reaches a terminal.
    write(json.dumps(document, indent=2) + "\n")


def write(text: str | bytes) -> None:
    """Write all of the text to standard output, even if the stream takes it in parts."""
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
            f"cannot write the output: {reason}", hint="the command itself has finished"
        ) from error


def _show_warnings(edge: Edge) -> None:
    if not edge.quiet:
        for warning in edge.warnings:
            _tell_line(f"warning: {warning}")


def _tell_line(text: str) -> None:
    tell(clean(text.replace("\n", " ")) + "\n")


def tell(text: str) -> None:
    """Write to standard error and flush."""
    sys.stderr.write(text)
    sys.stderr.flush()


def _has_json_flag(argv: Sequence[str]) -> bool:
    """Look for --json before parsing, so that a usage error is a JSON document too."""
    options = list(argv)
    if "--" in options:
        options = options[: options.index("--")]
    return "--json" in options

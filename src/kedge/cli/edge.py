"""The edge of the command line: options, output, errors and exit codes, in one place.

A command's function returns a `Reply`, raises a KedgeError, or does neither. Everything that is
printed, in text or as the one JSON document of `--json`, is printed here.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from kedge import __version__
from kedge.cli import reading
from kedge.cli.commands import root
from kedge.cli.plain import clean
from kedge.errors import KedgeError, UsageError
from kedge.host.project import Project
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO

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
        self.given: dict[str, Any] = {}  # to the groups above the command
        self.warnings: list[str] = []
        self.out: TextIO = sys.stdout
        self.streamed = False

    def enter(self, given: Mapping[str, Any], everywhere: Iterable[str] = ()) -> None:
        """Take what is said above the command, and which of `json`, `quiet` and `verbose` are."""
        self.given |= given
        for name in everywhere:
            setattr(self, name, True)
        directory = given.get("directory")
        if directory is not None:
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
            write(json.dumps(data) + "\n")
            self.out.flush()

    def agreed(self, question: str, refusal: str, hint: str, shown: str = "") -> bool:
        """What the user says to a question. Where nobody can be asked, that is refused."""
        if self.json or not sys.stdin.isatty():
            raise KedgeError(refusal, hint=hint)
        import click

        if shown:
            tell(shown + "\n")
        try:
            return click.confirm(question, err=True)
        except click.Abort:
            raise KeyboardInterrupt from None

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
    except KeyboardInterrupt:
        return _fail(edge, _Interrupted("interrupted"))
    except Exception as error:  # noqa: BLE001 - the one place where a bug ends
        from kedge.cli.bugs import report

        return _fail(edge, report(error, argv, edge.directory))


def _invoke(edge: Edge, argv: Sequence[str]) -> Reply | None:
    if list(argv) == ["--version"]:
        return Reply(text=f"kedge {__version__}")
    call: reading.Call | Reply | None = reading.read(root, argv)
    if call is None:
        from kedge.cli import clicked

        call = clicked.read(edge, argv)
    if not isinstance(call, reading.Call):
        return call
    edge.enter(call.above, call.everywhere)
    reply: Reply | None = call.command.function(edge, **call.given)
    return reply


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
        write(text)
    elif text:
        write(text if text.endswith("\n") else text + "\n")
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
    write(json.dumps(document, indent=2) + "\n")


def write(text: str | bytes) -> None:
    """Write to standard output, and all of it: an unbuffered stream may take a part and say
    nothing."""
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
    tell(clean(text.replace("\n", " ")) + "\n")


def tell(text: str) -> None:
    """Write to standard error, at once."""
    sys.stderr.write(text)
    sys.stderr.flush()


def _asks_for_json(argv: Sequence[str]) -> bool:
    """Known before parsing, so that a usage error is a JSON document too."""
    before = list(argv)
    if "--" in before:
        before = before[: before.index("--")]
    return "--json" in before

"""One call of a program: its words, and the methods that record what it does."""

from __future__ import annotations

from kedge.drift.shell.effects import CheckCall, Install, VcsCommand
from kedge.drift.shell.options import parse_options
from kedge.drift.shell.paths import NOWHERE
from kedge.drift.shell.values import ANYTHING, NOTHING, UNKNOWN, Output, ShellState, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Protocol, TypeAlias

    from kedge.drift.shell.effects import EffectsBuilder
    from kedge.drift.shell.options import Options
    from kedge.drift.shell.paths import ProjectPaths

    Reader: TypeAlias = Callable[["ProgramCall"], Output | None]

    class Shell(Protocol):
        """The interpreter, as far as a program needs it."""

        @property
        def effects(self) -> EffectsBuilder: ...
        @property
        def paths(self) -> ProjectPaths: ...
        def run_text(self, source: str, state: ShellState, stdin: Output = NOTHING) -> Output: ...
        def run_program(self, argv: list[Value], state: ShellState, stdin: Output) -> Output: ...
        def resolve_directory(self, value: Value, state: ShellState) -> str | None: ...
        def find_text(self, value: Value, state: ShellState) -> str | None: ...


__all__ = ["ANYTHING", "NOTHING", "Output", "ProgramCall", "Value"]


class ProgramCall:
    """`name` is the program without its directory, `typed` the word as it was written."""

    __slots__ = ("args", "effects", "name", "shell", "state", "stdin", "typed")

    def __init__(
        self,
        shell: Shell,
        state: ShellState,
        name: str,
        args: list[Value],
        stdin: Output,
        typed: str = "",
    ) -> None:
        self.shell = shell
        self.effects = shell.effects
        self.state = state
        self.name = name
        self.args = args
        self.stdin = stdin
        self.typed = typed or name

    @property
    def words(self) -> list[str]:
        return [value.text for value in self.args]

    def parse_options(self, takes: str = "", *, stop: bool = False, whole: bool = False) -> Options:
        return parse_options(self.args, takes, stop=stop, whole=whole)

    @property
    def is_outside(self) -> bool:
        """True if the program runs in a directory outside the root."""
        shown = self.shell.paths.display(".", self.state.cwd)
        return shown is not None and shown[1]

    def in_directory(self, *directories: Value) -> ProgramCall:
        """Return the same call, run in other directories in turn, as `-C` asks for."""
        state = self.state.copy()
        for directory in directories:
            state.cwd = self.shell.resolve_directory(directory, state)
        return ProgramCall(self.shell, state, self.name, self.args, self.stdin, self.typed)

    def resolve(self, value: Value, *, report: bool = True) -> str | None:
        """Return the path as it is displayed, or None; with `report`, record why it is unknown."""
        text = value.text
        if text in NOWHERE or text.startswith("/dev/fd/"):
            return None
        shown = None
        if not text.startswith(UNKNOWN):
            shown = self.shell.paths.display(text.replace(UNKNOWN, "*"), self.state.cwd)
        if shown is None:
            if report:
                self.effects.plain = False
                self.effects.add("unclear", f"{self.name} {value.shown}: the path is not known")
            return None
        path, outside = shown
        if value.glob or UNKNOWN in text:
            self.effects.add("patterns", path)
        if outside:
            self.effects.add("outside", path)
        return path

    def _add_paths(self, kind: str, values: Iterable[Value], *, report: bool = True) -> list[str]:
        """Record an effect on the paths that are known, and return them."""
        paths = [path for value in values if (path := self.resolve(value, report=report))]
        for path in paths:
            self.effects.add(kind, path)
        return paths

    def read(self, *values: Value) -> None:
        self._add_paths("read", values, report=False)

    def write(self, *values: Value) -> None:
        self._add_paths("written", values)

    def write_text(self, value: Value, text: str | None, whole: bool = False) -> None:
        """Write a file; `text` is None if its content is not known."""
        for path in self._add_paths("written", [value]):
            self.effects.add_change(path, (text or "").replace(UNKNOWN, "…"), "", whole)

    def append_text(self, value: Value, text: str | None) -> None:
        """Add text at the end of a file."""
        path = self.resolve(value)
        if path:
            self.effects.add_existing("written", path)
            self.effects.add_change(path, (text or "").replace(UNKNOWN, "…"))

    def edit(self, values: Iterable[Value], added: str = "", removed: str = "") -> None:
        """Change files in place."""
        self.effects.in_place = True
        for path in [path for value in values if (path := self.resolve(value))]:
            self.effects.add_existing("written", path)
            self.effects.add_change(path, added, removed)

    def delete(self, *values: Value) -> None:
        self._add_paths("deleted", values)

    def move(self, source: Value, target: Value) -> None:
        old, new = self.resolve(source), self.resolve(target)
        if old and new:
            self.copy_text(source, target)
            self.effects.add("moved", (old, new))
        elif old:
            self.effects.add("deleted", old)
        elif new:
            self.effects.add("written", new)

    def find_text(self, value: Value) -> str | None:
        """Return the content of a file that the command or the session wrote, if it is known."""
        return self.shell.find_text(value, self.state)

    def copy_text(self, source: Value, target: Value) -> None:
        """Record the text that a copy or a move puts into the target, if it is known."""
        text = self.find_text(source)
        path = self.resolve(target, report=False) if text else None
        if text and path:
            self.effects.add_change(path, text, "", whole=True)

    def make_directory(self, *values: Value) -> None:
        self.state.made.update(self._add_paths("directories", values))

    def is_directory(self, value: Value) -> bool:
        """True if the name says it is a directory, or the same command made it."""
        text = value.text
        if text.endswith(("/", "/.", "/..")) or text in (".", "..", "~"):
            return True
        shown = self.shell.paths.display(text, self.state.cwd) if value.known else None
        return shown is not None and shown[0] in self.state.made

    def make_executable(self, *values: Value) -> None:
        self._add_paths("made_executable", values)

    def add_vcs(
        self,
        verb: str,
        args: Sequence[str] = (),
        destructive: bool = False,
        outward: bool = False,
        paths: Iterable[Value] = (),
    ) -> None:
        """Record an act; `paths` are those that it discards or destroys."""
        shown = tuple(path for value in paths if (path := self.resolve(value, report=False)))
        act = VcsCommand(verb, _show(args), destructive, outward, self.is_outside, shown[:50])
        self.effects.add("vcs", act)

    def add_install(
        self, manager: str, packages: Sequence[str] = (), dev: bool = False, removes: bool = False
    ) -> None:
        install = Install(manager, _show(packages), dev, removes, self.is_outside)
        self.effects.add("installs", install)

    def add_network(self, address: str) -> None:
        self.effects.add("network", strip_secrets(address))

    def add_check(self, *, runs: bool = False) -> None:
        """Record a test runner, linter or type checker; `runs` if it runs the project's code."""
        self.effects.plain = self.effects.plain and not runs
        self.effects.add("checks", CheckCall((self.name, *_show(self.words))))

    def add_run(self, what: str) -> None:
        """Record a program whose effects cannot be read from the command."""
        self.effects.plain = False
        self.effects.add("runs", what.replace(UNKNOWN, "…")[:200])

    def add_script(self, script: Value) -> None:
        """Record that a script runs whose code is not read."""
        self.add_run(self.resolve(script, report=False) or script.shown)

    def add_unclear(self, why: str) -> None:
        """Record why the effects are not certain."""
        self.effects.add("unclear", f"{self.name}: {why}".replace(UNKNOWN, "…")[:300])

    def add_unread(self, why: str) -> None:
        """Record a part of the command that was not read, and so may do anything."""
        self.add_unclear(why)
        self.effects.unread = True


def _show(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(word.replace(UNKNOWN, "…")[:200] for word in words[:50])


def strip_secrets(address: str) -> str:
    """Return an address without its user, password and query."""
    address = address.replace(UNKNOWN, "…")
    head, sign, rest = address.partition("://")
    if not sign:
        return address[:200]
    rest = rest.partition("?")[0].partition("#")[0]
    host, slash, path = rest.partition("/")
    return f"{head}://{host.rpartition('@')[2]}{slash}{path}"[:200]

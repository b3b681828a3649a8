"""One call of a program: its words, and the methods that record what it does."""

from __future__ import annotations

from kedge.drift.shell.effects import CheckRun, Install, VcsCommand
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

    Reader: TypeAlias = Callable[["ProgramCall"], Output]

    class Shell(Protocol):
        """The interpreter, as far as a program needs it."""

        @property
        def effects(self) -> EffectsBuilder: ...
        @property
        def paths(self) -> ProjectPaths: ...
        def run_text(self, source: str, state: ShellState, stdin: Output = NOTHING) -> Output: ...
        def run_program(self, argv: list[Value], state: ShellState, stdin: Output) -> Output: ...
        def resolve_directory(self, value: Value, state: ShellState) -> str | None: ...


__all__ = ["ANYTHING", "NOTHING", "Output", "ProgramCall", "Value"]


class ProgramCall:
    """`name` is the program without its directory, `typed` the word as it was written."""

    __slots__ = ("args", "name", "shell", "state", "stdin", "typed")

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

    def in_directory(self, directory: Value) -> ProgramCall:
        """Return the same call, run in another directory, as `-C` asks for."""
        state = self.state.copy()
        state.cwd = self.shell.resolve_directory(directory, state)
        return ProgramCall(self.shell, state, self.name, self.args, self.stdin, self.typed)

    def resolve(self, value: Value, *, report: bool = True) -> str | None:
        """Return the path as it is displayed, or None; with `report`, record why it is unknown."""
        text = value.text
        if text in NOWHERE or text.startswith("/dev/fd/"):
            return None
        effects = self.shell.effects
        shown = None
        if not text.startswith(UNKNOWN):
            shown = self.shell.paths.display(text.replace(UNKNOWN, "*"), self.state.cwd)
        if shown is None:
            if report:
                effects.plain = False
                effects.add("unclear", f"{self.name} {value.shown}: the path is not known")
            return None
        path, outside = shown
        if value.glob or UNKNOWN in text:
            effects.add("patterns", path)
        if outside:
            effects.add("outside", path)
        return path

    def read(self, *values: Value) -> None:
        for value in values:
            path = self.resolve(value, report=False)
            if path:
                self.shell.effects.add("read", path)

    def write(self, *values: Value) -> None:
        for value in values:
            path = self.resolve(value)
            if path:
                self.shell.effects.add("written", path)

    def write_text(self, value: Value, text: str | None, whole: bool = False) -> None:
        """Write a file; `text` is None if its content is not known."""
        path = self.resolve(value)
        if path:
            self.shell.effects.add("written", path)
            if text:
                self.shell.effects.add_change(path, text.replace(UNKNOWN, "…"), "", whole)

    def edit(self, values: Iterable[Value], added: str = "", removed: str = "") -> None:
        """Change files in place."""
        self.shell.effects.in_place = True
        for value in values:
            path = self.resolve(value)
            if path:
                self.shell.effects.add("written", path)
                self.shell.effects.add_change(path, added, removed)

    def delete(self, *values: Value) -> None:
        for value in values:
            path = self.resolve(value)
            if path:
                self.shell.effects.add("deleted", path)

    def move(self, source: Value, target: Value) -> None:
        old, new = self.resolve(source), self.resolve(target)
        if old and new:
            self.shell.effects.add("moved", (old, new))
        elif old:
            self.shell.effects.add("deleted", old)
        elif new:
            self.shell.effects.add("written", new)

    def make_directory(self, *values: Value) -> None:
        for value in values:
            path = self.resolve(value)
            if path:
                self.shell.effects.add("directories", path)
                self.state.made.add(path)

    def is_directory(self, value: Value) -> bool:
        """True if the name says it is a directory, or the same command made it."""
        text = value.text
        if text.endswith(("/", "/.", "/..")) or text in (".", "..", "~"):
            return True
        shown = self.shell.paths.display(text, self.state.cwd) if value.known else None
        return shown is not None and shown[0] in self.state.made

    def make_executable(self, *values: Value) -> None:
        for value in values:
            path = self.resolve(value)
            if path:
                self.shell.effects.add("made_executable", path)

    def add_vcs(
        self, verb: str, args: Sequence[str] = (), destructive: bool = False, outward: bool = False
    ) -> None:
        shown = tuple(word.replace(UNKNOWN, "…")[:200] for word in args[:50])
        act = VcsCommand(verb, shown, destructive, outward, self.is_outside)
        self.shell.effects.add("vcs", act)

    def add_install(
        self,
        manager: str,
        packages: Sequence[str] = (),
        dev: bool = False,
        removes: bool = False,
    ) -> None:
        shown = tuple(word.replace(UNKNOWN, "…")[:200] for word in packages[:50])
        install = Install(manager, shown, dev, removes, self.is_outside)
        self.shell.effects.add("installs", install)

    def add_network(self, address: str) -> None:
        self.shell.effects.add("network", strip_secrets(address))

    def add_check(self) -> None:
        """Record the call as a check: a test runner, a linter, a type checker."""
        words = (self.name, *(word.replace(UNKNOWN, "…")[:200] for word in self.words[:50]))
        self.shell.effects.add("checks", CheckRun(words))

    def add_run(self, what: str) -> None:
        """Record a program whose effects cannot be read from the command."""
        self.shell.effects.plain = False
        self.shell.effects.add("runs", what.replace(UNKNOWN, "…")[:200])

    def add_unclear(self, why: str) -> None:
        """Record why the effects are not certain."""
        self.shell.effects.add("unclear", f"{self.name}: {why}".replace(UNKNOWN, "…")[:300])

    def add_unread(self, why: str) -> None:
        """Record a part of the command that was not read, and so may do anything."""
        self.add_unclear(why)
        self.shell.effects.unread = True


def strip_secrets(address: str) -> str:
    """Return an address without its user, password and query."""
    address = address.replace(UNKNOWN, "…")
    head, sign, rest = address.partition("://")
    if not sign:
        return address[:200]
    rest = rest.partition("?")[0].partition("#")[0]
    host, slash, path = rest.partition("/")
    return f"{head}://{host.rpartition('@')[2]}{slash}{path}"[:200]

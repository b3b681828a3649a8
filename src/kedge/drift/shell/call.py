"""One call of a program: its words, and the ways to say what it does."""

from __future__ import annotations

from kedge.drift.shell.effects import Check, Install, Vcs
from kedge.drift.shell.options import Options, options
from kedge.drift.shell.paths import NOWHERE
from kedge.drift.shell.values import ANYTHING, NOTHING, UNKNOWN, Output, State, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeAlias

    from kedge.drift.shell.run import Run

    Reader: TypeAlias = Callable[["Call"], Output]

__all__ = ["ANYTHING", "NOTHING", "Call", "Output", "Value"]


class Call:
    """`name` is the program without its directory, `typed` as it was written."""

    __slots__ = ("args", "name", "run", "state", "stdin", "typed")

    def __init__(
        self, run: Run, state: State, name: str, args: list[Value], stdin: Output, typed: str = ""
    ) -> None:
        self.run = run
        self.state = state
        self.name = name
        self.args = args
        self.stdin = stdin
        self.typed = typed or name

    @property
    def words(self) -> list[str]:
        return [value.text for value in self.args]

    def options(self, takes: str = "", *, stop: bool = False, whole: bool = False) -> Options:
        return options(self.args, takes, stop=stop, whole=whole)

    @property
    def away(self) -> bool:
        """Whether it runs in a directory that is out of the root."""
        placed = self.run.places.shown(".", self.state.cwd)
        return placed is not None and placed[1]

    def elsewhere(self, directory: Value) -> Call:
        """The same call in another directory, as `-C` says."""
        state = self.state.copy()
        state.cwd = self.run.directory(directory, state)
        return Call(self.run, state, self.name, self.args, self.stdin, self.typed)

    def path(self, value: Value, *, say: bool = True) -> str | None:
        """The path as it is shown, or None when there is none; with `say`, why is told."""
        text = value.text
        if text in NOWHERE or text.startswith("/dev/fd/"):
            return None
        found = self.run.found
        placed = None
        if not text.startswith(UNKNOWN):
            placed = self.run.places.shown(text.replace(UNKNOWN, "*"), self.state.cwd)
        if placed is None:
            if say:
                found.plain = False
                found.add("unclear", f"{self.name} {value.shown}: the path is not known")
            return None
        path, outside = placed
        if value.glob or UNKNOWN in text:
            found.add("patterns", path)
        if outside:
            found.add("outside", path)
        return path

    def read(self, *values: Value) -> None:
        for value in values:
            path = self.path(value, say=False)
            if path:
                self.run.found.add("read", path)

    def write(self, *values: Value) -> None:
        for value in values:
            path = self.path(value)
            if path:
                self.run.found.add("written", path)

    def put(self, value: Value, text: str | None, whole: bool = False) -> None:
        """Write a file whose text is known, or is None."""
        path = self.path(value)
        if path:
            self.run.found.add("written", path)
            if text:
                self.run.found.change(path, text.replace(UNKNOWN, "…"), "", whole)

    def edit(self, values: Iterable[Value], added: str = "", removed: str = "") -> None:
        """Change files in place."""
        self.run.found.edited()
        for value in values:
            path = self.path(value)
            if path:
                self.run.found.add("written", path)
                self.run.found.change(path, added, removed)

    def delete(self, *values: Value) -> None:
        for value in values:
            path = self.path(value)
            if path:
                self.run.found.add("deleted", path)

    def move(self, source: Value, target: Value) -> None:
        old, new = self.path(source), self.path(target)
        if old and new:
            self.run.found.add("moved", (old, new))
        elif old:
            self.run.found.add("deleted", old)
        elif new:
            self.run.found.add("written", new)

    def make_directory(self, *values: Value) -> None:
        for value in values:
            path = self.path(value)
            if path:
                self.run.found.add("directories", path)
                self.state.made.add(path)

    def is_directory(self, value: Value) -> bool:
        """Whether the name says that it is one, or it was made in this command."""
        text = value.text
        if text.endswith(("/", "/.", "/..")) or text in (".", "..", "~"):
            return True
        placed = self.run.places.shown(text, self.state.cwd) if value.known else None
        return placed is not None and placed[0] in self.state.made

    def executable(self, *values: Value) -> None:
        for value in values:
            path = self.path(value)
            if path:
                self.run.found.add("made_executable", path)

    def vcs(
        self, verb: str, args: Sequence[str] = (), destructive: bool = False, outward: bool = False
    ) -> None:
        shown = tuple(word.replace(UNKNOWN, "…")[:200] for word in args[:50])
        self.run.found.add("vcs", Vcs(verb, shown, destructive, outward, self.away))

    def install(
        self,
        manager: str,
        packages: Sequence[str] = (),
        dev: bool = False,
        removes: bool = False,
    ) -> None:
        shown = tuple(word.replace(UNKNOWN, "…")[:200] for word in packages[:50])
        self.run.found.add("installs", Install(manager, shown, dev, removes, self.away))

    def network(self, place: str) -> None:
        self.run.found.add("network", address(place))

    def check(self) -> None:
        """The call is a check: a test runner, a linter, a type checker."""
        words = (self.name, *(word.replace(UNKNOWN, "…")[:200] for word in self.words[:50]))
        self.run.found.add("checks", Check(words))

    def runs(self, what: str) -> None:
        """Something is run whose effects cannot be read from the command."""
        self.run.found.plain = False
        self.run.found.add("runs", what.replace(UNKNOWN, "…")[:200])

    def unclear(self, why: str) -> None:
        self.run.found.add("unclear", f"{self.name}: {why}".replace(UNKNOWN, "…")[:300])


def address(place: str) -> str:
    """An address without what may be secret in it: user, password, query."""
    place = place.replace(UNKNOWN, "…")
    head, sign, rest = place.partition("://")
    if not sign:
        return place[:200]
    rest = rest.partition("?")[0].partition("#")[0]
    host, slash, path = rest.partition("/")
    return f"{head}://{host.rpartition('@')[2]}{slash}{path}"[:200]

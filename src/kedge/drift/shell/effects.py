"""What an action does: files, version control, packages, network, and what could not be told."""

from __future__ import annotations

from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST = 200  # entries of each kind
MOST_TEXT = 200_000  # characters of text that one action adds, and as many that it takes away


class Vcs(NamedTuple):
    """A change to version control or to the world: `push`, `gh pr create`, `npm publish`."""

    verb: str
    args: tuple[str, ...] = ()
    destructive: bool = False
    outward: bool = False
    away: bool = False  # done in a directory that is out of the root


class Install(NamedTuple):
    """Packages as they were written; none means that what is declared already is installed."""

    manager: str
    packages: tuple[str, ...] = ()
    dev: bool = False
    removes: bool = False
    away: bool = False


class Check(NamedTuple):
    """A test runner, linter or type checker; `ignored` when its failure is swallowed."""

    command: tuple[str, ...]
    ignored: bool = False


class Change(NamedTuple):
    """Text that an action adds to a file and takes from it; `whole` when it is all of the file."""

    path: str
    added: str = ""
    removed: str = ""
    whole: bool = False


class Effects(NamedTuple):
    """Paths are relative to the root; those in `outside` are absolute or begin with `~`.

    `outside` and `patterns` say of paths in the other fields that they are out of the root, or
    stand for every path that they match.
    """

    read: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    moved: tuple[tuple[str, str], ...] = ()
    directories: tuple[str, ...] = ()
    made_executable: tuple[str, ...] = ()
    vcs: tuple[Vcs, ...] = ()
    installs: tuple[Install, ...] = ()
    network: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    runs: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()

    @property
    def changing(self) -> bool:
        """Whether anything is changed, here or elsewhere."""
        return bool(
            self.written or self.deleted or self.moved or self.directories
            or self.vcs or self.installs
        )  # fmt: skip


class Found:
    """Effects as they are found, each once and in order, and not more than the bounds."""

    __slots__ = ("_in_place", "changes", "full", "kinds", "left", "plain")

    def __init__(self) -> None:
        self.kinds: dict[str, dict[object, None]] = {}
        self.changes: list[Change] = []
        self.left = [MOST_TEXT, MOST_TEXT]
        self.full = False
        self.plain = True  # nothing but programs that only read has been seen
        self._in_place = False

    def add(self, kind: str, entry: object) -> None:
        entries = self.kinds.setdefault(kind, {})
        if len(entries) < MOST:
            entries[entry] = None
        elif entry not in entries:
            self.full = True

    def has(self, kind: str) -> bool:
        return kind in self.kinds

    def count(self, kind: str) -> int:
        return len(self.kinds.get(kind, ()))

    def ignore_checks(self, start: int) -> None:
        """The checks from `start` on were run so that their failure is not seen."""
        checks = list(self.kinds.get("checks", ()))
        for check in checks[start:]:
            if isinstance(check, Check):
                del self.kinds["checks"][check]
                self.kinds["checks"][check._replace(ignored=True)] = None

    def change(self, path: str, added: str = "", removed: str = "", whole: bool = False) -> None:
        """Text that goes into a file, or out of it."""
        if len(self.changes) >= MOST or not (added or removed):
            return
        added, removed = added[: self.left[0]], removed[: self.left[1]]
        self.left[0] -= len(added)
        self.left[1] -= len(removed)
        self.changes.append(Change(path, added, removed, whole))

    def edited(self) -> None:
        self._in_place = True

    @property
    def in_place(self) -> bool:
        """Whether a file was changed where it is, as `sed -i` does."""
        return self._in_place

    def effects(self) -> Effects:
        if self.full:
            unclear = self.kinds.setdefault("unclear", {})
            unclear[f"more than {MOST} paths or acts: the rest is left out"] = None
        made: dict[str, Any] = {kind: tuple(found) for kind, found in self.kinds.items()}
        return _NO_EFFECTS._replace(**made)


_NO_EFFECTS = Effects()

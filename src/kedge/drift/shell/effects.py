"""What an action does: to files, version control, packages, the network; and what is uncertain."""

from __future__ import annotations

from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST = 200  # entries of each kind
MOST_TEXT = 200_000  # characters of text that one action adds, and as many that it removes


class VcsCommand(NamedTuple):
    """An act on version control or the outside world: `push`, `gh pr create`, `npm publish`."""

    verb: str
    args: tuple[str, ...] = ()
    destructive: bool = False
    outward: bool = False
    away: bool = False  # run in a directory outside the root
    paths: tuple[str, ...] = ()  # what it discards or destroys, as far as the command names it


class Install(NamedTuple):
    """Packages as they were written; none means an install of what is declared already."""

    manager: str
    packages: tuple[str, ...] = ()
    dev: bool = False
    removes: bool = False
    away: bool = False


class CheckCall(NamedTuple):
    """A run of a test runner, linter or type checker; `ignored` if its failure is swallowed."""

    command: tuple[str, ...]
    ignored: bool = False


class Change(NamedTuple):
    """Text that an action adds to a file and removes from it; `whole` if it is the whole file."""

    path: str
    added: str = ""
    removed: str = ""
    whole: bool = False


class Effects(NamedTuple):
    """Paths are relative to the root; those outside of it are absolute or start with `~`.

    `outside`, `patterns` and `existing` repeat paths of the other fields that lie outside the root,
    that stand for every path they match, or that must exist before the action. `unread` is true if
    a part of the command was not read.
    `kedge` has the words of each call of kedge itself, without its global options.
    """

    read: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    moved: tuple[tuple[str, str], ...] = ()
    directories: tuple[str, ...] = ()
    made_executable: tuple[str, ...] = ()
    vcs: tuple[VcsCommand, ...] = ()
    installs: tuple[Install, ...] = ()
    network: tuple[str, ...] = ()
    checks: tuple[CheckCall, ...] = ()
    runs: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()
    unread: bool = False
    too_large: bool = False
    kedge: tuple[tuple[str, ...], ...] = ()
    existing: tuple[str, ...] = ()


class EffectsBuilder:
    """Collects effects, each once and in order, within the bounds.

    `plain` stays true while nothing but programs that only read was seen; `in_place` says that a
    file was changed where it is, as `sed -i` does.
    """

    __slots__ = ("changes", "full", "in_place", "kinds", "left", "plain", "too_large", "unread")

    def __init__(self) -> None:
        self.kinds: dict[str, dict[object, None]] = {}
        self.changes: list[Change] = []
        self.left = [MOST_TEXT, MOST_TEXT]
        self.full = False
        self.plain = True
        self.in_place = False
        self.unread = False
        self.too_large = False

    def add(self, kind: str, entry: object) -> None:
        """Add an entry to a field of `Effects`, unless the field is full."""
        entries = self.kinds.setdefault(kind, {})
        if kind in _CREATES and entry not in entries and self._is_used(entry):
            self.add("existing", entry)
        if len(entries) < MOST:
            entries[entry] = None
        elif entry not in entries:
            self.full = True

    def add_existing(self, kind: str, path: str) -> None:
        """Add a path that the action changes where it is, unless the action itself created it."""
        if path not in self.kinds.get("written", ()):
            self.add("existing", path)
        self.add(kind, path)

    def _is_used(self, entry: object) -> bool:
        """True if the action read or deleted the path before, which must have existed then."""
        return any(entry in self.kinds.get(kind, ()) for kind in ("read", "deleted"))

    def has(self, kind: str) -> bool:
        return kind in self.kinds

    def count(self, kind: str) -> int:
        return len(self.kinds.get(kind, ()))

    def ignore_checks(self, start: int) -> None:
        """Mark the checks from `start` on as run so that their failure goes unseen."""
        checks = list(self.kinds.get("checks", ()))
        for check in checks[start:]:
            if isinstance(check, CheckCall):
                del self.kinds["checks"][check]
                self.kinds["checks"][check._replace(ignored=True)] = None

    def add_change(
        self, path: str, added: str = "", removed: str = "", whole: bool = False
    ) -> None:
        """Add text that goes into a file, or out of it."""
        if len(self.changes) >= MOST or not (added or removed):
            return
        added, removed = added[: self.left[0]], removed[: self.left[1]]
        self.left[0] -= len(added)
        self.left[1] -= len(removed)
        self.changes.append(Change(path, added, removed, whole))

    def add_unread(self, why: str) -> None:
        """Record that a part of the command was not read, and so may do anything."""
        self.add("unclear", why)
        self.unread = True

    def add_too_large(self, why: str) -> None:
        """Record that a command was read only in part, because it is too large."""
        self.add_unread(why)
        self.too_large = True

    def build(self) -> Effects:
        if self.full:
            unclear = self.kinds.setdefault("unclear", {})
            unclear[f"more than {MOST} paths or acts: the rest is left out"] = None
            self.unread = self.too_large = True
        entries: dict[str, Any] = {kind: tuple(each) for kind, each in self.kinds.items()}
        return _NO_EFFECTS._replace(unread=self.unread, too_large=self.too_large, **entries)


_CREATES = ("written", "directories")
_NO_EFFECTS = Effects()

"""What is known of a tree: its index, its past and its structure, from the cache where it can be.

The index of an earlier state is patched while few files differ. What the structure was read from
is kept with it, so that it is read again only when that changed.
"""

from __future__ import annotations

import gc
import marshal
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kedge.errors import GitError
from kedge.host.project import Project
from kedge.host.record import NamedTuple
from kedge.repomap import files, unchanged
from kedge.repomap.cache import Cache
from kedge.repomap.files import File, Listing
from kedge.repomap.history import History
from kedge.repomap.index import Document, Index
from kedge.repomap.progress import Tick, no_tick
from kedge.repomap.rank import Known

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kedge.repomap.structure import Structure

_SUBJECTS = 200  # of the last commits, that show how they are written
MOST_PATCHED = 40  # files that differ; for more, a new index is made


class Overview(NamedTuple):
    """The structure, how many files each language has, and how many cannot be named."""

    structure: Structure
    languages: list[tuple[str, int]]
    unnamed: int

    def dump(self) -> tuple[Any, ...]:
        """As plain values."""
        return self.structure.dump(), self.languages, self.unnamed

    @classmethod
    def load(cls, values: Any) -> Overview:
        from kedge.repomap.structure import Structure

        structure, languages, unnamed = values
        return cls(Structure.load(structure), languages, unnamed)


class Knowledge:
    """What is asked for is worked out, or taken from the cache, once."""

    def __init__(
        self, project: Project, listing: Listing, cache: Cache, progress: Tick = no_tick
    ) -> None:
        self._project = project
        self._listing = listing
        self._cache = cache
        self._progress = progress
        self.failed = {path: f"{path}: may not be read" for path in listing.unread}
        self.settled = True  # whether the files stayed as they were listed
        self._base, self._changed, index = self._indexed()
        self.ranks = Known(index, self._history())

    def _indexed(self) -> tuple[str, frozenset[bytes], Index]:
        """The index, the state that it was kept for, and the lines that differ from it."""
        state = self._listing.state
        known = self._cache.memo("index", state, Index.load)
        if known is not None:
            return state, frozenset(), known
        lines = self._listing.lines
        nearest: Index | None = None
        for base, index in self._cache.memos("index", Index.load):
            changed = lines ^ index.lines
            if len(changed) <= 2 * MOST_PATCHED:
                index.patch(
                    [file.path for file in _sources(changed - lines)],
                    self._documents(_sources(changed & lines)),
                )
                return base, changed, index
            nearest = nearest or index
        made = self._build(nearest)
        self.settled = self._is_still()  # else they changed while they were read
        if self.settled:
            self._cache.keep_memo("index", state, made.dump())
        return state, frozenset(), made

    def _is_still(self) -> bool:
        """Whether all files are as they were when they were listed: by their times and those of the
        directories that they are in, or else by another listing."""
        read = [file.path for file in _readable(self._listing.files)]
        around: set[str] = set()
        for path in read:
            folder = path.rpartition("/")[0]
            while folder not in around:
                around.add(folder)
                folder = folder.rpartition("/")[0]
        top = f"{self._project.root}/"
        try:
            times = [os.lstat(top + path).st_ctime_ns for path in (*read, *around)]
            if unchanged.are_old(times, self._listing.begun):
                return True
        except OSError:
            return False
        return files.listing(self._project, self._cache).state == self._listing.state

    def _build(self, nearest: Index | None) -> Index:
        """A new index; what an earlier one knows is not read again."""
        lines = self._listing.lines
        sources = _readable(self._listing.files)
        found: dict[str, Document] = {}
        if nearest is not None:
            same = {file.path for file in _sources(lines & nearest.lines)}
            found = nearest.documents(same)
            sources = [file for file in sources if file.path not in same]
        with _undisturbed():
            found.update(self._documents(sources))
            return Index.build(lines, dict(sorted(found.items())))

    def _documents(self, sources: Sequence[File]) -> dict[str, Document]:
        from kedge.repomap.documents import read

        documents = read(sources, self._project.root, self._progress)
        pairs = zip(sources, documents, strict=True)
        return {file.path: document for file, document in pairs if document is not None}

    def _history(self) -> History:
        from kedge.repomap import history

        repo, past = self._project.repo, self._listing.past
        if repo is None or past is None:
            return history.build([])
        known = self._cache.memo("history", past, History.load)
        if known is not None:
            return known
        try:
            made = history.build(history.log(repo))
        except GitError as error:
            self.failed[""] = f"the past of the files is not known: {error.message}"
            return history.build([])
        self._cache.keep_memo("history", past, made.dump())
        return made

    def overview(self) -> Overview:
        from kedge.repomap.structure import describe

        past, lines = self._listing.past, self._listing.lines if self._changed else frozenset()
        changed = {line.partition(b"\t")[2] for line in self._changed}
        known = self._cache.memo("overview", self._base, marshal.loads)
        if known is not None:
            before, read, values = known
            same = _places(self._changed & lines) == _places(self._changed - lines)
            if before == past and same and changed.isdisjoint(read):
                return Overview.load(values)
        tree = Tree(self._project.root, self._listing)
        titles = Counter(file.language.title for file in self._listing.files if file.language)
        found = Overview(
            describe(tree, self.ranks.history.recent(_SUBJECTS)),
            sorted(titles.items(), key=lambda pair: (-pair[1], pair[0])),
            self._listing.unnamed,
        )
        if not changed and not self.failed:
            kept = marshal.dumps((past, list(tree.known), found.dump()))
            self._cache.keep_memo("overview", self._base, kept)
        return found


@contextmanager
def _undisturbed() -> Iterator[None]:
    """No search for garbage, of which an index leaves none, among all the lists that it makes."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def _places(lines: Iterable[bytes]) -> set[tuple[bytes, bytes]]:
    """Path and mode of each."""
    return {(name, head[:8]) for head, _, name in (line.partition(b"\t") for line in lines)}


def _sources(lines: Iterable[bytes]) -> list[File]:
    return _readable(sorted(file for line in lines if (file := files.file_of(line))))


def _readable(listed: Iterable[File]) -> list[File]:
    return [file for file in listed if file.language and file.language.readable]


class Tree:
    """The files as the structure wants them; `known` are those that it asked for. What is not
    listed is not there, so that what git ignores decides nothing."""

    def __init__(self, root: Path, listing: Listing) -> None:
        self.paths = [file.path for file in listing.files]
        self.known: dict[bytes, None] = {}
        self._root = root
        self._listing = listing

    def read(self, path: str) -> bytes | None:
        name = files.encoded(path)
        self.known[name] = None
        return files.read(self._root, path) if name in self._listing.names else None

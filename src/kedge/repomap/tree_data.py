"""The data of a work tree: its index, its history and its structure, from the cache if possible.

If few files differ from a cached index, it is patched. The structure is cached with the names of
the files that it was read from, so that it is only read again if one of them changes.
"""

from __future__ import annotations

import marshal
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kedge.errors import GitError
from kedge.host.project import Project
from kedge.host.redact import redact_value
from kedge.repomap import files
from kedge.repomap.cache import Cache
from kedge.repomap.files import File
from kedge.repomap.history import History
from kedge.repomap.index import Document, Index
from kedge.repomap.listing import Listing, list_files, parse_line
from kedge.repomap.progress import Tick, no_tick
from kedge.repomap.rank import Ranker

if TYPE_CHECKING:
    from kedge.repomap.line_history import Changes
    from kedge.repomap.project.structure import Structure


_SUBJECTS = 200  # commits that show the style of commit messages
MOST_PATCHED = 40  # if more files differ, a new index is built


@dataclass(frozen=True, slots=True)
class Overview:
    """The structure, the number of files by language, and of files with unprintable names."""

    structure: Structure
    languages: list[tuple[str, int]]
    unprintable: int

    def dump(self) -> tuple[Any, ...]:
        """Return plain values for `load`."""
        return self.structure.dump(), self.languages, self.unprintable

    @classmethod
    def load(cls, values: Any) -> Overview:
        from kedge.repomap.project.structure import Structure

        structure, languages, unprintable = values
        return cls(Structure.load(structure), languages, unprintable)


class TreeData:
    """The index and history of a listing, cached or computed; the structure on request."""

    def __init__(
        self, project: Project, listing: Listing, cache: Cache, progress: Tick = no_tick
    ) -> None:
        self._project = project
        self._listing = listing
        self._cache = cache
        self._progress = progress
        self.failed = {path: f"{path}: cannot be read" for path in listing.unreadable}
        self.settled = True  # False if files changed while they were read
        self._base, self._changed, index = self._load_index()
        self.ranker = Ranker(index, self._load_history())

    def _load_index(self) -> tuple[str, frozenset[bytes], Index]:
        """The state of the cached index, the lines that differ from it, and the patched index."""
        state = self._listing.state
        known = self._cache.load_memo("index", state, Index.load)
        if known is not None:
            return state, frozenset(), known
        lines = self._listing.lines
        nearest: Index | None = None
        for base, index in self._cache.load_memos("index", Index.load):
            changed = lines ^ index.lines
            if len(changed) <= 2 * MOST_PATCHED:
                index.patch(
                    [file.path for file in _parse_sources(changed - lines)],
                    self._read_documents(_parse_sources(changed & lines)),
                )
                return base, changed, index
            nearest = nearest or index
        index = self._build(nearest)
        self.settled = list_files(self._project).state == state
        if self.settled:
            self._cache.keep_memo("index", state, index.dump())
        return state, frozenset(), index

    def _build(self, nearest: Index | None) -> Index:
        """Build a new index, without reading files again that an earlier one has."""
        lines = self._listing.lines
        sources = _keep_readable(self._listing.files)
        documents: dict[str, Document] = {}
        if nearest is not None:
            same = {file.path for file in _parse_sources(lines & nearest.lines)}
            documents = nearest.documents(same)
            sources = [file for file in sources if file.path not in same]
        documents.update(self._read_documents(sources))
        return Index.build(lines, dict(sorted(documents.items())))

    def _read_documents(self, sources: Sequence[File]) -> dict[str, Document]:
        from kedge.repomap.documents import read_documents

        documents = read_documents(sources, self._project.root, self._progress)
        pairs = zip(sources, documents, strict=True)
        return {file.path: document for file, document in pairs if document is not None}

    def _load_history(self) -> History:
        from kedge.repomap import history

        repo, key = self._project.repo, self._listing.history_key
        if repo is None or key is None:
            return history.build_history([])
        known = self._cache.load_memo("history", key, History.load)
        if known is not None:
            return known
        try:
            result = history.build_history(history.read_log(repo))
        except GitError as error:
            self.failed[""] = f"git's history cannot be read: {error.message}"
            return history.build_history([])
        self._cache.keep_memo("history", key, result.dump())
        return result

    def load_changes(self) -> Changes:
        """How often each definition changed."""
        from kedge.repomap.line_history import read_changes

        repo, key = self._project.repo, self._listing.history_key
        if repo is None or key is None:
            return {}
        known: Changes | None = self._cache.load_memo("changes", key, marshal.loads)
        if known is not None:
            return known
        try:
            found = read_changes(repo)
        except GitError as error:
            self.failed[""] = f"git's history cannot be read: {error.message}"
            return {}
        self._cache.keep_memo("changes", key, marshal.dumps(found))
        return found

    def load_overview(self) -> Overview:
        history_key = self._listing.history_key
        lines = self._listing.lines if self._changed else frozenset()
        changed = {line.partition(b"\t")[2] for line in self._changed}
        known = self._cache.load_memo("overview", self._base, marshal.loads)
        if known is not None:
            before, read, values = known
            added, removed = self._changed & lines, self._changed - lines
            same = _paths_and_modes(added) == _paths_and_modes(removed)
            if before == history_key and same and changed.isdisjoint(read):
                return Overview.load(values)
        from kedge.repomap.project.survey import describe

        tree = ListedFiles(self._project.root, self._listing)
        titles = Counter(file.language.title for file in self._listing.files if file.language)
        overview = Overview(
            describe(tree, self.ranker.history.recent_subjects(_SUBJECTS)),
            sorted(titles.items(), key=lambda pair: (-pair[1], pair[0])),
            self._listing.unprintable,
        )
        if not changed and not self.failed:
            kept = marshal.dumps((history_key, list(tree.known), redact_value(overview.dump())))
            self._cache.keep_memo("overview", self._base, kept)
        return overview


def _paths_and_modes(lines: Iterable[bytes]) -> set[tuple[bytes, bytes]]:
    """The path and mode of each line."""
    return {(name, head[:8]) for head, _, name in (line.partition(b"\t") for line in lines)}


def _parse_sources(lines: Iterable[bytes]) -> list[File]:
    return _keep_readable(files.sort_by_path(file for line in lines if (file := parse_line(line))))


def _keep_readable(listed: Iterable[File]) -> list[File]:
    return [file for file in listed if file.language and file.language.readable]


class ListedFiles:
    """The listed files as a `FileSource`; `known` has the names that were read.

    A file that is not listed does not exist here, so that ignored files have no influence.
    """

    def __init__(self, root: Path, listing: Listing) -> None:
        self.paths = [file.path for file in listing.files]
        self.known: dict[bytes, None] = {}
        self._root = root
        self._listing = listing

    def read(self, path: str) -> bytes | None:
        name = files.encode_path(path)
        self.known[name] = None
        return files.read(self._root, path) if name in self._listing.names else None

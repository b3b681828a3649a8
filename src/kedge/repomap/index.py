"""The index over a tree's documents: which files a name is in, and which names are in a file.

It is kept whole, and loads in the time that it takes to copy its bytes. When some files have
changed since it was made, they are patched in after loading. All counts are whole numbers, so
that an index gives the same answers however it came about.
"""

from __future__ import annotations

import marshal
from array import array
from bisect import bisect
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, islice, pairwise

from kedge.repomap.files import is_test
from kedge.repomap.languages import PROSE, language_of

# A name's byte in a document: how often it occurs there, up to MOST, and whether it is defined or
# imported there. A key of an import has a slash in it and does not count as a word.
COUNT, IMPORTED, DEFINED = 0x0F, 0x40, 0x80
MOST = 8
MOST_DEFINERS = 6  # a name that more files define says nothing about which is meant
Document = dict[str, int]

# In `_posts` and `_forward`, an entry is a number (of a document, of a name) and a name's byte.
_BITS = 8
_BYTE = 0xFF
_CODE, _TEST, _PROSE = 0, 1, 2


class Index:
    """Documents and names by number. `paths` has None in the place of a document that is gone."""

    def __init__(self, lines: bytes = b"") -> None:
        self._lines = lines  # of the listing that it stands for
        self.paths: list[str | None] = []
        self._kinds = bytearray()
        self.names = "\n"  # each with a line break after it
        self._places: array[int] = array("I")  # in `names` where each begins
        self._starts: array[int] = array("I", [0])  # of the posts of each name
        self._posts: array[int] = array("I")
        self._begins: array[int] = array("I", [0])  # of the names of each document
        self._forward: array[int] = array("I")
        self._patched: dict[int, list[int]] = {}
        self._definers: dict[int, list[int]] = {}
        self._listed: list[str] = []

    @property
    def lines(self) -> frozenset[bytes]:
        """Those of the listing that it stands for."""
        return frozenset(self._lines.split(b"\0"))

    @property
    def live(self) -> list[int]:
        """The documents that are there, in the order of their paths."""
        found = [(path, number) for number, path in enumerate(self.paths) if path is not None]
        return [number for _, number in sorted(found)]

    def weak(self, number: int) -> bool:
        """Whether the document is a test."""
        return self._kinds[number] == _TEST

    def prose(self, number: int) -> bool:
        """Whether the document is text for people, known by its path alone."""
        return self._kinds[number] == _PROSE

    @property
    def sizes(self) -> dict[int, int]:
        """How many names each document has that is there."""
        pairs = zip(pairwise(self._begins), self.paths, strict=True)
        return {
            number: end - begin
            for number, ((begin, end), path) in enumerate(pairs)
            if path is not None
        }

    @property
    def total(self) -> int:
        return sum(self.sizes.values())

    def name_at(self, place: int) -> int:
        """The number of the name that is at this place of `names`."""
        return bisect(self._places, place) - 1

    def posts(self, name: int) -> Sequence[int]:
        """The documents with this name, those that define it first."""
        if name in self._patched:
            return self._patched[name]
        return self._posts[self._starts[name] : self._starts[name + 1]]

    def definers(self, name: int) -> list[int]:
        """The documents that define the name; none when they are many."""
        posts = self.posts(name)
        if not posts or not posts[0] & DEFINED:
            return []
        found = [post >> _BITS for post in posts[: MOST_DEFINERS + 1] if post & DEFINED]
        return found if len(found) <= MOST_DEFINERS else []

    def shared(self, number: int) -> Iterator[tuple[int, int, list[int]]]:
        """The names in a document that some define, but not many: the name, its byte there, and
        those documents."""
        starts, posts, known = self._starts, self._posts, self._definers
        for entry in self.names_in(number):
            name = entry >> _BITS
            definers = known.get(name)
            if definers is None:
                fresh = name in self._patched or posts[starts[name]] & DEFINED
                definers = known[name] = self.definers(name) if fresh else []
            if definers:
                yield name, entry & _BYTE, definers

    def defined(self) -> Iterator[int]:
        """The names that some document defines."""
        for name in range(len(self._places)):
            row = self._patched.get(name)
            if row is None:
                start = self._starts[name]
                if start < self._starts[name + 1] and self._posts[start] & DEFINED:
                    yield name
            elif row and row[0] & DEFINED:
                yield name

    def names_in(self, number: int) -> Sequence[int]:
        """The names in a document, each with its byte."""
        return self._forward[self._begins[number] : self._begins[number + 1]]

    def offers(self, number: int) -> dict[str, int]:
        """The names that a document defines, and how many documents have them."""
        self._listed = self._listed or self._names()
        entries = (entry >> _BITS for entry in self.names_in(number) if entry & DEFINED)
        return {self._listed[name]: len(self.posts(name)) for name in entries}

    def documents(self, paths: Container[str]) -> dict[str, Document]:
        """These documents as they were read."""
        names = self._names()
        return {
            path: {names[entry >> _BITS]: entry & _BYTE for entry in self.names_in(number)}
            for number, path in enumerate(self.paths)
            if path is not None and path in paths
        }

    def _names(self) -> list[str]:
        return self.names.split("\n")[1:-1]

    # Making one

    @classmethod
    def build(cls, lines: Iterable[bytes], documents: Mapping[str, Document]) -> Index:
        made = cls(b"\0".join(lines))
        made.paths = list(documents)
        made._kinds = bytearray(_kind(path) for path in documents)
        posts: defaultdict[str, list[int]] = defaultdict(list)
        for place, document in enumerate(documents.values()):
            high = place << _BITS
            for name, byte in document.items():
                if byte & DEFINED:
                    posts[name].insert(0, high | byte)
                else:
                    posts[name].append(high | byte)
        for row in posts.values():
            made._posts.extend(row)
            made._starts.append(len(made._posts))
        made._name(posts)
        number = dict(zip(posts, range(0, len(posts) << _BITS, 1 << _BITS), strict=True))
        for document in documents.values():
            made._add([number[name] | byte for name, byte in document.items()])
        return made

    def patch(self, gone: Iterable[str], documents: Mapping[str, Document]) -> None:
        """Take documents out, and others in. What changes is kept apart until the next build."""
        at = {path: number for number, path in enumerate(self.paths)}
        dead = {at[path] for path in gone if path in at}
        for number in sorted(dead):
            self.paths[number] = None
            for entry in self.names_in(number):
                self._row(entry >> _BITS)
        for row in self._patched.values():
            row[:] = [post for post in row if post >> _BITS not in dead]
        if not documents:
            return
        numbers = {name: number for number, name in enumerate(self._names())}
        for path, document in documents.items():
            number = len(self.paths)
            self.paths.append(path)
            self._kinds.append(_kind(path))
            entries = []
            for name, byte in document.items():
                found = numbers.setdefault(name, len(numbers))
                row = self._row(found)
                row.insert(0 if byte & DEFINED else len(row), number << _BITS | byte)
                entries.append(found << _BITS | byte)
            self._add(entries)
        self._name(list(numbers)[len(self._places) :])

    def _name(self, names: Iterable[str]) -> None:
        known = list(names)
        ends = accumulate([len(name) + 1 for name in known], initial=len(self.names))
        self._places.extend(islice(ends, len(known)))
        self.names += "\n".join((*known, ""))

    def _add(self, entries: list[int]) -> None:
        self._forward.extend(entries)
        self._begins.append(len(self._forward))

    def _row(self, name: int) -> list[int]:
        """The posts of a name, to be changed."""
        if name not in self._patched:
            known = name + 1 < len(self._starts)
            self._patched[name] = list(self.posts(name)) if known else []
        return self._patched[name]

    # Keeping one

    def _arrays(self) -> tuple[array[int], ...]:
        names = (self._places, self._starts, self._posts)
        return (self._begins, self._forward, *names)

    def dump(self) -> bytes:
        """Only for one that was built and not patched."""
        arrays = (one.tobytes() for one in self._arrays())
        return marshal.dumps((self._lines, self.paths, self.names, bytes(self._kinds), *arrays))

    @classmethod
    def load(cls, data: bytes) -> Index:
        lines, paths, names, kinds, *rest = marshal.loads(data)  # noqa: S302 - our own
        made = cls(lines)
        made.paths, made.names, made._kinds = paths, names, bytearray(kinds)
        for own, kept in zip(made._arrays(), rest, strict=True):
            del own[:]
            own.frombytes(kept)
        return made


def _kind(path: str) -> int:
    language = language_of(path)
    if language is None or language.name in PROSE:
        return _PROSE
    return _TEST if is_test(path) else _CODE

"""The index of all documents: which files contain a name, and which names a file contains.

It is cached as a whole and loads as fast as its bytes are copied. Files that have changed since are
patched in after loading. All counts are integers, so that a patched index gives the same answers as
a new one.
"""

from __future__ import annotations

import marshal
from array import array
from bisect import bisect, bisect_left
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Sized
from itertools import accumulate, chain, islice, pairwise
from operator import sub
from typing import TYPE_CHECKING

from kedge.repomap.files import is_test
from kedge.repomap.languages import PROSE, language_of

if TYPE_CHECKING:
    Numbers = array[int] | memoryview[int]


# The byte of a name in a document: its count there, up to MOST, and flags if it is defined or
# imported there. An import key contains a slash and does not count as a word.
COUNT, IMPORTED, DEFINED = 0x0F, 0x40, 0x80
MOST = 8
MOST_DEFINERS = 6  # a name that more files define is ambiguous
Document = dict[str, int]

# An entry of `_posts` (`_forward`) is the number of a document (a name) and the name's byte.
_BITS = 8
_BYTE = 0xFF
_WORD = array("I").itemsize
CODE, TEST, TEXT = 0, 1, 2  # kinds of documents; only the path of a text is indexed


class Index:
    """Documents and names by number. `paths` has None for a document that was removed."""

    def __init__(self, lines: bytes = b"") -> None:
        self._lines = lines  # of the listing that was indexed
        self.paths: list[str | None] = []
        self.kinds = bytearray()  # of the documents: CODE, TEST or TEXT
        self.names = "\n"  # sorted, one per line; patched ones at the end
        self._few = bytearray()  # how many documents define each name; 0 if too many
        self._places: Numbers = array("I")  # where each name begins in `names`
        self._starts: Numbers = array("I")  # where the posts of each name begin
        self._posts: Numbers = array("I")
        self._begins: Numbers = array("I")  # where the names of each document begin
        self._forward: Numbers = array("I")
        self._added: dict[int, list[int]] = {}  # the names of each patched document
        self._fresh: dict[str, int] = {}  # the names that only patched documents have
        self._patched: dict[int, array[int]] = {}  # the posts that patches changed, by name
        self._definers: dict[int, list[int]] = {}

    @property
    def lines(self) -> frozenset[bytes]:
        """The lines of the listing that was indexed."""
        return frozenset(self._lines.split(b"\0") if self._lines else ())

    @property
    def live(self) -> list[int]:
        """The documents that were not removed, sorted by path."""
        found = [number for number, path in enumerate(self.paths) if path is not None]
        # Built documents are in order; patched ones come after them.
        return sorted(found, key=lambda one: self.paths[one] or "") if self._added else found

    def is_test_file(self, number: int) -> bool:
        return self.kinds[number] == TEST

    def is_prose(self, number: int) -> bool:
        return self.kinds[number] == TEXT

    @property
    def sizes(self) -> dict[int, int]:
        """The number of names in each document."""
        begins = self._begins.tolist()
        sizes = [*map(sub, begins[1:], begins), *map(len, self._added.values())]
        return {n: sizes[n] for n, path in enumerate(self.paths) if path is not None}

    def name_at(self, place: int) -> int:
        """The number of the name at a position of `names`."""
        return bisect(self._places, place) - 1

    def posts(self, name: int) -> list[int]:
        """The documents with this name: first those that define it, the last first."""
        if name in self._patched:
            return self._patched[name].tolist()
        return self._posts[self._starts[name] : self._starts[name + 1]].tolist()

    def definers(self, name: int) -> list[int]:
        """The documents that define the name; none if there are too many."""
        if name not in self._definers:
            posts: Numbers | None = self._patched.get(name)
            if posts is None:
                start = self._starts[name]
                posts = self._posts[start : start + self._few[name]]
            self._definers[name] = [post >> _BITS for post in posts[: self._few[name]]]
        return self._definers[name]

    def linking_names(self, number: int) -> list[tuple[int, int]]:
        """The names in a document that a few documents define, each with its byte."""
        few = self._few
        return [(e >> _BITS, e & _BYTE) for e in self.names_in(number) if few[e >> _BITS]]

    def all_linking_names(self) -> Iterator[int]:
        """The names that a few documents define."""
        return (name for name, few in enumerate(self._few) if few)

    def names_in(self, number: int) -> list[int]:
        """The names in a document, each with its byte."""
        if number in self._added:
            return self._added[number]
        return self._forward[self._begins[number] : self._begins[number + 1]].tolist()

    def definitions(self, number: int) -> dict[str, int]:
        """The names that a document defines, each with the number of documents that have it."""
        entries = (entry >> _BITS for entry in self.names_in(number) if entry & DEFINED)
        return {self._text(self._places[name]): len(self.posts(name)) for name in entries}

    def documents(self, paths: Container[str]) -> dict[str, Document]:
        """The documents at these paths, as they were read."""
        names = self.names.split("\n")[1:-1]
        return {
            path: {names[entry >> _BITS]: entry & _BYTE for entry in self.names_in(number)}
            for number, path in enumerate(self.paths)
            if path is not None and path in paths
        }

    def text_of(self, name: int) -> str:
        return self._text(self._places[name])

    def _text(self, place: int) -> str:
        return self.names[place : self.names.index("\n", place)]

    @classmethod
    def build(cls, lines: Iterable[bytes], documents: Mapping[str, Document]) -> Index:
        index = cls(b"\0".join(lines))
        index.paths = list(documents)
        index.kinds = bytearray(_kind(path) for path in documents)
        posts: defaultdict[str, list[int]] = defaultdict(list)
        for place, document in enumerate(documents.values()):
            # There are few different bytes: look each up once, not once per name.
            post = {byte: place << _BITS | byte for byte in set(document.values())}
            for name, byte in document.items():
                if byte < DEFINED:
                    posts[name].append(post[byte])
                else:
                    posts[name].insert(0, post[byte])
        names = sorted(posts)
        rows = [posts[name] for name in names]
        index._few = bytearray(_few(row) if row[0] & DEFINED else 0 for row in rows)
        index._starts, index._posts = _begins(rows), array("I", chain.from_iterable(rows))
        index._name(names)
        number = dict(zip(names, range(0, len(names) << _BITS, 1 << _BITS), strict=True))
        forward = array("I")
        for document in documents.values():
            forward.extend([number[name] | byte for name, byte in document.items()])
        index._begins, index._forward = _begins(documents.values()), forward
        return index

    def patch(self, gone: Iterable[str], documents: Mapping[str, Document]) -> None:
        """Remove documents and add others, beside the built arrays."""
        wanted = set(gone)
        dead = {number for number, path in enumerate(self.paths) if path in wanted}
        for number in sorted(dead):
            self.paths[number] = None
            for entry in self.names_in(number):
                _remove(self._row(entry >> _BITS), number << _BITS | entry & _BYTE)
        for path, document in documents.items():
            number = len(self.paths)
            self.paths.append(path)
            self.kinds.append(_kind(path))
            entries = self._added[number] = []
            for name, byte in document.items():
                found = self._number(name)
                row = self._row(found)
                row.insert(0 if byte & DEFINED else len(row), number << _BITS | byte)
                entries.append(found << _BITS | byte)
        named = len(self._few)
        self._name([name for name, number in self._fresh.items() if number >= named])
        self._few.extend(bytes(len(self._places) - named))
        for found, row in self._patched.items():
            self._few[found] = _few(row)
        self._definers.clear()

    def _number(self, name: str) -> int:
        """The number of a name, a new one if it has none."""
        built = len(self._starts) - 1
        place = bisect_left(self._places, name, hi=built, key=self._text)
        if place < built and self._text(self._places[place]) == name:
            return place
        return self._fresh.setdefault(name, built + len(self._fresh))

    def _name(self, names: Iterable[str]) -> None:
        known = list(names)
        ends = accumulate([len(name) + 1 for name in known], initial=len(self.names))
        self._places = array("I", self._places.tobytes())
        self._places.extend(islice(ends, len(known)))
        self.names += "\n".join((*known, ""))

    def _row(self, name: int) -> array[int]:
        """The posts of a name as an array that may be changed."""
        if name not in self._patched:
            self._patched[name] = row = array("I")
            if name + 1 < len(self._starts):
                row.frombytes(self._posts[self._starts[name] : self._starts[name + 1]].tobytes())
        return self._patched[name]

    def dump(self) -> bytes:
        """Serialise the index; it must not have been patched."""
        arrays = (self._places, self._starts, self._posts, self._begins, self._forward)
        sizes = [len(one) for one in arrays]
        head = marshal.dumps((self._lines, self.paths, self.names, self.kinds, self._few, sizes))
        return b"".join(
            (len(head).to_bytes(_WORD, "big"), head, *(one.tobytes() for one in arrays))
        )

    @classmethod
    def load(cls, data: bytes | memoryview) -> Index:
        """Load an index whose arrays are views of the data."""
        view = memoryview(data)
        place = _WORD + int.from_bytes(view[:_WORD], "big")
        lines, paths, names, kinds, few, sizes = marshal.loads(view[_WORD:place])  # noqa: S302 - our own
        index = cls(lines)
        index.paths, index.names = paths, names
        index.kinds, index._few = bytearray(kinds), bytearray(few)
        ends = [*accumulate((_WORD * size for size in sizes), initial=place)]
        parts = [view[begin:end].cast("I") for begin, end in pairwise(ends)]
        index._places, index._starts, index._posts, index._begins, index._forward = parts
        return index


def _remove(posts: array[int], post: int) -> None:
    if post & DEFINED:
        posts.remove(post)
        return
    begin = bisect_left(posts, True, key=lambda one: not one & DEFINED)
    del posts[bisect_left(posts, post, begin)]


def _few(posts: Sequence[int]) -> int:
    """How many documents define the name with these posts; 0 if there are too many."""
    if not posts or not posts[0] & DEFINED:
        return 0
    count = sum(post & DEFINED for post in posts[: MOST_DEFINERS + 1]) // DEFINED
    return count if count <= MOST_DEFINERS else 0


def _begins(rows: Iterable[Sized]) -> array[int]:
    """Where each row begins if all are joined, and where the last one ends."""
    return array("I", accumulate(map(len, rows), initial=0))


def _kind(path: str) -> int:
    language = language_of(path)
    if language is None or language.name in PROSE:
        return TEXT
    return TEST if is_test(path) else CODE

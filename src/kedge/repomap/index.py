"""The index over a tree's documents: which files a name is in, and which names are in a file.

It is kept whole, and loads in the time that it takes to copy its bytes. When some files have
changed since it was made, they are patched in after loading. All counts are whole numbers, so
that an index gives the same answers however it came about.
"""

from __future__ import annotations

import marshal
from array import array
from bisect import bisect, bisect_left
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Sized
from itertools import accumulate, chain, islice, pairwise
from operator import sub

from kedge.repomap.files import is_test
from kedge.repomap.languages import PROSE, language_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    Numbers = array[int] | memoryview[int]

# A name's byte in a document: how often it occurs there, up to MOST, and whether it is defined or
# imported there. A key of an import has a slash in it and does not count as a word.
COUNT, IMPORTED, DEFINED = 0x0F, 0x40, 0x80
MOST = 8
MOST_DEFINERS = 6  # a name that more files define says nothing about which is meant
Document = dict[str, int]

# In `_posts` and `_forward`, an entry is a number (of a document, of a name) and a name's byte.
_BITS = 8
_BYTE = 0xFF
_WORD = array("I").itemsize
CODE, TEST, TEXT = 0, 1, 2  # a text is for people, known by its path alone


class Index:
    """Documents and names by number. `paths` has None in the place of a document that is gone."""

    def __init__(self, lines: bytes = b"") -> None:
        self._lines = lines  # of the listing that it stands for
        self.paths: list[str | None] = []
        self.kinds = bytearray()  # of the documents: CODE, TEST or TEXT
        self.names = "\n"  # in order, each with a line break after it; patched ones at the end
        self._few = bytearray()  # how many documents define each name; 0 when they are many
        self._places: Numbers = array("I")  # in `names` where each begins
        self._starts: Numbers = array("I")  # of the posts of each name
        self._posts: Numbers = array("I")
        self._begins: Numbers = array("I")  # of the names of each document
        self._forward: Numbers = array("I")
        self._added: dict[int, list[int]] = {}  # the names in each document that was patched in
        self._fresh: dict[str, int] = {}  # the names that came with them
        self._patched: dict[int, array[int]] = {}  # the posts of the names that they changed
        self._definers: dict[int, list[int]] = {}

    @property
    def lines(self) -> frozenset[bytes]:
        """Those of the listing that it stands for."""
        return frozenset(self._lines.split(b"\0"))

    @property
    def live(self) -> list[int]:
        """The documents that are there, in the order of their paths."""
        found = [number for number, path in enumerate(self.paths) if path is not None]
        # They were built in order; those that were patched in come after all others.
        return sorted(found, key=lambda one: self.paths[one] or "") if self._added else found

    def weak(self, number: int) -> bool:
        """Whether the document is a test."""
        return self.kinds[number] == TEST

    def prose(self, number: int) -> bool:
        """Whether the document is text for people, known by its path alone."""
        return self.kinds[number] == TEXT

    @property
    def sizes(self) -> dict[int, int]:
        """How many names each document has that is there."""
        begins = self._begins.tolist()
        sizes = [*map(sub, begins[1:], begins), *map(len, self._added.values())]
        return {n: sizes[n] for n, path in enumerate(self.paths) if path is not None}

    def name_at(self, place: int) -> int:
        """The number of the name that is at this place of `names`."""
        return bisect(self._places, place) - 1

    def posts(self, name: int) -> list[int]:
        """The documents with this name: those that define it, the last first, and then others."""
        if name in self._patched:
            return self._patched[name].tolist()
        return self._posts[self._starts[name] : self._starts[name + 1]].tolist()

    def definers(self, name: int) -> list[int]:
        """The documents that define the name; none when they are many."""
        if name not in self._definers:
            posts: Numbers | None = self._patched.get(name)
            if posts is None:
                start = self._starts[name]
                posts = self._posts[start : start + self._few[name]]
            self._definers[name] = [post >> _BITS for post in posts[: self._few[name]]]
        return self._definers[name]

    def shared(self, number: int) -> list[tuple[int, int]]:
        """The names in a document that some define, but not many, each with its byte there."""
        few = self._few
        return [(e >> _BITS, e & _BYTE) for e in self.names_in(number) if few[e >> _BITS]]

    def defined(self) -> Iterator[int]:
        """The names that some documents define, but not many."""
        return (name for name, few in enumerate(self._few) if few)

    def names_in(self, number: int) -> list[int]:
        """The names in a document, each with its byte."""
        if number in self._added:
            return self._added[number]
        return self._forward[self._begins[number] : self._begins[number + 1]].tolist()

    def offers(self, number: int) -> dict[str, int]:
        """The names that a document defines, and how many documents have them."""
        entries = (entry >> _BITS for entry in self.names_in(number) if entry & DEFINED)
        return {self._text(self._places[name]): len(self.posts(name)) for name in entries}

    def documents(self, paths: Container[str]) -> dict[str, Document]:
        """These documents as they were read."""
        names = self.names.split("\n")[1:-1]
        return {
            path: {names[entry >> _BITS]: entry & _BYTE for entry in self.names_in(number)}
            for number, path in enumerate(self.paths)
            if path is not None and path in paths
        }

    def _text(self, place: int) -> str:
        return self.names[place : self.names.index("\n", place)]

    # Making one

    @classmethod
    def build(cls, lines: Iterable[bytes], documents: Mapping[str, Document]) -> Index:
        made = cls(b"\0".join(lines))
        made.paths = list(documents)
        made.kinds = bytearray(_kind(path) for path in documents)
        posts: defaultdict[str, list[int]] = defaultdict(list)
        for place, document in enumerate(documents.values()):
            # Few bytes differ: a number for each, and not for each name, is soon found again.
            post = {byte: place << _BITS | byte for byte in set(document.values())}
            for name, byte in document.items():
                if byte < DEFINED:
                    posts[name].append(post[byte])
                else:
                    posts[name].insert(0, post[byte])
        names = sorted(posts)
        rows = [posts[name] for name in names]
        made._few = bytearray(_few(row) if row[0] & DEFINED else 0 for row in rows)
        made._starts, made._posts = _begins(rows), array("I", chain.from_iterable(rows))
        made._name(names)
        number = dict(zip(names, range(0, len(names) << _BITS, 1 << _BITS), strict=True))
        forward = array("I")
        for document in documents.values():
            forward.extend([number[name] | byte for name, byte in document.items()])
        made._begins, made._forward = _begins(documents.values()), forward
        return made

    def patch(self, gone: Iterable[str], documents: Mapping[str, Document]) -> None:
        """Take documents out, and others in. What changes is kept apart until the next build."""
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
        """The number of a name, which it is given when it has none."""
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
        """The posts of a name, to be changed."""
        if name not in self._patched:
            self._patched[name] = row = array("I")
            if name + 1 < len(self._starts):
                row.frombytes(self._posts[self._starts[name] : self._starts[name + 1]].tobytes())
        return self._patched[name]

    # Keeping one

    def dump(self) -> bytes:
        """Only for one that was built and not patched."""
        arrays = (self._places, self._starts, self._posts, self._begins, self._forward)
        sizes = [len(one) for one in arrays]
        head = marshal.dumps((self._lines, self.paths, self.names, self.kinds, self._few, sizes))
        return b"".join(
            (len(head).to_bytes(_WORD, "big"), head, *(one.tobytes() for one in arrays))
        )

    @classmethod
    def load(cls, data: bytes | memoryview) -> Index:
        """Its numbers stay where they are in the data."""
        view = memoryview(data)
        place = _WORD + int.from_bytes(view[:_WORD], "big")
        lines, paths, names, kinds, few, sizes = marshal.loads(view[_WORD:place])  # noqa: S302 - our own
        made = cls(lines)
        made.paths, made.names = paths, names
        made.kinds, made._few = bytearray(kinds), bytearray(few)
        ends = [*accumulate((_WORD * size for size in sizes), initial=place)]
        parts = [view[begin:end].cast("I") for begin, end in pairwise(ends)]
        made._places, made._starts, made._posts, made._begins, made._forward = parts
        return made


def _remove(posts: array[int], post: int) -> None:
    if post & DEFINED:
        posts.remove(post)
        return
    begin = bisect_left(posts, True, key=lambda one: not one & DEFINED)
    del posts[bisect_left(posts, post, begin)]


def _few(posts: Sequence[int]) -> int:
    """How many documents define the name with these posts; 0 when they are many."""
    if not posts or not posts[0] & DEFINED:
        return 0
    count = sum(post & DEFINED for post in posts[: MOST_DEFINERS + 1]) // DEFINED
    return count if count <= MOST_DEFINERS else 0


def _begins(rows: Iterable[Sized]) -> array[int]:
    """Where each row begins when they are joined, and where the last ends."""
    return array("I", accumulate(map(len, rows), initial=0))


def _kind(path: str) -> int:
    language = language_of(path)
    if language is None or language.name in PROSE:
        return TEXT
    return TEST if is_test(path) else CODE

"""Text relevance: BM25 over documents that are bags of names, in a form that loads at once.

A document keeps whole names, which are few; a question asks for terms, which are parts of names.
"""

from __future__ import annotations

import marshal
import math
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

_K1 = 1.2
_MOST = 8  # times that a name counts in one document


@dataclass(slots=True)
class Corpus:
    """Documents by number. A document's names are a slice of `ids`, a term's a slice of `names`."""

    terms: list[str]
    term_starts: array[int]
    names: array[int]
    starts: array[int]
    ids: array[int]
    counts: bytes
    lengths: array[int]

    @classmethod
    def build(
        cls,
        documents: Sequence[Mapping[str, int]],
        terms_of: Callable[[str], Iterable[str]] = lambda name: (name,),
    ) -> Corpus:
        number: dict[str, int] = {}
        starts, ids, lengths = array("I", [0]), array("I"), array("I")
        counts = bytearray()
        for document in documents:
            ids.extend([number.setdefault(name, len(number)) for name in document])
            own = bytes([count if count < _MOST else _MOST for count in document.values()])  # noqa: FURB136 - quicker
            counts += own
            starts.append(len(ids))
            lengths.append(sum(own))
        groups: dict[str, list[int]] = {}
        for name, index in number.items():
            for term in terms_of(name):
                groups.setdefault(term, []).append(index)
        terms = sorted(groups)
        term_starts, names = array("I", [0]), array("I")
        for term in terms:
            names.extend(groups[term])
            term_starts.append(len(names))
        return cls(terms, term_starts, names, starts, ids, bytes(counts), lengths)

    def scores(self, query: Mapping[str, float], b: float) -> list[float]:
        """How relevant each document is to the query's weighted terms."""
        total = len(self.lengths)
        scores = [0.0] * total
        groups = {term: found for term in sorted(query) if (found := self._names(term))}
        if not groups:
            return scores
        asked: dict[int, list[str]] = {}
        for term, found in groups.items():
            for name in found:
                asked.setdefault(name, []).append(term)
        wanted = frozenset(asked)
        hits: dict[str, dict[int, int]] = {term: {} for term in groups}
        for document in range(total):
            start = self.starts[document]
            own = self.ids[start : self.starts[document + 1]]
            for name in wanted.intersection(own):
                count = self.counts[start + own.index(name)]
                for term in asked[name]:
                    row = hits[term]
                    row[document] = row.get(document, 0) + count
        mean = sum(self.lengths) / total or 1.0
        for term, row in hits.items():
            weight = query[term] * math.log(1 + (total - len(row) + 0.5) / (len(row) + 0.5))
            for document, count in row.items():
                slack = _K1 * (1 - b + b * self.lengths[document] / mean)
                scores[document] += weight * count * (_K1 + 1) / (count + slack)
        return scores

    def _names(self, term: str) -> array[int]:
        place = bisect_left(self.terms, term)
        if place == len(self.terms) or self.terms[place] != term:
            return array("I")
        return self.names[self.term_starts[place] : self.term_starts[place + 1]]

    def dump(self) -> bytes:
        arrays = (self.term_starts, self.names, self.starts, self.ids, self.lengths)
        return marshal.dumps(("\n".join(self.terms), self.counts, *(a.tobytes() for a in arrays)))

    @classmethod
    def load(cls, data: bytes) -> Corpus:
        terms, counts, *rest = marshal.loads(data)  # noqa: S302 - our own
        arrays = []
        for one in rest:
            found: array[int] = array("I")
            found.frombytes(one)
            arrays.append(found)
        term_starts, names, starts, ids, lengths = arrays
        return cls(terms.split("\n"), term_starts, names, starts, ids, counts, lengths)

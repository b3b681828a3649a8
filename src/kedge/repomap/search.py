"""Text relevance: BM25 over the names in documents. A term matches a part of a name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kedge.repomap.index import COUNT, Index
from kedge.text.bm25 import score_documents
from kedge.text.words import stem


def relevance(index: Index, query: Mapping[str, float], b: float) -> dict[int, float]:
    """The BM25 score of each document that matches some of the weighted terms."""
    lower = index.names.lower()
    rows: dict[str, dict[int, int]] = {}
    for term in query:
        row: dict[int, int] = {}
        for place in find_matches(index.names, lower, term):
            for post in index.posts(index.name_at(place)):
                if count := post & COUNT:
                    number = post >> 8
                    row[number] = row.get(number, 0) + count
        rows[term] = row
    return score_documents(rows, query, index.sizes, b=b)


def find_matches(lines: str, lower: str, term: str) -> Iterator[int]:
    """Positions where the term, or an inflection of it, is a part of a name; one per line.

    `lines` begins and ends with a line break; `lower` is the same text in lower case.
    """
    needle = term.removesuffix("y")  # policy, policies
    size = len(needle)
    place = lower.find(needle)
    while place > 0:
        if _starts_part(lines, place) and (
            (size == len(term) and _ends_part(lines, place + size))
            or _is_inflection(lines, place, term)
        ):
            yield place
            place = lower.find("\n", place)
        place = lower.find(needle, place + 1)


def find_lines(lower: str, name: str) -> Iterator[int]:
    """Positions of the lines that are exactly this name; there is a line break around each."""
    needle = f"\n{name}\n"
    place = lower.find(needle)
    while place >= 0:
        yield place + 1
        place = lower.find(needle, place + 1)


def _starts_part(names: str, place: int) -> bool:
    before, here = names[place - 1], names[place]
    if not before.isalpha():
        return True
    return here.isupper() and (before.islower() or names[place + 1].islower())


def _ends_part(names: str, place: int) -> bool:
    """True if a part of a name ends just before this position."""
    after = names[place]
    if not after.isalpha():
        return True
    return after.isupper() and (names[place - 1].islower() or names[place + 1].islower())


def _is_inflection(names: str, place: int, term: str) -> bool:
    """True if the part of a name that begins here has the term as its stem."""
    stop = place + len(term) - 1
    while not _ends_part(names, stop):
        stop += 1
    return stem(names[place:stop].lower()) == term

"""Which of a document's lines are its tasks, and how far each goes.

Decided for the document as a whole: lines that say "Task" win, otherwise the form whose members
look most like tasks; then what is a group, a step or a criterion falls away.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator, Sequence

from kedge.tasks.feature_docs.fields import is_known_field
from kedge.tasks.feature_docs.forms import (
    BOLD,
    BOX,
    HEADING,
    ITEM_,
    KINDS,
    LISTED,
    ORDERED,
    TABLE,
    Candidate,
    candidates,
)
from kedge.tasks.feature_docs.markdown import ITEM, Document, width

_PROSE_TITLES = re.compile(
    r"(?:over ?view|intro\w*|background|context|summary|goals?|scope|purpose|notes?|risks?|"
    r"dependenc\w+|references?|appendix|glossary|assumptions?|open questions?|out of scope|"
    r"not in scope|testing strategy|acceptance criteria|definition of done|tasks?|task list|"
    r"legend|timeline|what|why|who|how|where|when|questions?|decisions?|constraints?|"
    r"milestones?|conventions?|roll ?out|estimates?|execution order|success criteria)\b"
    r"[\w &/,'’?-]{0,24}\Z",
    re.IGNORECASE,
)
_EXAMPLES = re.compile(
    r"(?:an? |the |task )?(?:examples?|templates?|samples?|legend|out of scope|dropped|cancell?ed|"
    r"removed|rejected|not doing|won['’]?t do)(?: tasks?| format)?\Z",
    re.IGNORECASE,
)


def find(document: Document) -> list[Candidate]:
    """The tasks of the document, in its order."""
    every = [c for c in candidates(document) if not _is_shown_only(document, c)]
    strong = [c for c in every if c.strong]
    tops = [c for c in strong if c.kind == HEADING and c.depth == 1]
    if len(tops) == 1:
        strong.remove(tops[0])
    chosen = _strong(document, strong) if strong else _weak(document, every)
    return _settled(document, chosen)


def _is_shown_only(document: Document, c: Candidate) -> bool:
    """Whether a candidate stands below a heading that says that it is none."""
    path = document.path(document.place(c.line))
    above = path[:-1] if c.kind == HEADING else path
    return any(_EXAMPLES.match(heading.text.strip(" *_:")) for heading in above)


def _strong(document: Document, strong: Sequence[Candidate]) -> list[Candidate]:
    by_kind = {kind: [c for c in strong if c.kind == kind] for kind in KINDS}
    counts = {kind: len({c.key for c in members}) for kind, members in by_kind.items()}
    firm = [kind for kind in (HEADING, BOLD, BOX) if counts[kind]]
    if not firm:
        kind = max((TABLE, ITEM_, ORDERED), key=lambda kind: counts[kind])
        return by_kind[kind]
    most = max(counts[kind] for kind in firm)
    base = next(kind for kind in firm if 2 * counts[kind] >= most)
    chosen = by_kind[base]
    for kind in firm:
        known = {c.key for c in chosen}
        blocks = [(c.line, last) for c, last in ends(document, chosen)]
        chosen = chosen + [
            c
            for c in by_kind[kind]
            if kind != base and c.key not in known and not _inside(c.line, blocks)
        ]
    return sorted(chosen)


def _inside(line: int, blocks: Sequence[tuple[int, int]]) -> bool:
    place = bisect(blocks, (line, 1 << 60)) - 1
    return place >= 0 and line <= blocks[place][1]


def _weak(document: Document, every: Sequence[Candidate]) -> list[Candidate]:
    families: dict[tuple[str, str, int], list[Candidate]] = {}
    for c in every:
        level = c.depth if c.kind == HEADING else len(c.key) > 1 if c.kind == ORDERED else 0
        if c.kind == ORDERED and c.depth:
            continue
        families.setdefault((c.kind, c.family, int(level)), []).append(c)
    firm = sorted({c.line for c in every if c.kind in (HEADING, BOLD, BOX, TABLE)})
    lines = sorted({c.line for c in every})
    cuts = {kind: lines if kind in (ITEM_, ORDERED) else firm for kind in KINDS}
    ranked = sorted(
        (
            (_rank(document, members, cuts[members[0].kind]), members)
            for members in families.values()
        ),
        key=lambda pair: pair[0],
        reverse=True,
    )
    for rank, members in ranked:
        if rank[0] > 0:
            return _without_prose(document, members, cuts[members[0].kind])
    return []


def _rank(
    document: Document, members: Sequence[Candidate], cuts: Sequence[int]
) -> tuple[float, ...]:
    """How much a family looks like the tasks; zero or less first for one that does not."""
    kind, total = members[0].kind, len(members)
    evident = sum(_is_evident(document, c, cuts) for c in members) / total
    dotted = sum(len(c.key) > 1 for c in members) / total
    distinct = len({c.key for c in members}) / total
    prose = sum(bool(_PROSE_TITLES.match(c.title)) for c in members) / total
    order = len(KINDS) - KINDS.index(kind)
    plausible = distinct >= 0.7 and (evident >= 0.5 or total > 1)
    if kind == HEADING and evident < 0.3:
        plausible = plausible and (dotted >= 0.5 or prose < 0.34)
    if kind in (ITEM_, ORDERED) and evident < 0.3:
        plausible = plausible and (dotted >= 0.5 or _under_tasks(document, members[0]))
    return (
        1.0 if plausible else 0.0,
        1.0 if evident >= 0.5 else 0.0,
        1.0 if dotted >= 0.5 else 0.0,
        float(order),
        float(total),
    )


def _under_tasks(document: Document, c: Candidate) -> bool:
    path = document.path(document.place(c.line))
    named = re.compile(
        r"\b(?:tasks?|to-?dos?|work|phases?|implementation|milestones?)\b", re.IGNORECASE
    )
    return not path or any(named.search(heading.text) for heading in path)


def _is_evident(document: Document, c: Candidate, cuts: Sequence[int]) -> bool:
    """Whether what belongs to the candidate alone has a field or a box in it."""
    if c.kind == TABLE:
        return len(c.cells) > 2
    place = bisect(cuts, c.line)
    last = cuts[place] - 1 if place < len(cuts) else len(document.lines)
    for index in range(c.end, last):
        line = document.prose[index]
        if line and (line.lstrip()[:1] == "#" and c.kind != HEADING):
            return False
        if line and (is_known_field(line) or ((item := ITEM.match(line)) and item["box"])):
            return True
    return False


def _without_prose(
    document: Document, members: Sequence[Candidate], cuts: Sequence[int]
) -> list[Candidate]:
    """Where most have fields, a member with none and the title of a chapter is no task."""
    evident = {c.line for c in members if _is_evident(document, c, cuts)}
    if 2 * len(evident) < len(members):
        return list(members)
    return [c for c in members if c.line in evident or not _PROSE_TITLES.match(c.title)]


def _settled(document: Document, chosen: Sequence[Candidate]) -> list[Candidate]:
    """Without groups, without parts of other tasks."""
    breaks = _breaks(document) if any(c.kind in LISTED for c in chosen) else []
    kept: list[Candidate] = []
    open_: list[Candidate] = []  # list items, each set in deeper than the one before
    for place, c in enumerate(chosen):
        if c.kind in LISTED:
            while open_ and (
                open_[-1].depth >= c.depth or breaks[open_[-1].line] != breaks[c.line]
            ):
                open_.pop()
            if open_ and c.key[: len(open_[-1].key)] != open_[-1].key:
                continue  # a part of a task that its number does not continue
            open_.append(c)
        if c.kind == HEADING and any(o.key == c.key for o in _holders(document, c, kept)):
            continue
        following = chosen[place + 1] if place + 1 < len(chosen) else None
        if c.family != "task" and following and _is_group(document, c, following):
            continue
        kept.append(c)
    return kept


def _breaks(document: Document) -> list[int]:
    """For each line, how many before it end a list: text that is neither set in nor an item."""
    counts = [0]
    for line in document.prose:
        ends = line is not None and line[:1] not in ("", " ", "\t") and not ITEM.match(line)
        counts.append(counts[-1] + ends)
    return counts


def _holders(document: Document, c: Candidate, kept: Sequence[Candidate]) -> list[Candidate]:
    lines = {heading.line for heading in document.path(document.place(c.line))}
    return [other for other in kept[-20:] if other.line in lines]


def _is_group(document: Document, c: Candidate, following: Candidate) -> bool:
    longer = len(following.key) > len(c.key) and following.key[: len(c.key)] == c.key
    if not longer:
        return False
    return not any(
        line and is_known_field(line) for line in document.prose[c.end : following.line - 1]
    )


def ends(document: Document, chosen: Sequence[Candidate]) -> Iterator[tuple[Candidate, int]]:
    """Each task with its last line."""
    for place, c in enumerate(chosen):
        stop = chosen[place + 1].line if place + 1 < len(chosen) else len(document.lines) + 1
        yield c, document.trimmed(c.end, _end(document, c, stop))


def _end(document: Document, c: Candidate, stop: int) -> int:
    if c.kind == TABLE:
        return c.line
    here = document.place(c.line)
    if c.kind == HEADING:
        return min(stop - 1, document.headings[here].last)
    level = 6 if c.kind != BOLD or here < 0 else document.headings[here].level
    while (here := here + 1) < len(document.headings) and document.headings[here].line < stop:
        if document.headings[here].level <= level:
            stop = document.headings[here].line
    if c.kind == BOLD:
        return stop - 1
    blank = False
    for index in range(c.line, stop - 1):
        line = document.prose[index]
        if line is not None and line.strip() and _leaves(c, line, blank=blank):
            return index
        blank = not document.lines[index].strip()
    return stop - 1


def _leaves(c: Candidate, line: str, *, blank: bool) -> bool:
    """Whether a line ends an item that goes on with what is set in, or with its fields."""
    item = ITEM.match(line)
    lead = width(item["lead"] if item else line[: len(line) - len(line.lstrip())])
    if lead > c.depth or is_known_field(line):
        return False
    if item:
        return c.kind != BOX or item["box"] is not None or blank
    return blank or bool(re.match(r"[ \t]*(?:-{3,}|\*{3,}|_{3,}|\||>)", line))

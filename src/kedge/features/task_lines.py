"""Decide which lines of a document are its tasks, and where each task ends.

The document is judged as a whole. Lines that say "Task" win; otherwise the form whose members look
most like tasks does. Groups, steps and criteria are dropped afterwards.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import Counter
from collections.abc import Iterator, Sequence

from kedge.features.fields import is_known_field
from kedge.features.task_forms import (
    BOLD,
    BOX,
    HEADING,
    KINDS,
    LIST_ITEM,
    LISTED,
    ORDERED,
    TABLE,
    TaskLine,
    find_candidates,
)
from kedge.text.markdown import ITEM, Document, indent_width

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


def find_tasks(document: Document, *, boxed: bool = False, groups: bool = False) -> list[TaskLine]:
    """Return the tasks of the document, in its order.

    With `boxed`, checkboxes are tasks whatever else looks like them; with `groups`, a task with
    subtasks is one as well.
    """
    every = [c for c in find_candidates(document) if not _is_example(document, c)]
    boxes = [c for c in every if c.kind == BOX] if boxed else []
    if boxes:
        usual, _ = Counter(c.family for c in boxes).most_common(1)[0]
        chosen = [c for c in boxes if c.family == usual]
        return _drop_parts(document, chosen, groups=groups, boxed=True)
    strong = [c for c in every if c.strong]
    tops = [c for c in strong if c.kind == HEADING and c.depth == 1]
    if len(tops) == 1:
        strong.remove(tops[0])
    chosen = _choose_strong(strong) if strong else _choose_family(document, every)
    return _drop_parts(document, chosen, groups=groups)


def _is_example(document: Document, c: TaskLine) -> bool:
    """True if a heading above says that this is an example, or no task any more."""
    path = document.heading_path(document.heading_at(c.line))
    above = path[:-1] if c.kind == HEADING else path
    return any(_EXAMPLES.match(heading.text.strip(" *_:")) for heading in above)


def _choose_strong(strong: Sequence[TaskLine]) -> list[TaskLine]:
    """Choose the main form among candidates that say "Task"."""
    by_kind = {kind: [c for c in strong if c.kind == kind] for kind in KINDS}
    counts = {kind: len({c.key for c in members}) for kind, members in by_kind.items()}
    firm = [kind for kind in (HEADING, BOLD, BOX) if counts[kind]]
    if not firm:
        kind = max((TABLE, LIST_ITEM, ORDERED), key=lambda kind: counts[kind])
        return by_kind[kind]
    most = max(counts[kind] for kind in firm)
    base = next(kind for kind in firm if 2 * counts[kind] >= most)
    return by_kind[base]


def _choose_family(document: Document, every: Sequence[TaskLine]) -> list[TaskLine]:
    """Choose the family of candidates that looks most like tasks; none if none does."""
    families: dict[tuple[str, str, int], list[TaskLine]] = {}
    for c in every:
        level = c.depth if c.kind == HEADING else len(c.key) > 1 if c.kind == ORDERED else 0
        if c.kind == ORDERED and c.depth:
            continue
        families.setdefault((c.kind, c.family, int(level)), []).append(c)
    firm = sorted({c.line for c in every if c.kind in (HEADING, BOLD, BOX, TABLE)})
    lines = sorted({c.line for c in every})
    cuts = {kind: lines if kind in (LIST_ITEM, ORDERED) else firm for kind in KINDS}
    ranks = [
        (_rank(document, members, cuts[members[0].kind]), members) for members in families.values()
    ]
    rank, members = max(ranks, key=lambda pair: pair[0], default=((0.0,), []))
    return _drop_chapters(document, members, cuts[members[0].kind]) if rank[0] else []


def _rank(
    document: Document, members: Sequence[TaskLine], cuts: Sequence[int]
) -> tuple[float, ...]:
    """Return how much a family looks like tasks; the first value is 0 if it does not at all."""
    kind, total = members[0].kind, len(members)
    evident = sum(_is_evident(document, c, cuts) for c in members) / total
    dotted = sum(len(c.key) > 1 for c in members) / total
    distinct = len({c.key for c in members}) / total
    prose = sum(bool(_PROSE_TITLES.match(c.title)) for c in members) / total
    order = len(KINDS) - KINDS.index(kind)
    plausible = distinct >= 0.7 and (evident >= 0.5 or total > 1)
    if kind == HEADING and evident < 0.3:
        plausible = plausible and (dotted >= 0.5 or prose < 0.34)
    if kind in (LIST_ITEM, ORDERED) and evident < 0.3:
        plausible = plausible and (dotted >= 0.5 or _is_under_tasks(document, members[0]))
    return (float(plausible), float(evident >= 0.5), float(dotted >= 0.5), order, total)


def _is_under_tasks(document: Document, c: TaskLine) -> bool:
    """True if a heading above is about tasks, or if there is none."""
    path = document.heading_path(document.heading_at(c.line))
    named = re.compile(
        r"\b(?:tasks?|to-?dos?|work|phases?|implementation|milestones?)\b", re.IGNORECASE
    )
    return not path or any(named.search(heading.text) for heading in path)


def _is_evident(document: Document, c: TaskLine, cuts: Sequence[int]) -> bool:
    """True if the candidate's own lines have a field or a box."""
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


def _drop_chapters(
    document: Document, members: Sequence[TaskLine], cuts: Sequence[int]
) -> list[TaskLine]:
    """Drop members without fields that are titled like a chapter, if most members have fields."""
    evident = {c.line for c in members if _is_evident(document, c, cuts)}
    if 2 * len(evident) < len(members):
        return list(members)
    return [c for c in members if c.line in evident or not _PROSE_TITLES.match(c.title)]


def _drop_parts(
    document: Document, chosen: Sequence[TaskLine], *, groups: bool, boxed: bool = False
) -> list[TaskLine]:
    """Drop parts of other tasks, and groups of tasks unless they are wanted.

    With `boxed`, only a single number, such as 2 below 1.1, is that of a part.
    """
    breaks = _count_breaks(document) if any(c.kind in LISTED for c in chosen) else []
    kept: list[TaskLine] = []
    open_: list[TaskLine] = []  # list items, each indented more than the one before
    for place, c in enumerate(chosen):
        if c.kind in LISTED:
            while open_ and (
                open_[-1].depth >= c.depth or breaks[open_[-1].line] != breaks[c.line]
            ):
                open_.pop()
            is_whole = boxed and (c.strong or len(c.key) > 1)
            if open_ and not is_whole and c.key[: len(open_[-1].key)] != open_[-1].key:
                continue  # a part of a task, since its number does not extend the task's
            open_.append(c)
        following = chosen[place + 1] if place + 1 < len(chosen) else None
        is_group = c.family != "task" and following and _is_group(document, c, following)
        if is_group and not groups:
            continue
        kept.append(c)
    return kept


def _count_breaks(document: Document) -> list[int]:
    """Return for each line the number of lines before it that end a list."""
    counts = [0]
    for line in document.prose:
        find_ends = line is not None and line[:1] not in ("", " ", "\t") and not ITEM.match(line)
        counts.append(counts[-1] + find_ends)
    return counts


def _is_group(document: Document, c: TaskLine, following: TaskLine) -> bool:
    """True if the next candidate's number extends this one's, which has no fields of its own."""
    longer = len(following.key) > len(c.key) and following.key[: len(c.key)] == c.key
    if not longer:
        return False
    return not any(
        line and is_known_field(line) for line in document.prose[c.end : following.line - 1]
    )


def find_ends(document: Document, chosen: Sequence[TaskLine]) -> Iterator[tuple[TaskLine, int]]:
    """Yield each task with its last line."""
    for place, c in enumerate(chosen):
        stop = chosen[place + 1].line if place + 1 < len(chosen) else len(document.lines) + 1
        yield c, document.last_text_line(c.end, _find_end(document, c, stop))


def _find_end(document: Document, c: TaskLine, stop: int) -> int:
    if c.kind == TABLE:
        return c.line
    here = document.heading_at(c.line)
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
        if line is not None and line.strip() and _ends_item(c, line, blank=blank):
            return index
        blank = not document.lines[index].strip()
    return stop - 1


def _ends_item(c: TaskLine, line: str, *, blank: bool) -> bool:
    """True if a line ends a list item; indented lines and fields continue it."""
    item = ITEM.match(line)
    lead = indent_width(item["lead"] if item else line[: len(line) - len(line.lstrip())])
    if lead > c.depth or is_known_field(line):
        return False
    if item:
        return c.kind != BOX or item["box"] is not None or blank
    return blank or bool(re.match(r"[ \t]*(?:-{3,}|\*{3,}|_{3,}|\||>)", line))

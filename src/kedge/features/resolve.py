"""Find the passages that a reference means: by id, by its parent's id, by anchor or by title.

Ids are compared as a whole: C1 is never C10, and 1.2 never 1.20. Where a passage may be the wrong
one, nothing is found, and the caller tries something else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from kedge.features import section_ids
from kedge.features.artifact import (
    HEADING,
    LIST_ITEM,
    ORDERED,
    ROW,
    Artifact,
    Passage,
    is_remark,
)
from kedge.features.references import PLAN, Reference, normalize_title
from kedge.features.section_ids import Id
from kedge.text import markdown

_MOST, _MANY = 3, 8  # more items, or headings, that share an id do not define it
# For the prefix of a reference, the prefixes that its section may have, best first.
_TIERS: dict[str, tuple[tuple[str, ...], ...]] = {
    "": (
        ("",),
        ("STEP", "ITEM", "T", "S", "P"),
        ("C",),
        ("PHASE", "STAGE", "M", "GROUP"),
        ("REQ",),
    ),
    "STEP": (("STEP",), ("", "S"), ("ITEM", "T", "P"), ("PHASE", "STAGE")),
    "ITEM": (("ITEM",), ("", "STEP"), ("T", "S", "P")),
    "T": (("T",), ("STEP", "ITEM"), ("",)),
    "S": (("S",), ("STEP", "STAGE"), ("",)),
    "P": (("P",), ("PHASE", "STEP"), ("",)),
    "PHASE": (("PHASE",), ("P", "STAGE", "M"), ("",)),
    "STAGE": (("STAGE",), ("S", "PHASE"), ("",)),
    "GROUP": (("GROUP",), ("G", "PHASE"), ("",)),
    "M": (("M",), ("PHASE",), ("",)),
    "D": (("D",), ("TD", "DD", "ADR", "KD")),
    "TD": (("TD",), ("D",)),
    "DD": (("DD",), ("D", "TD")),
    "R": (("R",), ("REQ",)),
    "REQ": (("REQ",), ("R", "FR"), ("",)),
    "FR": (("FR",), ("REQ",)),
}
_STEPS = ("", "STEP", "ITEM", "S", "P", "T")
_HOLDERS = (("",), ("PHASE", "STAGE", "M", "GROUP", "P"), ("STEP", "ITEM", "S", "T"), ("REQ",))
# For a prefix, the heading above sections that only have a number: `## Components`, `### 2.`
_KINDS = {
    "C": r"components?", "I": r"interfaces?|contracts?|apis?", "D": r"decisions?",
    "TD": r"decisions?", "DD": r"decisions?", "R": r"risks?", "REQ": r"requirements?",
    "FR": r"functional requirements?|requirements?", "AC": r"acceptance( criteria)?",
    "US": r"(?:user )?stories", "MODULE": "modules?", "FLOW": "flows?",
}  # fmt: skip

_STORY = re.compile(r"[^\W\d_][^\d\n]{1,40}[ \t]*([0-9]{1,2})(?![0-9.])")


@dataclass(frozen=True, slots=True)
class ResolvedReference:
    """The passages that a reference means, and the `rung` of the search that found them."""

    passages: tuple[Passage, ...]
    rung: str = ""

    @property
    def ambiguous(self) -> bool:
        """True if several passages fit equally well; rows of tables may share an id."""
        return len(self.passages) > 1 and any(passage.kind != ROW for passage in self.passages)


NOWHERE = ResolvedReference(())


def resolve_reference(
    reference: Reference, artifact: Artifact, near: Sequence[Id] = ()
) -> ResolvedReference:
    """Find a reference's passages; `near` has ids of sections that decide between equal ones."""
    if reference.by == "anchor":
        found = _find_by_anchor(artifact, reference.inner)
        if found.passages or reference.key is None:
            return found
    if reference.by == "title":
        return find_by_title(artifact, reference.id)
    if reference.key is None:
        return NOWHERE
    target = find_by_id(artifact, reference.key, near)
    if reference.inner and target.passages:
        inside = _find_inside(artifact, target.passages[0], reference.inner)
        return inside if inside.passages else target
    return target


def find_by_id(artifact: Artifact, wanted: Id, near: Sequence[Id] = ()) -> ResolvedReference:
    """Find the passages with this id, or else with its parent's."""
    searches = (_find_direct, _find_composed, _find_in_list, _find_story)
    found = _find_same(artifact, wanted, near, searches)
    if found:
        return ResolvedReference(found, "id")
    above = wanted.parent
    while above is not None:
        found = _find_same(artifact, above, near, (_find_holder,))
        if found:
            return ResolvedReference(found, "parent")
        above = above.parent
    return NOWHERE


def _find_same(
    artifact: Artifact,
    wanted: Id,
    near: Sequence[Id],
    searches: Sequence[Callable[[Artifact, Id], Iterator[Passage]]],
) -> tuple[Passage, ...]:
    for search in searches:
        found = _disambiguate(artifact, list(search(artifact, wanted)), near)
        if found and len(found) <= (_MANY if found[0].kind == HEADING else _MOST):
            return found
    return ()


def _find_direct(artifact: Artifact, wanted: Id) -> Iterator[Passage]:
    """Yield the passages with this id, from the best prefix and kind of passage that has any."""
    tiers = _TIERS.get(wanted.prefix, ((wanted.prefix,),))
    tiers = (*tiers, ("",)) if wanted.number.isalpha() else tiers
    found = _find_in_tiers(artifact, wanted, tiers, (HEADING, "tail", LIST_ITEM, ROW))
    if found or wanted.prefix not in _KINDS:
        yield from found
        return
    named = re.compile(rf"\b(?:{_KINDS[wanted.prefix]})\b", re.IGNORECASE)
    for passage in artifact.by_number.get(wanted.number, ()):
        above = (heading.text for heading in artifact.headings_above(passage))
        numbered = passage.kind != ROW and Id("", wanted.number) in passage.ids
        if numbered and any(map(named.search, above)):
            yield passage


def _find_holder(artifact: Artifact, wanted: Id) -> Iterator[Passage]:
    """Yield what holds a step without a section of its own: phase 1 rather than step 1."""
    if wanted.prefix in _STEPS and "." not in wanted.number:
        yield from _find_in_tiers(artifact, wanted, _HOLDERS, (HEADING,))
    else:
        yield from _find_direct(artifact, wanted)


def _find_in_tiers(
    artifact: Artifact, wanted: Id, tiers: Sequence[Sequence[str]], kinds: Sequence[str]
) -> list[Passage]:
    """Return the passages with the number and a prefix of the first tier that has any."""
    for tier in tiers:
        for kind in kinds:
            found = list(_candidates(artifact, wanted, kind, tier))
            if found:
                return found
    return []


def _candidates(
    artifact: Artifact, wanted: Id, kind: str, prefixes: Sequence[str]
) -> Iterator[Passage]:
    """Yield the passages of a kind that have the wanted number with one of these prefixes.

    The kind "tail" stands for headings with the id in brackets at their end.
    """
    for passage in artifact.by_number.get(wanted.number, ()):
        known = passage.tail if kind == "tail" else passage.ids
        if (
            passage.kind == (HEADING if kind == "tail" else kind)
            and any(one.number == wanted.number and one.prefix in prefixes for one in known)
            and not is_remark(artifact.document, passage)
        ):
            yield passage


def _find_composed(artifact: Artifact, wanted: Id) -> Iterator[Passage]:
    """Yield step 1 of phase 2 for step 2.1."""
    head, _, last = wanted.number.rpartition(".")
    if not head or "." in head:
        return
    for passage in artifact.by_number.get(last, ()):
        if passage.kind not in (HEADING, LIST_ITEM, ORDERED):
            continue
        if not any(
            one.number == last and one.prefix in ("", wanted.prefix, "STEP", "ITEM", "T")
            for one in passage.ids
        ):
            continue
        above = artifact.headings_above(passage)
        if above and any(one.number == head for one in section_ids.parse_lead(above[-1].text).ids):
            yield passage


def _find_in_list(artifact: Artifact, wanted: Id) -> Iterator[Passage]:
    """Yield the item of a plan's only numbered list."""
    if artifact.type != PLAN or wanted.prefix not in ("", "STEP", "ITEM", "T"):
        return
    found = [p for p in artifact.by_number.get(wanted.number, ()) if p.kind == ORDERED]
    if len(found) == 1:
        yield found[0]


def _find_story(artifact: Artifact, wanted: Id) -> Iterator[Passage]:
    """Yield the story with this number in another language: the headings 1, 2, … side by side."""
    if wanted.prefix != "US":
        return
    beside: dict[int, list[tuple[str, Passage]]] = {}
    for passage in artifact.headings:
        number = _STORY.match(passage.text)
        if number:
            parent = artifact.document.headings[passage.at].parent
            beside.setdefault(parent, []).append((number[1], passage))
    for stories in beside.values():
        numbers = [number for number, _ in stories]
        if numbers == [str(n) for n in range(1, len(numbers) + 1)] and wanted.number in numbers:
            yield stories[numbers.index(wanted.number)][1]
            return


def _disambiguate(
    artifact: Artifact, found: list[Passage], near: Sequence[Id]
) -> tuple[Passage, ...]:
    """Drop passages inside others; if several are left, choose the one in a section of `near`."""
    outer = _keep_outermost(found)
    if len(outer) > 1 and near:
        close = [p for p in outer if _is_near(artifact, p, near)]
        if len(close) == 1:
            return tuple(close)
    return outer


def _keep_outermost(found: Sequence[Passage]) -> tuple[Passage, ...]:
    kept: list[Passage] = []
    for passage in sorted(found, key=lambda passage: (passage.line, -passage.last)):
        if not kept or not kept[-1].holds(passage):
            kept.append(passage)
    return tuple(kept)


def _is_near(artifact: Artifact, passage: Passage, near: Sequence[Id]) -> bool:
    above = artifact.headings_above(passage)
    return any(one in near for heading in above for one in section_ids.parse_lead(heading.text).ids)


def find_by_title(artifact: Artifact, words: str) -> ResolvedReference:
    """Find the heading with this title, or else the only one that has all its words."""
    wanted = normalize_title(words)
    if not wanted:
        return NOWHERE
    lead = section_ids.parse_lead(words)
    if lead.ids and not lead.title:
        return find_by_id(artifact, lead.ids[0])
    short = re.sub(r" (?:section|table|component|chapter|part)\Z", "", wanted)
    bag = set(short.split())
    tests: tuple[Callable[[str], bool], ...] = (
        lambda title: title in (wanted, short),
        lambda title: f" {short} " in f" {title} " and len(short) > 2,
        lambda title: len(title.split()) > 1 and f" {title} " in f" {wanted} ",
        lambda title: len(bag) > 1 and bag <= set(title.split()),
    )
    for number, test in enumerate(tests):
        every = [passage for passage, (one, two) in artifact.titles if test(one) or test(two)]
        # The title of the document holds all of it, and a subsection may repeat the words.
        found = _keep_outermost([one for one in every if not _is_title(artifact, one)] or every)
        if found and number and len(found) > 1:
            return NOWHERE
        if found:
            return ResolvedReference(found[:_MOST], "title")
    others = (p for p in artifact.passages if p.kind != HEADING)
    items = [p for p in others if normalize_title(p.title) in (wanted, short)]
    return ResolvedReference(tuple(items), "title") if len(items) == 1 else NOWHERE


def _is_title(artifact: Artifact, passage: Passage) -> bool:
    return all(passage.holds(one) for one in artifact.headings)


def _find_by_anchor(artifact: Artifact, anchor: str) -> ResolvedReference:
    """Find the heading that a link's anchor leads to."""
    wanted = anchor.lower()
    slugs = [(markdown.make_slug(re.sub(r"[*`]", "", p.text)), p) for p in artifact.headings]
    exact = [p for slug, p in slugs if slug == wanted]
    if exact:
        return ResolvedReference(
            tuple(exact[:1]), "anchor"
        )  # a link leads to the first of that name
    return find_by_title(artifact, anchor.replace("-", " "))


def _find_inside(artifact: Artifact, outer: Passage, words: str) -> ResolvedReference:
    """Find a passage inside another one, by title or id."""
    within = tuple(p for p in artifact.passages if outer.holds(p) and p is not outer)
    part = replace(artifact, passages=within)
    lead = section_ids.parse_lead(words)
    if lead.ids and not lead.title:
        found = find_by_id(part, lead.ids[0])
        firm = found.rung == "id" and all(p.kind in (HEADING, LIST_ITEM) for p in found.passages)
        return found if firm and len(lead.ids) == 1 else NOWHERE
    return find_by_title(part, words)

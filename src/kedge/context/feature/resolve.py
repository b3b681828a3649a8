"""Where a reference leads: by id, by the id above it, by a link's anchor, by a title.

An id is compared whole, so that C1 is never C10 and 1.2 never 1.20. Rather than a section that may
be wrong, nothing is given, and whoever asks goes on to the next rung.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from kedge.context.feature.artifact import (
    HEADING,
    ITEM_,
    ORDERED,
    ROW,
    Artifact,
    Place,
    is_remark,
    numbered,
    titled,
)
from kedge.host.record import NamedTuple
from kedge.tasks.feature_docs import ids, markdown
from kedge.tasks.feature_docs.ids import Id
from kedge.tasks.feature_docs.references import PLAN, Reference, normal

_MOST, _MANY = 3, 8  # items, and headings, that share an id are about it, not it
# By the prefix of a reference: the prefixes under which its section may stand, best first.
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
_HOLDERS = (("",), ("PHASE", "STAGE", "M", "GROUP", "P"), ("STEP", "ITEM", "S", "T"))
# Sections that are only numbered, below a heading that names their kind: `## Components`, `### 2.`
_KINDS = {
    "C": r"components?", "I": r"interfaces?|contracts?|apis?", "D": r"decisions?",
    "TD": r"decisions?", "DD": r"decisions?", "R": r"risks?", "REQ": r"requirements?",
    "FR": r"functional requirements?|requirements?", "AC": r"acceptance( criteria)?",
    "US": r"(?:user )?stories", "MODULE": "modules?", "FLOW": "flows?",
}  # fmt: skip


class Target(NamedTuple):
    """The places that a reference leads to; several are equally good, which is `ambiguous`."""

    places: tuple[Place, ...]
    rung: str = ""

    @property
    def ambiguous(self) -> bool:
        """Rows of several tables that speak of one id are not in each other's way."""
        return len(self.places) > 1 and any(place.kind != ROW for place in self.places)


NOWHERE = Target(())


def resolve(reference: Reference, artifact: Artifact, near: Sequence[Id] = ()) -> Target:
    """`near` are ids of sections that decide between two that fit equally."""
    if reference.by == "line":
        return _at_line(artifact, int(reference.inner))
    if reference.by == "anchor":
        found = _by_slug(artifact, reference.inner)
        if found.places or reference.key is None:
            return found
    if reference.by == "title":
        return by_title(artifact, reference.id)
    if reference.key is None:
        return NOWHERE
    target = by_id(artifact, reference.key, near)
    if reference.inner and target.places:
        inside = _inside(artifact, target.places[0], reference.inner)
        return inside if inside.places else target
    return target


def by_id(artifact: Artifact, wanted: Id, near: Sequence[Id] = ()) -> Target:
    found = _same_id(artifact, wanted, near, (_direct, _composed, _listed))
    if found:
        return Target(found, "id")
    above = wanted.above
    while above is not None:
        found = _same_id(artifact, above, near, (_above,))
        if found:
            return Target(found, "parent")
        above = above.above
    return NOWHERE


def _same_id(
    artifact: Artifact,
    wanted: Id,
    near: Sequence[Id],
    searches: Sequence[Callable[[Artifact, Id], Iterator[Place]]],
) -> tuple[Place, ...]:
    for search in searches:
        found = _decided(artifact, list(search(artifact, wanted)), near)
        if found and len(found) <= (_MANY if found[0].kind == HEADING else _MOST):
            return found
    return ()


def _direct(artifact: Artifact, wanted: Id) -> Iterator[Place]:
    """Places of that id, of the first kind of place and of prefix that has any."""
    tiers = _TIERS.get(wanted.prefix, ((wanted.prefix,),))
    for tier in (*tiers, ("",)) if wanted.number.isalpha() else tiers:
        for kind in (HEADING, "tail", ITEM_, ROW):
            found = [
                p
                for p in _candidates(artifact, wanted.number, kind)
                if _fits(p, kind, tier, wanted)
            ]
            if found:
                yield from found
                return
    kinds = _KINDS.get(wanted.prefix)
    if kinds:
        named = re.compile(rf"\b(?:{kinds})\b", re.IGNORECASE)
        for place in artifact.by_number.get(wanted.number, ()):
            if place.kind in (HEADING, ITEM_, ORDERED) and Id("", wanted.number) in place.ids:
                above = artifact.document.path(place.at)
                above = above[:-1] if place.kind == HEADING else above
                if any(named.search(heading.text) for heading in above):
                    yield place


def _above(artifact: Artifact, wanted: Id) -> Iterator[Place]:
    """What holds a step that has no section of its own: rather phase 1 than step 1."""
    if wanted.prefix in _STEPS and "." not in wanted.number:
        for tier in _HOLDERS:
            found = [
                p
                for p in _candidates(artifact, wanted.number, HEADING)
                if _fits(p, HEADING, tier, wanted)
            ]
            if found:
                yield from found
                return
    else:
        yield from _direct(artifact, wanted)


def _candidates(artifact: Artifact, number: str, kind: str) -> Iterator[Place]:
    for place in artifact.by_number.get(number, ()):
        if place.kind == (HEADING if kind == "tail" else kind):
            known = place.tail if kind == "tail" else place.ids
            if any(one.number == number for one in known) and not is_remark(
                artifact.document, place
            ):
                yield place


def _fits(place: Place, kind: str, tier: Sequence[str], wanted: Id) -> bool:
    known = place.tail if kind == "tail" else place.ids
    return any(one.number == wanted.number and one.prefix in tier for one in known)


def _composed(artifact: Artifact, wanted: Id) -> Iterator[Place]:
    """Step 2.1 as step 1 of phase 2."""
    head, _, last = wanted.number.rpartition(".")
    if not head or "." in head:
        return
    for place in artifact.by_number.get(last, ()):
        if place.kind not in (HEADING, ITEM_, ORDERED):
            continue
        if not any(
            one.number == last and one.prefix in ("", wanted.prefix, "STEP", "ITEM", "T")
            for one in place.ids
        ):
            continue
        path = artifact.document.path(place.at)
        above = path[:-1] if place.kind == HEADING else path
        if above and any(one.number == head for one in ids.lead(above[-1].text).ids):
            yield place


def _listed(artifact: Artifact, wanted: Id) -> Iterator[Place]:
    """The items of the one numbered list that a plan has."""
    if artifact.type != PLAN or wanted.prefix not in ("", "STEP", "ITEM", "T"):
        return
    found = [p for p in artifact.by_number.get(wanted.number, ()) if p.kind == ORDERED]
    if len(found) == 1:
        yield found[0]


def _decided(artifact: Artifact, found: list[Place], near: Sequence[Id]) -> tuple[Place, ...]:
    """Without places within others of the same id; where that leaves two, the nearer one."""
    outer = _outermost(found)
    if len(outer) > 1 and near:
        close = [p for p in outer if _is_near(artifact, p, near)]
        if len(close) == 1:
            return tuple(close)
    return outer


def _outermost(found: Sequence[Place]) -> tuple[Place, ...]:
    kept: list[Place] = []
    for place in sorted(found, key=lambda place: (place.line, -place.last)):
        if not kept or not kept[-1].holds(place):
            kept.append(place)
    return tuple(kept)


def _is_near(artifact: Artifact, place: Place, near: Sequence[Id]) -> bool:
    path = artifact.document.path(place.at)
    above = path[:-1] if place.kind == HEADING else path
    return any(one in near for heading in above for one in ids.lead(heading.text).ids)


def by_title(artifact: Artifact, words: str) -> Target:
    """The heading of that title; else the only one that has its words, in their order or not."""
    wanted = normal(words)
    if not wanted:
        return NOWHERE
    lead = ids.lead(words)
    if lead.ids and not lead.title:
        return by_id(artifact, lead.ids[0])
    short = re.sub(r" (?:section|table|component|chapter|part)\Z", "", wanted)
    bag = set(short.split())
    tests: tuple[Callable[[str], bool], ...] = (
        lambda title: title in (wanted, short),
        lambda title: f" {short} " in f" {title} " and len(short) > 2,
        lambda title: len(title.split()) > 1 and f" {title} " in f" {wanted} ",
        lambda title: len(bag) > 1 and bag <= set(title.split()),
    )
    for number, test in enumerate(tests):
        found = [place for place, (one, two) in artifact.titles if test(one) or test(two)]
        if found and number and len(found) > 1:
            return NOWHERE
        if found:
            return Target(_outermost(found)[:_MOST], "title")
    items = [p for p in artifact.places if p.kind != HEADING and normal(p.title) in (wanted, short)]
    return Target(tuple(items), "title") if len(items) == 1 else NOWHERE


def _by_slug(artifact: Artifact, anchor: str) -> Target:
    wanted = anchor.lower()
    slugs = [(markdown.slug(re.sub(r"[*`]", "", p.text)), p) for p in artifact.headings]
    exact = [p for slug, p in slugs if slug == wanted]
    if exact:
        return Target(tuple(exact[:1]), "anchor")  # a link leads to the first of that name
    trimmed = wanted.strip("-")
    near = [p for slug, p in slugs if slug.strip("-") == trimmed] or [
        p for slug, p in slugs if slug.strip("-").startswith(trimmed + "-")
    ]
    if len(near) == 1:
        return Target(tuple(near), "anchor")
    return by_title(artifact, anchor.replace("-", " "))


def _inside(artifact: Artifact, outer: Place, words: str) -> Target:
    """A section by its title or id within another one."""
    within = [p for p in artifact.places if outer.holds(p) and p is not outer]
    part = artifact._replace(
        places=tuple(within), by_number=numbered(within), titles=titled(within)
    )
    lead = ids.lead(words)
    if lead.ids and not lead.title:
        found = by_id(part, lead.ids[0])
        firm = found.rung == "id" and all(p.kind in (HEADING, ITEM_) for p in found.places)
        return found if firm and len(lead.ids) == 1 else NOWHERE
    return by_title(part, words)


def _at_line(artifact: Artifact, line: int) -> Target:
    at = artifact.document.place(line)
    if at < 0 or line > len(artifact.document.lines):
        return NOWHERE
    return Target((artifact.headings[at],), "line")

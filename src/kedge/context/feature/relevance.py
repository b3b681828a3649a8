"""Which sections of a document are about a task, by their words."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from kedge.context.feature.artifact import Artifact, Place
from kedge.host.record import NamedTuple

_WORD = re.compile(r"[A-Za-z][a-z]+|[A-Z]{2,}(?![a-z])|[a-z]+|[0-9]{2,}|[^\W\d_]{2,}")
_NAME = re.compile(r"[A-Za-z_][\w.-]*[_./-][\w./-]*\w|[a-z]+[A-Z]\w+")
_STOP = frozenset(
    """the and for with that this from into are was will its has have not but all any each when then
    than use used using task tasks step phase add create update implement write make new one two per
    via can may must should does done file files test tests why source depends none plan design spec
    component section which what where how only also every src lib md py ts js go rs of to in on is
    it as an be by or no at if we so do verify goal size existing current""".split()  # noqa: SIM905
)
_HEADING_WEIGHT = 4
_K1, _B = 1.4, 0.5
_SHARE, _FLOOR, _LEAST, _MOST = 0.35, 0.15, 4, 8


class Scored(NamedTuple):
    place: Place
    score: float


def terms(text: str) -> Iterator[str]:
    """The words of a text and of the names in it, without what most sections say."""
    for word in _WORD.findall(text):
        lower = word.lower()
        if len(lower) > 1 and lower not in _STOP:
            yield stem(lower)
    for name in _NAME.findall(text):  # a name as a whole says more than its words
        yield name.rpartition("/")[2].lower()


def stem(word: str) -> str:
    for ending, least in (
        ("ies", 5),
        ("ing", 6),
        ("ers", 6),
        ("ed", 5),
        ("es", 5),
        ("er", 6),
        ("s", 4),
    ):
        if word.endswith(ending) and len(word) >= least and not word.endswith("ss"):
            word = word[: -len(ending)] + ("y" if ending == "ies" else "")
            break
    return word.removesuffix("e") if len(word) > 4 else word


def units(artifact: Artifact) -> list[Place]:
    """The sections that stand for themselves: those with an id, else the ones worth a choice."""
    headings = artifact.headings
    document = artifact.document
    below: dict[int, list[int]] = {}
    for at, heading in enumerate(document.headings):
        below.setdefault(heading.above, []).append(at)
    total = max(1, len(document.lines))
    found: list[Place] = []

    def is_split(at: int) -> bool:
        children = below.get(at, [])
        place = headings[at]
        if not children:
            return False
        if sum(bool(headings[c].ids or headings[c].tail) for c in children) * 2 > len(children):
            own = place.ids or place.tail
            coded = any(one.prefix for one in (*place.ids, *place.tail))
            dotted = all("." in one.number for c in children for one in headings[c].ids[:1])
            return not own or not coded or dotted or _is_group(place)
        if place.ids and any(one.prefix for one in place.ids):
            return _is_group(place)
        return len(children) > 1 and (place.last - place.line > 0.4 * total or at in tops)

    tops = set(below.get(-1, [])) if len(below.get(-1, [])) == 1 else set()
    queue = list(below.get(-1, []))
    while queue:
        at = queue.pop(0)
        if is_split(at):
            queue = below[at] + queue
        else:
            found.append(headings[at])
    return found


def _is_group(place: Place) -> bool:
    return any(
        one.prefix in ("PHASE", "STAGE", "M", "GROUP", "SPRINT", "WAVE") for one in place.ids
    )


def rank(artifact: Artifact, query: Mapping[str, float]) -> list[Scored]:
    """The units of the document, most relevant first, by BM25 with headings counted double."""
    places = units(artifact)
    bags = []
    for place in places:
        bag = Counter(terms(artifact.lines(place.line, place.last)))
        path = artifact.document.path(place.at)
        for word in terms(" ".join(h.text for h in path[1:-1]) + " " + place.text):
            bag[word] += _HEADING_WEIGHT if word in set(terms(place.text)) else 1
        bags.append(bag)
    lengths = [sum(bag.values()) for bag in bags]
    mean = sum(lengths) / len(lengths) if lengths else 1.0
    spread = Counter(word for bag in bags for word in bag)
    scored = []
    for place, bag, length in zip(places, bags, lengths, strict=True):
        score = 0.0
        for word, weight in query.items():
            often = bag.get(word, 0)
            if often:
                rare = math.log(1 + (len(bags) - spread[word] + 0.5) / (spread[word] + 0.5))
                norm = often + _K1 * (1 - _B + _B * length / max(mean, 1.0))
                score += weight * rare * often * (_K1 + 1) / norm
        scored.append(Scored(place, score))
    return sorted(scored, key=lambda one: (-one.score, one.place.line))


def query(title: str, body: str, names: Sequence[str]) -> dict[str, float]:
    """The words of a task, by how much they say about it."""
    weights: dict[str, float] = {}
    for word in terms(body):
        weights[word] = min(2.0, weights.get(word, 0.0) + 1.0)
    for word in terms(" ".join(names)):
        weights[word] = max(weights.get(word, 0.0), 1.5)
    for word in terms(title):
        weights[word] = weights.get(word, 0.0) + 3.0
    return weights


def clear(scored: Sequence[Scored]) -> list[Scored]:
    """Those that stand out clearly, rather one too many; none where it is not clear which do."""
    if len(scored) < 2 or scored[0].score <= 0:
        return []
    best = scored[0].score
    near = [one for one in scored if one.score >= _SHARE * best]
    if len(near) < _LEAST:  # the runners-up of a long document, where they have a part in it
        few = min(_LEAST, len(scored) // 4)
        near = [one for one in scored[: max(few, len(near))] if one.score >= _FLOOR * best]
    return near if len(near) <= min(_MOST, max(1, len(scored) // 2)) else []

"""References from a task to sections of other documents, and the lexicon of known sections."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from kedge.features import section_ids
from kedge.features.section_ids import Id

PLAN, DESIGN, SPEC, PRD = "plan", "design", "spec", "prd"
TYPES = (PLAN, DESIGN, SPEC, PRD)

_HOME = {
    DESIGN: {
        "C",
        "I",
        "TD",
        "D",
        "DD",
        "R",
        "DC",
        "ADR",
        "KD",
        "IF",
        "MODULE",
        "LAYER",
        "FLOW",
        "PROPERTY",
    },
    SPEC: {"AC", "FR", "NFR", "REQ", "US", "UC", "SC", "BR", "UR", "SR", "BS", "EC", "SCENARIO"},
    PLAN: {"STEP", "PHASE", "STAGE", "M", "T", "P", "S", "ITEM", "GROUP", "SPRINT", "WAVE", "WP"},
    PRD: {"G", "O", "KR", "OKR"},
}
TYPE_OF = {prefix: type_ for type_, prefixes in _HOME.items() for prefix in prefixes}
NAMES = {
    "plan": PLAN, "design": DESIGN, "spec": SPEC, "specification": SPEC, "prd": PRD,
    "requirements": SPEC, "requirement": SPEC, "architecture": DESIGN,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reference:
    """One reference: `id` is normalised, `raw` is the text as written.

    `by` says what the id is: `id`, `title` (of a heading), `anchor` (of a link) or `whole` (the
    document). `inner` names a section inside the referenced one, and
    `typed` is true if the text names the document.
    """

    type: str
    id: str
    raw: str
    by: str = "id"
    key: Id | None = None
    inner: str = ""
    typed: bool = False


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The ids and titles of all sections that can be referenced, by document type."""

    ids: Mapping[str, Collection[Id]] = field(default_factory=dict)
    titles: Mapping[str, Collection[str]] = field(default_factory=dict)

    def find_id(self, one: Id, wanted: str | None = None) -> str | None:
        """Return the document that has a section with this id, or None.

        The document where the prefix usually belongs comes first, then the wanted one.
        """
        for type_ in (TYPE_OF.get(one.prefix), wanted, DESIGN, PLAN, SPEC, PRD):
            if type_ and one in self.ids.get(type_, ()):
                return type_
        return None

    def find_title(self, words: str, wanted: str | None = None) -> str | None:
        """Return the document that has a section with this title, or None."""
        plain = normalize_title(words)
        for type_ in (*([wanted] if wanted else []), DESIGN, PLAN, SPEC, PRD):
            if plain and plain in self.titles.get(type_, ()):
                return type_
        return None


def normalize_title(title: str) -> str:
    """Return the words of a title in lower case, the form in which titles are compared."""
    return " ".join(re.findall(r"\w+", title.lower()))


def type_of_field(name: str) -> str | None:
    """Return the document that a field's name refers to: `Plan ref`, `Components`."""
    for word in name.split():
        single = word.removesuffix("s")
        if word in NAMES or single in NAMES:
            return NAMES.get(word) or NAMES[single]
        if single in ("component", "interface", "decision"):
            return DESIGN
        if single in ("step", "phase", "milestone"):
            return PLAN
        if word in ("ac", "acs", "req", "reqs", "user"):
            return SPEC
    return None


def prefix_of_field(name: str) -> str:
    """Return the prefix that a field's name gives to bare numbers: `Components: 1, 2`."""
    for word in (name, name.rpartition(" ")[2]):
        try:
            return section_ids.find_prefix(word)
        except KeyError:
            continue
    return "AC" if name in ("ac", "acs", "ac coverage") else ""

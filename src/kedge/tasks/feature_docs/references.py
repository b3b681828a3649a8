"""What a reference to a section of another document is, and what can be referred to."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from kedge.host.record import NamedTuple
from kedge.tasks.feature_docs import ids
from kedge.tasks.feature_docs.ids import Id

PLAN, DESIGN, SPEC, PRD = "plan", "design", "spec", "prd"
TYPES = (PLAN, DESIGN, SPEC, PRD)

_HOME = {
    DESIGN: {"C", "I", "TD", "D", "DD", "R", "DC", "ADR", "KD", "IF", "MODULE", "LAYER", "FLOW"},
    SPEC: {"AC", "FR", "NFR", "REQ", "US", "UC", "SC", "BR", "UR", "SR", "BS", "EC", "SCENARIO"},
    PLAN: {"STEP", "PHASE", "STAGE", "M", "T", "P", "S", "ITEM", "GROUP", "SPRINT", "WAVE", "WP"},
    PRD: {"G", "O", "KR", "OKR"},
}
TYPE_OF = {prefix: type_ for type_, prefixes in _HOME.items() for prefix in prefixes}
NAMES = {
    "plan": PLAN, "design": DESIGN, "spec": SPEC, "specification": SPEC, "prd": PRD,
    "requirements": SPEC, "requirement": SPEC, "architecture": DESIGN,
}  # fmt: skip


class Reference(NamedTuple):
    """`id` is normalised; `raw` is what was written; `by` says how the id is to be understood.

    by: `id`, `title` (of a heading), `anchor` (of a link), `line` (a number), `whole`. `inner`
    names a section within the one that is meant; `typed` says that the document was named.
    """

    type: str
    id: str
    raw: str
    by: str = "id"
    key: Id | None = None
    inner: str = ""
    typed: bool = False


class Lexicon(NamedTuple):
    """What can be referred to: by document, the ids and the titles of its sections."""

    ids: Mapping[str, Collection[Id]] = {}
    titles: Mapping[str, Collection[str]] = {}

    def home(self, one: Id, wanted: str | None = None) -> str | None:
        """The document that has a section of that id: the usual one for it, then the wanted one."""
        for type_ in (TYPE_OF.get(one.prefix), wanted, DESIGN, PLAN, SPEC, PRD):
            if type_ and one in self.ids.get(type_, ()):
                return type_
        return None

    def titled(self, words: str, wanted: str | None = None) -> str | None:
        plain = normal(words)
        for type_ in (*([wanted] if wanted else []), DESIGN, PLAN, SPEC, PRD):
            if plain and plain in self.titles.get(type_, ()):
                return type_
        return None


def normal(title: str) -> str:
    """A title as titles are compared: its words, in lower case."""
    return " ".join(re.findall(r"\w+", title.lower()))


def type_of_field(name: str) -> str | None:
    """The document that a field's name names."""
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
    """The kind of section that a field's name names: `Components: 1, 2`."""
    for word in (name, name.rpartition(" ")[2]):
        try:
            return ids.prefix_of(word)
        except KeyError:
            continue
    return "AC" if name in ("ac", "acs", "ac coverage") else ""

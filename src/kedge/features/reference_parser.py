"""Parser of references as people write them, in the value of a field or in a line of text.

    Implements Plan Step 1.1 / Design Component C1, Interface 1
    Design C1, C4; Plan Steps 2.1–2.4 & 3.1; AC-17/18
    design.md § Caching, [C2](design.md#c2-cache), Design "Token bucket"

A value is read once, from left to right. A word that names a document or a kind of section also
applies to the ids after it. In prose, only references that cannot mean anything else count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from kedge.features import reference_tokens, section_ids
from kedge.features.reference_tokens import Token, TokenCursor
from kedge.features.references import (
    DESIGN,
    NAMES,
    PLAN,
    TYPE_OF,
    Lexicon,
    Reference,
    prefix_of_field,
    type_of_field,
)
from kedge.features.section_ids import Id

_MOST = 200  # references of one value
_VERBS = frozenset(
    """
    implements implement implementing covers cover per see from of in the traces trace to refs
    ref satisfies satisfy addresses supports validates part as by for with also both realises
    realizes fulfils fulfills delivers based on is
    """.split()  # noqa: SIM905 - as a list it is a page
)


@dataclass(frozen=True, slots=True)
class ParsedReferences:
    """The references of a value, and the number of words that belong to none of them."""

    references: tuple[Reference, ...]
    loose: int
    first: bool  # a reference comes before all other words


def parse_references(
    text: str, lexicon: Lexicon, field: str = "", *, strict: bool = False
) -> ParsedReferences:
    """Parse the value of a field, or with `strict` a text that may be nothing but prose."""
    parser = _Parser(
        reference_tokens.normalize_value(text),
        lexicon,
        type_of_field(field),
        prefix_of_field(field) if field else "",
    )
    parser.strict = parser.always_strict = strict
    parser.run()
    return ParsedReferences(tuple(dict.fromkeys(parser.found)), parser.loose, parser.first)


class _Parser:
    """One pass over a value; each `read_` method handles one kind of token."""

    def __init__(self, text: str, lexicon: Lexicon, type_: str | None, prefix: str) -> None:
        self.text = text
        self.lexicon = lexicon
        self.cursor = TokenCursor(text)
        self.found: list[Reference] = []
        self.loose = 0  # words that belong to no reference
        self.first = False
        self.type = self.default = type_
        self.prefix = prefix
        self.typed = False  # the document was named right before
        self.start = -1  # position of the words before an id
        self.strict = False  # within prose
        self.always_strict = False  # the whole text is prose
        self.explained = False  # after the dash that follows the references
        self.named = False  # within brackets right after a document's name
        self.fresh = True  # at the start, or after a separator
        self.last: tuple[Id, str, int] | None = None  # the last id, its document and position
        self.joined = ""  # the sign between that id and here
        self.open_at = -1  # position of the last reference, until something ends it
        self.outer: list[tuple[bool, str | None, str]] = []

    def run(self) -> None:
        steps = {
            "target": self.read_link, "quote": self.read_quote, "file": self.read_file,
            "type": self.read_document, "sect": self.read_section, "kind": self.read_kind,
            "code": self.read_number, "bare": self.read_number, "sep": self.read_separator,
            "to": self.read_join, "open": self.read_open, "close": self.read_close,
        }  # fmt: skip
        while token := self.cursor.take():
            step = next((steps[name] for name in steps if token[name] is not None), self.read_word)
            fresh, count, start = self.fresh, len(self.found), self.start
            step(token)
            if len(self.found) > count:
                self.open_at = start if start >= 0 else token.start()
            elif step != self.read_section:
                self.open_at = -1
            if step not in (self.read_separator, self.read_open) and fresh:
                self.fresh = token[0].lower() in _VERBS

    def begin(self, token: Token) -> None:
        if self.start < 0:
            self.start = token.start()
        self.strict = False

    def add(self, reference: Reference) -> None:
        self.first = self.first or not self.loose
        typed = self.typed or reference.by in ("anchor", "whole")
        if len(self.found) < _MOST:
            self.found.append(replace(reference, typed=typed))
        self.start, self.typed = -1, False

    def read_document(self, token: Token) -> None:
        type_ = NAMES[token["type"].lower().split()[-1]]
        is_next = self.cursor.is_next
        firm = is_next("kind", "code", "bare", "sect", "quote", "target")
        if not firm and not (is_next("text") and self.is_title_next(type_, token[0])):
            if is_next("open") or not is_next("text"):
                self.type = self.type if self.strict else type_
            self.loose += self.fresh is False
            self.strict = self.strict or is_next("text")
            return
        self.begin(token)
        self.type, self.typed, self.prefix, self.last = type_, True, "", None
        if not firm:
            self.take_title()

    def is_title_next(self, type_: str, name: str) -> bool:
        """True if the words after a document's name are a title: in capitals, or a known one."""
        words, _ = self.cursor.peek_title()
        if self.lexicon.find_title(words, type_) == type_:
            return True
        return not self.strict and name[:1].isupper() and words[:1].isupper()

    def read_kind(self, token: Token) -> None:
        prefix = section_ids.find_prefix(token["word"])
        is_next = self.cursor.is_next
        if self.open_at >= 0 and is_next("bare", "code"):  # Phase 2 Step 1
            self.cursor.take()
            self.narrow(self.text[token.start() : self.cursor.end], self.cursor.end)
            return
        if not self.typed and self.is_unlikely(prefix):
            self.read_word(token)
            return
        letter = self.cursor.peek_letter()
        if is_next("code", "bare") or letter:
            self.begin(token)
            self.prefix = prefix
            if letter:
                self.cursor.take()
                self.refer(section_ids.make_id(prefix, letter), self.cursor.end)
            return
        words, _ = self.cursor.peek_title()
        known = self.lexicon.find_title(words, self.type)
        if is_next("text") and not self.strict and (known or self.typed or self.default):
            self.begin(token)
            self.type = known or self.type or TYPE_OF.get(prefix)
            self.take_title()
        elif is_next("sect"):
            self.begin(token)
        else:
            self.read_word(token)

    def narrow(self, inner: str, end: int) -> None:
        """Let the last reference mean a section inside the one that it names."""
        raw = self.text[self.open_at : end]
        self.found[-1] = replace(self.found[-1], raw=raw, inner=inner)

    def is_unlikely(self, prefix: str) -> bool:
        """True if a word and its number are only prose: another task, or a step of a step.

        The number is taken then.
        """
        usual = prefix in TYPE_OF and prefix != "T" and not self.strict
        number = self.cursor.peek() if self.cursor.is_next("bare") else None
        if number is None or usual:
            return False
        one = section_ids.make_id(prefix, number["bare"])
        if prefix == "T":  # another task of the same document, unless the plan is the subject
            unlikely = self.default != PLAN
        else:
            step = Id("", one.number) if prefix == "STEP" else one
            unlikely = not self.lexicon.find_id(one) and not self.lexicon.find_id(step)
        self.cursor.place += unlikely
        return unlikely

    def read_number(self, token: Token) -> None:
        one = self.make_id(token)
        if one is None:
            self.strict = True
            self.last = None
            return
        if self.joined == "to" and self.last:
            first, type_, start = self.last
            many = section_ids.expand_range(first, one)
            if many:
                raw = self.text[start : token.end()]
                for each in many:
                    self.add(Reference(type_, str(each), raw, key=each))
                self.last, self.joined = (one, type_, start), ""
                return
        if self.start < 0:
            self.start = token.start()
        self.refer(one, token.end())

    def make_id(self, token: Token) -> Id | None:
        """Return the id of a number or a code; None if it is only a word of the text."""
        if token["bare"] is not None:
            return self.make_bare_id(token["bare"])
        prefix = token["prefix"]
        word = section_ids.WORDS.get(prefix.lower())
        one = section_ids.make_id(prefix if word is None else word, token["number"])
        if self.explained and not self.typed and self.cursor.is_next("text"):
            return None  # "C3 — replaces C1 in part" is about C3
        if one.prefix == "T" and not self.typed and self.default != PLAN:
            return None
        if self.lexicon.find_id(one) or self.typed or self.start >= 0:
            return one
        if not (prefix.isupper() or word):
            return None
        if self.strict or not self.type:
            return one if one.prefix in TYPE_OF else None
        return one

    def make_bare_id(self, number: str) -> Id | None:
        """Return the id of a number without a prefix, which what came before may give it."""
        if self.strict and not self.typed:
            return None
        carried = self.last and self.joined and not self.typed and self.start < 0
        if self.last and carried and "." not in number:
            return section_ids.make_id(self.last[0].prefix, number)
        if self.type or self.prefix:
            one = section_ids.make_id(self.prefix, number)
            plain = one.prefix == "REQ" and not self.lexicon.find_id(one)
            return Id("", one.number) if plain else one
        return None

    def refer(self, one: Id, end: int) -> None:
        """Add a reference to an id, in the document that it most likely belongs to."""
        type_: str | None = self.type
        if not self.typed:
            home = self.lexicon.find_id(one, self.type)
            usual = TYPE_OF.get(one.prefix)
            if self.last and self.last[0].prefix == one.prefix:
                usual = self.last[1]
                home = usual if one in self.lexicon.ids.get(usual, ()) else home
            type_ = home or ((usual or self.type) if one.prefix else (self.type or usual))
        if type_ is None:
            type_ = self.default or TYPE_OF.get(self.prefix) or PLAN
        start = self.start
        self.add(Reference(type_, str(one), self.text[start:end], key=one))
        self.last, self.joined = (one, type_, start), ""

    def read_section(self, token: Token) -> None:
        is_next = self.cursor.is_next
        if self.open_at >= 0 and is_next("text", "quote", "code", "kind", "bare"):
            words, count = self.cursor.peek_title()
            self.cursor.place += count
            self.narrow(words, self.cursor.end if count else token.end())
        elif self.type and not (self.strict and not is_next("code", "bare", "kind")):
            self.begin(token)
            self.prefix, self.typed = "", True
            if is_next("text"):
                self.take_title()

    def read_separator(self, token: Token) -> None:
        self.joined = token[0]
        self.fresh = True
        self.start, self.typed = -1, False
        if token[0] == ";":
            self.strict, self.prefix, self.explained = self.always_strict, "", False

    def read_join(self, token: Token) -> None:
        if self.last and self.joins_number(token):
            self.joined = "to"
        elif self.found or self.start >= 0:
            self.strict, self.start, self.typed, self.last = True, -1, False, None
            self.explained = True
        else:
            self.read_word(token)

    def joins_number(self, token: Token) -> bool:
        """True if a range goes on; after a dash with spaces, only if the number ends the value."""
        if not self.cursor.is_next("code", "bare"):
            return False
        spaced = self.cursor.is_after_space(token)
        if not spaced or token[0] not in "—–-" or self.cursor.is_next("code"):
            return True
        after = self.cursor.peek(1)
        return after is None or after["sep"] is not None or after["close"] is not None

    def read_open(self, token: Token) -> None:
        self.outer.append((self.strict, self.type, self.prefix))
        before = self.cursor.peek(-2)
        self.named = before is not None and before["type"] is not None
        self.strict = self.strict or ((bool(self.found) or token.start() > 0) and not self.named)
        self.start, self.typed, self.fresh = -1, False, True

    def read_close(self, _: Token) -> None:
        if self.outer:
            self.strict, self.type, self.prefix = self.outer.pop()
            self.named = False
        self.start, self.typed = -1, False

    def read_quote(self, token: Token) -> None:
        self.add_title(token["quote"], token.end(), firm=not self.strict, start=token.start())

    def read_file(self, token: Token) -> None:
        type_ = NAMES[token["file"].lower()]
        is_next = self.cursor.is_next
        if token[0].startswith("../"):
            return
        self.type, self.prefix, self.last = type_, "", None
        if token["anchor"]:
            self.add_anchor(type_, token["anchor"], token["anchor"], token[0])
        elif is_next("sect", "code", "bare", "kind", "quote"):
            self.begin(token)
            self.typed = True
        elif not is_next("text", "to") and not self.strict:
            self.add(Reference(type_, token[0], token[0], "whole"))
        elif is_next("text") and self.is_title_next(type_, "D"):
            self.begin(token)
            self.take_title()

    def read_link(self, token: Token) -> None:
        """Read a link to an anchor; other links are replaced before the value is read."""
        if "](../" in token[0]:  # of another feature
            return
        type_ = NAMES[token["target"].lower()]
        self.add_anchor(type_, token["to_anchor"], token["label"], token[0])

    def read_word(self, token: Token) -> None:
        if token[0].lower() in _VERBS and (self.fresh or self.strict):
            return
        if not re.search(r"\w", token[0]):
            return
        if self.fresh and not self.strict:
            self.cursor.place -= 1
            words, count = self.cursor.peek_title()
            type_ = self.lexicon.find_title(words, self.type)
            short = self.default in (DESIGN, PLAN) and 0 < len(words.split()) <= 6
            if type_ or (short and words[:1].isupper()):
                self.cursor.place += count
                raw = self.text[token.start() : self.cursor.end]
                self.add(Reference(type_ or self.default or DESIGN, words, raw, "title"))
                self.last = None
                return
            self.cursor.place += 1
        self.loose += 1
        self.strict, self.start, self.typed, self.last = True, -1, False, None

    def take_title(self) -> None:
        """Take the words that follow as a title."""
        words, count = self.cursor.peek_title()
        if count:
            self.cursor.place += count
            self.add_title(words, self.cursor.end, firm=True, start=self.start)

    def add_title(self, words: str, end: int, *, firm: bool, start: int) -> None:
        known = self.lexicon.find_title(words, self.type)
        type_ = known if known and not self.typed else self.type or known
        begin = self.start if self.start >= 0 else start
        if type_ and (firm or known):
            self.add(Reference(type_, words, self.text[begin:end], "title"))
            self.last = None
        else:
            self.strict = True

    def add_anchor(self, type_: str, anchor: str, label: str, raw: str) -> None:
        """Add a reference to a link's anchor, named by the link's text if it has one."""
        label = label.strip() or anchor
        lead = section_ids.parse_lead(label.replace("-", " ") if label == anchor else label)
        one = lead.ids[0] if lead.ids else None
        name = str(one) if one and (one.prefix or label != anchor) else label
        self.add(Reference(type_, name, raw, "anchor", one, anchor))

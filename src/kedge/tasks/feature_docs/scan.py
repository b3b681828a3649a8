"""References as people write them, read from the value of a field or from a line of text.

    Implements Plan Step 1.1 / Design Component C1, Interface 1
    Design C1, C4; Plan Steps 2.1–2.4 & 3.1; AC-17/18
    design.md § Caching, [C2](design.md#c2-cache), Design "Token bucket"

A value is scanned once from left to right; words that name a document or a kind of section carry
on to the ids behind them. In prose only what is unmistakable counts.
"""

from __future__ import annotations

import re

from kedge.host.record import NamedTuple
from kedge.tasks.feature_docs import ids, tokens
from kedge.tasks.feature_docs.ids import Id
from kedge.tasks.feature_docs.references import (
    DESIGN,
    NAMES,
    PLAN,
    TYPE_OF,
    Lexicon,
    Reference,
    prefix_of_field,
    type_of_field,
)

_VERBS = frozenset(
    """
    implements implement implementing covers cover per see from of in the traces trace to refs
    ref satisfies satisfy addresses supports validates part as by for with also both realises
    realizes fulfils fulfills delivers based on is
    """.split()  # noqa: SIM905 - as a list it is a page
)


class Found(NamedTuple):
    """What a value refers to, and how many of its words are no part of that."""

    references: tuple[Reference, ...]
    loose: int
    first: bool  # a reference comes before all other words


def scan(text: str, lexicon: Lexicon, field: str = "", *, strict: bool = False) -> Found:
    """The references in the value of a field, or in any text; strict for what is but prose."""
    found = _Scan(
        tokens.plain(text), lexicon, type_of_field(field), prefix_of_field(field) if field else ""
    )
    found.strict = found.never_loose = strict
    found.run()
    return Found(tuple(dict.fromkeys(found.found)), found.loose, found.first)


class _Scan:
    """One pass over a value, from left to right."""

    def __init__(self, text: str, lexicon: Lexicon, type_: str | None, prefix: str) -> None:
        self.text = text
        self.lexicon = lexicon
        self.tokens = tokens.read(text)
        self.place = 0
        self.found: list[Reference] = []
        self.loose = 0  # words that belong to no reference
        self.first = False
        self.type = self.default = type_
        self.prefix = prefix
        self.typed = False  # the document was named right before
        self.start = -1  # where the words before an id start
        self.strict = False  # within prose
        self.never_loose = False  # all of it is prose
        self.explained = False  # behind the dash that follows the references
        self.named = False  # within brackets right behind a document's name
        self.fresh = True  # at the start, or behind a separator
        self.last: tuple[Id, str, int] | None = None  # the id before: its document, its start
        self.joined = ""  # what stands between that id and here
        self.open_at = -1  # where the reference starts that nothing has ended yet
        self.outer: list[tuple[bool, str | None, str]] = []

    def run(self) -> None:
        steps = {
            "target": self.link, "quote": self.quote, "file": self.file, "type": self.document,
            "sect": self.section, "kind": self.kind, "code": self.number, "bare": self.number,
            "sep": self.separate, "to": self.join, "open": self.open, "close": self.close,
        }  # fmt: skip
        while self.place < len(self.tokens):
            token = self.tokens[self.place]
            self.place += 1
            step = next((steps[name] for name in steps if token[name] is not None), self.prose)
            fresh, count, start = self.fresh, len(self.found), self.start
            step(token)
            if len(self.found) > count:
                self.open_at = start if start >= 0 else token.start()
            elif step != self.section:
                self.open_at = -1
            if step not in (self.separate, self.open) and fresh:
                self.fresh = token[0].lower() in _VERBS

    def ahead(self, *names: str) -> bool:
        """Whether the next token is of one of these kinds."""
        if self.place >= len(self.tokens):
            return False
        token = self.tokens[self.place]
        if token["text"] is not None and not re.search(r"\w", token[0]):
            return False
        return any(token[name] is not None for name in names)

    def begin(self, token: re.Match[str]) -> None:
        if self.start < 0:
            self.start = token.start()
        self.strict = False

    def add(self, reference: Reference) -> None:
        self.first = self.first or not self.loose
        typed = self.typed or reference.by in ("anchor", "line", "whole")
        if len(self.found) < 200:
            self.found.append(reference._replace(typed=typed))
        self.start, self.typed = -1, False

    def document(self, token: re.Match[str]) -> None:
        word = token["type"].lower().split()[-1]
        firm = self.ahead("kind", "code", "bare", "sect", "quote", "target")
        if not firm and not (self.ahead("text") and self.named_title(NAMES[word], token[0])):
            if self.ahead("open") or not self.ahead("text"):
                self.type = self.type if self.strict else NAMES[word]
            self.loose += self.fresh is False
            self.strict = self.strict or self.ahead("text")
            return
        self.begin(token)
        self.type, self.typed, self.prefix, self.last = NAMES[word], True, "", None
        if not firm:
            self.capture()

    def named_title(self, type_: str, said: str) -> bool:
        """Whether the words behind a document's name are a title: in capitals, or known."""
        words, _ = tokens.title(self.text, self.tokens, self.place, self.lexicon)
        if self.lexicon.titled(words, type_) == type_:
            return True
        return not self.strict and said[:1].isupper() and words[:1].isupper()

    def kind(self, token: re.Match[str]) -> None:
        prefix = ids.prefix_of(token["word"])
        if self.open_at >= 0 and self.ahead("bare", "code"):  # Phase 2 Step 1
            self.narrow(token)
            return
        if not self.typed and self.is_unlikely(prefix):
            self.prose(token)
            return
        letter = self.letter()
        if self.ahead("code", "bare") or letter:
            self.begin(token)
            self.prefix = prefix
            if letter:
                self.place += letter[1]
                self.refer(ids.make(prefix, letter[0]), self.tokens[self.place - 1].end())
            return
        words, _ = tokens.title(self.text, self.tokens, self.place, self.lexicon)
        known = self.lexicon.titled(words, self.type)
        wanted = self.type or TYPE_OF.get(prefix)
        if self.ahead("text") and not self.strict and (known or (self.typed or self.default)):
            self.begin(token)
            self.type = known or wanted
            self.capture()
        elif self.ahead("sect"):
            self.begin(token)
        else:
            self.prose(token)

    def narrow(self, token: re.Match[str]) -> None:
        """Take a word and its number as a part of the reference right before them."""
        start = self.open_at
        self.place += 1
        while self.ahead("to") and self.place + 1 < len(self.tokens):
            self.place += 2
        end = self.tokens[self.place - 1].end()
        before = self.found.pop()
        inner = self.text[token.start() : end]
        self.found.append(before._replace(raw=self.text[start:end], inner=inner))

    def is_unlikely(self, prefix: str) -> bool:
        """Whether a word and the number behind it are but prose: another task, a step of a step."""
        usual = prefix in TYPE_OF and prefix != "T" and not self.strict
        if not self.ahead("bare") or usual:
            return False
        one = ids.make(prefix, self.tokens[self.place]["bare"])
        if prefix == "T":  # another task of the same document, unless the plan is spoken of
            self.place += self.default != PLAN
            return self.default != PLAN
        if self.outer and self.found and prefix == "STEP" and not self.named:
            # Step 3.1 (steps 5-7)
            self.place += 1
            return True
        if self.lexicon.home(one) or (prefix == "STEP" and self.lexicon.home(Id("", one.number))):
            return False
        self.place += 1
        return True

    def letter(self) -> tuple[str, int] | None:
        """A single capital, maybe in brackets, and the tokens that it takes."""
        texts = [token[0] for token in self.tokens[self.place : self.place + 3]]
        if texts and re.fullmatch("[A-Z]", texts[0]):
            return texts[0], 1
        if len(texts) == 3 and texts[0] in "[(" and re.fullmatch("[A-Z]", texts[1]):
            return texts[1], 3
        return None

    def number(self, token: re.Match[str]) -> None:
        one = self.id_of(token)
        if one is None:
            self.strict = True
            self.last = None
            return
        if self.joined == "to" and self.last:
            first, type_, start = self.last
            many = ids.expand(first, one)
            if len(many) > 1 or _is_next(first, one):
                raw = self.text[start : token.end()]
                for each in many:
                    self.add(Reference(type_, str(each), raw, key=each))
                self.last, self.joined = (one, type_, start), ""
                return
            if token["bare"]:
                self.strict, self.last, self.joined = True, None, ""
                return
        if self.start < 0:
            self.start = token.start()
        self.refer(one, token.end())

    def id_of(self, token: re.Match[str]) -> Id | None:
        """The id, as what came before makes it; None where it is but a word of the text."""
        if token["bare"] is not None:
            if self.strict and not self.typed:
                return None
            carried = self.last and self.joined and not self.typed and self.start < 0
            if self.last and carried and "." not in token["bare"]:
                return ids.make(self.last[0].prefix, token["bare"])
            if self.type or self.prefix:
                one = ids.make(self.prefix, token["bare"])
                plain = one.prefix == "REQ" and not self.lexicon.home(one)
                return Id("", one.number) if plain else one
            one = ids.make("", token["bare"])
            return one if "." in one.number and self.lexicon.home(one) else None
        prefix = token["prefix"]
        word = ids.WORDS.get(prefix.lower())
        one = ids.make(prefix if word is None else word, token["number"])
        home = self.lexicon.home(one)
        if self.explained and not self.typed and self.ahead("text"):
            return None  # "C3 — replaces C1 in part" is about C3
        if one.prefix == "T" and not self.typed and self.default != PLAN:
            return None
        if home or self.typed or self.start >= 0:
            return one
        if not (prefix.isupper() or word):
            return None
        if self.strict or not self.type:
            return one if one.prefix in TYPE_OF else None
        return one

    def refer(self, one: Id, end: int) -> None:
        type_: str | None = self.type
        if not self.typed:
            home = self.lexicon.home(one, self.type)
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

    def section(self, token: re.Match[str]) -> None:
        if self.open_at >= 0 and self.ahead("text", "quote", "code", "kind", "bare"):
            words, count = tokens.title(self.text, self.tokens, self.place, self.lexicon)
            self.place += count
            end = self.tokens[self.place - 1].end() if count else token.end()
            before = self.found.pop()
            raw = self.text[self.open_at : end]
            self.found.append(before._replace(raw=raw, inner=words))
        elif self.type and not (self.strict and not self.ahead("code", "bare", "kind")):
            self.begin(token)
            self.prefix, self.typed = "", True
            if self.ahead("text"):
                self.capture()
        elif self.ahead("code", "bare"):
            self.begin(token)
            self.prefix = ""

    def separate(self, token: re.Match[str]) -> None:
        self.joined = token[0]
        self.fresh = True
        self.start, self.typed = -1, False
        if token[0] == ";":
            self.strict, self.prefix, self.explained = self.never_loose, "", False

    def join(self, token: re.Match[str]) -> None:
        if self.last and (self.joins_number(token) or self.joins_kind()):
            self.joined = "to"
        elif self.found or self.start >= 0:
            self.strict, self.start, self.typed, self.last = True, -1, False, None
            self.explained = True
        else:
            self.prose(token)

    def joins_number(self, token: re.Match[str]) -> bool:
        """Whether a range goes on; behind a dash with spaces only where the number is the end."""
        if not self.ahead("code", "bare"):
            return False
        spaced = self.text[token.start() - 1 : token.start()].isspace()
        if not spaced or token[0] not in "—–-" or self.ahead("code"):
            return True
        following = self.tokens[self.place + 1] if self.place + 1 < len(self.tokens) else None
        return following is None or following["sep"] is not None or following["close"] is not None

    def joins_kind(self) -> bool:
        if not self.ahead("kind") or self.place + 1 >= len(self.tokens) or not self.last:
            return False
        word = self.tokens[self.place]["word"]
        following = self.tokens[self.place + 1]
        same = ids.prefix_of(word) == self.last[0].prefix and following["bare"] is not None
        self.place += same
        return same

    def open(self, token: re.Match[str]) -> None:
        self.outer.append((self.strict, self.type, self.prefix))
        before = self.tokens[self.place - 2] if self.place > 1 else None
        self.named = before is not None and before["type"] is not None
        self.strict = self.strict or ((bool(self.found) or token.start() > 0) and not self.named)
        self.start, self.typed, self.fresh = -1, False, True

    def close(self, _: re.Match[str]) -> None:
        if self.outer:
            self.strict, self.type, self.prefix = self.outer.pop()
            self.named = False
        self.start, self.typed = -1, False

    def quote(self, token: re.Match[str]) -> None:
        self.title(token["quote"], token.end(), firm=not self.strict, start=token.start())

    def file(self, token: re.Match[str]) -> None:
        type_ = NAMES[token["file"].lower()]
        if token[0].startswith("../"):
            return
        self.type, self.prefix, self.last = type_, "", None
        if token["anchor"]:
            self.anchor(type_, token["anchor"], token["anchor"], token[0])
        elif token["row"]:
            self.add(Reference(type_, f"line {token['row']}", token[0], "line", inner=token["row"]))
        elif self.ahead("sect", "code", "bare", "kind", "quote"):
            self.begin(token)
            self.typed = True
        elif not self.ahead("text", "to") and not self.strict:
            self.add(Reference(type_, token[0], token[0], "whole"))
        elif self.ahead("to") and self.place + 1 < len(self.tokens):
            self.begin(token)
            self.place += 1
            self.capture()
        elif self.ahead("text") and self.named_title(type_, "D"):
            self.begin(token)
            self.capture()

    def link(self, token: re.Match[str]) -> None:
        target = re.fullmatch(tokens.FILE, token["target"], re.IGNORECASE)
        label = token["label"]
        if target and not target[0].startswith("../"):
            type_ = NAMES[target["file"].lower()]
            if target["anchor"]:
                self.anchor(type_, target["anchor"], label, token[0])
                return
            self.inner(label, type_)
            if not self.found or self.found[-1].type != type_:
                self.add(Reference(type_, token["target"], token[0], "whole"))
        elif not target:
            self.inner(label, self.type)

    def inner(self, label: str, type_: str | None) -> None:
        """Read a link's text as if it stood there without the link."""
        below = _Scan(label, self.lexicon, type_, self.prefix)
        below.typed = self.typed or type_ is not None
        below.run()
        self.loose += below.loose
        for reference in below.found:
            self.add(reference)

    def anchor(self, type_: str, anchor: str, label: str, raw: str) -> None:
        lead = ids.lead(label.replace("-", " ") if label == anchor else label)
        one = lead.ids[0] if lead.ids else None
        shown = str(one) if one and (one.prefix or label != anchor) else label
        self.add(Reference(type_, shown, raw, "anchor", one, anchor))

    def prose(self, token: re.Match[str]) -> None:
        if token[0].lower() in _VERBS and (self.fresh or self.strict):
            return
        if not re.search(r"\w", token[0]):
            return
        if self.fresh and not self.strict:
            self.place -= 1
            words, count = tokens.title(self.text, self.tokens, self.place, self.lexicon)
            type_ = self.lexicon.titled(words, self.type)
            short = self.default in (DESIGN, PLAN) and 0 < len(words.split()) <= 6
            if type_ or (short and words[:1].isupper()):
                self.place += count
                raw = self.text[token.start() : self.tokens[self.place - 1].end()]
                self.add(Reference(type_ or self.default or DESIGN, words, raw, "title"))
                self.last = None
                return
            self.place += 1
        self.loose += 1
        self.strict, self.start, self.typed, self.last = True, -1, False, None

    def capture(self) -> None:
        """Take the words that follow as a title."""
        words, count = tokens.title(self.text, self.tokens, self.place, self.lexicon)
        if count:
            self.place += count
            self.title(words, self.tokens[self.place - 1].end(), firm=True, start=self.start)

    def title(self, words: str, end: int, *, firm: bool, start: int) -> None:
        known = self.lexicon.titled(words, self.type)
        type_ = known if known and not self.typed else self.type or known
        begin = self.start if self.start >= 0 else start
        if type_ and (firm or known):
            self.add(Reference(type_, words, self.text[begin:end], "title"))
            self.last = None
        else:
            self.strict = True


def _is_next(first: Id, one: Id) -> bool:
    head, _, a = first.number.rpartition(".")
    other, _, b = one.number.rpartition(".")
    same = first.prefix == one.prefix and head == other
    return same and a.isdigit() and b.isdigit() and int(b) == int(a) + 1

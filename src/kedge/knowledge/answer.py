"""What an agent answers to a retro: JSON, alone or in the midst of prose, checked by its shape."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches

from kedge.errors import InvalidValue
from kedge.host.record import NamedTuple
from kedge.knowledge import in_prose, titles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NEW, CONFIRMED, CHALLENGED, SKIPPED = "new", "confirmed", "challenged", "skipped"
KEYS = (NEW, CONFIRMED, CHALLENGED, SKIPPED)
CONFIDENCE = ("low", "medium", "high")
NAME, TEXT, EVIDENCE = 120, 2000, 500  # letters
ITEMS = 100  # of a list
_MOST = 1 << 20  # bytes

SHAPE = f"""\
Answer with one JSON object and nothing else; every list may be empty:

```json
{{
  "new": [{{"type": "anti-pattern | heuristic | pattern", "name": "a few words",
           "text": "what was learned, and why", "confidence": "low | medium | high",
           "paths": ["src/auth.py#hash_password"]}}],
  "confirmed": [{{"entry": "its name", "evidence": "what was seen in this work"}}],
  "challenged": [{{"entry": "its name", "reason": "what contradicts it in this work"}}],
  "skipped": ["the name of an entry that this work says nothing about"]
}}
```

- new: only what will matter in other work and is not in the knowledge bank; names of up to {NAME}
  letters, texts of up to {TEXT} without headings. `paths` may be left out; what is named must be
  there. `"anyway": true` adds one that says much the same as another.
- confirmed, challenged: entries of the list above, each once, with something to look up (a commit,
  a file, a check, a finding) in up to {EVIDENCE} letters. What was learned in this very work cannot
  be confirmed by it."""


class Problem(NamedTuple):
    """What cannot be applied, and where it stands, as `new[2]`."""

    where: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" + (f": {self.hint}" if self.hint else "")


class New(NamedTuple):
    where: str
    type: str
    name: str
    text: str
    confidence: str
    paths: tuple[str, ...]
    anyway: bool


class Observed(NamedTuple):
    """An entry that was seen to hold, or not, and what tells so."""

    where: str
    entry: str
    told: str


class Answer(NamedTuple):
    new: tuple[New, ...] = ()
    confirmed: tuple[Observed, ...] = ()
    challenged: tuple[Observed, ...] = ()
    skipped: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()


def read(text: str) -> Answer:
    """The answer with all that is wrong in it. InvalidValue where there is none to be found."""
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > _MOST:
        raise InvalidValue(
            f"the answer has {size / 1e6:.1f} MB; at most {_MOST >> 20} MiB is read",
            hint="an answer names lessons, not files",
        )
    said = _said(text)
    found = _Reading()
    found.keys(said)
    new = [found.new(where, item) for where, item in found.items(said, NEW)]
    held, contradicted = (
        [found.seen(where, item, word) for where, item in found.items(said, key)]
        for key, word in ((CONFIRMED, "evidence"), (CHALLENGED, "reason"))
    )
    skipped = [found.name(where, item) for where, item in found.items(said, SKIPPED)]
    passed = ", ".join(found.passed_over[:10])
    warnings = (f"passed over in the answer: {passed}",) if passed else ()
    return Answer(
        tuple(one for one in new if one),
        tuple(one for one in held if one),
        tuple(one for one in contradicted if one),
        tuple(one for one in skipped if one),
        tuple(found.problems),
        warnings,
    )


class _Reading:
    """The items of an answer, one by one; what is wrong with them is kept."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.passed_over: list[str] = []

    def problem(self, where: str, message: str, hint: str = "") -> None:
        self.problems.append(Problem(where, message, hint))

    def items(self, said: Mapping[str, Any], key: str) -> Iterator[tuple[str, Any]]:
        items = said.get(key)
        if items is None:
            return
        if not isinstance(items, list):
            self.problem(key, f"is {_kind(items)}, not a list")
            return
        if len(items) > ITEMS:
            self.problem(key, f"has {len(items)} items; at most {ITEMS} are read")
        yield from ((f"{key}[{n}]", item) for n, item in enumerate(items[:ITEMS]))

    def keys(self, said: Mapping[str, Any]) -> None:
        """What is no part of an answer: a slip of the pen, or something else."""
        for key in [key[:40] for key in said if key not in KEYS][:20]:
            near = get_close_matches(key, KEYS, n=1, cutoff=0.5)
            if near:
                self.problem(key, "is no part of an answer", f"did you mean {near[0]}?")
            else:
                self.passed_over.append(key)

    def new(self, where: str, item: Any) -> New | None:
        if not self._is_object(where, item, New._fields[1:]):
            return None
        before = len(self.problems)
        made = New(
            where,
            self._one_of(where, item, "type", titles.TYPES),
            self._text(where, item, "name", NAME),
            self._text(where, item, "text", TEXT),
            self._one_of(where, {"confidence": "medium", **item}, "confidence", CONFIDENCE),
            self._paths(where, item.get("paths", [])),
            item.get("anyway", False) is True,
        )
        if not isinstance(item.get("anyway", False), bool):
            self.problem(where, f"its anyway is {_kind(item['anyway'])}, not true or false")
        return made if len(self.problems) == before else None

    def seen(self, where: str, item: Any, word: str) -> Observed | None:
        if not self._is_object(where, item, ("entry", word)):
            return None
        entry = self._text(where, item, "entry", TEXT)
        told = self._text(where, item, word, EVIDENCE)
        return Observed(where, entry, told) if entry and told else None

    def name(self, where: str, item: Any) -> str:
        """Of an entry that is passed over: by itself, or in an object as the others are."""
        named = item.get("entry") if isinstance(item, dict) else item
        if isinstance(named, str):
            return named[:NAME]
        self.problem(where, f"is {_kind(item)}, not the name of an entry")
        return ""

    def _is_object(self, where: str, item: Any, known: Sequence[str]) -> bool:
        if not isinstance(item, dict):
            self.problem(where, f"is {_kind(item)}, not an object")
            return False
        self.passed_over += [f"{where}.{key[:40]}" for key in item if key not in known]
        return True

    def _one_of(self, where: str, item: Mapping[str, Any], key: str, among: Sequence[str]) -> str:
        value = re.sub(r"[_ ]+", "-", self._text(where, item, key, NAME).lower())
        if value and value not in among:
            self.problem(where, f"{value[:40]!r} is no {key}", f"one of {', '.join(among)}")
        return value

    def _paths(self, where: str, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(path, str) for path in value):
            self.problem(where, "its paths are no list of texts")
        elif len(value) > ITEMS:
            self.problem(where, f"has {len(value)} paths; at most {ITEMS} are read")
        else:
            return tuple(value)
        return ()

    def _text(self, where: str, item: Mapping[str, Any], key: str, most: int) -> str:
        value = item.get(key)
        if value is None:
            self.problem(where, f"has no {key}")
        elif not isinstance(value, str):
            self.problem(where, f"its {key} is {_kind(value)}, not a text")
        elif not value.strip():
            self.problem(where, f"its {key} is empty")
        elif len(value) > most:
            self.problem(where, f"its {key} has {len(value)} letters; at most {most} are kept")
        else:
            return value.strip()
        return ""


def _said(text: str) -> dict[str, Any]:
    """The one object that is the answer."""
    found = in_prose.objects(text)
    answers = [one for one in found if not one.value.keys().isdisjoint(KEYS)] or found
    if not answers:
        why = in_prose.fault(text)
        raise InvalidValue(
            "there is no JSON object in the answer" + (f": {why}" if why else ""),
            hint="kedge retro shows the shape that it has",
        )
    first = answers[0]
    if any(one.value != first.value for one in answers[1:]):
        raise InvalidValue(
            f"there are {len(answers)} answers in it that differ", hint="leave one of them"
        )
    if first.twice:
        raise InvalidValue(
            f"{first.twice[0]!r} is there twice in one object of the answer",
            hint="which of them is meant cannot be told: leave one",
        )
    return first.value


def _kind(value: object) -> str:
    kinds = {str: "a text", bool: "true or false", list: "a list", dict: "an object"}
    return "nothing" if value is None else kinds.get(type(value), "a number")

"""An agent's answer to a retro: the shape it is asked for, and the parser that checks it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any

from kedge.errors import InvalidValue
from kedge.knowledge import answer_json
from kedge.knowledge.bank import titles

NEW, CONFIRMED, CHALLENGED, SKIPPED = "new", "confirmed", "challenged", "skipped"
KEYS = (NEW, CONFIRMED, CHALLENGED, SKIPPED)
CONFIDENCE = ("low", "medium", "high")
MAX_NAME, MAX_TEXT, MAX_EVIDENCE = 120, 2000, 500  # characters
MAX_ITEMS = 100  # of a list
_MAX_BYTES = 1 << 20

SHAPE = f"""\
Answer with one JSON object and nothing else; every list may be empty:

```json
{{
  "new": [{{"type": "anti-pattern | heuristic | pattern", "name": "a few words",
           "text": "what was learned, and why", "confidence": "low | medium | high",
           "paths": ["src/auth.py#hash_password"]}}],
  "confirmed": [{{"entry": "its name", "evidence": "what shows that it held in this work"}}],
  "challenged": [{{"entry": "its name", "reason": "what contradicts it in this work"}}],
  "skipped": ["the name of an entry that this work says nothing about"]
}}
```

- new: only what will matter in other work and is not in the knowledge bank yet. Names have up to
  {MAX_NAME} characters, texts up to {MAX_TEXT}, without headings. `paths` is optional; the paths
  must exist. `"anyway": true` adds an entry although it is similar to another.
- confirmed, challenged: entries of the list above, each once, with evidence that can be looked up
  (a commit, a file, a check, a finding) in up to {MAX_EVIDENCE} characters. An entry that was
  learned in this work cannot be confirmed by it."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem with one item of the answer; `where` is its place, such as `new[2]`."""

    where: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" + (f": {self.hint}" if self.hint else "")


@dataclass(frozen=True, slots=True)
class NewEntry:
    where: str
    type: str
    name: str
    text: str
    confidence: str
    paths: tuple[str, ...]
    anyway: bool


@dataclass(frozen=True, slots=True)
class Observation:
    """An entry that held or was contradicted, and the evidence."""

    where: str
    entry: str
    evidence: str


@dataclass(frozen=True, slots=True)
class RetroAnswer:
    new: tuple[NewEntry, ...] = ()
    confirmed: tuple[Observation, ...] = ()
    challenged: tuple[Observation, ...] = ()
    skipped: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()


def parse_answer(text: str) -> RetroAnswer:
    """Parse an answer and collect its problems; InvalidValue if there is no answer in the text."""
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > _MAX_BYTES:
        raise InvalidValue(
            f"the answer has {size / 1e6:.1f} MB; the limit is {_MAX_BYTES >> 20} MiB",
            hint="an answer names lessons, not files",
        )
    value = _find_answer(text)
    parser = _Parser()
    parser.check_keys(value)
    new = (parser.new_entry(where, item) for where, item in parser.items(value, NEW))
    confirmed, challenged = (
        [parser.observation(where, item, word) for where, item in parser.items(value, key)]
        for key, word in ((CONFIRMED, "evidence"), (CHALLENGED, "reason"))
    )
    skipped = (parser.entry_name(where, item) for where, item in parser.items(value, SKIPPED))
    return RetroAnswer(
        tuple(filter(None, new)),
        tuple(filter(None, confirmed)),
        tuple(filter(None, challenged)),
        tuple(filter(None, skipped)),
        tuple(parser.problems),
        (f"ignored in the answer: {', '.join(parser.ignored[:10])}",) if parser.ignored else (),
    )


class _Parser:
    """Parses the items of an answer one by one, and collects their problems."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.ignored: list[str] = []

    def add_problem(self, where: str, message: str, hint: str = "") -> None:
        self.problems.append(Problem(where, message, hint))

    def items(self, answer: Mapping[str, Any], key: str) -> Iterator[tuple[str, Any]]:
        items = answer.get(key)
        if items is None:
            return
        if not isinstance(items, list):
            self.add_problem(key, f"is {_kind(items)}, not a list")
            return
        if len(items) > MAX_ITEMS:
            self.add_problem(key, f"has {len(items)} items; the limit is {MAX_ITEMS}")
        yield from ((f"{key}[{n}]", item) for n, item in enumerate(items[:MAX_ITEMS]))

    def check_keys(self, answer: Mapping[str, Any]) -> None:
        """Report keys that look like a misspelled key of an answer; ignore others."""
        for key in [key[:40] for key in answer if key not in KEYS][:20]:
            near = get_close_matches(key, KEYS, n=1, cutoff=0.5)
            if near:
                self.add_problem(key, "is not a key of an answer", f"did you mean {near[0]}?")
            else:
                self.ignored.append(key)

    def new_entry(self, where: str, item: Any) -> NewEntry | None:
        if not self._is_object(where, item, [one.name for one in fields(NewEntry)[1:]]):
            return None
        before = len(self.problems)
        entry = NewEntry(
            where,
            self._one_of(where, item, "type", titles.LESSONS),
            self._string(where, item, "name", MAX_NAME),
            self._string(where, item, "text", MAX_TEXT),
            self._one_of(where, {"confidence": "medium", **item}, "confidence", CONFIDENCE),
            self._paths(where, item.get("paths", [])),
            item.get("anyway") is True,
        )
        return entry if len(self.problems) == before else None

    def observation(self, where: str, item: Any, word: str) -> Observation | None:
        if not self._is_object(where, item, ("entry", word)):
            return None
        entry = self._string(where, item, "entry", MAX_TEXT)
        evidence = self._string(where, item, word, MAX_EVIDENCE)
        return Observation(where, entry, evidence) if entry and evidence else None

    def entry_name(self, where: str, item: Any) -> str:
        """Return the name of a skipped entry, given as a string or as an object with `entry`."""
        named = item.get("entry") if isinstance(item, dict) else item
        if isinstance(named, str):
            return named[:MAX_NAME]
        self.add_problem(where, f"is {_kind(item)}, not the name of an entry")
        return ""

    def _is_object(self, where: str, item: Any, known: Sequence[str]) -> bool:
        if not isinstance(item, dict):
            self.add_problem(where, f"is {_kind(item)}, not an object")
            return False
        self.ignored += [f"{where}.{key[:40]}" for key in item if key not in known]
        return True

    def _one_of(self, where: str, item: Mapping[str, Any], key: str, among: Sequence[str]) -> str:
        value = re.sub(r"[_ ]+", "-", self._string(where, item, key, MAX_NAME).lower())
        if value and value not in among:
            self.add_problem(where, f"{value[:40]!r} is not a {key}", f"one of {', '.join(among)}")
        return value

    def _paths(self, where: str, value: Any) -> tuple[str, ...]:
        if isinstance(value, list) and all(isinstance(path, str) for path in value):
            return tuple(value)
        self.add_problem(where, "its paths are not a list of strings")
        return ()

    def _string(self, where: str, item: Mapping[str, Any], key: str, most: int) -> str:
        value = item.get(key)
        if value is None:
            self.add_problem(where, f"has no {key}")
        elif not isinstance(value, str):
            self.add_problem(where, f"its {key} is {_kind(value)}, not a string")
        elif not value.strip():
            self.add_problem(where, f"its {key} is empty")
        elif len(value) > most:
            self.add_problem(where, f"its {key} has {len(value)} characters; the limit is {most}")
        else:
            return value.strip()
        return ""


def _find_answer(text: str) -> dict[str, Any]:
    """Return the one object that is the answer."""
    objects = answer_json.parse_objects(text)
    answers = [one for one in objects if not one.value.keys().isdisjoint(KEYS)] or objects
    if not answers:
        why = answer_json.explain_failure(text)
        raise InvalidValue(
            "there is no JSON object in the answer" + (f": {why}" if why else ""),
            hint="kedge retro shows the expected shape",
        )
    first = answers[0]
    if any(one.value != first.value for one in answers[1:]):
        raise InvalidValue(
            f"the text contains {len(answers)} different answers", hint="keep one of them"
        )
    if first.duplicate_keys:
        raise InvalidValue(
            f"the key {first.duplicate_keys[0]!r} occurs twice in one object of the answer",
            hint="keep one of them",
        )
    return first.value


def _kind(value: object) -> str:
    kinds = {str: "a string", bool: "true or false", list: "a list", dict: "an object"}
    return "null" if value is None else kinds.get(type(value), "a number")

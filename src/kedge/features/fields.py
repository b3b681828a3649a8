"""Read the fields in a task's text: `**Why:** …`, `- Done when: …`, `_Requirements: …_`.

A field's value follows its name, or is the paragraph or the list under it. A heading such as
`#### Files` is a field, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kedge.text.markdown import ITEM, indent_width, read_heading


def _names(text: str) -> frozenset[str]:
    return frozenset(" ".join(name.split()) for name in text.split(","))


STATUS = frozenset({"status", "state"})
DEPENDS = frozenset({"depends on", "dependencies", "blocked by"})
DONE = _names(
    """
    done when, done, done criteria, done criterion, done if, dod, definition of done,
    acceptance, acceptance criteria, acceptance criterion, acceptance test, acceptance tests,
    exit criteria, success criteria, complete when, completed when, completion criteria,
    verify, verification, verified by, verify by, ac
    """
)
FILES = _names(
    """
    file, files, touches, touched files, files touched, files changed, files to change,
    files to modify, files to create, files to touch, paths, path, modifies, creates,
    changes files, new files, modify, create, edits
    """
)
TRACE = _names(
    """
    why, source, sources, implements, implementing, ref, refs, reference, references, trace,
    traces, traces to, traced to, tracing, traceability, satisfies, covers, coverage,
    ac coverage, ac, acs, from, requirement, requirements, req, reqs, validates, realises,
    realizes, fulfils, fulfills, addresses, based on, derived from, maps to, links, links to,
    linked to, see, see also, relates to, related, related to, origin, basis, upstream,
    delivers, supports, per, context, rationale, reads, read, read first, inputs, docs,
    documents, background, component, components, interface, interfaces, decision, decisions,
    technical decision, technical decisions, architecture, step, phase, milestone,
    specification, user story, user stories, story
    """
) | {
    f"{document}{part}{plural}"
    for document in ("design", "plan", "spec", "prd")
    for part in ("", " ref", " reference", " section", " component", " decision", " step",
                 " item", " phase", " task", " requirement", " goal", " doc")
    for plural in ("", "s")
}  # fmt: skip
_OTHER = _names(
    """
    estimate, estimated, estimation, effort, owner, priority, do, steps, test, tests, blocks,
    complexity, goal, objective, description, action, actions, size, assignee, parallel group,
    time, type, deliverable, deliverables, output, what, how, change, changes, deps, needs,
    requires, prerequisite, prerequisites, notes, risk, commit, labels, points
    """
)
_KNOWN = STATUS | DEPENDS | DONE | FILES | TRACE | _OTHER

_NAME = r"(?P<name>[A-Za-z][A-Za-z /&'-]{0,38}[A-Za-z]|AC)(?P<note>[ \t]*\([^()*\n]{0,60}\))?"
_START = re.compile(
    r"(?P<lead>[ \t]*+)(?:>[ \t]?)?(?P<bullet>(?:[-*+]|[0-9]{1,9}[.)])[ \t]++)?(?:\[.\][ \t]++)?"
    r"(?:[^\w\s*_`|(\[<>-]{0,3}[ \t]?)"
    rf"(?P<mark>\*\*|__|\*|_|`|){_NAME}[ \t]*"
)
_COLON_INSIDE = re.compile(r"[:：](?P<mark>\*\*|__|\*|_|`)(?![*_])[ \t]*")
_COLON_OUTSIDE = re.compile(r"(?P<mark>\*\*|__|\*|_|`)[ \t]*(?:[:：]|→|=>|->|—|–|-(?=[ \t]))[ \t]*")
_COLON = re.compile(r"(?:[:：]|→|=>)[ \t]*")
_WITHIN = re.compile(
    r"(?:\A|(?<=[ \t|;·•,]))(?:\*\*|__)(?P<name>[A-Za-z][A-Za-z /-]{1,30})"
    r"(?:[:：](?:\*\*|__)|(?:\*\*|__)[ \t]?[:：])[ \t]*"
)
_RULE = re.compile(r"[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*\Z")


_BETWEEN = " \t|;·•,"


@dataclass(frozen=True, slots=True)
class Field:
    """A field; `entries` has its paragraphs or list items, and `line` counts from 0."""

    name: str
    entries: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class _Opening:
    """The beginning of a field in a line."""

    name: str
    value: str
    depth: int  # the bullet's column, or -1


def is_known_field(line: str) -> bool:
    """True if a field with a known name starts in the line."""
    return any(one.name in _KNOWN for one in _find_openings(line))


def read_fields(
    prose: Iterable[tuple[int, str]], code: Mapping[int, str] | None = None
) -> list[Field]:
    """Return the fields in lines of text, which come with their numbers.

    `code` has the lines of code between them: as criteria, they count like other text.
    """
    lines = [(place, line, False) for place, line in prose]
    lines += [(place, line, True) for place, line in (code or {}).items()]
    return list(_iterate(sorted(lines)))


def _iterate(lines: Iterable[tuple[int, str, bool]]) -> Iterator[Field]:
    name, at, depth = "", 0, -1
    entries: list[str] = []
    after_blank = only_code = False
    for place, line, is_code in lines:
        if is_code:
            if name in DONE and line.strip():
                only_code = only_code or not entries  # each line is an entry
                entries += [line.strip()] if only_code else []
                entries[-1] += "" if only_code else f"\n{line.strip()}"
            continue
        only_code = False
        opened = _find_openings(line)
        heading = read_heading(line)
        if opened or heading or _RULE.match(line):
            if name:
                yield Field(name, tuple(entry for entry in entries if entry), at)
            *closed, last = opened or [_Opening("", "", -1)]
            for one in closed:
                yield Field(one.name, (one.value,) if one.value else (), place)
            name, value, depth = last.name, last.value, last.depth
            if heading:
                title = heading[1].strip(" \t#*_:").lower()
                name, depth = title if title in _KNOWN else "", -1
            entries, at = [value] if value else [], place
        elif name and line.strip():
            item = ITEM.match(line)
            if item and indent_width(item["lead"]) > depth:
                entries.append(item["text"].strip())
            elif item or (entries and after_blank and line[0] not in " \t"):
                yield Field(name, tuple(entry for entry in entries if entry), at)
                name = ""
            elif entries:
                entries[-1] += " " + line.strip()
            else:
                entries.append(line.strip())
        after_blank = not line.strip()
    if name:
        yield Field(name, tuple(entry for entry in entries if entry), at)


def _find_openings(line: str) -> list[_Opening]:
    """Return the fields that start in a line; without bold, only those with a known name."""
    found = _START.match(line)
    end = _find_colon(line, found) if found else None
    if not found or not end:
        return []
    name, mark = normalize_name(found["name"]), found["mark"]
    depth = indent_width(found["lead"]) if found["bullet"] else -1
    value = line[end.end() :]
    if mark and "mark" not in end.re.groupindex:  # name and value share one emphasis
        value = value.rstrip().removesuffix(mark)
    parts = [*_WITHIN.finditer(value)]
    if not parts:
        return [_Opening(name, value.strip(), depth)]
    starts = [part.start() for part in parts]
    openings = [_Opening(name, value[: starts[0]].strip(_BETWEEN), depth)]
    for part, stop in zip(parts, [*starts[1:], len(value)], strict=True):
        inner = value[part.end() : stop].strip(_BETWEEN)
        openings.append(_Opening(normalize_name(part["name"]), inner, depth))
    return openings


def _find_colon(line: str, found: re.Match[str]) -> re.Match[str] | None:
    """Return the colon after a field's name, or None if this is not a field."""
    name, mark = normalize_name(found["name"]), found["mark"]
    known = name in _KNOWN
    for pattern in (_COLON_INSIDE, _COLON_OUTSIDE) if mark else ():
        end = pattern.match(line, found.end())
        if end and end["mark"] == mark:
            colon = ":" in end[0] or "：" in end[0]
            return end if known or (colon and mark in ("**", "__")) else None
    return _COLON.match(line, found.end()) if known else None


def normalize_name(name: str) -> str:
    return " ".join(name.lower().replace("-", " ").split())

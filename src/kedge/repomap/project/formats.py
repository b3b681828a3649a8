"""JSON, TOML, INI and XML from untrusted files.

A parser returns plain values or raises `Broken`. A getter (`as_…`) takes any value and returns the
type that it promises.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeAlias

MAX_DOTS = 2000
MAX_TEXT = 300

Table: TypeAlias = "dict[str, Any]"


class Broken(Exception):
    """A file is not in its format; the message is the reason in a few words."""


class Text(str):
    """A YAML scalar with its line number."""

    __slots__ = ("line",)
    line: int


def parse_json(text: str) -> Any:
    """Parse JSON; comments and trailing commas are allowed, as in many tools."""
    import json

    try:
        return json.loads(text)
    except RecursionError:
        raise Broken("nested too deeply") from None
    except ValueError as error:
        try:
            return json.loads(strip_comments(text))
        except (ValueError, RecursionError):
            line = getattr(error, "lineno", 1)
            raise Broken(f"invalid JSON in line {line}") from None


def strip_comments(text: str) -> str:
    """Remove comments and trailing commas from JSON."""
    token = re.compile(r'"(?:[^"\\\n]|\\.)*"?|//[^\n]*|/\*|,(?=\s*[\]}])', re.DOTALL)
    parts: list[str] = []
    start = 0
    while found := token.search(text, start):
        piece = found.group()
        parts.append(text[start : found.start()])
        start = found.end()
        if piece.startswith('"'):
            parts.append(piece)
        elif piece == "/*":
            end = text.find("*/", start)
            start = len(text) if end < 0 else end + 2
    parts.append(text[start:])
    joined = "".join(parts)
    # a comma before a comment is only a trailing one without the comment
    return re.sub(r'("(?:[^"\\\n]|\\.)*"?)|,(?=\s*[\]}])', lambda m: m.group(1) or "", joined)


def parse_toml(text: str) -> Table:
    import tomllib

    # tomllib takes quadratic time for a key with many parts
    if any(line.count(".") > MAX_DOTS for line in text.split("\n")):
        raise Broken("a line with too many dots")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise Broken("nested too deeply") from None
    except (ValueError, OverflowError) as error:
        found = re.search(r"at line (\d+)", str(error))
        line = found.group(1) if found else text.count("\n") + 1
        raise Broken(f"invalid TOML in line {line}") from None


def parse_ini(text: str) -> dict[str, dict[str, str]]:
    """Parse INI files such as setup.cfg and tox.ini: sections with their options."""
    found: dict[str, dict[str, str]] = {}
    section: dict[str, str] | None = None
    name = ""
    for line in text.split("\n"):
        plain = line.strip()
        if not plain or plain[0] in "#;":
            continue
        if line[0] == "[":
            title, bracket, _ = line[1:202].partition("]")
            if title and bracket:
                section, name = found.setdefault(title, {}), ""
        elif section is None:
            continue
        elif line[0].isspace() and name:
            section[name] += f"\n{plain}"
        else:
            before, sign, value = line[:2000].partition("=")
            first, colon, rest = before.partition(":")
            if colon:
                before, sign, value = first, colon, f"{rest}{sign}{value}"
            if sign and not line[0].isspace() and 0 < len(before.strip()) <= 200:
                name = before.strip().lower()
                section[name] = value.strip()
    if section is None and text.strip():
        raise Broken("no section")
    return found


def line_of(value: object) -> int:
    return value.line if isinstance(value, Text) else 1


def as_table(value: object, *names: str) -> Table:
    """The table at this path of keys; empty if there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def as_text(value: object, limit: int = MAX_TEXT) -> str | None:
    """The value as one printable line, or None."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if isinstance(value, int) and abs(value) > 10**9:
        return None
    found = " ".join(str(value)[: 4 * limit].split())
    return found if found and len(found) <= limit and found.isprintable() else None


def as_texts(value: object) -> list[str]:
    """The strings of a list, or of a single string, each as one printable line."""
    many = value if isinstance(value, list) else [value]
    return [found for item in many if isinstance(item, str) and (found := as_text(item))]


def printable_items(value: object) -> Iterator[tuple[str, Any]]:
    """The pairs of a table whose keys are printable."""
    for name, item in as_table(value).items():
        if isinstance(name, str) and as_text(name) == name:
            yield name, item


def find_tags(xml: str, name: str) -> list[str]:
    """The content of all elements of this name. Entities are not expanded."""
    found = []
    for piece in xml.split(f"<{name}")[1:]:
        head, bracket, rest = piece.partition(">")
        if not bracket or (head and not head[0].isspace()) or head.endswith("/"):
            continue
        body, close, _ = rest.partition(f"</{name}>")
        if close:
            found.append(body.strip())
    return found


def strip_xml_comments(xml: str) -> str:
    kept: list[str] = []
    for number, piece in enumerate(xml.split("<!--")):
        kept.append(piece if number == 0 else piece.partition("-->")[2])
    return "".join(kept)

"""JSON, TOML, YAML, INI and XML from files that nobody vouches for.

Every parser takes a text and gives plain values or raises `Broken`; every getter takes
any value and gives the type that it promises.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

MAX_DEPTH = 60
MAX_NODES = 50_000
MAX_DOTS = 2000
MAX_TEXT = 300

Table: TypeAlias = "dict[str, Any]"


class Broken(Exception):
    """Why a text is not what its name promises, in a few words."""


class Text(str):
    """A scalar of a YAML file that knows the line of its first word."""

    __slots__ = ("line",)
    line: int


def parse_json(text: str) -> Any:
    """JSON, also with comments and trailing commas, as many tools read it."""
    import json

    try:
        return json.loads(text)
    except RecursionError:
        raise Broken("nested too deeply") from None
    except ValueError as error:
        try:
            return json.loads(without_comments(text))
        except (ValueError, RecursionError):
            line = getattr(error, "lineno", 1)
            raise Broken(f"no JSON in line {line}") from None


def without_comments(text: str) -> str:
    """JSON as it is without what people write into it."""
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
    # a comma that is followed by a comment is a trailing one only after the comment is gone
    return re.sub(r'("(?:[^"\\\n]|\\.)*"?)|,(?=\s*[\]}])', lambda m: m.group(1) or "", joined)


def parse_toml(text: str) -> Table:
    import tomllib

    # tomllib takes quadratic time for a key of many parts
    if any(line.count(".") > MAX_DOTS for line in text.split("\n")):
        raise Broken("a line with too many dots")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise Broken("nested too deeply") from None
    except (ValueError, OverflowError) as error:
        found = re.search(r"at line (\d+)", str(error))
        line = found.group(1) if found else text.count("\n") + 1
        raise Broken(f"no TOML in line {line}") from None


def parse_ini(text: str) -> dict[str, dict[str, str]]:
    """Sections with their options, as setup.cfg, tox.ini and mypy.ini are written."""
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


def parse_yaml(text: str) -> Any:
    """The first document: scalars as texts with their lines, an alias as what it names."""
    from kedge.repomap.project import blocks

    try:
        return blocks.parse(text)
    except blocks.Unusual:
        from kedge.repomap.project.any_yaml import parse_any_yaml

        return parse_any_yaml(text)


def line_of(value: object) -> int:
    return value.line if isinstance(value, Text) else 1


def table(value: object, *names: str) -> Table:
    """The table that is reached by these names, empty where there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def text(value: object, limit: int = MAX_TEXT) -> str | None:
    """A text on one line that can be shown as it is, or None."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if isinstance(value, int) and abs(value) > 10**9:
        return None
    found = " ".join(str(value)[: 4 * limit].split())
    return found if found and len(found) <= limit and found.isprintable() else None


def texts(value: object) -> list[str]:
    """The texts of a list, or of a lone text."""
    many = value if isinstance(value, list) else [value]
    return [found for item in many if isinstance(item, str) and (found := text(item))]


def named(value: object) -> Iterator[tuple[str, Any]]:
    """The pairs of a table whose names can be shown."""
    for name, item in table(value).items():
        if isinstance(name, str) and text(name) == name:
            yield name, item


def tags(xml: str, name: str) -> list[str]:
    """The texts of the elements of this name, without what is commented out.

    Nothing is expanded: an entity stays the letters that it is written with.
    """
    found = []
    for piece in xml.split(f"<{name}")[1:]:
        head, bracket, rest = piece.partition(">")
        if not bracket or (head and not head[0].isspace()) or head.endswith("/"):
            continue
        body, close, _ = rest.partition(f"</{name}>")
        if close:
            found.append(body.strip())
    return found


def without_xml_comments(xml: str) -> str:
    kept: list[str] = []
    for number, piece in enumerate(xml.split("<!--")):
        kept.append(piece if number == 0 else piece.partition("-->")[2])
    return "".join(kept)

"""JSON, TOML, INI and XML from untrusted files.

A parser returns plain values or raises `Broken`. A getter (`as_…`) takes any value and returns the
type that it promises.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeAlias

MAX_DOTS = 2000
MAX_INI_LINE = 1000
MAX_TEXT = 300

Table: TypeAlias = "dict[str, Any]"


class Broken(Exception):
    """A file is not in its format; the message is the reason in a few words."""


class YamlText(str):
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


_STRING = r'("(?:[^"\\\n]|\\.)*"?)'


def strip_comments(text: str) -> str:
    """Remove comments, then trailing commas, from JSON."""
    for pattern in (r"//[^\n]*|/\*.*?(?:\*/|\Z)", r",(?=\s*[\]}])"):
        text = re.sub(f"{_STRING}|{pattern}", lambda m: m[1] or "", text, flags=re.DOTALL)
    return text


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
    from configparser import Error, RawConfigParser

    # configparser takes quadratic time for a line with many spaces
    if any(len(line) > MAX_INI_LINE for line in text.split("\n")):
        raise Broken("a line that is too long")
    parser = RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except Error:
        raise Broken("invalid INI") from None
    return {name: dict(parser[name]) for name in parser.sections()}


def line_of(value: object) -> int:
    return value.line if isinstance(value, YamlText) else 1


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
    """The text of all elements of this name. Entities are not expanded."""
    pattern = rf"<{re.escape(name)}(?:\s[^<>]*)?>([^<]*)</{re.escape(name)}>"
    return [text.strip() for text in re.findall(pattern, xml)]


def strip_xml_comments(xml: str) -> str:
    return re.sub(r"<!--.*?(?:-->|\Z)", "", xml, flags=re.DOTALL)

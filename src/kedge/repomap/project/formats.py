"""JSON, TOML, YAML, INI and XML from files that nobody vouches for.

Every parser takes a text and gives plain values or raises `Broken`; every getter takes
any value and gives the type that it promises.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import yaml

MAX_DEPTH = 60
MAY_NEST = 300
MAX_NODES = 50_000
MAX_SLOW = 64_000
MAX_DOTS = 2000
MAX_TEXT = 300

Table = dict[str, Any]


class Broken(Exception):
    """Why a text is not what its name promises, in a few words."""


class Text(str):
    """A scalar of a YAML file that knows the line of its first word."""

    __slots__ = ("line",)
    line: int


def parse_json(text: str) -> Any:
    """JSON, also with comments and trailing commas, as many tools read it."""
    try:
        return json.loads(text)
    except RecursionError:
        raise Broken("nested too deeply") from None
    except ValueError as error:
        try:
            return json.loads(_without_comments(text))
        except (ValueError, RecursionError):
            line = getattr(error, "lineno", 1)
            raise Broken(f"no JSON in line {line}") from None


_JSON_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"?|//[^\n]*|/\*|,(?=\s*[\]}])', re.DOTALL)


def _without_comments(text: str) -> str:
    parts: list[str] = []
    start = 0
    while found := _JSON_TOKEN.search(text, start):
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


_SECTION = re.compile(r"\[([^\]]{1,200})\]")
_OPTION = re.compile(r"([^\s=:#;\[][^=:]{0,200}?)\s{0,20}[=:](.*)")


def parse_ini(text: str) -> dict[str, dict[str, str]]:
    """Sections with their options, as setup.cfg, tox.ini and mypy.ini are written."""
    found: dict[str, dict[str, str]] = {}
    section: dict[str, str] | None = None
    name = ""
    for line in text.split("\n"):
        if not line.strip() or line.lstrip()[0] in "#;":
            continue
        if head := _SECTION.match(line):
            section, name = found.setdefault(head.group(1), {}), ""
        elif section is not None and line[0].isspace() and name:
            section[name] += f"\n{line.strip()}"
        elif section is not None and (option := _OPTION.match(line[:2000])):
            name = option.group(1).strip().lower()
            section[name] = option.group(2).strip()
    if section is None and text.strip():
        raise Broken("no section")
    return found


def parse_yaml(text: str) -> Any:
    """The first document: scalars as texts with their lines, an alias as what it names."""
    import yaml

    try:
        loader_type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        if _may_be_deep(text):
            _check_depth(yaml.parse(text, Loader=loader_type))
        try:
            root = _first_node(loader_type, text)
        except yaml.composer.ComposerError as error:
            if "duplicate anchor" not in str(error) or len(text) > MAX_SLOW:
                raise
            root = _first_node(_forgiving_loader(), text)
        return None if root is None else _Builder().value(root)
    except RecursionError:
        raise Broken("nested too deeply") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise Broken(f"no YAML in line {mark.line + 1}" if mark else "no YAML") from None
    except (yaml.YAMLError, ValueError):
        raise Broken("no YAML") from None


def _first_node(loader_type: Any, text: str) -> Any:
    loader = loader_type(text)
    try:
        return loader.get_node() if loader.check_node() else None
    finally:
        loader.dispose()


def _forgiving_loader() -> Any:
    """A loader for which an anchor's last place counts, as YAML 1.2 has it. It is slow."""
    import yaml

    class Loader(yaml.SafeLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            if not self.check_event(yaml.AliasEvent):
                event: Any = self.peek_event()  # type: ignore[no-untyped-call]
                self.anchors.pop(event.anchor, None)
            return super().compose_node(parent, index)

    return Loader


def _may_be_deep(text: str) -> bool:
    # a level of a flow needs a bracket, a level of a block a column of its own; the brackets of
    # `${{ … }}` stand in a scalar
    brackets = text.count("[") + text.count("{") - 2 * text.count("${{")
    if brackets > MAY_NEST:
        return True
    return any(len(line) - len(line.lstrip(" -?:\t")) > MAY_NEST for line in text.split("\n"))


def _check_depth(events: Iterator[yaml.Event]) -> None:
    import yaml

    depth = 0
    for event in events:
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise Broken("nested too deeply")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


class _Builder:
    """Turns nodes into values. An alias costs nothing; merging keys is counted."""

    def __init__(self) -> None:
        self.seen: dict[int, Any] = {}
        self.left = MAX_NODES

    def value(self, node: Any) -> Any:
        if id(node) in self.seen:
            return self.seen[id(node)]
        self._count(1)
        if node.id == "scalar":
            text = Text(node.value)
            text.line = node.start_mark.line + 1
            if node.style in ("|", ">"):
                text.line += 1
            self.seen[id(node)] = text
            return text
        if node.id == "sequence":
            items: list[Any] = []
            self.seen[id(node)] = items
            items.extend(self.value(item) for item in node.value)
            return items
        table: Table = {}
        self.seen[id(node)] = table
        for key, part in node.value:
            if key.id != "scalar":
                continue
            found = self.value(part)
            if key.value == "<<" and isinstance(found, dict):
                self._count(len(found))
                table.update({name: item for name, item in found.items() if name not in table})
            else:
                name = Text(key.value)
                name.line = key.start_mark.line + 1
                table.pop(name, None)
                table[name] = found
        return table

    def _count(self, more: int) -> None:
        self.left -= more
        if self.left < 0:
            raise Broken("too many values")


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

"""The signature of a definition: its declaration on one line, without its body."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

from kedge.host.redact import redact

if TYPE_CHECKING:
    from tree_sitter import Node

    from kedge.repomap.grammars import QueryMatch

WIDTH = 120
_VALUE = 60  # letters of a constant's value that are shown
_MARK = 24  # longer decorators, annotations and attributes are left out
_ACCESSORS = 24
_PARAMETERS = 40
_NODES = 2000  # nodes of a declaration that are searched for comments

_WRAPPER_NAMES = """ambient_declaration decorated_definition export_statement friend_declaration
template_declaration variable_declaration"""
_WRAPPERS = frozenset(_WRAPPER_NAMES.split())
_BODY_NAMES = """arrow_expression_clause class_body compound_statement computed_property
constructor_delegation_call declaration_list enum_body enum_class_body field_initializer_list
function_body getter property_delegate setter try_statement willset_didset_block"""
_BODIES = frozenset(_BODY_NAMES.split())
_MARK_NAMES = """annotation attribute attribute_declaration attribute_list attribute_specifier
decorator marker_annotation ms_declspec_modifier"""
_MARKS = frozenset(_MARK_NAMES.split())
_MARKED = _MARKS | {"modifiers"}
_NOISE = re.compile(
    r"\[\[|__attribute__|__declspec|@(?:Override|NonNull|Nonnull|NotNull|Nullable|Jvm\w+|"
    r"discardableResult|inlinable|inline|usableFromInline)\b|\[MethodImpl|#\[\\?Override\]"
)
_BEFORE_BODY = frozenset({"constructor_initializer", "declaration", "field_initializer_list"})
_WITH_MORE = frozenset({"constructor_declaration", "function_definition"})
_ATTRIBUTE = re.compile(r" ?__attribute__ ?\(\(.*?\)\)(?=$|[ ;])")
_VALUED = frozenset({"constant", "property", "variable"})
_COMMENT = re.compile(rb"//|/\*|#|--")
_TIDY = re.compile(r"(?<=[(\[]) | (?=[)\]])|,(?= ?[)\]}])")
_REMARK = re.compile(r"\s(?:/\*.*?\*/|//.*)\s*$")
_OPENING = re.compile(r"[({\[]")
_CLOSED = {"(": "(…)", "{": "{…}", "[": "[…]"}
_STRINGS = ('"', "'", "`", "[[", 'r"', 'f"', 'b"', 'R"')
_MODIFIER = re.compile(
    r"(?:@[\w.]{1,60}(?:\([^()]{0,60}\))?|public|private|protected|internal|static|final|abstract"
    r"|default|export|async|override|virtual|inline|open|synchronized|extern) "
)
_TYPE_WORD = re.compile(r"(?:class|struct|enum|interface|trait|record|object|union|type) $")
_RECEIVER = re.compile(r"(func )\([^()]{0,80}\) $")  # of a Go method
_DANGLING = re.compile(r"(?: (?:extends|implements|where|throws|with|for)|[ ,:=<(\[&|>-])+$")
_OPENERS, _CLOSERS = "(<[{", ")>]}"
_GROUP = re.compile(r"(const|var|type)\s*\(.*", re.DOTALL)

Hole = tuple[int, int, bytes]


def build_signature(match: QueryMatch, source: bytes) -> str:
    node, captures = match.node, match.captures
    head = captures["head"][0] if "head" in captures else None
    start, marks = _marks(_outermost(head or node), source)
    end = _end(match)
    value = ""
    if match.kind in _VALUED and (given := _value(match, end)) is not None:
        value = _shorten_value(source[given:end])
        end = given
    holes = [*_comments(node, end, source), *_template(node)]
    holes += [
        (fold.start_byte, fold.end_byte, b"{\xe2\x80\xa6}") for fold in captures.get("fold", ())
    ]
    if head is not None:
        text = f"{_prefix(head, node, start, source)} {_text(source, node.start_byte, end, holes)}"
    elif "declarator" in captures and len(all_ := node.children_by_field_name("declarator")) > 1:
        kept = _text(source, start, all_[0].start_byte, holes)
        text = f"{kept} {_text(source, captures['declarator'][0].start_byte, end, holes)}"
    else:
        text = _text(source, start, end, holes)
    if "__attribute__" in text:
        text = _ATTRIBUTE.sub("", text)
    if value:
        spaced = source[end - 1 : end].isspace() or not text.endswith("=")
        value = f" {value}" if spaced else value
    else:
        text = text.rstrip(" {:=;,")
        if text.endswith(("=>", "->")):
            text += " …"
    return shorten(" ".join((*marks, text)) + value)


def shorten(text: str) -> str:
    text = " ".join(text.split())
    if "=" in text or '"' in text or "'" in text or "`" in text:  # a default value may be a key
        text = redact(text)
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 1].rstrip()}…"


def fold(signature: str, width: int, name: str) -> str:
    """Return the signature with as much around its name as fits.

    Parameters are left out first, then type parameters, then what follows, then modifiers, then
    the type before the name. The word `class` or `struct` stays, since the name alone would not
    tell. Only a name that is too long by itself is cut.
    """
    if len(signature) <= width:
        return signature
    place = _find_name(signature, name)
    stop = place + len(name.rpartition(".")[2])
    before, name, rest = signature[:place], signature[place:stop], signature[stop:]
    types = rest[: _find_end(rest, 0)] if rest[:1] in ("<", "[") else ""
    rest = rest[len(types) :]
    start = rest.find("(")
    if start >= 0:
        end = _find_end(rest, start)
        rest, after = f"{rest[:start]}(…)", rest[end:]
        endings = [types + rest, rest]
        if not signature.endswith("…"):
            endings = [types + rest + after, rest + after, *endings]
        if _TYPE_WORD.search(before):
            endings.append("")
    else:
        endings = [types + rest, rest, _cut(rest, width - len(before) - len(name)), ""]
    for ending in endings:
        if len(before) + len(name) + len(ending) <= width:
            return before + name + ending
    least = endings[:1] if _TYPE_WORD.search(before) else []
    while short := _drop_first(before):
        before = short
        for ending in (*least, endings[-1]):
            if len(before) + len(name) + len(ending) <= width:
                return before + name + ending
    whole = name + endings[-1]
    return whole if len(whole) <= width else f"{whole[: width - 1]}…"


def _cut(text: str, room: int) -> str:
    """Return the first words of a text that fit, without a word that asks for more."""
    kept = text[: max(room - 1, 0)].rpartition(" ")[0]
    return f"{shorter}…" if (shorter := _DANGLING.sub("", kept)) else ""


def _drop_first(before: str) -> str:
    """Return what stands before a name without its first modifier, type parameters or receiver."""
    if before.startswith(("<", "template <", "template<")):
        return before[_find_end(before, before.index("<")) :].lstrip()
    if receiver := _RECEIVER.match(before):
        return receiver[1]
    if found := _MODIFIER.match(before):
        return before[found.end() :]
    found = _TYPE_WORD.search(before)
    return before[found.start() :] if found and found.start() else ""


def _find_name(signature: str, name: str) -> int:
    """Return where the defined name begins; 0 if it is not there."""
    end = re.escape(name.rpartition(".")[2])
    found = re.search(rf"(?<!\w){end}\s?[(<\[]", signature) or re.search(
        rf"(?<!\w){end}(?!\w)", signature
    )
    return found.start() if found else 0


def _find_end(text: str, start: int) -> int:
    """Return where the brackets that open at a place end; the end of the text if they do not."""
    depth = 0
    for place in range(start, len(text)):
        depth += text[place] in _OPENERS
        depth -= text[place] in _CLOSERS and text[place - 1 : place + 1] not in ("=>", "->")
        if not depth:
            return place + 1
    return len(text)


def tidy(text: str) -> str:
    """Text that was several lines, without spaces and commas at the edges of brackets."""
    return _TIDY.sub("", text)


def _outermost(node: Node) -> Node:
    while (parent := node.parent) is not None and parent.type in _WRAPPERS:
        node = parent
    return node


def _marks(node: Node, source: bytes) -> tuple[int, list[str]]:
    """Where the declaration begins, and the short decorators and annotations before it."""
    kept: list[str] = []
    first = node.child(0)
    if first is None or (first.type not in _MARKED and "comment" not in first.type):
        return node.start_byte, kept
    for child in node.children:
        inner = child.children if child.type == "modifiers" else [child]
        for part in inner:
            if part.type not in _MARKS and "comment" not in part.type:
                return part.start_byte, kept
            text = _text(source, part.start_byte, part.end_byte)
            if part.type in _MARKS and len(text) <= _MARK and not _NOISE.match(text):
                kept.append(text)
    return node.start_byte, kept


def _end(match: QueryMatch) -> int:
    node, captures = match.node, match.captures
    if "last" in captures:
        return captures["last"][-1].end_byte
    if "body" in captures:
        return captures["body"][0].start_byte
    body = captures.get("made", (node,))[0].child_by_field_name("body")
    if body is not None and body.type != "ordered_field_declaration_list":
        if node.type in _WITH_MORE:
            more = (child for child in node.children if child.type in _BEFORE_BODY)
            body = next(more, body)
        return body.start_byte
    if "inside" in captures and match.kind not in _VALUED:
        return captures["inside"][0].start_byte
    if (accessors := node.child_by_field_name("accessors")) is not None:
        short = accessors.end_byte - accessors.start_byte <= _ACCESSORS
        return accessors.end_byte if short else accessors.start_byte
    for child in node.children:
        if child.type in _BODIES:
            return child.start_byte
    return node.end_byte


def _value(match: QueryMatch, end: int) -> int | None:
    """Where the value begins, if there is one."""
    captures = match.captures
    if "value" in captures:
        return int(captures["value"][0].start_byte)
    if "body" in captures or "made" in captures or "last" in captures:
        return None
    for node in (match.node, *captures.get("declarator", ())):
        for sign, value in pairwise(node.children):
            if sign.type in ("=", ":=") and value.start_byte < end:
                return int(value.start_byte)
    return None


def _shorten_value(value: bytes) -> str:
    whole = " ".join(_REMARK.sub("", value.decode(errors="replace")).split()).strip(" ;,")
    if len(whole) <= _VALUE and b"\n" not in value.strip():
        return whole
    opening = _OPENING.search(whole, 0, _VALUE)
    if opening is None or whole.startswith(_STRINGS):
        return "…"
    return whole[: opening.start()] + _CLOSED[opening[0]]


def _template(node: Node) -> list[Hole]:
    """The parameters of a C++ template, if they are too long to be shown."""
    parent = node.parent
    if parent is None or parent.type != "template_declaration":
        return []
    parameters = parent.child_by_field_name("parameters")
    if parameters is None or parameters.end_byte - parameters.start_byte <= _PARAMETERS:
        return []
    return [(parameters.start_byte, parameters.end_byte, b"<\xe2\x80\xa6>")]


def _prefix(head: Node, node: Node, start: int, source: bytes) -> str:
    """The beginning of a statement, before the first name that it declares."""
    parent = node.parent or head
    first = next((child for child in parent.children if child.type == node.type), node)
    end = max(start, min(first.start_byte, node.start_byte))
    text = _text(source, start, end)
    group = _GROUP.match(text)
    return group[1] if group else text


def _comments(node: Node, end: int, source: bytes) -> list[Hole]:
    if not _COMMENT.search(source, node.start_byte, end):
        return []
    found: list[Hole] = []
    nodes = [node]
    for seen in nodes:
        if "comment" in seen.type:
            found.append((seen.start_byte, seen.end_byte, b" "))
        elif seen.start_byte < end and len(nodes) < _NODES:
            nodes += seen.children
    return found


def _text(source: bytes, start: int, end: int, holes: Iterable[Hole] = ()) -> str:
    parts: list[bytes] = []
    for hole_start, hole_end, instead in sorted(holes):
        if start <= hole_start < end:
            parts += (source[start:hole_start], instead)
            start = hole_end
    parts.append(source[start:end])
    text = b"".join(parts).decode(errors="replace")
    folded = " ".join(text.split())
    return tidy(folded) if "\n" in text else folded

"""The name and the parent of a definition that a query matched."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

    from kedge.repomap.grammars import QueryMatch


_LEAF_NAMES = """destructor_name field_identifier identifier operator_name qualified_identifier
template_function type_identifier"""
_LEAVES = frozenset(_LEAF_NAMES.split())
_SIGILS = {"php": "$", "ruby": ":"}
_DECLARATORS = 20  # nested around one name
_QUALIFIED = re.compile(r"(?:(.*)::\s*)?(operator\b.*|~?\s*\w+)(?:<.*>)?", re.DOTALL)
_INK = re.compile(rb"[^\r\n]")
_ARGUMENTS = re.compile(r"[<\[(].*", re.DOTALL)
_PATH = re.compile(r"\w+")
_NO_PARENT = frozenset(
    {"exports", "module", "module.exports", "this", "self", "window", "globalThis"}
)
# Macros in `API void f()`, `class API Ship`, `f() ATTRIBUTE;`, `if CONSTEXPR (…)`, or alone on a
# line, are not C before preprocessing. Patterns begin with literals, which is fast.
_MACRO = rb"[A-Z][A-Z0-9]*_[A-Z0-9_]*"
_CALLED = _MACRO + rb"(?:\([^()\n]*\))?"
_TYPE_MACRO = rb" ([A-Z][A-Z0-9_]{2,}(?:\([^()\n]*\))?)(?= +\w+\s*(?:final\s*)?[:;{])"
_C = (
    (
        rb"\n[ \t]*(?:(?:static|inline|extern|friend|explicit|virtual|constexpr)[ \t]+)*"
        rb"(" + _CALLED + rb"(?:[ \t]+" + _CALLED + rb")*)"
        rb"(?=[ \t]+[A-Za-z_]\w*[\s*&<:(]|[ \t]*\r?\n)"
    ),
    rb"\)[ \t]*(" + _CALLED + rb")(?=[ \t]*[;{])",
    rb"class" + _TYPE_MACRO,
    rb"struct" + _TYPE_MACRO,
    rb"if (" + _MACRO + rb")(?= ?\()",
    rb"= (typename)(?= )",
)
# The Kotlin grammar may read an annotation before a class as an expression.
_KOTLIN = (
    (
        rb"\n((?:[ \t]*@[\w.:]+(?:\([^()\n]*\))?[ \t]*(?://[^\n]*)?\r?\n){1,20})"
        rb"(?=[ \t]*(?:[a-z]+[ \t]+){0,4}?(?:class|interface|object)\b)"
    ),
    rb"(annotation)(?= class\b)",
)
_ASCII = bytes(range(128)) + b"x" * 128
_HIDING = {"c": _C, "cpp": _C, "kotlin": _KOTLIN}


@dataclass(frozen=True, slots=True)
class Definition:
    name: str
    kind: str
    parent: str | None  # if the definition itself names it
    position: int  # offset of the name in the source


def find_definition(match: QueryMatch, source: bytes, language: str) -> Definition | None:
    captures = match.captures
    if "declarator" in captures:
        return _find_in_declarator(match, captures["declarator"][0], source)
    node = captures["name"][0]
    name = _clean(_read(node, source), language)
    kind = match.kind
    parent = None
    if "in" in captures:
        text = _read(captures["in"][0], source)
        if text == "this":
            return None
        parent = (
            _parent_name(text)
            if language in ("lua", "javascript", "typescript", "tsx")
            else strip_type(text)
        )
    elif kind in ("scope", "extension"):
        name = strip_type(name)
    elif match.node.type in ("operator_declaration", "conversion_operator_declaration"):
        name = f"operator {name}"
    elif language == "ruby" and "::" in name:
        parent, _, name = name.rpartition("::")
    elif language == "cpp" and kind in ("class", "struct"):
        name = strip_type(name)
    return Definition(name, kind, parent, node.start_byte)


def strip_type(text: str) -> str:
    """The name of a type without its path, arguments, pointers and lifetimes."""
    words = _PATH.findall(_ARGUMENTS.sub("", text.lstrip("&*( ")))
    return words[-1] if words else text.strip()


def make_parsable(source: bytes, language: str) -> bytes:
    """Blank the words that hide a declaration from the grammar; offsets stay the same."""
    if b"\0" in source:
        source = source.replace(b"\0", b" ")
    try:
        source.decode()
    except UnicodeDecodeError:  # like NULs, invalid UTF-8 makes some parsers slow
        source = source.translate(_ASCII)
    for pattern in _HIDING.get(language, ()):
        source = re.sub(pattern, _blank, source)
    return source


def _blank(match: re.Match[bytes]) -> bytes:
    start, end = match.span(1)
    whole, first = match[0], match.start()
    blank = _INK.sub(b" ", match[1])
    return whole[: start - first] + blank + whole[end - first :]


def _find_in_declarator(match: QueryMatch, node: Node, source: bytes) -> Definition | None:
    """The definition of a C declarator, which may be nested."""
    around = node
    for _ in range(_DECLARATORS):
        if node.type in _LEAVES:
            break
        if node.type == "operator_cast":
            type_ = node.child_by_field_name("type")
            name = f"operator {_read(type_, source)}" if type_ else "operator"
            return Definition(name, "function", None, node.start_byte)
        inner = node.child_by_field_name("declarator")
        if inner is None:
            named_children = node.named_children
            if not named_children:
                return None
            inner = named_children[-1]
        around = around if node.type == "parenthesized_declarator" else node
        node = inner
    else:
        return None
    split = _QUALIFIED.fullmatch(_read(node, source))
    if split is None:
        return None
    is_function = around.type == "function_declarator"
    kind = match.kind
    if kind in ("function", "prototype", "variable"):
        kind = "function" if is_function else "variable"
        if match.kind == "function" and not is_function:
            return None
    parent = strip_type(split[1]) if split[1] else None
    if kind == "function" and parent:
        kind = "method"
    return Definition(" ".join(split[2].split()), kind, parent, node.start_byte)


def _parent_name(text: str) -> str | None:
    text = "".join(text.split())
    if text in _NO_PARENT or len(text) > 60:
        return None
    return text.removeprefix("module.exports.").removeprefix("exports.").removeprefix("window.")


def _clean(text: str, language: str) -> str:
    text = " ".join(text.split())
    if text[:1] in ("'", '"') and text[-1:] == text[:1]:
        return text[1:-1]
    return text.lstrip(_SIGILS.get(language, ""))


def _read(node: Node, source: bytes) -> str:
    return source[node.start_byte : node.end_byte].decode(errors="replace")

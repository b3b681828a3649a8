"""How a definition is called and what it belongs to, from what the query found."""

from __future__ import annotations

import re

from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tree_sitter import Node

    from kedge.repomap.grammars import Match

_LEAVES = frozenset(
    {
        "destructor_name",
        "field_identifier",
        "identifier",
        "operator_name",
        "qualified_identifier",
        "template_function",
        "type_identifier",
    }
)
_SIGILS = {"php": "$", "ruby": ":"}
_DECLARATORS = 20  # around one name
_QUALIFIED = re.compile(r"(?:(.*)::\s*)?(operator\b.*|~?\s*\w+)(?:<.*>)?", re.DOTALL)
_INK = re.compile(rb"[^\r\n]")
_ARGUMENTS = re.compile(r"[<\[(].*", re.DOTALL)
_PATH = re.compile(r"\w+")
_NO_PARENT = frozenset(
    {"exports", "module", "module.exports", "this", "self", "window", "globalThis"}
)
# API void f(), class API Ship, f() ATTRIBUTE;, if CONSTEXPR (…) and BEGIN_NAMESPACE alone on a line
# are no C before the preprocessor ran. Each pattern begins with letters: so they are found quickly.
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
# An annotation before a class in Kotlin can be read as an expression, and the class as another.
_KOTLIN = (
    (
        rb"\n((?:[ \t]*@[\w.:]+(?:\([^()\n]*\))?[ \t]*(?://[^\n]*)?\r?\n){1,20})"
        rb"(?=[ \t]*(?:[a-z]+[ \t]+){0,4}?(?:class|interface|object)\b)"
    ),
    rb"(annotation)(?= class\b)",
)
_ASCII = bytes(range(128)) + b"x" * 128
_HIDING = {"c": _C, "cpp": _C, "kotlin": _KOTLIN}


class Named(NamedTuple):
    name: str
    kind: str
    parent: str | None  # where the definition itself names it
    position: int  # of the name in the source


def named(match: Match, source: bytes, language: str) -> Named | None:
    captures = match.captures
    if "declarator" in captures:
        return _declared(match, captures["declarator"][0], source)
    node = captures["name"][0]
    name = _clean(_read(node, source), language)
    kind = match.kind
    parent = None
    if "in" in captures:
        text = _read(captures["in"][0], source)
        if text == "this":
            return None
        parent = (
            _dotted(text) if language in ("lua", "javascript", "typescript", "tsx") else bare(text)
        )
    elif kind in ("scope", "extension"):
        name = bare(name)
    elif match.node.type in ("operator_declaration", "conversion_operator_declaration"):
        name = f"operator {name}"
    elif language == "ruby" and "::" in name:
        parent, _, name = name.rpartition("::")
    elif language == "cpp" and kind in ("class", "struct"):
        name = bare(name)
    return Named(name, kind, parent, node.start_byte)


def bare(text: str) -> str:
    """The name of a type without its path, arguments, pointers and lifetimes."""
    words = _PATH.findall(_ARGUMENTS.sub("", text.lstrip("&*( ")))
    return words[-1] if words else text.strip()


def readable(source: bytes, language: str) -> bytes:
    """The same bytes with the words blanked that hide a declaration from the grammar."""
    if b"\0" in source:
        source = source.replace(b"\0", b" ")
    try:
        source.decode()
    except UnicodeDecodeError:  # as with NULs, some parsers take seconds over them
        source = source.translate(_ASCII)
    for pattern in _HIDING.get(language, ()):
        source = re.sub(pattern, _blank, source)
    return source


def _blank(match: re.Match[bytes]) -> bytes:
    start, end = match.span(1)
    whole, first = match[0], match.start()
    blank = _INK.sub(b" ", match[1])
    return whole[: start - first] + blank + whole[end - first :]


def _declared(match: Match, node: Node, source: bytes) -> Named | None:
    """A name in C is somewhere inside of its declarator."""
    around = node
    for _ in range(_DECLARATORS):
        if node.type in _LEAVES:
            break
        if node.type == "operator_cast":
            type_ = node.child_by_field_name("type")
            name = f"operator {_read(type_, source)}" if type_ else "operator"
            return Named(name, "function", None, node.start_byte)
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
    parent = bare(split[1]) if split[1] else None
    if kind == "function" and parent:
        kind = "method"
    return Named(" ".join(split[2].split()), kind, parent, node.start_byte)


def _dotted(text: str) -> str | None:
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

"""The names in a source file, found without parsing it. They rank all files; only files that are
shown are parsed.

Definitions are found by their keywords, and by lines that look like the head of a function: a wrong
one does little harm.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterator
from functools import cache

from kedge.host.redact import redact
from kedge.repomap.imports import find_imports
from kedge.repomap.index import MOST

LONGEST = 80  # longer words are generated
_KEY = 16  # characters; no key is shorter
_SPACES = bytes(c if chr(c).isalnum() or c == 95 else 32 for c in range(128)) + b" " * 128
_LISPS = ("clojure", "commonlisp", "elisp", "racket")  # a hyphen is part of a name
_HYPHENS = _SPACES[:45] + b"-" + _SPACES[46:]
_BLANK = b" \t\n\r;({@"
_NAME = rb"[ \t]*&?([A-Za-z_]\w*)"
_CLASS = rb"[ \t]*(?:\w+::|[A-Z]+_[A-Z0-9_]+ )*([A-Za-z_]\w*)"
_SPECIAL = {
    b"class ": _CLASS,
    b"struct ": _CLASS,
    b"\nfunc ": rb"(?:\([^)\n]*\)[ \t]*)?([A-Za-z_]\w*)",
    b"fun ": rb"(?:<[^>\n]{0,80}>[ \t]*)?(?:[\w<>?*]+\.)*(\w+)",
    b"def ": rb"(?:self\.)?(\w+)",
    b"function ": rb"[ \t*&]*(?:[\w.]+[.:])?(\w+)",
    b"type ": rb"(\w+)[^=\n;]{0,80}[={]",
    b"using ": rb"(\w+)[ \t]*=",
    b"typedef ": rb"(?:[\w:<>,.]++[ \t*&]++){1,6}(?:\([ \t]*\*)?(\w+)[ \t]*[;)\[]",
    **dict.fromkeys((b"exports.", b"module.exports."), rb"(\w+)[ \t]*="),
    b"} ": rb"(\w+);",
}
_GROUP = rb"\((?:\n(?![a-z)])[^\n]*)*\n\)"
_GROUPED = rb"\n\t([A-Za-z_]\w*)"
# Brackets with brackets inside.
_ROUND = rb"\([^()]*+(?:\([^()]*+\)[^()]*+){0,20}\)"
_SHARP = rb"<[^<>()\n;]*+(?:<[^<>()\n;]*+>[^<>()\n;]*+){0,8}>"
# A line such as `public Map<A, B> names(int a`. Most lines fail at the first look ahead.
_TYPED = (
    rb"(?=[\w@\[<~][^\n(]*+\()"
    rb"(?!(?:return|else|throw|new|case|await|yield|goto|delete|co_\w+)\b)"
    rb"(?:(?:[\w@\[][\w.:\[\]?]*+(?:%b[\w.:\[\]?]*+)?|%b)[ \t*&]++){%d,9}"
    rb"(?:\w++(?:<[^<>()\n]{0,80}>)?(?:::|\.))*~?(\w+)(?:<[^<>()\n]{0,80}>)?[ \t]?\("
)
_INDENTED = rb"\n[ \t]*+" + _TYPED % (_SHARP, _SHARP, 1)
# A line such as `static async names(a, b) {` or `names = (a, b) =>`.
_SCRIPTED = (
    rb"\n[ \t]*+(?=[\w$*#])(?!(?:if|for|while|switch|catch|function|return|with)\b"
    rb"|(?:import|export|const|let|var)[ \t])"
    rb"(?:(?:public|private|protected|static|abstract|override|readonly|async|get|set)[ \t]++){0,5}"
    rb"(?:[\w$]++\.)*[*#$]*+(\w++)"
    rb"(?:[?!]?+(?:<[^()\n]{0,80}>)?[ \t]?%b[ \t]*+(?::|\{)"
    rb"|[ \t]*+[=:][ \t]*+(?:async[ \t]++)?(?:function\b|[\w$]++[ \t]*+=>|%b[^=\n;,(]{0,80}=>))"
    % (_ROUND, _ROUND)
)
_LINES = {
    "python": rb"\n([A-Z_][A-Z0-9_]{3,}) ?[:=]",
    "shell": rb"\n[ \t]*([\w:.-]+)[ \t]*\([ \t]*\)",
    "ruby": rb"\n[ \t]*+([A-Z]\w{3,}+)[ \t]*+=[ \t]",
    "lua": rb"\n[ \t]*+(?:local[ \t]++)?(?:\w++\.)*(\w++)[ \t]*+=[ \t]*+function\b",
    "c": rb"\n" + _TYPED % (_SHARP, _SHARP, 0),  # the type may be on the line before
    **dict.fromkeys(("cpp", "java", "csharp"), _INDENTED),
    **dict.fromkeys(("javascript", "typescript", "tsx", "vue", "svelte", "astro"), _SCRIPTED),
    **dict.fromkeys(
        _LISPS,
        rb"\n(?:[ \t]++\(define/[\w-]++|\((?:[\w.-]++:)?(?:cl-)?(?:(?i:def)[\w/-]*+|struct))"
        rb"[ \t]++[\"'(#:*+]*+"
        rb"(?:setf[ \t]++)?([A-Za-z_][\w-]*+)",
    ),
    "d": rb"\n[ \t]*+(?!(?:alias|case|else|mixin|new|return|throw)\b)"
    rb"(?:[\w.@!*\[\]]++(?:[ \t]?\([^()\n]*+\)[\[\]*]*+)?[ \t]++){1,6}(\w++)[ \t]?\(",
    "elm": rb"\n(?:type[ \t]++(?:alias[ \t]++)?|port[ \t]++)?([A-Za-z]\w*+)[ \t]*+[:=\n]",
    "gleam": rb"\n(?:pub[ \t]++)?(?:opaque[ \t]++)?(?:fn|type|const)[ \t]++(\w++)",
    "matlab": rb"\n[ \t]*+(?:function|classdef)\b(?:[ \t]*+\([^)\n]*+\))?[ \t]*+"
    rb"(?:(?:\[[^\]\n]*+\]|\w++)[ \t]*+=[ \t]*+)?(\w++)",
    "ocaml": rb"\n[ \t]{0,2}(?:let|and|val|external|type|module|class|method|exception)[ \t]++"
    rb"(?:(?:rec|type|nonrec|virtual|private)[ \t]++)*+"
    rb"(?:'\w++[ \t]++|\([^()\n]*+\)[ \t]++)?(\w++)",
    "pony": rb"\n[ \t]*+(?:class|actor|primitive|interface|trait|struct|type|fun|be|new)[ \t]++"
    rb"(?:\\[^\\\n]*+\\[ \t]*+)?(?:(?:iso|trn|ref|val|box|tag)[ \t]++)?(\w++)",
    "solidity": rb"\n[ \t]*+(?:abstract[ \t]++)?(?:contract|library|interface|struct|enum|type|"
    rb"event|error|modifier|function)[ \t]++(\w++)",
}

_TYPES = "class |interface |enum "
_SCRIPT = (
    "function |class |\nconst |\nlet |\nvar |export const |export let |exports.|module.exports."
)
_ANNOUNCED = {
    "python": "def |class ",
    "javascript": _SCRIPT,
    **dict.fromkeys(
        ("typescript", "tsx", "vue", "svelte", "astro"),
        f"{_SCRIPT}|interface |enum |type |namespace ",
    ),
    "go": "\nfunc |\ntype |\nvar |\nconst ",
    "rust": "fn |struct |enum |trait |mod |type |const |static |macro_rules! ",
    "java": f"{_TYPES}|record ",
    "kotlin": f"{_TYPES}|fun |object |typealias |\nval |const val ",
    "scala": "class |trait |object |enum |def |type ",
    "swift": f"{_TYPES}|struct |protocol |actor |func |typealias |associatedtype |extension ",
    "csharp": f"{_TYPES}|struct |record |delegate ",
    "c": "#define |struct |enum |union |typedef |} ",
    "cpp": "#define |struct |enum |union |typedef |} |class |namespace |using |concept ",
    "ruby": "def |class |module ",
    "php": "function |class |interface |trait |enum |const ",
    "lua": "function ",
    "shell": "function ",
    "elixir": "def |defp |defmodule |defmacro ",
    "d": f"{_TYPES}|struct |union |template |alias ",
    **dict.fromkeys((*_LISPS, "elm", "gleam", "matlab", "ocaml", "pony", "solidity"), ""),
}
_OTHERS = f"{_TYPES}|def |func |fn |fun |function |struct |trait |type |module |message |service "
_KEYWORDS = frozenset(
    """
    and any are args assert async await begin bool boolean break byte case catch char class const
    continue def default del delete done double echo elif else elsif end enum esac except exit
    export extends extern false final finally float for foreach from func function get goto impl
    implements import include instanceof int integer interface internal into let local long match
    module mut namespace new nil none not null object operator override package pass private print
    protected public raise ref require return self set short signed sizeof static str string struct
    super switch template the then this throw throws trait true try type typedef typename typeof
    undefined union unless unsigned until use using val var virtual void volatile when where while
    with yield None True False NULL String __attribute__
    """.split()  # noqa: SIM905 - easier on the eye
)

Words = tuple[dict[str, int], list[str], list[str]]


def find_words(language: str, source: bytes) -> Words:
    """The count of each name, the names that seem to be defined here, and the imports."""
    counts = Counter(_split(source, _HYPHENS if language in _LISPS else _SPACES))
    names = {
        name: count if count < MOST else MOST  # noqa: FURB136 - quicker
        for name, count in counts.items()
        if 2 < len(name) <= LONGEST and name > ":" and name not in _KEYWORDS
    }
    for name in [name for name in names if len(name) >= _KEY and redact(name) != name]:
        del names[name]  # a key or token, which nothing may keep
    text = b"\n" + source
    defined = dict.fromkeys(
        found.decode("ascii", "replace") for found in _find_definitions(language, text, counts)
    )
    return names, [name for name in defined if name in names], find_imports(language, text)


def _split(source: bytes, table: bytes = _SPACES) -> list[str]:
    return source.translate(table).decode("ascii").split()


def _find_definitions(language: str, text: bytes, known: Container[str]) -> Iterator[bytes]:
    for keyword, word, shape in _definition_patterns(language):
        if keyword is not None and keyword not in known:
            continue
        size, place = len(word), text.find(word)
        while place >= 0:
            if word[0] == 10 or text[place - 1] in _BLANK:
                if found := shape.match(text, place + size):
                    yield found[1]
                elif word[0] == 10:
                    yield from _find_grouped(text, place + size)
            place = text.find(word, place + size)
    if language in _LINES:
        yield from re.compile(_LINES[language]).findall(text)


@cache
def _definition_patterns(language: str) -> list[tuple[str | None, bytes, re.Pattern[bytes]]]:
    """The keywords of definitions: their first name, their bytes, and the pattern that follows."""
    found = []
    for word in filter(None, _ANNOUNCED.get(language, _OTHERS).encode().split(b"|")):
        keyword = next(iter(_split(word)), None)
        found.append((keyword, word, re.compile(_SPECIAL.get(word, _NAME))))
    return found


def _find_grouped(text: bytes, place: int) -> list[bytes]:
    """The names in a Go group such as `type (`: one on each line that is indented once."""
    found = re.compile(_GROUP).match(text, place)
    return re.findall(_GROUPED, found[0]) if found else []

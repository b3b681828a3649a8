"""What a file talks about, found without parsing it: the words of every file rank them.

Only the files that are shown are parsed. Definitions are looked for by the words that announce
them, and by lines that end in an opening brace: a name too many does little harm.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from kedge.repomap.imports import imports
from kedge.repomap.index import MOST

LONGEST = 80  # a longer word is made by a program
_SPACES = bytes(c if chr(c).isalnum() or c == 95 else 32 for c in range(128)) + b" " * 128
_BLANK = b" \t\n\r;({"
_NAME = re.compile(rb"[ \t]*&?([A-Za-z_]\w*)")
_SPECIAL = {
    b"\nfunc ": re.compile(rb"(?:\([^)\n]*\)[ \t]*)?([A-Za-z_]\w*)"),
    b"fun ": re.compile(rb"(?:<[^>\n]*>[ \t]*)?(?:[\w<>?*]+\.)*(\w+)"),
    b"def ": re.compile(rb"(?:self\.)?(\w+)"),
    b"function ": re.compile(rb"[ \t*&]*(?:[\w.]+[.:])?(\w+)"),
    b"type ": re.compile(rb"(\w+)[^=\n;]{0,80}[={]"),
    b"exports.": re.compile(rb"(\w+)[ \t]*="),
    b"\n} ": re.compile(rb"(\w+);"),
}
# A line such as `public List<A> names(int a, int b) {`.
_HEAD = re.compile(
    rb"[ \t]*(?!(?:if|for|while|switch|catch|else|return|new|do|try|await|case|using|lock|with)\b)"
    rb"(?:[\w<>,.?&*:\[\]~@$]+[ \t]+[*&]*)*(?:\w+::)*([A-Za-z_$]\w*)(?:<[^>\n]*>)?[ \t]*\("
)
_SHOUTED = re.compile(rb"\n([A-Z_][A-Z0-9_]{3,}) ?[:=]")
_SHELL = re.compile(rb"\n[ \t]*([\w:.-]+)[ \t]*\([ \t]*\)")

_TYPES = "class |interface |enum "
_SCRIPT = "function |class |\nconst |\nlet |\nvar |export const |export let |exports."
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
    "swift": f"{_TYPES}|struct |protocol |actor |func |typealias |extension ",
    "csharp": f"{_TYPES}|struct |record |delegate ",
    "c": "#define |struct |enum |union |\n} ",
    "cpp": "#define |struct |enum |union |\n} |class |namespace ",
    "ruby": "def |class |module ",
    "php": "function |class |interface |trait |enum |const ",
    "lua": "function ",
    "shell": "function ",
    "elixir": "def |defp |defmodule |defmacro ",
}
_OTHERS = f"{_TYPES}|def |func |fn |fun |function |struct |trait |type |module |message |service "
_BRACED = frozenset(
    {"java", "csharp", "c", "cpp", "javascript", "typescript", "tsx", "vue", "svelte"}
)
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
    with yield None True False NULL String
    """.split()  # noqa: SIM905 - easier on the eye
)

Words = tuple[dict[str, int], list[str], list[str]]


def words(language: str, source: bytes) -> Words:
    """How often each name occurs, which seem to be defined here, and what is imported."""
    counts = Counter(source.translate(_SPACES).decode("ascii").split())
    names = {
        name: count if count < MOST else MOST  # noqa: FURB136 - quicker
        for name, count in counts.items()
        if 2 < len(name) <= LONGEST and name[0] > "9" and name not in _KEYWORDS
    }
    text = b"\n" + source
    defined = dict.fromkeys(found.decode("ascii", "replace") for found in _defined(language, text))
    return names, [name for name in defined if name in names], imports(language, text)


def _defined(language: str, text: bytes) -> Iterator[bytes]:
    for word in _ANNOUNCED.get(language, _OTHERS).encode().split(b"|"):
        shape = _SPECIAL.get(word, _NAME)
        size, place = len(word), text.find(word)
        while place >= 0:
            if (word[0] == 10 or text[place - 1] in _BLANK) and (
                found := shape.match(text, place + size)
            ):
                yield found[1]
            place = text.find(word, place + size)
    if language in _BRACED:
        yield from _heads(text)
    elif language == "python":
        yield from _SHOUTED.findall(text)
    elif language == "shell":
        yield from _SHELL.findall(text)


def _heads(text: bytes) -> Iterator[bytes]:
    """Names before a bracket on lines that open a block, or on the line before such a block."""
    for opening in (b"{\n", b"{\r\n"):
        place = text.find(opening)
        while place >= 0:
            start = text.rfind(b"\n", 0, place)
            if not text[start + 1 : place].strip():  # the brace stands alone
                start = text.rfind(b"\n", 0, start)
            if found := _HEAD.match(text, start + 1, place):
                yield found[1]
            place = text.find(opening, place + 2)

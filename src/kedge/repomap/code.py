"""Source text without its comments and strings, so that a name in it is a use of that name."""

from __future__ import annotations

import re
from functools import cache

from kedge.repomap.languages import BY_NAME

_STRING = rb'"(?:[^"\\\n]|\\.)*+"'
_QUOTED = rb"'(?:[^'\\\n]|\\.)*+'"
_CHARACTER = rb"'(?:[^'\\\n]|\\[^'\n]{1,9})'"
_TEMPLATE = rb"`(?:[^`\\]|\\.)*+`"
_TRIPLE = rb'"""(?:.*?"""|.*)'
_SCRIPTS = frozenset({"javascript", "typescript", "tsx", "vue", "svelte", "astro"})
# Languages in which single quotes enclose a string; elsewhere they enclose a character.
_SINGLE = _SCRIPTS | {"python", "ruby", "php", "lua", "shell", "dart", "perl", "groovy", "elixir"}
_TRIPLES = frozenset({"python", "kotlin", "scala", "java", "swift", "groovy", "elixir", "dart"})


def is_script(language: str) -> bool:
    """True for JavaScript and the languages that share its imports."""
    return language in _SCRIPTS


def strip_comments(language: str, source: bytes) -> bytes:
    """The source without comments. Line breaks inside of them are not kept."""
    return _tokens(language).sub(_keep_string, source)


def strip_strings(language: str, source: bytes) -> bytes:
    """The source without comments and with all strings empty."""
    return _tokens(language).sub(_empty_string, source)


def _keep_string(found: re.Match[bytes]) -> bytes:
    return found[0] if found.lastgroup == "string" else b" "


def _empty_string(found: re.Match[bytes]) -> bytes:
    return b'""' if found.lastgroup == "string" else b" "


@cache
def _tokens(language: str) -> re.Pattern[bytes]:
    """Comments and strings. One that never ends takes the rest, so that matching is linear."""
    known = BY_NAME.get("typescript" if language in _SCRIPTS else language)
    comments = []
    if language == "python":  # a docstring is a comment
        comments += [_TRIPLE, _TRIPLE.replace(b'"', b"'")]
    if known and known.block_comment:
        start, end = (re.escape(mark.encode()) for mark in known.block_comment)
        comments.append(start + rb"(?:.*?" + end + rb"|.*)")
    if known and known.line_comment:
        before = rb"(?<![\w$&])" if known.line_comment == "#" else b""  # not `$#` or `&#`
        comments.append(before + re.escape(known.line_comment.encode()) + rb"[^\n]*+")
    if language == "php":
        comments.append(rb"(?<!\w)#(?!\[)[^\n]*+")
    strings = [_TRIPLE] if language in _TRIPLES else []
    strings += [_STRING, _QUOTED if language in _SINGLE else _CHARACTER]
    if language == "go":
        strings.append(rb"`[^`]*+`")
    elif language in _SCRIPTS:
        strings.append(_TEMPLATE)
    both = (rb"(?P<comment>" + rb"|".join(comments) + rb")|") if comments else b""
    return re.compile(both + rb"(?P<string>" + rb"|".join(strings) + rb")", re.DOTALL)

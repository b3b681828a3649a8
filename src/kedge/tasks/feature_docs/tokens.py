"""The words, ids and signs of a value that refers to sections, and where titles in it end."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kedge.tasks.feature_docs import ids
from kedge.tasks.feature_docs.references import Lexicon

_LONGEST = 4000  # of a value, in characters; what is behind that is prose
_TYPE = (
    r"(?<![\w-])(?P<type>plan|(?:technical |tech )?design|spec(?:ification)?|prd|architecture)"
    r"(?P<more>[ \t]+(?:doc(?:ument)?|refs?|references?|sections?))?(?![\w-]|\.md)[ \t]*:?"
)
FILE = (
    r"(?:[\w.-]{1,80}/){0,8}(?P<file>plan|design|spec|prd|requirements)\.md"
    r"(?:#(?P<anchor>[\w%.-]{1,200})|:(?P<row>[0-9]{1,6}))?"
)
_TOKEN = re.compile(
    r"(?P<space>[ \t]++)"
    r"|\[(?P<label>[^\[\]\n]{0,200})\]\((?P<target>[^()\s]{1,300})\)"
    r"|[\"“„«](?P<quote>[^\"“”„«»]{1,150})[\"”“»]"
    rf"|{FILE}"
    rf"|{_TYPE}"
    r"|(?P<sect>§{1,2}|(?<![\w-])sec(?:tion)?s?\b\.?(?=[ \t]))"
    rf"|(?P<kind>(?<![\w-]){ids.WORD}(?![\w-]))(?:[ \t]*[#№])?"
    rf"|(?<![\w.])(?P<code>{ids.CODE})(?!\w)(?!-[A-Za-z](?![A-Za-z]{{0,4}}-?[0-9]))"
    rf"|(?<![\w.])(?P<bare>{ids.NUMBER})(?![\w%])"
    r"|(?P<sep>[,;/&+|·•]|(?<!\w)(?:and|plus|or)(?!\w))"
    r"|(?P<to>–|—|-|\.\.\.?|…|(?<!\w)(?:to|through|thru)(?!\w))"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])"
    r"|(?P<text>[\w.'’/-]++|.)",
    re.IGNORECASE,
)
_CHAIN = re.compile(r"[ \t](?:>|→|»|::)[ \t]")
_PATH = re.compile(
    r"\b(plan|design|spec|prd|components?|interfaces?|steps?|phases?|decisions?)/(?=\w)",
    re.IGNORECASE,
)
_MOST = 24  # tokens of a title


def plain(text: str) -> str:
    """The value without marks of Markdown, with chains and paths written alike."""
    value = re.sub(r"[*`~]+|(?<!\w)_+|_+(?!\w)", "", text[:_LONGEST])
    return _CHAIN.sub(" § ", _PATH.sub(lambda found: found[1] + " ", value))


def read(text: str) -> list[re.Match[str]]:
    return [token for token in _TOKEN.finditer(text) if not token["space"]]


def title(
    text: str, tokens: Sequence[re.Match[str]], start: int, lexicon: Lexicon
) -> tuple[str, int]:
    """The words from there to what ends a title, and the tokens that they take."""
    stop, cut = start, -1
    while stop < len(tokens) and stop < start + _MOST:
        token = tokens[stop]
        sign = token[0].lower()
        spaced = text[token.start() - 1 : token.start()].isspace()
        if sign in (",", ";", "|", "·", "•", "§", "§§", "(", "[", "{", ")", "]", "}", ":"):
            break
        if (token["to"] and spaced and sign in "—–-") or (sign in "/+" and spaced):
            break
        if token["type"] and start < stop and token[0][:1].isupper():
            break
        if sign in ("and", "&") and cut < 0 and stop > start:
            cut = stop
        stop += 1
    whole = _span(text, tokens, start, stop)
    if cut >= 0 and not lexicon.titled(whole):
        head = _span(text, tokens, start, cut)
        if lexicon.titled(head):
            return head, cut - start
    return whole, stop - start


def _span(text: str, tokens: Sequence[re.Match[str]], start: int, stop: int) -> str:
    if stop <= start:
        return ""
    return text[tokens[start].start() : tokens[stop - 1].end()].strip(" \t.\"'")

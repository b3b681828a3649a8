"""Tokens of a value that refers to sections: words, ids and signs, with a cursor to read them."""

from __future__ import annotations

import re

from kedge.features import section_ids

_LONGEST = 4000  # characters of a value that are read
_TYPE = (
    r"(?<![\w-])(?P<type>plan|(?:technical |tech )?design|spec(?:ification)?|prd|architecture)"
    r"(?P<more>[ \t]+(?:doc(?:ument)?|refs?|references?|sections?))?(?![\w-]|\.md)[ \t]*:?"
)
_FOLDERS = r"(?:[\w.-]{1,80}/){0,8}"
_FILES = r"(?:plan|design|spec|prd|requirements)"
_ANCHOR = r"[\w%.-]{1,200}"
_TOKEN = re.compile(
    r"(?P<space>[ \t]++)"
    rf"|\[(?P<label>[^\[\]\n]{{0,200}})\]\({_FOLDERS}(?P<target>{_FILES})\.md#(?P<to_anchor>{_ANCHOR})\)"
    r"|[\"“„«](?P<quote>[^\"“”„«»]{1,150})[\"”“»]"
    rf"|{_FOLDERS}(?P<file>{_FILES})\.md(?:#(?P<anchor>{_ANCHOR}))?"
    rf"|{_TYPE}"
    r"|(?P<sect>§{1,2}|(?<![\w-])sec(?:tion)?s?\b\.?(?=[ \t]))"
    rf"|(?P<kind>(?<![\w-]){section_ids.WORD}(?![\w-]))(?:[ \t]*[#№])?"
    rf"|(?<![\w.])(?P<code>{section_ids.CODE})(?!\w)(?!-[A-Za-z](?![A-Za-z]{{0,4}}-?[0-9]))"
    rf"|(?<![\w.])(?P<bare>{section_ids.NUMBER})(?![\w%])"
    r"|(?P<sep>[,;/&+|·•]|(?<!\w)(?:and|plus|or)(?!\w))"
    r"|(?P<to>–|—|-|\.\.\.?|…|(?<!\w)(?:to|through|thru)(?!\w))"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])"
    r"|(?P<text>[\w.'’/-]++|.)",
    re.IGNORECASE,
)
_LINK = re.compile(r"\[(?P<label>[^\[\]\n]{0,200})\]\((?P<target>[^()\s#]{1,300})\)")
_CHAIN = re.compile(r"[ \t](?:>|→|»|::)[ \t]")
_PATH = re.compile(
    r"\b(plan|design|spec|prd|components?|interfaces?|steps?|phases?|decisions?)/(?=\w)",
    re.IGNORECASE,
)
_MOST = 24  # tokens of a title

Token = re.Match[str]


def normalize_value(text: str) -> str:
    """Return the value without Markdown's marks, and with chains and paths written as sections."""
    value = re.sub(r"[*`~]+|(?<!\w)_+|_+(?!\w)", "", text[:_LONGEST])
    value = _LINK.sub(_write_link, value)
    return _CHAIN.sub(" § ", _PATH.sub(lambda found: found[1] + " ", value))


def _write_link(link: Token) -> str:
    """Return a link without an anchor as text: its label, after the document that it leads to."""
    label, target = link["label"], link["target"]
    if not re.fullmatch(rf"{_FOLDERS}{_FILES}\.md", target, re.IGNORECASE):
        return label
    return "" if target.startswith("../") else f"{target} {label}"


class TokenCursor:
    """The tokens of a text, and the position of the next one."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [token for token in _TOKEN.finditer(text) if not token["space"]]
        self.place = 0

    @property
    def end(self) -> int:
        """The position in the text after the last token that was taken."""
        return self.tokens[self.place - 1].end()

    def take(self) -> Token | None:
        """Return the next token and move on; None at the end."""
        token = self.peek()
        self.place += token is not None
        return token

    def peek(self, ahead: int = 0) -> Token | None:
        place = self.place + ahead
        return self.tokens[place] if 0 <= place < len(self.tokens) else None

    def is_next(self, *kinds: str) -> bool:
        """True if the next token is of one of these kinds."""
        token = self.peek()
        if token is None or (token["text"] is not None and not re.search(r"\w", token[0])):
            return False
        return any(token[kind] is not None for kind in kinds)

    def is_after_space(self, token: Token) -> bool:
        return self.text[token.start() - 1 : token.start()].isspace()

    def peek_letter(self) -> str | None:
        """Return the single capital that follows, or None."""
        token = self.peek()
        return token[0] if token and re.fullmatch("[A-Z]", token[0]) else None

    def peek_title(self) -> tuple[str, int]:
        """Return the words that follow, up to what ends a title, and their number of tokens."""
        start = stop = self.place
        while stop < len(self.tokens) and stop < start + _MOST:
            token = self.tokens[stop]
            sign = token[0].lower()
            spaced = self.is_after_space(token)
            if sign in (",", ";", "|", "·", "•", "§", "§§", "(", "[", "{", ")", "]", "}", ":"):
                break
            if (token["to"] and spaced and sign in "—–-") or (sign in "/+" and spaced):
                break
            if token["type"] and start < stop and token[0][:1].isupper():
                break
            stop += 1
        return self._span(start, stop), stop - start

    def _span(self, start: int, stop: int) -> str:
        if stop <= start:
            return ""
        return self.text[self.tokens[start].start() : self.tokens[stop - 1].end()].strip(" \t.\"'")

"""Sentences from docstrings, comments and READMEs, without markup."""

from __future__ import annotations

import re

from kedge.text.fences import is_opening

MAX_ABOUT = 120
# a string that the pattern needs, the pattern, and its replacement
_MARKUP: tuple[tuple[str, str, str], ...] = (
    ("![", r"!\[[^\]]{0,300}\]\([^)]{0,600}\)", " "),
    ("[", r"\[([^\]]{1,300})\](?:\([^)]{0,600}\)|\[[^\]]{0,100}\])?", r"\1"),
    ("`_", r"`([^`<]{1,200}) <[^<>]{1,300}>`_{1,2}", r"\1"),
    ("<", r"<[^<>]{1,300}>", " "),
    (":`", r":\w{1,20}:`~?([^`]{1,100})`", r"\1"),
    ("{@", r"\{@\w{1,20} ([^}]{1,200})\}", r"\1"),
    ("``", "``", ""),
    ("*", r"\*{2,}|(?<!\w)\*(?=\w)|(?<=[\w.])\*(?!\w)", ""),
    ("_", r"_{2,}|(?<!\w)_(?=\w)|(?<=[\w.])_(?!\w)", ""),
    ("@", r"\s@(?:author|since|see|version)\b.*", ""),
)
_SENTENCE = re.compile(
    r"(.{8,400}?(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)[.!?])(?:\s+[A-ZÀ-ÞА-Я`\"'(@]|$)|"
    r"(.{4,200}?)[。！？]"
)
# `This directory contains the`, `Package tide provides`
_OPENING = re.compile(
    r"(?:(?:(?:This|The)(?: [\w`-]{1,40}){0,2} )?"
    r"(?:directory|folder|package|crate|module|library|subproject|repository)"
    r"(?: [\w-]{1,40})?|This)"
    r" (?:is|contains|provides|implements|holds|offers|includes)(?: an?| the)? ",
    re.IGNORECASE,
)
# how a README begins if it does not describe its directory
_ADVICE = ("To ", "Run ", "See ", "Note", "If ", "Please ", "Install", "You ", "First", "Before ",
           "When ", "Make sure", "Use ", "In order", "This website is built", "There are ",
           "There is ", "Welcome", "We ", "1. ")  # fmt: skip
# sentences that project generators write into a README
_MADE = ("bootstrapped with", "was generated with", "was bootstrapped")


def first_sentence(words: str, name: str = "") -> str | None:
    """The first sentence, without markup, on one line, shortened at a word.

    An opening such as "This package provides", or the `name` itself, is removed.
    """
    plain = " ".join(words[:4000].split())
    for sign, pattern, instead in _MARKUP:
        if sign in plain:
            plain = re.sub(pattern, instead, plain)
    plain = " ".join(re.sub(r"([=~^#*-])\1{3,}", " ", plain).split())
    found = _SENTENCE.match(plain)
    sentence = (found.group(1) or found.group(2) if found else plain).strip().rstrip(".:")
    sentence = _without_opening(sentence.lstrip("*_#> -").removesuffix(" such as"), name)
    if len(sentence) > MAX_ABOUT:
        sentence = sentence[: MAX_ABOUT - 1].rpartition(" ")[0].rstrip(",;:") + "…"
    letters = sum(letter.isalpha() for letter in sentence)
    is_text = sentence.isprintable() and letters >= 6 and "://" not in sentence
    return sentence if is_text and "#{" not in sentence else None


def _without_opening(sentence: str, name: str) -> str:
    start = 0
    if opening := _OPENING.match(sentence):
        start = opening.end()
    elif name and sentence.lower().replace("`", "").startswith(f"{name.lower()} is "):
        start = sentence.index(" is ") + 4
        start += next(
            (len(word) for word in ("an ", "a ", "the ") if sentence.startswith(word, start)), 0
        )
    rest = sentence[start:]
    return rest[:1].upper() + rest[1:] if start and len(rest) > 12 else sentence


def readme_sentence(readme: str, name: str = "") -> str | None:
    """The first sentence of prose in a README, after badges and headings."""
    plain = readme
    if plain.startswith("---\n"):
        plain = plain[4:].partition("\n---")[2]
    parts = plain.split("<!--")
    plain = parts[0] + "".join(part.partition("-->")[2] for part in parts[1:])
    found = first_sentence(paragraph(plain) or "", name)
    if found and (found.startswith(_ADVICE) or any(words in found for words in _MADE)):
        return None
    return found


_DECORATIONS = (
    "#", "=", "|", ".. ", ":", "[!", "![", "- ", "* ", "+ ", ">", "!!!", "@", "include::", "image:",
    "---", "___", "***", "ifdef::", "++++",
)  # fmt: skip


def paragraph(markup: str) -> str | None:
    """The first paragraph of prose: not a heading, badge, list, table or directive.

    The search ends at a block of code, because what follows explains the code.
    """
    block: list[str] = []
    lines = markup.split("\n")[:300]
    for number, raw in enumerate(lines):
        line = raw[:1000].strip()
        if is_opening(line):
            break
        following = lines[number + 1].strip() if number + 1 < len(lines) else ""
        is_title = bool(following) and len(set(following)) == 1 and following[0] in "=-~^#*+\"'"
        if is_title or not line or _is_decoration(line, within=bool(block)):
            if _is_prose(block):
                break
            block = []
            continue
        block.append(line)
    return " ".join(block) if _is_prose(block) else None


def _is_decoration(line: str, *, within: bool) -> bool:
    if line.startswith(_DECORATIONS):
        return True
    if within or line[0] not in "<[!|":
        # a link inside a paragraph is part of it
        return False
    without = re.sub(
        r"<[^<>]{1,400}>|!?\[[^\]]{0,200}\]\([^)]{0,400}\)|\|[\w .-]{1,60}\|_?", "", line
    )
    return sum(letter.isalpha() for letter in without) < 4


def _is_prose(block: list[str]) -> bool:
    if len(block) == 1 and re.search(r"(?<![(<\"'])https?://", block[0]):
        return False
    words = [word for line in block for word in re.sub(r"<[^<>]{1,400}>", " ", line).split()]
    if any(len(word) > 12 and not word.isascii() for word in words):
        return True  # some scripts have no spaces between words
    return sum(any(letter.isalpha() for letter in word) for word in words) >= 3

"""Sentences out of docstrings, comments and READMEs, whatever markup they are in."""

from __future__ import annotations

import re

MAX_ABOUT = 120
_MARKUP: tuple[tuple[str, str], ...] = (
    (r"!\[[^\]]{0,300}\]\([^)]{0,600}\)", " "),
    (r"\[([^\]]{1,300})\](?:\([^)]{0,600}\)|\[[^\]]{0,100}\])", r"\1"),
    (r"\[(`[^`\]]{1,100}`)\]", r"\1"),
    (r"`([^`<]{1,200}) <[^<>]{1,300}>`_{1,2}", r"\1"),
    (r"<[^<>]{1,300}>", " "),
    (r":\w{1,20}:`~?([^`]{1,100})`", r"\1"),
    (r"\{@\w{1,20} ([^}]{1,200})\}", r"\1"),
    (r"[*_]{2,}|``|(?<!\w)[*_](?=\w)|(?<=[\w.])[*_](?!\w)", ""),
    (r"([=~^#*-])\1{3,}", " "),
    (r"\s@(?:author|since|see|version)\b.*", ""),
)
_SENTENCE = re.compile(
    r"(.{8,400}?(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)[.!?])(?:\s+[A-Z`\"'(@]|$)"
)


def first_sentence(words: str) -> str | None:
    """The first sentence, without markup, on one line; cut at a word where it is long."""
    plain = " ".join(words[:4000].split())
    for pattern, instead in _MARKUP:
        plain = re.sub(pattern, instead, plain)
    plain = " ".join(plain.split())
    found = _SENTENCE.match(plain)
    sentence = (found.group(1) if found else plain).strip().rstrip(".:")
    sentence = re.sub(r"^[*_#>\s-]+", "", sentence)
    if len(sentence) > MAX_ABOUT:
        sentence = sentence[: MAX_ABOUT - 1].rpartition(" ")[0].rstrip(",;:") + "…"
    letters = sum(letter.isalpha() for letter in sentence)
    is_text = sentence.isprintable() and letters >= 6 and "://" not in sentence
    return sentence if is_text and "#{" not in sentence else None


def readme_sentence(readme: str) -> str | None:
    """The first sentence of prose in a README, whatever decorates its beginning."""
    plain = readme
    if plain.startswith("---\n"):
        plain = plain[4:].partition("\n---")[2]
    parts = plain.split("<!--")
    plain = parts[0] + "".join(part.partition("-->")[2] for part in parts[1:])
    return first_sentence(paragraph(plain) or "")


_DECORATIONS = (
    "#", "=", "|", ".. ", ":", "[!", "![", "- ", "* ", "+ ", ">", "!!!", "@", "include::", "image:",
    "---", "___", "***", "ifdef::", "++++",
)  # fmt: skip


def paragraph(markup: str) -> str | None:
    """The first paragraph of prose: no heading, badge, list, table or directive.

    What follows a block of code explains that code, so the search ends there.
    """
    block: list[str] = []
    lines = markup.split("\n")[:300]
    for number, raw in enumerate(lines):
        line = raw[:1000].strip()
        if line.startswith(("```", "~~~")):
            break
        following = lines[number + 1].strip() if number + 1 < len(lines) else ""
        is_title = bool(following) and len(set(following)) == 1 and following[0] in "=-~^#*+\"'"
        if is_title or not line or _is_decoration(line):
            if _is_prose(block):
                break
            block = []
            continue
        block.append(line)
    return " ".join(block) if _is_prose(block) else None


def _is_decoration(line: str) -> bool:
    if line.startswith(_DECORATIONS):
        return True
    without = re.sub(
        r"<[^<>]{1,400}>|!?\[[^\]]{0,200}\]\([^)]{0,400}\)|\|[\w .-]{1,60}\|_?", "", line
    )
    return sum(letter.isalpha() for letter in without) < 4


def _is_prose(block: list[str]) -> bool:
    if len(block) == 1 and re.search(r"(?<![(<\"'])https?://", block[0]):
        return False
    words = [word for line in block for word in re.sub(r"<[^<>]{1,400}>", " ", line).split()]
    return sum(any(letter.isalpha() for letter in word) for word in words) >= 3

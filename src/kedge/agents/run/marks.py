"""What an agent says of its own work in marks: that it is done, or that it is stuck.

Both are read from its last message and outside of code: an agent that quotes its instructions
says nothing. They are claims. What is done is for checks to show.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_FENCE = re.compile(r" {0,3}(?:[-*+>] ?|\d{1,3}[.)] ?)?\s{0,8}(`{3,}|~{3,})")
_TICKS = re.compile(r"`+")
_PROMISE = re.compile(r"<promise>\s{0,100}COMPLETE\s{0,100}</promise>")


def promise(text: str) -> bool:
    """Whether the message promises that the task is complete."""
    return _PROMISE.search(_prose(text)) is not None


def stuck(text: str) -> str | None:
    """Why the agent says that it is stuck; None when it does not."""
    prose = _prose(text)
    start = prose.find("<stuck>")
    end = prose.find("</stuck>", start)
    if start < 0 or end < 0:
        return None
    return prose[start + len("<stuck>") : end].strip()


def _prose(text: str) -> str:
    """The text without its fenced blocks and code spans."""
    return "\n\n".join(_without_spans("\n".join(lines)) for lines in _paragraphs(text))


def _paragraphs(text: str) -> Iterator[list[str]]:
    """Runs of lines outside of fences. A code span does not go beyond one."""
    fence, lines = "", list[str]()
    for line in text.splitlines():
        found = _FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and not line[found.end() :].strip():
                fence = ""
            continue
        opens = found and (found[1][0] == "~" or "`" not in line[found.end() :])
        if opens or not line.strip():
            yield lines
            lines = []
        else:
            lines.append(line)
        if found and opens:
            fence = found[1]
    yield lines


def _without_spans(text: str) -> str:
    ticks = [(found.start(), found.end()) for found in _TICKS.finditer(text)]
    later: dict[int, list[tuple[int, int]]] = {}
    for start, end in reversed(ticks):
        later.setdefault(end - start, []).append((start, end))
    kept, at = [], 0
    for start, end in ticks:
        if start < at:
            continue
        same = later[end - start]
        while same and same[-1][0] <= start:
            same.pop()
        if same:
            kept.append(text[at:start])
            at = same.pop()[1]
    return " ".join([*kept, text[at:]])

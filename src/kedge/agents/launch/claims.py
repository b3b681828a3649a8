"""The claims of an agent about its own work: `<promise>` for complete, `<stuck>` for stuck.

They are read from its last message, outside code: an agent may quote its instructions. A claim
proves nothing; checks do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kedge.text.fences import FenceReader

_TICKS = re.compile(r"`+")
_STUCK = re.compile(r"""<stuck(?: type=["']?([a-z-]{1,30})["']?)?>""")
_PROMISE = re.compile(r"<promise>\s{0,100}COMPLETE\s{0,100}</promise>")


def has_promise(text: str) -> bool:
    """True if the message promises that the task is complete."""
    return _PROMISE.search(_prose(text)) is not None


def find_stuck_reason(text: str) -> str | None:
    """Return why the agent says it is stuck; None if it does not say so."""
    found = _find_stuck(text)
    return None if found is None else found[1]


def find_stuck_type(text: str) -> str | None:
    """Return the type in `<stuck type="tooling">`; None if there is none."""
    found = _find_stuck(text)
    return None if found is None else found[0]


def _find_stuck(text: str) -> tuple[str | None, str] | None:
    prose = _prose(text)
    start = _STUCK.search(prose)
    end = -1 if start is None else prose.find("</stuck>", start.end())
    if start is None or end < 0:
        return None
    return start[1], prose[start.end() : end].strip()


def _prose(text: str) -> str:
    """Return the text without fenced blocks and code spans."""
    return "\n\n".join(_without_spans("\n".join(lines)) for lines in _paragraphs(text))


def _paragraphs(text: str) -> Iterator[list[str]]:
    """Yield the paragraphs outside fences. A code span does not extend beyond one."""
    fences, lines = FenceReader(), list[str]()
    for line in text.splitlines():
        if fences.read(line) or not line.strip():
            yield lines
            lines = []
        else:
            lines.append(line)
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

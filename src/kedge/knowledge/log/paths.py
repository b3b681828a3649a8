"""Find the files that a report names: in list items, tables, code, prose or a diffstat."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kedge.repomap.languages import language_of

_MAX_PATHS = 1000
_ROW = tuple("-*+•|`│├└")  # starts of lines that name a file before they describe it
_LINK = re.compile(r"\[([^\[\]\n]{1,300})\]\([^()\s]{0,300}\)")
_MOVED = re.compile(r"\{[^{}]{0,200}? ?=> ?([^{}]{0,200})\}")
_WORD = re.compile(r"`[^`]{1,300}`|(?:\{[^{}\s]{0,200}\}|[^\s`,;|{}])+|[|,;]")
# Words before and between the files of a list: bullets, tree lines, states of `git status`, verbs.
_FILLER = re.compile(
    r"[-*+•│├└─|>&/→,;~⇒=]+|\[.?\]|[0-9]{1,3}[.)]|[MADRCTU?]{1,2}[0-9]{0,3}|\([^()]*\)|"
    r"(?:newly|new|created?|modified|added?|updated?|changed|edited|deleted?|removed?|renamed?|"
    r"moved?|touched|also|and|to|source|tests?|docs?|config|files?):?",
    re.IGNORECASE,
)
_ITEM = re.compile(r"\s*(?:[-*+•]|[0-9]{1,3}[.)])\s+(?:\[.\]\s+)?`?([\w@.+~/-]{2,200})`?\s*")
_LINE_NUMBER = re.compile(r"(?::[0-9][0-9:,-]*|#L[0-9]+(?:-L?[0-9]+)?)\Z")
_NO_PATH = re.compile(r"(?i:none|nothing|nil|no|n/a|and/or|i/o|yes/no|read/write|ci/cd|node\.js)")
_BARE = re.compile(
    r"[A-Z]\w+file|LICENSE|README|\.[a-z][\w.-]{1,40}|.+\.(?:txt|cfg|ini|lock|csv|mod)"
)


def paths_in_text(text: str, *, prose: bool = True, listed: bool = False) -> tuple[str, ...]:
    """Return the files that a text names, each once; without `prose` only those that begin a line.

    `listed` says that the text is a list of files, so that any item of one word is a file.
    """
    found: dict[str, None] = {}
    for line in text.split("\n"):
        plain = _MOVED.sub(r"\1", _LINK.sub(r"`\1`", line)).replace("**", "")
        words = _WORD.findall(plain)
        names = list(_leading_paths(words))
        item = _ITEM.fullmatch(line) if listed else None
        if not names and item and not _NO_PATH.fullmatch(item[1]):
            names = [item[1]]
        elif prose and line.lstrip()[:1] not in _ROW:
            names += [name for word in words if "/" in (name := _strip(word)) and is_path(name)]
        found.update(dict.fromkeys(one for name in names for one in _expand_braces(name)))
        if len(found) > _MAX_PATHS:
            break
    return tuple(found)[:_MAX_PATHS]


def paths_in_value(value: Any) -> tuple[str, ...]:
    """Return the files in a JSON value: strings, objects with a path, or objects keyed by path."""
    found: list[str] = []
    if isinstance(value, str):
        found += paths_in_text(value, listed=True)
    elif isinstance(value, list):
        found += [path for one in value[:_MAX_PATHS] for path in paths_in_value(one)]
    elif isinstance(value, dict):
        path = next((value[key] for key in value if re.search(r"(?i)path|file|name", key)), None)
        if isinstance(path, str):
            return paths_in_value(path)
        for key, one in value.items():
            is_key = is_path(key) and not isinstance(one, list)
            found += [key] if is_key else paths_in_value(one)
    return tuple(dict.fromkeys(found))[:_MAX_PATHS]


def is_path(word: str) -> bool:
    """True for a path with a file name at its end, a folder, or a well-known file name."""
    if len(word) > 300 or "//" in word or word.startswith("--") or _NO_PATH.fullmatch(word):
        return False
    folder, slash, name = word.replace("\\", "/").rpartition("/")
    if slash and not name:
        return bool(re.search("[A-Za-z]", folder))
    if slash and re.search(r"[A-Za-z*].*\.(?:[A-Za-z]\w{0,9}|\*)\Z", name):
        return True
    return bool(_BARE.fullmatch(name)) or language_of(name) is not None


def _leading_paths(words: list[str]) -> Iterator[str]:
    """Yield the paths at the start of a line, before its prose."""
    for word in words:
        if is_path(name := _strip(word)):
            yield name
            if word.endswith((":", ".")):
                return
        elif not _FILLER.fullmatch(word):
            return


def _strip(word: str) -> str:
    """Strip quotes, punctuation and a line number."""
    bare = word.strip("`\"'<>").rstrip(".,;:!?")
    return _LINE_NUMBER.sub("", bare).removeprefix("./")


def _expand_braces(name: str) -> list[str]:
    """Return the names that `src/{a,b}.py` stands for."""
    braces = re.search(r"\{([^{}]*,[^{}]*)\}", name)
    if braces is None:
        return [name]
    head, tail = name[: braces.start()], name[braces.end() :]
    return [head + one.strip() + tail for one in braces[1].split(",")[:20]]

"""Find the files that a report names: in list items, tables, code, prose or a diffstat."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_MAX_PATHS = 1000
_NAME = r"(?:[\w@.+~*$%/\\#-]|\{[^{}\s]{0,200}\}|\[[\w.-]{1,60}\]|\([\w.-]{1,60}\)(?=[/\\]))"
_TOKEN = re.compile(rf"{_NAME}{{1,300}}")
_SPAN = re.compile(r"`([^`\n]{1,300})`")
_LINK = re.compile(r"\[([^\[\]\n]{1,300})\]\([^()\s]{0,300}\)")
_LEAD = re.compile(
    r"[ \t>]*(?:(?:[-*+•‣▪]|[0-9]{1,3}[.)])[ \t]+)?(?:\[.\][ \t]+)?[│├└─┬|╰╭`]{0,9}[ \t│├└─]*"
)
_STATE = re.compile(
    r"(?:(?:[MADRCTU]{1,2}|\?\?|[+~])[0-9]{0,3}[ \t]+|[^\w\s`*./{@\[\"'(-]{1,4}[ \t]*)(?=\S)"
)
_VERB = re.compile(
    r"\(?(?:newly )?(?:created?|modified|modify|new|added?|updated?|changed|edited|deleted?|"
    r"removed?|renamed?|moved?|touched|source|tests?|docs?|config\w*|files?|and|new files?|"
    r"test files?)\)?(?:[ \t]*[:—–-][ \t]*|[ \t]+)(?=[`*\[\w./@{])",
    re.IGNORECASE,
)
_ITEM = re.compile(
    r"[ \t]*(?:[-*+•]|[0-9]{1,3}[.)])[ \t]+(?:\[.\][ \t]+)?`?(?!(?i:none|nothing|nil|no|n/a)\b)"
    r"([\w@.+~/-]{2,200})`?[ \t]*"
)
_BRANCH = ("├", "└", "│", "╰")
_BETWEEN = re.compile(
    r"[ \t]*(?:\([^()]{0,40}\)(?=[ \t]*[,;&]))?[ \t]*"
    r"(?:,|;|&|\+|/(?=[ \t])|\band\b|→|->|=>|⇒|\bto\b)?[ \t]*"
)
_LINE_NUMBER = re.compile(r"(?::[0-9][0-9:,-]*|#L[0-9]+(?:-L?[0-9]+)?)\Z")
_MOVED = re.compile(r"\{([^{}]*?) ?=> ?([^{}]*)\}")
_BARE = re.compile(
    r"(?:Make|Docker|Gem|Proc|Just|Rake|Vagrant|Brew|Pip|Cake)file|LICENSE|README|CHANGELOG|"
    r"NOTICE|CODEOWNERS|Jenkinsfile|go\.(?:mod|sum)|\.[a-z][\w.-]{1,40}"
)
_KNOWN = """
    adoc astro bash bat bazel bib bzl c cc cfg cjs clj cljs cmake conf cpp cs css csv cxx dart
    diff edn el elm env erb erl ex exs fish fs gd go gql gradle graphql groovy h haml hbs hcl
    hh hpp hs htm html ini ino ipynb jade java jinja jinja2 jl js json json5 jsonc jsonl jsx
    kt kts less lock log lua m md mdx mjs mk ml mli mm mod nim nix patch php pl plist png
    proto ps1 pug py pyi pyx r rb rs rst sass sbt scala scss sh snap sol sql sum svelte svg
    swift tex tf tfvars toml ts tsv tsx twig txt v vb vue wasm xml yaml yml zig zsh
"""
_ENDINGS = frozenset(_KNOWN.split())
_NO_PATHS = frozenset(
    {"n/a", "and/or", "i/o", "yes/no", "read/write", "e.g.", "i.e.", "w/o", "ci/cd"}
)
_SCRIPTS = re.compile(
    r"(?:node|next|vue|react|express|three|d3|angular|nuxt|ember|p5)\.js\Z", re.IGNORECASE
)


def paths_in_text(text: str, *, prose: bool = True, listed: bool = False) -> tuple[str, ...]:
    """Return the files that a text names, each once; without `prose` only those that begin a line.

    `listed` says that the text is a list of files, so that any item of one word is a file.
    """
    found: list[str] = []
    lines = text.split("\n")
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if below.lstrip()[:1] in _BRANCH and line.rstrip().endswith("/"):
            continue  # the root of a drawn tree
        named = _in_line(line, prose=prose)
        if not named and listed and (item := _ITEM.fullmatch(line)):
            named = [item[1]]
        found += named
        if len(found) > _MAX_PATHS:
            break
    return tuple(dict.fromkeys(found))[:_MAX_PATHS]


def paths_in_value(value: Any) -> tuple[str, ...]:
    """Return the files in a JSON value: strings, objects with a path, or objects keyed by path."""
    found: list[str] = []
    if isinstance(value, str):
        named = paths_in_text(value)
        found += named or ([value.strip()] if is_path(value.strip(), sure=True) else [])
    elif isinstance(value, list):
        for one in value[:_MAX_PATHS]:
            found += paths_in_value(one)
    elif isinstance(value, dict):
        path = next((value[key] for key in value if re.search(r"(?i)path|file|name", key)), None)
        if isinstance(path, str):
            return paths_in_value(path)
        for key, one in value.items():
            found += (
                [key]
                if is_path(key, sure=True) and not isinstance(one, list)
                else paths_in_value(one)
            )
    return tuple(dict.fromkeys(found))[:_MAX_PATHS]


def is_path(token: str, *, sure: bool) -> bool:
    """True for a file name; `sure` says that a file name is expected here."""
    low = token.lower()
    if not 1 < len(token) <= 300 or "://" in token or low in _NO_PATHS or token.startswith("--"):
        return False
    if not re.search(r"[A-Za-z_]", token) or _SCRIPTS.match(token) or "//" in token:
        return False
    last = re.split(r"[/\\]", token)[-1]
    stem, dot, ending = last.rpartition(".")
    known = bool(dot and stem and ending.lower() in _ENDINGS)
    if re.search(r"[/\\]", token):
        shaped = bool(dot and re.fullmatch(r"[A-Za-z][\w]{0,9}|\*|\{[^{}]*\}", ending))
        return known or (last == "" and sure) or shaped or bool(_BARE.fullmatch(last)) or sure
    return known or (sure and bool(_BARE.fullmatch(token)))


def _in_line(line: str, *, prose: bool) -> list[str]:
    text = _LINK.sub(lambda match: f"`{match[1].strip('`')}`", line)
    text = re.sub(r"(?<!/)\*\*(?!/)", "", text)
    text = _MOVED.sub(lambda match: match[2], text)
    bare = text.strip()
    if bare.startswith("|") and bare.count("|") > 1:
        cells = (list(_leading_paths(cell.strip())) for cell in bare.strip("|").split("|"))
        return next((names for names in cells if names), [])
    names = list(_leading_paths(text))
    if not prose or (names and (bare[:1] in "-*+•|`" or not re.search(r" [a-z]+ [a-z]", bare))):
        return names
    spans = [_strip_token(span) for span in _SPAN.findall(text)]
    names += [one for one in spans if is_path(one, sure="/" in one)]
    others = [
        (_strip_token(word), word.startswith("./")) for word in _TOKEN.findall(_SPAN.sub(" ", text))
    ]
    names += [one for one, sure in others if is_path(one, sure=sure)]
    return [one for name in names for one in _expand_braces(name)]


def _leading_paths(text: str) -> Iterator[str]:
    """Yield the paths at the start of a line, before its prose."""
    lead = _LEAD.match(text)
    place = lead.end() if lead else 0
    if text[place - 1 : place] == "`" and text.count("`", place) % 2:
        place -= 1
    for kind in (_STATE, _VERB, _VERB):
        lead = kind.match(text, place)
        place = lead.end() if lead else place
    while place < len(text):
        match = _SPAN.match(text, place) or _TOKEN.match(text, place)
        if match is None:
            return
        quoted = match.re is _SPAN
        name = _strip_token(match[1] if quoted else match[0])
        rest = text[match.end() : match.end() + 40]
        alone = not rest.strip() or rest.strip()[0] in ":—–-(,|→" or match[0].endswith("/")
        if not name or rest.startswith("(") or not is_path(name, sure=quoted or alone):
            return
        yield from _expand_braces(name)
        if match[0].endswith("."):
            return
        gap = _BETWEEN.match(text, match.end())
        place = gap.end() if gap else len(text)


def _strip_token(token: str) -> str:
    """Strip quotes, punctuation and a line number."""
    bare = token.strip().strip("\"'<>").rstrip(".,;:!?")
    bare = _LINE_NUMBER.sub("", bare)
    return bare.removeprefix("./")


def _expand_braces(name: str) -> Iterator[str]:
    """Yield the names that `src/{a,b}.py` stands for."""
    braces = re.search(r"\{([^{}]*,[^{}]*)\}", name)
    if braces is None:
        yield name
        return
    for one in braces[1].split(",")[:20]:
        yield name[: braces.start()] + one.strip() + name[braces.end() :]

"""The files that define a check: the script it starts, the Makefile or package script it names.

Whoever changes them chooses what a green check means. They are found in the tree on which the task
started, from the command as it is written; files that a check only reads are not among them.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import posixpath
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping

from kedge.drift.limits.paths import is_test

Read = Callable[[str], str | None]  # the text of a file in the start tree; None if it has none

_SPLIT = re.compile(r"&&|\|\||[;|\n]")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_INTERPRETERS = re.compile(
    r"(?:ba|da|k|z)?sh|python[\d.]*|node|deno|bun|ruby|perl|php|tsx|ts-node|Rscript|lua\Z"
)
_PREFIXES = (
    "env",
    "time",
    "nice",
    "sudo",
    "timeout",
    "xargs",
    "exec",
    "command",
    "npx",
    "uv",
    "run",
)
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_RUNNERS = {"just": ("justfile", "Justfile", ".justfile"), "tox": ("tox.ini",)} | {
    "nox": ("noxfile.py",),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "rake": ("Rakefile",),
}
_PACKAGES = ("npm", "yarn", "pnpm", "bun")
_DEEPEST = 4  # scripts that start scripts
_MOST_LINES = 400  # of a script that is read for the scripts that it starts


def find_definition(commands: Iterable[str], read: Read) -> dict[str, str]:
    """Return the files that define the checks, sorted, each with the hash of what counts in it.

    In a package.json that is the script; tests are not among the files.
    """
    found: dict[str, list[str]] = {}
    for command in commands:
        _add(command, "", read, found, 0)
    return {path: _hash(found[path]) for path in sorted(found)}


def find_moved(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return the files whose part in the definition has changed, and new ones that go before.

    A script that did not exist is no change: the task may be to write it.
    """
    moved = [path for path, digest in before.items() if after.get(path) != digest]
    for names in (_MAKEFILES, *_RUNNERS.values()):
        known = {posixpath.dirname(path) for path in before if posixpath.basename(path) in names}
        moved += [
            path
            for path in after.keys() - before.keys()
            if posixpath.basename(path) in names and posixpath.dirname(path) in known
        ]
    return sorted(moved)


def _add(command: str, base: str, read: Read, found: dict[str, list[str]], depth: int) -> None:
    if depth > _DEEPEST:
        return
    for part in _SPLIT.split(command):
        words = _split(part)
        if words[:1] == ["cd"] and len(words) > 1:
            base = posixpath.join(base, words[1])
            continue
        for path, texts in _resolve(words, base, read):
            digest = _hash(texts)
            if digest in found.setdefault(path, []):
                continue
            found[path].append(digest)  # a package.json has several scripts
            for text in texts[:_MOST_LINES]:
                _add(text, base, read, found, depth + 1)


def _hash(texts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode("utf-8", "replace")).hexdigest()


def _split(part: str) -> list[str]:
    try:
        words = shlex.split(part, comments=True)
    except ValueError:
        words = part.split()
    while words and (_ASSIGNMENT.match(words[0]) or words[0] in _PREFIXES):
        words = words[1:]
        while words and (words[0].startswith("-") or words[0].rstrip("smh").isdigit()):
            words = words[1:]
    return words


def _resolve(words: list[str], base: str, read: Read) -> Iterator[tuple[str, list[str]]]:
    """Yield the files that a command starts, each with the commands that it runs in turn."""
    if not words:
        return
    name = posixpath.basename(words[0])
    if name in ("make", "gmake"):
        folder = _option(words, ("-C", "--directory")) or ""
        named = _option(words, ("-f", "--file", "--makefile"))
        for file in (named,) if named else _MAKEFILES:
            yield from _script(posixpath.join(folder, file), base, read)
    elif name in _RUNNERS:
        for file in _RUNNERS[name]:
            yield from _script(file, base, read)
    elif name in _PACKAGES:
        yield from _package(words, base, read)
    elif _INTERPRETERS.fullmatch(name):
        if "-c" not in words[1:2]:
            script = next((one for one in words[1:] if not one.startswith("-")), None)
            if script is not None and "-m" not in words[1:2]:
                yield from _script(script, base, read)
    elif "/" in words[0]:
        yield from _script(words[0], base, read)


def _script(path: str, base: str, read: Read) -> Iterator[tuple[str, list[str]]]:
    full = posixpath.normpath(posixpath.join(base, path))
    text = None if full.startswith(("..", "/")) else read(full)
    if text is not None and not is_test(full):
        yield full, text.splitlines()


def _package(words: list[str], base: str, read: Read) -> Iterator[tuple[str, list[str]]]:
    path = posixpath.normpath(posixpath.join(base, "package.json"))
    text = read(path)
    if text is None:
        return
    try:
        scripts = json.loads(text).get("scripts", {})
    except (ValueError, AttributeError, RecursionError):
        scripts = {}
    named = [one for one in words[1:] if not one.startswith("-") and one != "run"][:1]
    known = scripts if isinstance(scripts, dict) else {}
    texts = [
        known[one] for key in named for one in (f"pre{key}", key, f"post{key}") if one in known
    ]
    yield path, [one for one in texts if isinstance(one, str)]


def _option(words: list[str], names: tuple[str, ...]) -> str | None:
    for word, after in itertools.pairwise(words):
        if word in names:
            return after
    return None

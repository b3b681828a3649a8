"""What later commits of a repository changed: files, and the definitions that git names.

The definition of a change is the one in the header of git's hunk, found by git's own driver for
the language; kedge's extraction has no part in it.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from kedge.repomap import files
from kedge.repomap.languages import language_of

SHORTEST_MESSAGE = 20
MOST_FILES = 5
_RELEASE = re.compile(r"(?:release|bump|v?\d+\.\d+)", re.IGNORECASE)
_DRIVERS = {
    "bash": "sh bash",
    "cpp": "c cc cpp cxx h hh hpp hxx",
    "csharp": "cs",
    "elixir": "ex exs",
    "golang": "go",
    "java": "java",
    "kotlin": "kt kts",
    "objc": "mm",
    "perl": "pl pm",
    "php": "php",
    "python": "py pyi",
    "ruby": "rb",
    "rust": "rs",
}
_KEYWORD = re.compile(
    r"\b(?:def|class|func|fn|fun|function|struct|enum|trait|interface|record|type|object|impl|union"
    r"|module|const|let|var|protocol|extension|macro_rules!)[ \t]+(?:\([^)]*\)[ \t]*)?"
    r"(?:<[^>]*>[ \t]*)?(?:self\.|\w+\.(?=\w+\())?(?:.*\bfor[ \t]+)?&?(\w+)"
)
_CALLED = re.compile(r"(~?\w+)[ \t]*\(")
_TYPE = re.compile(r"const|enum|struct|union")
_NO_NAMES = frozenset(
    ("catch", "describe", "for", "if", "it", "return", "sizeof", "switch", "while")
)


@dataclass(frozen=True)
class Change:
    """A commit: its message, the source files that it changed, and the definitions in them."""

    message: str
    files: tuple[str, ...]
    definitions: frozenset[tuple[str, str]]  # file and name


def git(repository: Path, *args: str) -> str:
    done = subprocess.run(["git", "-C", str(repository), *args], capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace")


def find_changes(
    repository: Path, base: str, until: str, tree: Path, scratch: Path
) -> list[Change]:
    """Return the commits after the base that changed one to five source files.

    First-parent, no merge, all files modified and there at the base, at least one of them no test.
    """
    attributes = scratch / "attributes"
    lines = (f"*.{end} diff={name}\n" for name, ends in _DRIVERS.items() for end in ends.split())
    attributes.write_text("".join(lines), encoding="ascii")
    out = git(
        repository,
        *["-c", f"core.attributesFile={attributes}", "log", f"{base}..{until}", "--first-parent"],
        *["--no-merges", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "-U0"],
        *["--raw", "--patch", "--format=%x01%B%x02"],
    )
    found = (_parse(record, tree) for record in out.split("\x01")[1:])
    return [change for change in found if change is not None]


def _parse(record: str, tree: Path) -> Change | None:
    message, _, rest = record.partition("\x02")
    message = message.strip()
    raw = (line.split("\t") for line in rest.splitlines() if re.match(r":\d{6} ", line))
    source = [(head[-1], path) for head, *_, path in raw if _is_code(path)]
    changed = [path for _, path in source if not files.is_test(path)]
    fits = (
        1 <= len(source) <= MOST_FILES
        and changed
        and all(status == "M" and (tree / path).is_file() for status, path in source)
        and not any(files.is_excluded(path) for path in changed)
        and len(message) >= SHORTEST_MESSAGE
        and not _RELEASE.match(message)
    )
    if not fits:
        return None
    return Change(message, tuple(changed), frozenset(_find_definitions(rest, set(changed))))


def _find_definitions(diff: str, wanted: set[str]) -> set[tuple[str, str]]:
    found, path = set(), ""
    for line in diff.splitlines():
        if line.startswith("+++ b/"):
            path = line[6:].rstrip("\t")
        elif path in wanted and line.startswith("@@ "):
            name = find_name(line.partition(" @@")[2])
            if name:
                found.add((path, name))
    return found


def find_name(header: str) -> str | None:
    """Return the name of the definition that a hunk's header begins; None if it is not clear."""
    keyword = _KEYWORD.search(header)
    called = _CALLED.search(header.partition("=")[0])
    if called and called[1] in _NO_NAMES:
        called = None
    # `static struct ship *moor(struct line *l)` defines a function
    if keyword and called and (called.start() < keyword.start() or _TYPE.match(keyword[0])):
        keyword = None
    found = keyword or called
    return found[1] if found else None


def _is_code(path: str) -> bool:
    language = language_of(path)
    return language is not None and language.grammar is not None

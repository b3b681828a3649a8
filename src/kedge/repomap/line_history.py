"""How often definitions changed: git names the definition around each hunk of a diff.

Git finds that name by its rules for the language. Nothing of the repository is run: no filter, no
text conversion, and nothing is fetched for a partial clone.
"""

from __future__ import annotations

import re
from importlib.resources import files as resources

from kedge.host.git import Repo

COMMITS = 500
_AGE = 200  # a change counts half after this many commits
_LARGEST = "1m"  # a larger file is data
_MOST = 40  # hunks of a commit; a larger one is a reformatting or a move
_HEADER = re.compile(r"@@ [-+,0-9 ]{3,60} @@ (.{1,200})")
_KEYWORD = re.compile(
    r"\b(?:(?:def|class|func|fn|fun|function|struct|enum|trait|interface|record|type|object|impl"
    r"|union|module|const|let|var|protocol|extension)(?:<[^>]{0,80}>)?\s+)+"
    r"(?:\([^)]{0,80}\)\s*)?(?:<[^>]{0,80}>\s*)?(?:self\.)?(?:[\w<>:, ]{1,80}\sfor\s+)?(\w+)"
)
_CALLED = re.compile(r"(?<!\w)(?!pub\b)(~?\w+)\s?\(")
_OF_TYPES = ("const", "enum", "struct", "union")  # may begin the type of a function, too

Changes = dict[str, dict[str, float]]  # by path and name


def read_changes(repo: Repo) -> Changes:
    """Return how often each definition changed in the last commits; older changes count less."""
    attributes = resources("kedge.repomap") / "attributes"
    if repo.ask("config", "--get-regexp", r"^remote\..*\.promisor$"):
        return {}
    out = repo.git(
        *["-c", f"core.attributesFile={attributes}", "-c", f"core.bigFileThreshold={_LARGEST}"],
        *["log", f"--max-count={COMMITS}"],
        *["--no-merges", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color"],
        *["--diff-filter=M", "--patch", "--unified=0", "--format=%x01"],
    )
    found: Changes = {}
    for age, record in enumerate(out.split(b"\x01")[1:]):
        _add_commit(found, record.decode("utf-8", "replace"), _AGE / (_AGE + age))
    return found


def _add_commit(found: Changes, diff: str, weight: float) -> None:
    changed: dict[tuple[str, str], None] = {}
    path = ""
    for line in diff.split("\n"):
        if line.startswith("diff --git "):
            path = ""  # stays empty if git quotes it
        elif line.startswith("+++ b/"):
            path = line[6:].rstrip("\t")
        elif line.startswith("@@ "):
            header = _HEADER.match(line)
            if path and header and (name := find_name(header[1])):
                changed[path, name] = None
    if len(changed) <= _MOST:
        for path, name in changed:
            names = found.setdefault(path, {})
            names[name] = names.get(name, 0.0) + weight


def find_name(header: str) -> str | None:
    """Return the name of the definition that begins with this line; None if there is none."""
    found = _KEYWORD.search(header)
    called = _CALLED.search(header.partition("=")[0])
    if called and (not found or called.start() < found.start() or found[0].startswith(_OF_TYPES)):
        found = called
    return found[1] if found else None

"""Are the files that a map names as users of a file really users of it?

    python benchmarks/map/relations.py REPOSITORY… [--commits N] [--sample N]

Maps are made without a text and for the subjects of N commits. Of all relations that they show, a
sample is checked with a method of its own: the user has an import that ends like the path of the
file, or a name that no other file defines. `coverage` is the share of the files of code shown with
symbols that have any user, so that silence cannot win. False relations are listed.
"""

from __future__ import annotations

import argparse
import contextlib
import posixpath
import random
import re
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

from _corpus import clone, label

from kedge.host import project
from kedge.repomap import build
from kedge.repomap.cache import Cache

SEED = 17
DEFINES = (
    r"\b(?:class|interface|trait|struct|enum|union|record|object|module|protocol|actor|typealias"
    r"|def|fn|func|fun|function\*?|const|static|let|var|val|type|macro_rules!|#define|delegate"
    r"|defmodule|namespace|@interface)\s+(?:\([^)\n]{0,80}\)\s*)?(?:[\w.:]*[.:])?(\w{3,})"
)
GROUPED = r"^\t([A-Z]\w{3,}) "  # Go: `type (`, `const (`
C_FUNCTION = r"^(?!typedef|return|else|#)[A-Za-z_][\w\s*]*?[\s*](\w{3,})\([^;]*?\)\s*\{"
LINE_IMPORT = (
    r"^\s*(?:from|import|export|use|pub(?:\([\w:\s]*\))?\s+(?:use|mod)|mod|(?:global )?using"
    r"|#\s*include|#\s*import|require\w*|autoload|source|\.)\b[^\n]*"
    r"|(?:require|import)\s*\(?[\"'][^\"'\n]+|\bfrom\s+[\"'][^\"'\n]+|\b[a-z]\w*::[\w:]+"
)
SUFFIXES = r"(?:\.d)?\.\w+$"
WHOLE = ("__init__", "index", "mod", "lib", "main", "init")
C_LIKE = (".c", ".cc", ".cpp", ".cxx")
STATIC_CLASSES = (".cs", ".java")
SHORTEST = 3
HEADERS = (".h", ".hh", ".hpp", ".hxx")


class Tree:
    """The texts of a repository, and which files seem to define each name."""

    def __init__(self, root: Path) -> None:
        out = subprocess.run(
            ["git", "-C", str(root), "ls-files", "-z"], capture_output=True, check=True
        )
        self.root = root
        self.paths = [path for path in out.stdout.decode("utf-8", "replace").split("\0") if path]
        self.texts: dict[str, str] = {}
        self.definers: defaultdict[str, set[str]] = defaultdict(set)
        for path in self.paths:
            for name in self.names(path):
                self.definers[name].add(path)

    def text(self, path: str) -> str:
        if path not in self.texts:
            file = self.root / path
            small = file.is_file() and not file.is_symlink() and file.stat().st_size < 1_000_000
            text = file.read_text("utf-8", "replace") if small else ""
            self.texts[path] = re.sub(r"(?m)^\s*(?://|\*|#(?!\s*(?:in|im|de)|\[)|--).*$", "", text)
        return self.texts[path]

    def names(self, path: str) -> set[str]:
        if not re.search(r"\.(?!md|json|ya?ml|txt|rst|html|css|snap|svg|lock|toml|po)\w+$", path):
            return set()
        text = self.text(path)
        if path.endswith(STATIC_CLASSES):  # there `static` stands before a type, not before a name
            text = re.sub(r"\bstatic\s+", "", text)
        found = set(re.findall(DEFINES, text))
        if path.endswith(".go"):
            found |= set(re.findall(GROUPED, text, re.MULTILINE))
        if path.endswith(C_LIKE):
            found |= set(re.findall(C_FUNCTION, text, re.MULTILINE))
        return found

    def check(self, used: str, user: str) -> str:
        """Why the user uses the file, or nothing."""
        return self._check_import(used, user) or self._check_name(used, user)

    def _check_import(self, used: str, user: str) -> str:
        parts = re.sub(SUFFIXES, "", used).split("/")
        if parts[-1] in WHOLE and len(parts) > 1 and not used.endswith(HEADERS):
            parts.pop()
            if parts[-1] == "src" and used.endswith(".rs") and len(parts) > 1:
                parts.pop()
        for line in self._imports(user):
            for spec in re.findall(r"[\w./@~$\\:{}, -]+", line):
                if self._ends_alike(spec, parts, user):
                    return f"import: {line.strip()[:80]}"
        return ""

    def _imports(self, user: str) -> list[str]:
        text = self.text(user)
        found = [one[0] for one in re.finditer(LINE_IMPORT, text, re.MULTILINE)]
        return found + [
            " ".join(one[0].split())
            for one in re.finditer(r"(?m)^\s*(?:pub )?(?:use|from|import)\b[^;()]*[({][^;)]*", text)
        ]

    def _ends_alike(self, spec: str, parts: list[str], user: str) -> bool:
        """True if a spelled path ends at the file: its last parts, the nearer ones relative."""
        stem, folder = parts[-1], posixpath.dirname(user)
        if spec.startswith(("./", "../")) or spec in (".", ".."):
            path = posixpath.normpath(posixpath.join(folder, spec))
            bare = re.sub(r"\.(?:\w+)$", "", path)
            return "/".join(parts) in (path, bare, re.sub(r"/index$", "", bare))
        words = re.findall(r"[\w-]+", spec)
        names = [word.replace("-", "_") for word in words]
        if stem.replace("-", "_") not in names:
            return False
        before = parts[-2].replace("-", "_") if len(parts) > 1 else ""
        same = "/".join(parts[:-1]) in (folder, re.sub(SUFFIXES, "", user))
        return same or before in names or before in ("src", "lib", "include", "")

    def _check_name(self, used: str, user: str) -> str:
        text = self.text(user)
        family = re.sub(r".*\.", "", used)
        for name in sorted(self.names(used)):
            others = {
                path for path in self.definers[name] - {used} if re.sub(r".*\.", "", path) == family
            }
            folder = posixpath.dirname(used)
            same = any(posixpath.dirname(path) == folder or path == user for path in others)
            sole = not others or (not same and folder == posixpath.dirname(user))
            if len(name) > SHORTEST and re.search(rf"\b{name}\b", text):
                imported = any(re.search(rf"\b{name}\b", line) for line in self._imports(user))
                if sole or (imported and not same):
                    return f"name: {name}"
        return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("repository", type=Path, nargs="+")
    parser.add_argument("--commits", type=int, default=8)
    parser.add_argument("--sample", type=int, default=200)
    given = parser.parse_args()
    shown: list[tuple[str, str, str]] = []
    with tempfile.TemporaryDirectory(prefix="kedge-bench-") as scratch:
        trees = {}
        for place, repository in enumerate(given.repository):
            name = label(repository)
            folder = Path(scratch) / str(place)
            folder.mkdir()
            root = clone(repository, folder)
            relations, covered, files = relate(root, given.commits)
            trees[name] = Tree(root)
            shown += [(name, used, user) for used, user in relations]
            share = covered / (files or 1)
            print(f"{name}: {len(relations)} relations, coverage {share:.2f} of {files} files")
        drawn = random.Random(SEED).sample(shown, min(given.sample, len(shown)))
        wrong = [one for one in drawn if not trees[one[0]].check(one[1], one[2])]
    for name, used, user in sorted(wrong):
        print(f"false: {name}: {used} ← {user}")
    print(f"true: {1 - len(wrong) / (len(drawn) or 1):.3f} of {len(drawn)} of {len(shown)}")
    return 0


def relate(root: Path, commits: int) -> tuple[list[tuple[str, str]], int, int]:
    """The relations that some maps show, and how many of their files with symbols have users."""
    out = subprocess.run(
        ["git", "-C", str(root), "log", "--no-merges", f"-n{commits * 5}", "--format=%s"],
        capture_output=True,
        check=True,
    )
    subjects = out.stdout.decode("utf-8", "replace").splitlines()[::5]
    here = project.find(root)
    users: dict[str, list[str]] = {}
    with contextlib.closing(Cache(here.home())) as cache:
        for text in ("", *subjects):
            data = build.make_map(here, build.MapRequest(text), cache).data
            outlined = {symbol["path"] for symbol in data["symbols"]}
            users |= {
                file["path"]: file["used_by"] for file in data["files"] if file["path"] in outlined
            }
    relations = sorted((used, user) for used, found in users.items() for user in found)
    return relations, sum(map(bool, users.values())), len(users)


if __name__ == "__main__":
    raise SystemExit(main())

"""What a limit speaks of, and which paths that is: "tests", "src/auth", "css files".

`covers` answers with a weight: 1 where the words name the path, less where they only suggest it,
0 where they say nothing about it.
"""

from __future__ import annotations

from functools import lru_cache

from kedge.drift.limits.roles import (
    ABSTRACT,
    ALIASES,
    BARE_FILES,
    CONTAINERS,
    FOLDER_WORDS,
    MODULE_WORDS,
    MODULES,
    NO_FILES,
    RESTRICTING,
    ROLES,
    TEST_FOLDERS,
    TYPES,
    TYPES_ENDS,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SURE = 1.0
WEAK = 0.4

_SIGNS = "*?[{"
_TEMPLATES = (".example", ".sample", ".template", ".dist")


def role(word: str) -> str | None:
    """The role that a word names, "tests" among them."""
    low = word.lower()
    low = ALIASES.get(low, low)
    return low if low in ROLES or low == "tests" else None


@lru_cache(maxsize=2048)
def is_path(text: str) -> bool:
    """Whether a word is a path, a file's name or a pattern of them."""
    low = text.lower().rstrip(":")
    if low in BARE_FILES:
        return True
    if (
        not low
        or " " in low
        or "://" in low
        or low in NO_FILES
        or low in ("and/or", "w/o", "n/a", "i/o", "/")
    ):
        return False
    if low[0] == "-" or "(" in low or "=" in low or "@" in low[1:] or "<" in low:
        return False
    if "/" in low:
        return any(sign.isalpha() for sign in low) and not low.startswith("//")
    if low.startswith("*.") or (low[0] == "." and low[1:2].isalpha() and len(low) > 2):
        return True
    stem, dot, end = low.rpartition(".")
    if not dot or not stem or not end or len(end) > 10:
        return False
    return end[0].isalpha() and end.isalnum() and not stem.replace(".", "").isdigit()


def is_file(path: str) -> bool:
    """Whether a path names a file by its ending, rather than a folder."""
    return "." in path.rstrip("/").rpartition("/")[2].lstrip(".")


def stands_for_paths(subject: str) -> bool:
    """Whether a subject can be resolved for sure: a path, a role or a type of file."""
    if is_path(subject) or subject.endswith("/"):
        return True
    words = subject.split() or [""]
    return role(words[-1]) is not None or (len(words) > 1 and words[-1] in ("files", "code"))


def name_files(words: Sequence[str], paths: Sequence[str]) -> str:
    """Return the path, role or type of files that a noun phrase names; empty for anything else.

    `paths` are the words that are paths. A noun phrase with two paths, or with an unknown noun
    after a path, names none.
    """
    lows = [word.lower().removesuffix("'s") for word in words]
    if len(paths) > 1 or not words or lows[0] in RESTRICTING:
        return ""
    last = lows[-1]
    if paths:
        text = paths[0]
        rest = [low for low in lows if low.rstrip(":") != text.lower()]
        if FOLDER_WORDS & set(rest) and "." not in text.rpartition("/")[2] and text[0] != "/":
            text = f"{text.strip('/')}/"
        return text if last not in rest or all(w in CONTAINERS or role(w) for w in rest) else ""
    if last in FOLDER_WORDS:
        return f"{words[-2].strip('/')}/" if len(words) == 2 else ""
    if last in ("files", "file", "code", "sources", "suite", "definitions") and len(lows) > 1:
        kind = lows[-2]
        known = kind in TYPES or kind.startswith(".")
        return " ".join(lows[:-1]) if role(kind) else f"{kind} files" if known else ""
    if last in ABSTRACT or len(lows) > 3:
        return ""
    if role(last) or (last in MODULE_WORDS and len(lows) > 1 and lows[-2] not in ABSTRACT):
        return " ".join(lows)
    alone = len(lows) == 1 and last in TYPES and last not in ("go", "c", "text", "shell", "image")
    return f"{last} files" if alone else ""


def is_test(path: str) -> bool:
    """Whether the path alone says that the file is a test, in any language."""
    *folders, name = path.split("/")
    for folder in folders:
        if folder.lower() in TEST_FOLDERS:
            return True
    low = name.lower()
    stem, _, end = low.partition(".")
    if stem.startswith(("test_", "test-")) or stem in ("conftest", "test", "tests", "spec"):
        return True
    if stem.endswith(("_test", "_tests", "_spec", "-test", "-spec")):
        return True
    if end.startswith(("test.", "spec.", "tests.", "cy.", "e2e.")):
        return True
    return name.partition(".")[0].endswith(("Test", "Tests", "Spec", "Specs", "IT")) and end in (
        "java", "kt", "scala", "cs", "php", "swift", "groovy", "hs", "js", "ts", "vb", "m", "fs",
    )  # fmt: skip


def covers(subject: str, path: str, tests: Callable[[str], bool] = is_test) -> float:
    """How surely the subject names the path, which may be a pattern itself."""
    if not path:
        return 0.0
    what, sign, place = subject.partition(" in ")
    if sign:
        there = covers(place, path, tests)
        if there and not stands_for_paths(what):  # "the plugin loader in internal/plugins"
            mine = _path_words(path)
            near = any(_singular(word) in mine for word in what.lower().split())
            return there if near else WEAK
        return min(covers(what, path, tests), there)
    if is_path(subject):
        return SURE if _at(subject.lower(), path.lower()) else 0.0
    words = subject.lower().split()
    if not words:
        return 0.0
    last = words[-1]
    if words in (["implementation"], ["production"], ["production", "code"]):
        return 0.0 if tests(path) or _in_role("docs", path, tests) else SURE
    if len(words) > 1 and last in ("files", "file", "code", "sources"):
        words = words[:-1]
        last = words[-1]
    found = role(last)
    if len(words) == 1 and last in TYPES and found is None:
        return SURE if path.lower().endswith(tuple(TYPES[last].split())) else 0.0
    if found:
        weight = _in_role(found, path, tests)
        known = ROLES[found].ignored.split() if found in ROLES else _KINDS_OF_TESTS
        more = [word for word in words[:-1] if word not in known and role(word) is None]
        other = next((word for word in words[:-1] if role(word) not in (None, found)), None)
        if other:  # "the CI config" is the CI's
            return _in_role(role(other) or "", path, tests)
        if found == "config" and more:  # "the eslint config" is any file of that name
            named = all(word in path.lower() for word in more)
            return SURE if named and (weight or not path.lower().endswith(_CODE)) else 0.0
        if more and weight:
            mine = _path_words(path)
            return weight if all(_singular(word) in mine for word in more) else 0.0
        return weight
    return _named(words, path)


_KINDS_OF_TESTS = (
    "unit",
    "failing",
    "test",
    "existing",
    "suite",
    "jest",
    "pytest",
    "old",
    "broken",
)
_CODE = (".py", ".go", ".rs", ".java", ".rb", ".tsx", ".c", ".cpp")


def is_within(subject: str, pattern: str) -> bool:
    """True if all files of a pattern lie in the subject, a file or a folder."""
    fixed = pattern[: min(at for at in map(pattern.find, _SIGNS) if at >= 0)]
    folder = fixed.rpartition("/")[0]
    return bool(folder) and not any(sign in subject for sign in _SIGNS) and _at(subject, folder)


def _at(subject: str, path: str) -> bool:
    """Whether a path, folder or pattern that was written is this path or holds it."""
    subject = subject.removeprefix("./").removesuffix("/**").removesuffix("/*")
    head, sign, line = subject.rpartition(":")
    if sign and line.isdigit():
        subject = head
    path = path.removeprefix("./")
    if any(sign in subject for sign in _SIGNS):
        return _matches(subject, path)
    if any(sign in path for sign in _SIGNS) and _matches(path, subject):
        return True
    if subject.startswith((".", "*")) and "/" not in subject and path.endswith(subject):
        name = path.rpartition("/")[2]
        return subject in TYPES_ENDS or name == subject
    bare = subject.strip("/")
    whole = f"/{path}/"
    if bare[0] == "." and "/" not in bare and f"/{bare}." in whole:
        return not path.endswith(_TEMPLATES)  # `.env` is `.env.local`, too
    if subject.startswith("/"):  # from the project's root, or as the machine has it
        return whole.startswith(f"/{bare}/") or subject.endswith(f"/{path}")
    if subject.endswith("/") or "/" in bare:
        return f"/{bare}/" in whole
    name = path.rpartition("/")[2]
    return name == bare or (f"/{bare}/" in whole)


def _matches(pattern: str, path: str) -> bool:
    if pattern.startswith("*.") and not any(sign in pattern[2:] for sign in _SIGNS):
        return path.endswith(pattern[1:])
    from fnmatch import fnmatchcase

    if pattern.startswith("/"):
        return fnmatchcase(path, pattern[1:])
    if "/" not in pattern:
        path = path.rpartition("/")[2]
    return fnmatchcase(path, pattern) or fnmatchcase(path, f"*/{pattern}")


def _in_role(name: str, path: str, tests: Callable[[str], bool]) -> float:
    if name == "tests":
        return SURE if tests(path) else 0.0
    known = ROLES[name]
    low = path.lower()
    file = low.rpartition("/")[2]
    around = f"/{low.rpartition('/')[0]}/"
    if (
        file in known.names.split()
        or (known.ends and file.endswith(tuple(known.ends.split())))
        or (known.starts and file.startswith(tuple(known.starts.split())))
        or any(f"/{folder}/" in around or low == folder for folder in known.folders.split())
    ):
        return SURE
    if file in known.weak_names.split() or any(
        f"/{folder}/" in around for folder in known.weak_folders.split()
    ):
        return WEAK
    return 0.0


def _named(words: list[str], path: str) -> float:
    """For "the billing module" is a folder or file of that name; one that begins so, perhaps."""
    kinds = []
    while len(words) > 1 and words[-1] in MODULES:
        kinds.append(_singular(words[-1]))
        words = words[:-1]
    if any(word in ABSTRACT for word in words) and not _path_words(path).issuperset(kinds or "?"):
        return 0.0  # "the user model" is a user among models
    joined = _plain("".join(words))
    if len(joined) < 3:
        return 0.0
    weight = 0.0
    for part in path.split("/"):
        stem = _plain(part.partition(".")[0] or part)
        if stem == joined or stem.rstrip("s") == joined.rstrip("s"):
            return SURE
        if len(joined) > 3 and stem.startswith(joined):
            weight = WEAK
    return weight


def _plain(text: str) -> str:
    return text.lower().replace("_", "").replace("-", "").replace(" ", "").replace(".", "")


@lru_cache(maxsize=256)
def _path_words(path: str) -> frozenset[str]:
    spaced = "".join(
        f" {sign}" if sign.isupper() else sign if sign.isalnum() else " " for sign in path
    )
    whole = "".join(sign if sign.isalnum() else " " for sign in path)
    return frozenset(_singular(word) for word in f"{spaced} {whole}".lower().split())


def _singular(word: str) -> str:
    return word.removesuffix("s") if len(word) > 3 else word

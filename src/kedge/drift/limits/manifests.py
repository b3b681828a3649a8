"""Dependencies that a change to a manifest adds, read from the text of the change."""

from __future__ import annotations

from kedge.drift.limits.roles import word_set

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NO_PACKAGES = word_set(
    """name version description main module type license author private scripts test build start dev
    lint format python requires-python readme edition rust-version homepage repository node npm
    engines target strict packagemanager types exports bin files keywords title url"""
)


def find_added_packages(change: Any) -> list[str]:
    """Return the packages that the change adds, in order."""
    name = change.path.rpartition("/")[2].lower()
    read = next((one for end, one in _READERS if name == end or name.endswith(end)), None)
    if read is None or getattr(change, "whole", False):
        return []
    before = set(_names(change.removed, read))
    return [one for one in _names(change.added, read) if one not in before]


def _names(text: str, read: Any) -> list[str]:
    found = (read(line.strip()) for line in text[:50_000].split("\n"))
    return list(dict.fromkeys(one for one in found if one and one.lower() not in _NO_PACKAGES))


def _json(line: str) -> str:
    key, colon, value = line.partition(":")
    value = value.strip().rstrip(",").strip('"')
    version = value[:1] in "^~><=*" or value[:1].isdigit() or value.startswith(
        ("workspace:", "npm:", "file:", "git", "http", "latest", "next"))  # fmt: skip
    return key.strip().strip('"') if colon and value and version else ""


def _requirement(line: str) -> str:
    line = line.strip("\"', ")
    end = next((at for at, sign in enumerate(line) if not (sign.isalnum() or sign in "-_.")), None)
    name = line[:end]
    rest = line[len(name) :].lstrip()
    if not name or not name[0].isalpha() or (rest and rest[0] not in "=<>~![;#@"):
        return ""
    return "" if rest.startswith("= ") or (rest[:1] == "=" and rest[1:2] != "=") else name


def _toml(line: str) -> str:
    if line.startswith(('"', "'")):
        return _requirement(line)
    key, sign, value = line.partition("=")
    value = value.strip()
    version = value[:1] in ('"', "'") and (value[1:2].isdigit() or value[1:2] in "^~><=*")
    return key.strip() if sign and (version or value.startswith("{")) else ""


def _read_quoted_after(word: str) -> Any:
    def read(line: str) -> str:
        if not line.startswith(word):
            return ""
        rest = line[len(word) :].lstrip(" (")
        return rest[1:].partition(rest[0])[0] if rest[:1] in ("'", '"') else ""

    return read


def _go(line: str) -> str:
    words = line.removeprefix("require ").split()
    return words[0] if len(words) >= 2 and words[1][:1] == "v" and "." in words[0] else ""


def _maven(line: str) -> str:
    """Return the artifact of a line of XML; groups and versions are no packages."""
    return line.partition("<artifactId>")[2].partition("</artifactId>")[0].strip()


def _gradle(line: str) -> str:
    """Return the dependency of a line such as `implementation("group:name:1.0")`."""
    word = line.partition("(")[0].partition(" ")[0].lower()
    if not word.endswith(("implementation", "api", "compileonly", "runtimeonly", "kapt", "ksp")):
        return ""
    quote = '"' if '"' in line else "'"
    return line.partition(quote)[2].partition(quote)[0].rpartition(":")[0]


_READERS = (
    ("pom.xml", _maven),
    ("build.gradle", _gradle),
    ("build.gradle.kts", _gradle),
    ("package.json", _json),
    ("composer.json", _json),
    ("requirements.txt", _requirement),
    ("requirements-dev.txt", _requirement),
    ("requirements.in", _requirement),
    ("pyproject.toml", _toml),
    ("pipfile", _toml),
    ("cargo.toml", _toml),
    ("gemfile", _read_quoted_after("gem ")),
    ("podfile", _read_quoted_after("pod ")),
    ("go.mod", _go),
)

"""One line about a directory, from its own documentation."""

from __future__ import annotations

import re

from kedge.repomap.project.formats import as_table, as_text
from kedge.repomap.project.parts import base, join
from kedge.repomap.project.project_files import ProjectFiles
from kedge.repomap.project.prose import first_sentence, paragraph, readme_sentence

_READMES = ("README.md", "README.rst", "README", "README.txt", "readme.md", "Readme.md",
            "README.adoc")  # fmt: skip
MOST_GO = 4  # files of a package that are searched for its comment, at most


def describe_directory(project: ProjectFiles, directory: str) -> str | None:
    """Describe a directory by its package's documentation, its manifest or its README."""
    for find in (_python, _go, _rust, _java, _manifest, _readme):
        if found := find(project, directory):
            return found
    return None


def _python(project: ProjectFiles, directory: str) -> str | None:
    path = join(directory, "__init__.py")
    if not project.has(path):
        inner = join(directory, f"src/{base(directory).replace('-', '_')}/__init__.py")
        path = inner if project.has(inner) else ""
    return first_sentence(find_docstring(project.top(path)) or "") if path else None


_DOCSTRING = re.compile(
    r"""(?:\s|\#[^\n]*)*+[rRuU]{0,2}(?:(\"{3}|'{3})(.*?)\1|(["'])([^\n]*?)\3)""", re.DOTALL
)


def find_docstring(code: str) -> str | None:
    """The first paragraph of a Python module's docstring."""
    found = _DOCSTRING.match(code)
    body = (found[2] or found[4] or "") if found else ""
    return body.strip().partition("\n\n")[0] or None


def _go(project: ProjectFiles, directory: str) -> str | None:
    names = [base(path) for path in project.inside(directory) if path.endswith(".go")]
    names = [name for name in names if not name.endswith("_test.go")]
    own = f"{base(directory)}.go"
    names.sort(key=lambda name: (name != "doc.go", name != own, name))
    for name in names[:MOST_GO]:
        head, found, _ = f"\n{project.top(join(directory, name))}".partition("\npackage ")
        lines: list[str] = []
        for line in reversed(head.split("\n")) if found else ():
            if not line.startswith("//"):
                break
            lines.append(line[2:].strip())
        comment = "\n".join(reversed(lines)).partition("\n\n")[0]
        if comment.startswith(("Package ", "Command ")):
            # skip the name and the verb
            words = first_sentence(f"Package {comment[8:]}") or ""
            if words.startswith("Package "):
                words = words.partition(" ")[2].partition(" ")[2]
            return words[:1].upper() + words[1:] or None
    return None


def _rust(project: ProjectFiles, directory: str) -> str | None:
    for name in ("src/lib.rs", "lib.rs", "mod.rs", "src/main.rs", "main.rs"):
        if not project.has(path := join(directory, name)):
            continue
        lines: list[str] = []
        for line in project.top(path).split("\n", 80)[:80]:
            stripped = line.strip()
            if stripped.startswith("//!"):
                lines.append(stripped[3:].strip())
            elif lines and stripped:
                break
        if found := paragraph("\n".join(lines)):
            return first_sentence(found, base(directory))
    return None


def _java(project: ProjectFiles, directory: str) -> str | None:
    path = join(directory, "package-info.java")
    head = project.top(path) if project.has(path) else ""
    _, start, rest = head.partition("/**")
    if not start or "Licensed under" in rest.partition("*/")[0]:
        _, start, rest = rest.partition("/**")
    body = rest.partition("*/")[0]
    lines = [line.strip().lstrip("*").strip() for line in body.split("\n")]
    return first_sentence(" ".join(lines).partition("<p>")[0]) if start else None


_GEM_SUMMARY = re.compile(r"\.(?:summary|description)\s{0,8}=\s{0,8}['\"]([^'\"\n]{1,300})")
_GRADLE_SUMMARY = re.compile(r"^description\s{0,4}=\s{0,4}['\"]([^'\"\n]{1,300})", re.MULTILINE)


def _manifest(project: ProjectFiles, directory: str) -> str | None:
    """The description in a package's manifest."""
    pyproject = project.toml(join(directory, "pyproject.toml"))
    tables = [
        project.json(join(directory, "package.json")),
        as_table(project.toml(join(directory, "Cargo.toml")), "package"),
        as_table(pyproject, "project"),
        as_table(pyproject, "tool", "poetry"),
        project.json(join(directory, "composer.json")),
        as_table(project.yaml(join(directory, "pubspec.yaml"))),
    ]
    found = [table.get("description") for table in tables]
    for path in project.inside(directory):
        if path.endswith(".gemspec"):
            found += _GEM_SUMMARY.findall(project.head(path))[:2]
        elif base(path) in ("build.gradle", "build.gradle.kts"):
            found += _GRADLE_SUMMARY.findall(project.head(path))[:1]
    for value in found:
        words = as_text(value, 600) or ""
        is_own = words and not words.startswith("A new Flutter ")
        if is_own and (sentence := first_sentence(words, base(directory))):
            return sentence
    return None


def _readme(project: ProjectFiles, directory: str) -> str | None:
    path = project.first(directory, *_READMES)
    return readme_sentence(project.top(path), base(directory)) if path else None

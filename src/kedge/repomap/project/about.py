"""One line about a directory, from its own documentation."""

from __future__ import annotations

import re

from kedge.repomap.project.formats import as_table, as_text
from kedge.repomap.project.parts import base, join
from kedge.repomap.project.project_files import ProjectFiles
from kedge.repomap.project.prose import first_sentence, paragraph, readme_sentence

_READMES = (
    "README.md",
    "README.rst",
    "README",
    "README.txt",
    "readme.md",
    "Readme.md",
    "README.adoc",
)
MOST_GO = 4  # files of a package that are searched for its comment, at most


def describe_directory(project: ProjectFiles, directory: str) -> str | None:
    """Describe a directory by its package's documentation, its manifest or its README."""
    for find in (_python, _go, _rust, _java, _manifest, _script, _readme):
        if found := find(project, directory):
            return found
    return None


def _python(project: ProjectFiles, directory: str) -> str | None:
    path = join(directory, "__init__.py")
    if not project.has(path):
        inner = join(directory, f"src/{base(directory).replace('-', '_')}/__init__.py")
        path = inner if project.has(inner) else ""
    return first_sentence(find_docstring(project.top(path)) or "") if path else None


def find_docstring(code: str) -> str | None:
    """The first paragraph of a Python module's docstring."""
    start = 0
    # skip comments and blank lines
    while start < len(code) and (code[start] in "#\n" or code[start].isspace()):
        end = code.find("\n", start) if code[start] == "#" else start
        start = len(code) if end < 0 else end + 1
    code = code[start : start + 5000].lstrip("rRuU")
    quote = next((quote for quote in ('"""', "'''", '"', "'") if code.startswith(quote)), None)
    if quote is None:
        return None
    body, close, _ = code[len(quote) :].partition(quote)
    if not close or (len(quote) == 1 and "\n" in body):
        return None
    return body.strip().partition("\n\n")[0]


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


_MODULE_TAGS = ("@module", "@packageDocumentation", "@file", "@fileoverview", "@overview")


def _script(project: ProjectFiles, directory: str) -> str | None:
    """The module comment (`@module`, `@file` …) of a JavaScript or TypeScript package."""
    path = project.first(directory, "mod.ts", "index.ts", "src/index.ts", "index.js", "src/mod.ts")
    head = project.head(path) if path else ""
    for piece in head.split("/**")[1:4]:
        comment = piece.partition("*/")[0]
        if any(tag in comment for tag in _MODULE_TAGS):
            lines = [line.strip().lstrip("*").strip() for line in comment.split("\n")]
            kept = [re.sub(r"^@(?:file|fileoverview|overview)\s", "", line) for line in lines]
            words = "\n".join(line for line in kept if not line.startswith("@"))
            return first_sentence(words.strip().partition("\n\n")[0])
    return None


def _manifest(project: ProjectFiles, directory: str) -> str | None:
    """The description in a package's manifest."""
    found: list[object] = []
    if project.has(path := join(directory, "package.json")):
        found.append(project.json(path).get("description"))
    if project.has(path := join(directory, "Cargo.toml")):
        found.append(as_table(project.toml(path), "package").get("description"))
    if project.has(path := join(directory, "pyproject.toml")):
        pyproject = project.toml(path)
        found.append(as_table(pyproject, "project").get("description"))
        found.append(as_table(pyproject, "tool", "poetry").get("description"))
    if project.has(path := join(directory, "composer.json")):
        found.append(project.json(path).get("description"))
    if project.has(path := join(directory, "pubspec.yaml")):
        found.append(as_table(project.yaml(path)).get("description"))
    for path in project.inside(directory):
        if path.endswith(".gemspec"):
            found += re.findall(
                r"\.(?:summary|description)\s{0,8}=\s{0,8}['\"]([^'\"\n]{1,300})",
                project.head(path),
            )[:2]
    for name in ("build.gradle", "build.gradle.kts"):
        if project.has(path := join(directory, name)):
            pattern = r"^description\s{0,4}=\s{0,4}['\"]([^'\"\n]{1,300})"
            found += re.findall(pattern, project.head(path), re.MULTILINE)[:1]
    for value in found:
        words = as_text(value, 600)
        is_own = words and not words.startswith("A new Flutter ")
        if words and is_own and (sentence := first_sentence(words, base(directory))):
            return sentence
    return None


def _readme(project: ProjectFiles, directory: str) -> str | None:
    path = project.first(directory, *_READMES)
    return readme_sentence(project.top(path), base(directory)) if path else None

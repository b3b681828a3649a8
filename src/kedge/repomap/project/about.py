"""One line about a directory, in the words of those who wrote it."""

from __future__ import annotations

import re

from kedge.repomap.project.formats import table, text
from kedge.repomap.project.parts import base, join
from kedge.repomap.project.source import Project

MAX_ABOUT = 120
_READMES = ("README.md", "README.rst", "README", "README.txt", "readme.md", "Readme.md", "README.adoc")


def about(project: Project, directory: str) -> str | None:
    """What the directory is for: its package's own words, else its manifest's, else its README's."""
    for find in (_python, _go, _rust, _java, _manifest, _readme):
        if found := find(project, directory):
            return found
    return None


def first_sentence(words: str) -> str | None:
    """The first sentence, without markup, on one line; cut at a word where it is long."""
    plain = re.sub(r"!\[[^\]]{0,300}\]\([^)]{0,600}\)", " ", words[:4000])
    plain = re.sub(r"\[([^\]]{1,300})\](?:\([^)]{0,600}\)|\[[^\]]{0,100}\])", r"\1", plain)
    plain = re.sub(r"<[^<>]{1,300}>", " ", plain)
    plain = re.sub(r"`([^`]{1,200}) <[^>]{1,300}>`_{1,2}", r"\1", plain)
    plain = re.sub(r":\w{1,20}:`~?([^`]{1,100})`", r"\1", plain)
    plain = re.sub(r"\{@\w{1,20} ([^}]{1,200})\}", r"\1", plain)
    plain = " ".join(re.sub(r"[*_]{2,}|``", "", plain).split())
    found = re.match(r"(.{8,}?[.!?])(?:\s+[A-Z`\"'(]|$)", plain)
    sentence = (found.group(1) if found else plain).strip().rstrip(".:")
    sentence = re.sub(r"^[*_#>\s-]+", "", sentence)
    if len(sentence) > MAX_ABOUT:
        sentence = sentence[: MAX_ABOUT - 1].rpartition(" ")[0].rstrip(",;:") + "…"
    letters = sum(letter.isalpha() for letter in sentence)
    return sentence if sentence.isprintable() and letters >= 6 else None


def _python(project: Project, directory: str) -> str | None:
    path = join(directory, "__init__.py")
    if not project.has(path):
        inner = join(directory, f"src/{base(directory).replace('-', '_')}/__init__.py")
        path = inner if project.has(inner) else ""
    return first_sentence(docstring(project.head(path)) or "") if path else None


_DOCSTRING = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n){0,200}[rRuU]{0,2}(\"\"\"|'''|\"|')")


def docstring(code: str) -> str | None:
    """The docstring that a Python module begins with: its first paragraph."""
    found = _DOCSTRING.match(code)
    if not found:
        return None
    body, close, _ = code[found.end() :].partition(found.group(1))
    if not close or (len(found.group(1)) == 1 and "\n" in body):
        return None
    return body.strip().partition("\n\n")[0]


def _go(project: Project, directory: str) -> str | None:
    files = [path for path in project.inside(directory) if path.endswith(".go")]
    files = [path for path in files if not path.endswith("_test.go")]
    if not files:
        return None
    own = base(directory)
    files.sort(key=lambda path: (base(path) != "doc.go", base(path) != f"{own}.go", path))
    for path in files[:4]:
        lines: list[str] = []
        for line in project.head(path).split("\n")[:120]:
            if line.startswith("//"):
                lines.append(line[2:].strip())
            elif line.startswith("package "):
                break
            else:
                lines = []
        comment = "\n".join(lines).partition("\n\n")[0]
        found = re.match(r"(?:Package|Command) ([\w-]+) (.*)", comment, re.DOTALL)
        if found:
            words = re.sub(r"^(?:is|provides|implements|contains)\s+(?:an?\s|the\s)?", _kept, found.group(2))
            return first_sentence(words[:1].upper() + words[1:])
    return None


def _kept(found: re.Match[str]) -> str:
    verb = found.group().split()[0]
    return "" if verb == "is" else found.group()


def _rust(project: Project, directory: str) -> str | None:
    for name in ("src/lib.rs", "lib.rs", "mod.rs", "src/main.rs", "main.rs"):
        if not project.has(path := join(directory, name)):
            continue
        lines: list[str] = []
        for line in project.head(path).split("\n")[:80]:
            stripped = line.strip()
            if stripped.startswith("//!"):
                lines.append(stripped[3:].strip())
            elif lines and stripped:
                break
        if found := paragraph("\n".join(lines)):
            return first_sentence(found)
    return None


def _java(project: Project, directory: str) -> str | None:
    path = join(directory, "package-info.java")
    head = project.head(path) if project.has(path) else ""
    _, start, rest = head.partition("/**")
    if not start or "Licensed under" in rest.partition("*/")[0]:
        _, start, rest = rest.partition("/**")
    body = rest.partition("*/")[0]
    lines = [line.strip().lstrip("*").strip() for line in body.split("\n")]
    return first_sentence(" ".join(lines).partition("<p>")[0]) if start else None


def _manifest(project: Project, directory: str) -> str | None:
    """The description that a package is published with."""
    found: list[object] = []
    if project.has(path := join(directory, "package.json")):
        found.append(project.json(path).get("description"))
    if project.has(path := join(directory, "Cargo.toml")):
        found.append(table(project.toml(path), "package").get("description"))
    if project.has(path := join(directory, "pyproject.toml")):
        pyproject = project.toml(path)
        found.append(table(pyproject, "project").get("description"))
        found.append(table(pyproject, "tool", "poetry").get("description"))
    if project.has(path := join(directory, "composer.json")):
        found.append(project.json(path).get("description"))
    for path in project.inside(directory):
        if path.endswith(".gemspec"):
            summary = re.search(r"\.summary\s{0,8}=\s{0,8}['\"]([^'\"\n]{1,300})", project.head(path))
            found.append(summary.group(1) if summary else None)
    for value in found:
        words = text(value, 600)
        if words and (sentence := first_sentence(words)):
            return sentence
    for name in ("build.gradle", "build.gradle.kts"):
        if project.has(path := join(directory, name)):
            said = re.search(r"^description\s{0,4}=\s{0,4}['\"]([^'\"\n]{1,300})", project.head(path), re.MULTILINE)
            if said and (sentence := first_sentence(said.group(1))):
                return sentence
    return None


def _readme(project: Project, directory: str) -> str | None:
    path = project.first(directory, *_READMES)
    return readme_sentence(project.head(path)) if path else None


def readme_sentence(readme: str) -> str | None:
    """The first sentence of prose in a README, whatever decorates its beginning."""
    plain = readme
    if plain.startswith("---\n"):
        plain = plain[4:].partition("\n---")[2]
    parts = plain.split("<!--")
    plain = parts[0] + "".join(part.partition("-->")[2] for part in parts[1:])
    return first_sentence(paragraph(plain) or "")


_DECORATION = re.compile(r"[#=~^*+\-_.<>|!\[\]:`{}]")


def paragraph(markup: str) -> str | None:
    """The first paragraph of prose: no heading, badge, list, table, directive or code."""
    block: list[str] = []
    fenced = False
    lines = markup.split("\n")[:300]
    for number, raw in enumerate(lines):
        line = raw.strip()
        if line.startswith(("```", "~~~")):
            fenced = not fenced
            line = ""
        following = lines[number + 1].strip() if number + 1 < len(lines) else ""
        is_title = bool(following) and len(set(following)) == 1 and following[0] in "=-~^#*+\"'"
        if fenced or is_title or not line or _is_decoration(line):
            if _is_prose(block):
                return " ".join(block)
            block = []
            continue
        block.append(line)
    return " ".join(block) if _is_prose(block) else None


def _is_decoration(line: str) -> bool:
    if line.startswith(("#", "=", "|", ".. ", ":", "[!", "![", "- ", "* ", "+ ", "[![", "include::", "image:", "---", "___", "***", "===")):
        return True
    without = re.sub(r"<[^<>]{1,400}>|!?\[[^\]]{0,200}\]\([^)]{0,400}\)|\|[\w .-]{1,60}\|_?", "", line)
    return sum(letter.isalpha() for letter in without) < 4


def _is_prose(block: list[str]) -> bool:
    words = [word for line in block for word in re.sub(r"<[^<>]{1,400}>", " ", line).split()]
    return sum(any(letter.isalpha() for letter in word) for word in words) >= 3

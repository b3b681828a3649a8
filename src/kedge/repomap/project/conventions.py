"""Conventions of a project: tests, style, commits, indentation, hooks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kedge.repomap.project.commits import commit_style
from kedge.repomap.project.formats import as_list, as_table, as_text, as_texts
from kedge.repomap.project.importance import Importance
from kedge.repomap.project.project_files import ProjectFiles
from kedge.repomap.project.test_places import describe_tests

LEAST = 0.25  # least importance of a language whose style is shown
_PRETTIER = (".prettierrc", "prettier.config.")
# hooks that most projects have
_COMMON_HOOKS = ("check-", "end-of", "trailing", "mixed-", "debug", "detect", "no-", "fix-byte",
                 "requirements-")  # fmt: skip


def list_conventions(
    project: ProjectFiles, importance: Importance, subjects: Sequence[str]
) -> list[str]:
    """The conventions, the most useful for writing a change first."""
    found = [*describe_tests(project), *_styles(project, importance)]
    if style := commit_style(subjects):
        found.append(f"commits: {style}")
    return [*found, *_indentation(project), *_hooks(project)]


def _styles(project: ProjectFiles, importance: Importance) -> Iterator[str]:
    """The style of each important language, if it is not just the formatter's default."""
    for family in sorted(project.census.families, key=lambda name: -importance.of(name)):
        if family in _STYLES and importance.of(family) >= LEAST:
            yield from _STYLES[family](project)


def _width(value: object) -> str:
    found = as_text(value, 4)
    return f"line length {found}" if found and found.isdigit() else ""


def _python(project: ProjectFiles) -> Iterator[str]:
    tools = as_table(project.toml("pyproject.toml"), "tool")
    ruff = as_table(tools, "ruff")
    for name in ("ruff.toml", ".ruff.toml"):
        ruff = ruff or project.toml(name)
    black = as_table(tools, "black") if "black" in tools else None
    flake8 = project.ini(".flake8").get("flake8", {}) if project.has(".flake8") else {}
    width = _width(ruff.get("line-length")) or _width(flake8.get("max-line-length"))
    if black is not None:
        width = _width(black.get("line-length")) or width or "line length 88"
    names = [name for name, used in (("black", black is not None), ("ruff", ruff)) if used]
    if width:
        yield f"Python: {', '.join([*(names or ['flake8']), width])}"


def _script(project: ProjectFiles) -> Iterator[str]:
    package = project.json("package.json") if project.has("package.json") else {}
    if biome := project.first("", "biome.json", "biome.jsonc"):
        width = _width(as_table(project.json(biome), "formatter").get("lineWidth"))
        yield ", ".join(filter(None, ("JS/TS: biome", width)))
    here = (path for path in project.inside("") if path.startswith(_PRETTIER))
    path = next(here, None)
    if path or "prettier" in package:
        head = project.head(path) if path else ""
        own = as_table(package, "prettier")
        wide = re.search(r"printWidth['\"]?\s{0,4}[:=]\s{0,4}(\d{2,3})", head)
        details = ["JS/TS: prettier", _width(wide.group(1) if wide else own.get("printWidth"))]
        for name, value, shown in (
            ("semi", False, "no semicolons"),
            ("singleQuote", True, "single quotes"),
        ):
            pattern = rf"{name}['\"]?\s{{0,4}}[:=]\s{{0,4}}{str(value).lower()}"
            if own.get(name) is value or (name in head and re.search(pattern, head)):
                details.append(shown)
        yield ", ".join(filter(None, details))


def _rust(project: ProjectFiles) -> Iterator[str]:
    rustfmt = project.first("", "rustfmt.toml", ".rustfmt.toml")
    if rustfmt and (width := _width(project.toml(rustfmt).get("max_width"))):
        yield f"Rust: rustfmt, {width}"


def _go(project: ProjectFiles) -> Iterator[str]:
    linter = project.first("", ".golangci.yml", ".golangci.yaml", ".golangci.toml")
    if linter and "gofumpt" in project.head(linter):
        yield "Go: gofumpt"


def _native(project: ProjectFiles) -> Iterator[str]:
    if project.has(".clang-format"):
        head = project.head(".clang-format")
        base = re.search(r"^BasedOnStyle:[ ]{0,4}(\w{1,20})", head, re.MULTILINE)
        width = re.search(r"^ColumnLimit:[ ]{0,4}([1-9]\d{1,2})\b", head, re.MULTILINE)
        details = [f"{base.group(1)} style" if base else "", _width(width and width.group(1))]
        yield ", ".join(["C/C++: clang-format", *filter(None, details)])


_STYLES = {"python": _python, "node": _script, "rust": _rust, "go": _go, "c": _native}


def _indentation(project: ProjectFiles) -> Iterator[str]:
    section = ""
    style: dict[str, dict[str, str]] = {}
    for raw in project.head(".editorconfig").split("\n")[:400]:
        line = raw.strip()
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
        elif section and "=" in line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            style.setdefault(section, {})[name.strip().lower()] = value.strip().lower()
    shown = []
    for pattern, settings in style.items():
        size = settings.get("indent_size", "")
        if len(pattern) > 40 or not pattern.isprintable():
            continue
        if settings.get("indent_style") == "tab":
            shown.append(f"{pattern} tabs")
        elif size.isdigit() and len(size) == 1:
            shown.append(f"{pattern} {size} spaces")
    if shown:
        yield f"indentation: {'; '.join(shown[:4])}"


def _hooks(project: ProjectFiles) -> Iterator[str]:
    path = project.first("", ".pre-commit-config.yaml", ".pre-commit-config.yml")
    if path is None:
        if project.has("lefthook.yml", "lefthook.yaml", ".lefthook.yml"):
            yield "git hooks: lefthook"
        elif project.inside(".husky"):
            yield "git hooks: husky"
        return
    hooks: list[str] = []
    for repo in as_list(as_table(project.yaml(path)).get("repos"))[:40]:
        for hook in as_list(as_table(repo).get("hooks"))[:20]:
            hooks += as_texts(as_list([as_table(hook).get("id")]))
    telling = [name for name in dict.fromkeys(hooks) if not name.startswith(_COMMON_HOOKS)]
    inside = f" ({', '.join(telling[:6])})" if telling else ""
    yield f"git hooks: pre-commit{inside}"

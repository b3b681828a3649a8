"""Habits of a project that are plain to see: formatters, tests, indentation, hooks, commits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kedge.repomap.project.commits import commit_style
from kedge.repomap.project.formats import items, table, text, texts
from kedge.repomap.project.source import Project
from kedge.repomap.project.testplaces import test_places

_PRETTIER = (
    ".prettierrc", ".prettierrc.json", ".prettierrc.yml", ".prettierrc.yaml", ".prettierrc.js",
    ".prettierrc.cjs", ".prettierrc.mjs", ".prettierrc.toml", "prettier.config.js",
    "prettier.config.mjs", "prettier.config.cjs", "prettier.config.ts",
)  # fmt: skip
_BY_FILE = (
    (".clang-format", "C/C++: clang-format"),
    (".rubocop.yml", "Ruby: rubocop"),
    (".standard.yml", "Ruby: standard"),
    ("pint.json", "PHP: pint"),
    (".php-cs-fixer.dist.php", "PHP: php-cs-fixer"),
    (".formatter.exs", "Elixir: mix format"),
    (".scalafmt.conf", "Scala: scalafmt"),
    (".swiftlint.yml", "Swift: swiftlint"),
    ("analysis_options.yaml", "Dart: analysis_options.yaml"),
)
# hooks that every project has say nothing about this one
_COMMON_HOOK = re.compile(r"check-|end-of|trailing|mixed-|debug|detect|no-|fix-byte|requirements-")


def conventions(project: Project, subjects: Sequence[str] = ()) -> list[str]:
    found = [
        *_python(project),
        *_script(project),
        *_others(project),
        *test_places(project),
        *_indentation(project),
        *_hooks(project),
    ]
    if style := commit_style(subjects):
        found.append(f"commits: {style}")
    return found


def _with_width(what: str, width: object) -> str:
    found = text(width, 4)
    return f"{what}, line length {found}" if found and found.isdigit() else what


def _python(project: Project) -> Iterator[str]:
    tools = table(project.toml("pyproject.toml"), "tool")
    ruff = table(tools, "ruff")
    for name in ("ruff.toml", ".ruff.toml"):
        ruff = ruff or project.toml(name)
    if ruff:
        yield _with_width("Python: ruff", ruff.get("line-length"))
    if "black" in tools:
        yield _with_width("Python: black", table(tools, "black").get("line-length"))
    if not ruff and project.has(".flake8"):
        section = project.ini(".flake8").get("flake8", {})
        yield _with_width("Python: flake8", section.get("max-line-length"))


def _script(project: Project) -> Iterator[str]:
    package = project.json("package.json") if project.has("package.json") else {}
    if biome := project.first("", "biome.json", "biome.jsonc"):
        yield _with_width("JS/TS: biome", table(project.json(biome), "formatter").get("lineWidth"))
    path = project.first("", *_PRETTIER)
    if path or "prettier" in package:
        head = project.head(path) if path else ""
        own = table(package, "prettier")
        width = re.search(r"printWidth['\"]?\s{0,4}[:=]\s{0,4}(\d{2,3})", head)
        details = [
            _with_width("JS/TS: prettier", width.group(1) if width else own.get("printWidth"))
        ]
        for name, value, shown in (
            ("semi", False, "no semicolons"),
            ("singleQuote", True, "single quotes"),
        ):
            pattern = rf"{name}['\"]?\s{{0,4}}[:=]\s{{0,4}}{str(value).lower()}"
            if own.get(name) is value or re.search(pattern, head):
                details.append(shown)
        yield ", ".join(details)
    eslint = [name for name in project.inside("") if re.match(r"eslint\.config\.|\.eslintrc", name)]
    if eslint or "eslintConfig" in package:
        yield f"JS/TS: eslint ({eslint[0] if eslint else 'package.json'})"


def _others(project: Project) -> Iterator[str]:
    if rustfmt := project.first("", "rustfmt.toml", ".rustfmt.toml"):
        yield _with_width("Rust: rustfmt", project.toml(rustfmt).get("max_width"))
    if project.has("go.mod"):
        linter = project.first("", ".golangci.yml", ".golangci.yaml", ".golangci.toml")
        style = "gofumpt" if linter and "gofumpt" in project.head(linter) else "gofmt"
        yield f"Go: {style}{', golangci-lint' if linter else ''}"
    for name, what in _BY_FILE:
        if project.has(name):
            yield what


def _indentation(project: Project) -> Iterator[str]:
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


def _hooks(project: Project) -> Iterator[str]:
    path = project.first("", ".pre-commit-config.yaml", ".pre-commit-config.yml")
    if path is None:
        if project.has("lefthook.yml", "lefthook.yaml", ".lefthook.yml"):
            yield "git hooks: lefthook"
        elif project.inside(".husky"):
            yield "git hooks: husky"
        return
    hooks: list[str] = []
    for repo in items(table(project.yaml(path)).get("repos"))[:40]:
        for hook in items(table(repo).get("hooks"))[:20]:
            hooks += texts(items([table(hook).get("id")]))
    telling = [name for name in dict.fromkeys(hooks) if not _COMMON_HOOK.match(name)]
    inside = f" ({', '.join(telling[:6])})" if telling else ""
    yield f"git hooks: pre-commit{inside}"

"""Habits of a project that are plain to see: format, tests, indentation, commit messages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from kedge.repomap.project.formats import items, table, text, texts
from kedge.repomap.project.parts import base
from kedge.repomap.project.source import Project


def conventions(project: Project, subjects: Sequence[str] = ()) -> list[str]:
    found = [*_formatters(project), *_tests(project), *_indentation(project), *_hooks(project)]
    if style := commit_style(subjects):
        found.append(f"commits: {style}")
    return found


def _formatters(project: Project) -> Iterator[str]:
    pyproject = project.toml("pyproject.toml")
    ruff = table(pyproject, "tool", "ruff")
    for name in ("ruff.toml", ".ruff.toml"):
        ruff = ruff or project.toml(name)
    if ruff:
        yield _with_width("Python: ruff", ruff.get("line-length"))
    if "black" in table(pyproject, "tool"):
        yield _with_width("Python: black", table(pyproject, "tool", "black").get("line-length"))
    if not ruff and project.has(".flake8"):
        section = project.ini(".flake8").get("flake8", {})
        yield _with_width("Python: flake8", section.get("max-line-length"))
    yield from _script_formatters(project)
    for name in ("rustfmt.toml", ".rustfmt.toml"):
        if project.has(name):
            yield _with_width("Rust: rustfmt", project.toml(name).get("max_width"))
    if project.has("go.mod"):
        strict = "gofumpt" if "gofumpt" in project.head(".golangci.yml") else "gofmt"
        linted = project.first("", ".golangci.yml", ".golangci.yaml", ".golangci.toml")
        yield f"Go: {strict}{', golangci-lint' if linted else ''}"
    for name, what in (
        (".clang-format", "C/C++: clang-format"),
        (".rubocop.yml", "Ruby: rubocop"),
        (".standard.yml", "Ruby: standard"),
        ("pint.json", "PHP: pint"),
        (".php-cs-fixer.dist.php", "PHP: php-cs-fixer"),
        (".formatter.exs", "Elixir: mix format"),
        (".scalafmt.conf", "Scala: scalafmt"),
        (".swiftlint.yml", "Swift: swiftlint"),
    ):
        if project.has(name):
            yield what


def _script_formatters(project: Project) -> Iterator[str]:
    package = project.json("package.json") if project.has("package.json") else {}
    biome = project.first("", "biome.json", "biome.jsonc")
    if biome:
        yield _with_width("JS/TS: biome", table(project.json(biome), "formatter").get("lineWidth"))
    prettier = project.first(
        "", ".prettierrc", ".prettierrc.json", ".prettierrc.yml", ".prettierrc.yaml",
        ".prettierrc.js", ".prettierrc.cjs", ".prettierrc.mjs", "prettier.config.js",
        "prettier.config.mjs", "prettier.config.cjs", "prettier.config.ts",
    )  # fmt: skip
    if prettier or "prettier" in package:
        head = project.head(prettier) if prettier else ""
        own = package.get("prettier")
        found = re.search(r"printWidth['\"]?\s{0,4}:\s{0,4}(\d{2,3})", head)
        width = found.group(1) if found else table(own).get("printWidth")
        details = [_with_width("JS/TS: prettier", width)]
        if re.search(r"semi['\"]?\s{0,4}:\s{0,4}false", head) or table(own).get("semi") is False:
            details.append("no semicolons")
        if re.search(r"singleQuote['\"]?\s{0,4}:\s{0,4}true", head) or table(own).get("singleQuote") is True:
            details.append("single quotes")
        yield ", ".join(details)
    eslint = [name for name in project.inside("") if re.match(r"eslint\.config\.|\.eslintrc", name)]
    if eslint or "eslintConfig" in package:
        yield f"JS/TS: eslint ({eslint[0] if eslint else 'package.json'})"


def _with_width(what: str, width: object) -> str:
    found = text(width, 4)
    return f"{what}, line length {found}" if found and found.isdigit() else what


_TESTS: tuple[tuple[str, str, str], ...] = (
    ("python", r"test_\w+\.py", "test_*.py"),
    ("python", r"\w+_test\.py", "*_test.py"),
    ("go", r".+_test\.go", "*_test.go"),
    ("node", r".+\.test\.[cm]?[jt]sx?", "*.test.{}"),
    ("node", r".+\.spec\.[cm]?[jt]sx?", "*.spec.{}"),
    ("node", r".+_test\.[jt]sx?", "*_test.{}"),
    ("ruby", r"\w+_spec\.rb", "*_spec.rb"),
    ("ruby", r"\w+_test\.rb", "*_test.rb"),
    ("ruby", r"test_\w+\.rb", "test_*.rb"),
    ("jvm", r"\w+Tests\.(?:java|kt)", "*Tests.{}"),
    ("jvm", r"\w+Test\.(?:java|kt)", "*Test.{}"),
    ("scala", r"\w+Spec\.scala", "*Spec.scala"),
    ("php", r"\w+Test\.php", "*Test.php"),
    ("dotnet", r"\w+Tests?\.cs", "*Tests.cs"),
    ("elixir", r"\w+_test\.exs", "*_test.exs"),
    ("dart", r"\w+_test\.dart", "*_test.dart"),
    ("swift", r"\w+Tests?\.swift", "*Tests.swift"),
    ("c", r"\w+[_-]test\.(?:c|cc|cpp)", "*_test.{}"),
    ("c", r"(?:test|unit)[_-][\w-]+\.(?:c|cc|cpp)", "test_*.{}"),
)


def _tests(project: Project) -> Iterator[str]:
    """How tests are named and where they live, for the languages that matter."""
    matchers = [(family, re.compile(pattern), shown) for family, pattern, shown in _TESTS]
    endings = {"py", "go", "rb", "java", "kt", "scala", "php", "cs", "exs", "dart", "swift", "c", "cc", "cpp"}
    hits: dict[tuple[str, str], Counter[str]] = {}
    kinds: dict[tuple[str, str], Counter[str]] = {}
    for name, paths in project.names.items():
        lower = name.lower()
        ending = name.rpartition(".")[2]
        if "test" not in lower and "spec" not in lower and not lower.startswith("unit"):
            continue
        if ending not in endings and ending not in ("ts", "tsx", "js", "jsx", "mjs", "cjs", "mts", "cts"):
            continue
        for family, pattern, shown in matchers:
            if pattern.fullmatch(name):
                where = hits.setdefault((family, shown), Counter())
                kinds.setdefault((family, shown), Counter())[ending] += len(paths)
                where.update(path.rpartition("/")[0] for path in paths)
                break
    for family in project.census.families[:3]:
        if project.census.share(family) < 0.1:
            continue
        own = {key: value for key, value in hits.items() if key[0] == family}
        if not own:
            continue
        (_, shown), where = max(own.items(), key=lambda item: (item[1].total(), item[0]))
        ending = kinds[(family, shown)].most_common(1)[0][0]
        yield f"tests: {shown.replace('{}', ending)} {_where(project, where)}"


def _where(project: Project, where: Counter[str]) -> str:
    """The directory that the tests are in, or that they stand beside the code."""
    total = where.total()
    beside = sum(n for name, n in where.items() if project.census.files_right_in(name) > 0)
    if beside * 2 > total:
        return "beside the code"
    inner = sum(n for name, n in where.items() if "__tests__" in name.split("/"))
    if inner * 2 > total:
        return "in __tests__/ beside the code"
    if sum(n for name, n in where.items() if "src/test/" in f"{name}/") * 2 > total:
        return "in src/test/ of each module"
    tops = Counter[str]()
    for name, number in where.items():
        tops[name.partition("/")[0]] += number
    top, number = max(tops.items(), key=lambda item: (item[1], item[0]))
    if number * 2 > total and top:
        mirrored = _mirrored(project, top, where)
        return f"in {top}/{f', mirroring {mirrored}/' if mirrored else ''}"
    inside = Counter[str]()
    for name, number in where.items():
        for part in name.split("/"):
            if part in ("test", "tests", "spec", "Tests", "unit"):
                inside[part] += number
                break
    if inside and (best := inside.most_common(1)[0])[1] * 2 > total:
        return f"in {best[0]}/ of each package"
    return "in several places"


def _mirrored(project: Project, top: str, where: Counter[str]) -> str | None:
    """The package whose directories the tests repeat."""
    below = {name[len(top) + 1 :].split("/")[0] for name in where if "/" in name}
    below.discard("")
    if len(below) < 3:
        return None
    for directory in sorted(project.directories):
        if directory.count("/") > 2 or directory.startswith(f"{top}/") or directory == top:
            continue
        children = {base(name) for name in project.census.subdirectories(directory)}
        children |= {base(path).partition(".")[0] for path in project.inside(directory)}
        if len(below & children) * 3 >= len(below) * 2:
            return directory
    return None


def _indentation(project: Project) -> Iterator[str]:
    if not project.has(".editorconfig"):
        return
    section: str | None = None
    style: dict[str, dict[str, str]] = {}
    for raw in project.head(".editorconfig").split("\n")[:400]:
        line = raw.strip()
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1][:60]
        elif section and "=" in line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            style.setdefault(section, {})[name.strip().lower()] = value.strip().lower()
    shown = []
    for section, settings in style.items():
        kind, size = settings.get("indent_style"), settings.get("indent_size", "")
        if kind == "tab":
            shown.append(f"{section} tabs")
        elif size.isdigit():
            shown.append(f"{section} {size} spaces")
    if shown:
        yield f"indentation: {'; '.join(shown[:4])}"


def _hooks(project: Project) -> Iterator[str]:
    path = project.first("", ".pre-commit-config.yaml", ".pre-commit-config.yml")
    if path is None:
        if project.has("lefthook.yml", "lefthook.yaml"):
            yield "git hooks: lefthook"
        elif any(name.startswith(".husky/") for name in project.inside(".husky")):
            yield "git hooks: husky"
        return
    hooks = []
    for repo in items(table(project.yaml(path)).get("repos"))[:40]:
        for hook in items(table(repo).get("hooks"))[:20]:
            hooks += texts(items([table(hook).get("id")]))
    telling = [name for name in hooks if not re.match(r"check-|end-of|trailing|mixed-|debug|detect|no-", name)]
    listed = ", ".join(list(dict.fromkeys(telling))[:6])
    yield f"git hooks: pre-commit{f' ({listed})' if listed else ''}"


_CONVENTIONAL = re.compile(r"(?:feat|fix|docs|chore|refactor|test|tests|ci|build|perf|style|revert|deps|release)(?:\([^)]{1,40}\))?!?: ")
_PACKAGE = re.compile(r"[\w./{},*-]{2,40}(?:, [\w./-]{2,40})*: [a-zA-Z]")
_TICKET = re.compile(r"\[?([A-Z][A-Z0-9]{1,9}-\d+|GH-\d+|#\d+)\]?[: ]")
_DJANGO = re.compile(r"(?:Fixed|Refs|Fix|Closes) #\d+")
_BRACKET = re.compile(r"\[[\w ./,-]{2,30}\] ")
_GITMOJI = re.compile(r"(?::\w{2,30}:|[\U0001F300-\U0001FAFF✨⬆⚡♻✅❇⚙]\ufe0f?) ?")


def commit_style(subjects: Sequence[str]) -> str | None:
    """The form that most of these commit subjects have in common, or None."""
    kept = [
        subject.strip()
        for subject in subjects
        if subject.strip() and not re.match(r"Merge |Revert \"|Bump |v?\d+\.\d+", subject.strip())
    ]
    if len(kept) < 5:
        return None

    def most(pattern: re.Pattern[str]) -> bool:
        return sum(pattern.match(subject) is not None for subject in kept) * 10 >= len(kept) * 6

    if most(_CONVENTIONAL):
        scoped = sum("(" in subject.partition(":")[0] for subject in kept) * 2 > len(kept)
        return "Conventional Commits (`type(scope): message`)" if scoped else "Conventional Commits (`type: message`)"
    if most(_TICKET):
        found = next(match for subject in kept if (match := _TICKET.match(subject)))
        return f"ticket first, such as `{found.group(1)}`"
    for pattern, style in (
        (_DJANGO, "issue first, such as `Fixed #123`"),
        (_GITMOJI, "gitmoji (an emoji first)"),
        (_BRACKET, "area in brackets first (`[area] message`)"),
        (_PACKAGE, "`package: message`"),
    ):
        if most(pattern):
            return style
    return None

"""The files that a newcomer opens first, most useful first."""

from __future__ import annotations

from kedge.repomap.project.census import is_aside
from kedge.repomap.project.parts import DescribedPath, base, join, parent
from kedge.repomap.project.project_files import ProjectFiles

MOST = 14
_FOR_AGENTS = "instructions for agents"
# by the file name without its suffix
_WANTED: tuple[tuple[str, str], ...] = (
    ("readme", "overview"),
    ("agents claude gemini", _FOR_AGENTS),
    ("contributing", "how to contribute"),
    ("architecture design hacking developing development", "design"),
)
_CHANGES = frozenset(["changelog", "changes", "history", "news", "releases"])
_PROSE = frozenset(["", "md", "rst", "txt", "adoc", "rdoc", "org"])
_INNER: tuple[tuple[str, str], ...] = (
    (".github/CONTRIBUTING.md docs/CONTRIBUTING.md docs/contributing.md", "how to contribute"),
    ("docs/ARCHITECTURE.md docs/architecture.md docs/design.md docs/DESIGN.md", "design"),
    ("docs/development.md", "design"),
)
_MANIFESTS = (
    "pyproject.toml", "setup.py", "package.json", "Cargo.toml", "go.mod", "go.work", "pom.xml",
    "build.gradle.kts", "build.gradle", "settings.gradle.kts", "settings.gradle", "Gemfile",
    "composer.json", "CMakeLists.txt", "meson.build", "configure.ac", "mix.exs", "pubspec.yaml",
    "Package.swift", "build.sbt", "deno.json", "deno.jsonc", "Directory.Build.props",
)  # fmt: skip
_RUNNERS = ("Makefile", "makefile", "GNUmakefile", "justfile", "Justfile", "Taskfile.yml",
            "magefile.go", "Rakefile", "noxfile.py", "tox.ini")  # fmt: skip
_SCHEMAS = ("schema.prisma", "schema.rb", "structure.sql", "schema.sql", "schema.graphql",
            "openapi.yaml", "openapi.yml", "openapi.json", "alembic.ini")  # fmt: skip
_AFTER: tuple[tuple[str, str], ...] = (
    ("Dockerfile", "container image"),
    ("compose.yaml compose.yml docker-compose.yml docker-compose.yaml", "services"),
    (".env.example .env.sample .env.template env.example", "environment"),
)


def list_key_files(project: ProjectFiles, pipeline: str | None) -> list[DescribedPath]:
    found: dict[str, str] = {}
    here = project.inside("")
    texts = {path: stem for path in here if (stem := _stem_of_text(path))}
    for stems, what in _WANTED:
        named = [path for path, stem in texts.items() if stem in stems.split()]
        # of README and README.md, prefer the one with markup
        best = sorted(named, key=lambda path: (not path.lower().endswith(".md"), "." not in path))
        for path in best[: 3 if what == _FOR_AGENTS else 1]:
            found.setdefault(path, what)
    for names, what in _INNER:
        inner = project.first("", *names.split())
        if inner and what not in found.values():
            found[inner] = what
    for files, what, most in ((_MANIFESTS, "project settings", 3), (_RUNNERS, "tasks", 2)):
        for path in list(filter(project.has, files))[:most]:
            found.setdefault(path, what)
    if not any(project.has(name) for name in _MANIFESTS):
        found |= dict.fromkeys(_inner_manifests(project)[:2], "project settings")
    for path in _schemas(project):
        found.setdefault(path, "schema")
    for path in _migrations(project):
        found.setdefault(path, "migrations")
    if pipeline:
        found[pipeline] = "CI"
    for names, what in _AFTER:
        for path in filter(project.has, names.split()):
            found.setdefault(path, what)
    for path in [path for path, stem in texts.items() if stem in _CHANGES][:1]:
        found.setdefault(path, "changes")
    return [DescribedPath(path, what) for path, what in found.items()][:MOST]


def _stem_of_text(path: str) -> str:
    stem, _, ending = path.lower().partition(".")
    return stem if ending in _PROSE else ""


def _inner_manifests(project: ProjectFiles) -> list[str]:
    """The manifests of directories with a large share of the code."""
    census = project.census
    return [
        join(home, name)
        for name in _MANIFESTS
        for home in project.homes(name)[:1]
        if census.files_in(home) * 5 > census.total
    ]


def _schemas(project: ProjectFiles) -> list[str]:
    found = []
    for name in _SCHEMAS:
        for path in project.find_named(name)[:1]:
            # names of Rails that mean little elsewhere
            if name in ("schema.rb", "structure.sql") and not path.endswith(f"db/{name}"):
                continue
            if path.count("/") <= 3 and not is_aside(parent(path)):
                found.append(path)
    return found[:2]


def _is_step(name: str) -> bool:
    return name[:3].isdigit() or (name[0] == "V" and "__" in name) or name.endswith(".sql")


def _migrations(project: ProjectFiles) -> list[str]:
    """The directory of the migrations, if there is only one."""
    found = [
        directory
        for directory in project.directories
        if base(directory) in ("migrations", "migrate", "migration", "versions")
        and directory.count("/") <= 4
        and not is_aside(directory)
        and sum(_is_step(base(path)) for path in project.inside(directory)) > 1
    ]
    # one per app is a habit of the framework
    return [f"{found[0]}/"] if len(found) == 1 else []

"""Gradle builds. Their scripts are programs, of which only plain lines are read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kedge.repomap.project.census import is_aside
from kedge.repomap.project.frameworks import select_notable
from kedge.repomap.project.parts import Kind, join
from kedge.repomap.project.project_files import ProjectFiles

GRADLE_FILES = ("settings.gradle.kts", "settings.gradle", "build.gradle.kts", "build.gradle")
_QUOTED_PATH = re.compile(r"['\"]:?([\w.:/-]{1,120})['\"]")
# up to the closing bracket, or over lines that end with a comma
_INCLUDE = re.compile(
    r"^[ \t]{0,12}include\b[ \t]{0,4}(\([^)]{0,4000}|(?:[^\n]*,[ \t]*\n)*[^\n]*)", re.MULTILINE
)
_GROUP = re.compile(r"['\"(]([a-z][\w-]{0,40}(?:\.[\w-]{1,40}){1,5})[:'\")]")
_JAVA = re.compile(
    r"(?:JavaVersion\.VERSION_|JavaLanguageVersion\.of\(|jvmToolchain\(|"
    r"sourceCompatibility[ ]{0,4}=[ ]{0,4}['\"]?)(?:1[._])?(\d{1,2})\b"
)
_TASKS: tuple[tuple[str, Kind, str, int], ...] = (
    ("org.springframework.boot", "run", "bootRun", 60),
    ("application", "run", "run", 54),
    ("spotless", "format", "spotlessApply", 60),
    ("spotless", "lint", "spotlessCheck", 48),
    ("ktlint", "format", "ktlintFormat", 56),
    ("ktlint", "lint", "ktlintCheck", 56),
    ("detekt", "lint", "detekt", 54),
    ("spring.javaformat", "format", "format", 54),
)


@dataclass
class GradleBuild:
    """A build: its modules, its script and those of its largest modules."""

    home: str
    path: str
    members: list[str]
    scripts: list[str]
    libraries: list[str]
    version: str

    def tasks(self) -> Iterator[tuple[Kind, str, int]]:
        """The usual tasks of the plugins in use."""
        for mark, kind, task, score in _TASKS:
            scripts = self.scripts[:1] if kind == "run" else self.scripts
            if any(_applies(script, mark) for script in scripts):
                yield kind, task, score


def open_gradle(project: ProjectFiles, home: str) -> GradleBuild:
    settings = project.first(home, "settings.gradle.kts", "settings.gradle") or ""
    build = project.first(home, "build.gradle.kts", "build.gradle") or ""
    members = _members(project, home, project.head(settings))
    largest = sorted(members, key=lambda name: (-project.census.files_in(name), name))[:8]
    inner = [project.first(name, "build.gradle.kts", "build.gradle") or "" for name in largest]
    scripts = [project.head(path) for path in (build, *inner)]
    catalog = project.head(join(home, "gradle/libs.versions.toml"))
    groups = [name for script in (*scripts, catalog) for name in _GROUP.findall(script)[:300]]
    libraries = select_notable("jvm", dict.fromkeys(groups), first=())
    version = next((found[1] for one in scripts if (found := _JAVA.search(one))), "")
    return GradleBuild(home, build or settings, members, scripts, libraries, version)


def _members(project: ProjectFiles, home: str, settings: str) -> list[str]:
    names = [
        name for call in _INCLUDE.findall(settings)[:500] for name in _QUOTED_PATH.findall(call)
    ]
    found = [join(home, name.strip(":").replace(":", "/")) for name in dict.fromkeys(names)]
    return [name for name in found if name in project.directories and not is_aside(name)]


def _applies(script: str, mark: str) -> bool:
    """True if a script applies the plugin, by its id or its name in the catalog."""
    for line in script.split("\n"):
        plain = line.strip()[:300]
        is_plugin = mark in plain and re.match(r"id\b|apply plugin|alias\(|application$", plain)
        is_whole = is_plugin and re.search(rf"{re.escape(mark)}(?:['\")]|$)", plain)
        if is_whole and "apply false" not in plain and "apply(false)" not in plain:
            return True
    return False

"""Gradle builds. Their scripts are programs, of which only plain lines are read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kedge.repomap.project.census import is_aside
from kedge.repomap.project.frameworks import select_notable
from kedge.repomap.project.parts import Kind, join
from kedge.repomap.project.project_files import ProjectFiles

GRADLE_FILES = ("settings.gradle.kts", "settings.gradle", "build.gradle.kts", "build.gradle")
_QUOTED_PATH = re.compile(r"['\"]:?([\w.:/-]{1,120})['\"]")
_INCLUDE = re.compile(r"^[ \t]{0,12}include\b[ \t]{0,4}\(?", re.MULTILINE)
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


class GradleBuild:
    """A build: its modules, its script and those of its largest modules."""

    def __init__(self, project: ProjectFiles, home: str, path: str) -> None:
        self.project = project
        self.home = home
        self.path = path
        self.members: list[str] = []
        self.scripts: list[str] = []
        self.libraries: list[str] = []
        self.version = ""
        self.is_android_app = False

    def tasks(self) -> Iterator[tuple[Kind, str, int]]:
        """The usual tasks of the plugins in use."""
        for mark, kind, task, score in _TASKS:
            scripts = self.scripts[:1] if kind == "run" else self.scripts
            if any(_applies(script, mark) for script in scripts):
                yield kind, task, score


def open_gradle(project: ProjectFiles, home: str) -> GradleBuild:
    settings = project.first(home, "settings.gradle.kts", "settings.gradle")
    build = project.first(home, "build.gradle.kts", "build.gradle")
    gradle = GradleBuild(project, home, build or settings or "")
    gradle.members = _members(project, home, project.head(settings) if settings else "")
    census = project.census
    largest = sorted(gradle.members, key=lambda name: (-census.files_in(name), name))[:8]
    own = [project.head(build) if build else ""]
    gradle.scripts = own + [_script(project, name) for name in largest]
    groups: dict[str, str | None] = {}
    for script in [*gradle.scripts, project.head(join(home, "gradle/libs.versions.toml"))]:
        groups |= dict.fromkeys(_GROUP.findall(script)[:300])
    gradle.libraries = select_notable("jvm", groups, first=())
    found = next((match for one in gradle.scripts if (match := _JAVA.search(one))), None)
    gradle.version = found.group(1) if found else ""
    for name, script in zip([home, *largest], gradle.scripts, strict=True):
        is_main = name == home or census.files_in(name) * 3 > census.files_in(home)
        if is_main and _applies(script, "com.android.application"):
            gradle.is_android_app = True
    return gradle


def _members(project: ProjectFiles, home: str, settings: str) -> list[str]:
    found: dict[str, None] = {}
    for start in list(_INCLUDE.finditer(settings))[:500]:
        for name in _QUOTED_PATH.findall(_call(settings, start)):
            directory = join(home, name.strip(":").replace(":", "/"))
            if directory in project.directories and not is_aside(directory):
                found.setdefault(directory)
    return list(found)


def _call(script: str, start: re.Match[str]) -> str:
    """The arguments of a call: up to its bracket, or over lines that end with a comma."""
    rest = script[start.end() : start.end() + 4000]
    if start.group().endswith("("):
        return rest.partition(")")[0]
    lines = []
    for line in rest.split("\n"):
        lines.append(line)
        if not line.rstrip().endswith(","):
            break
    return "\n".join(lines)


def _script(project: ProjectFiles, member: str) -> str:
    path = project.first(member, "build.gradle.kts", "build.gradle")
    return project.head(path) if path else ""


def _applies(script: str, mark: str) -> bool:
    """True if a script applies the plugin, by its id or its name in the catalog."""
    for found in re.finditer(re.escape(mark), script):
        start = script.rfind("\n", 0, found.start()) + 1
        end = script.find("\n", found.end())
        line = script[start : end if end >= 0 else len(script)].strip()[:300]
        is_plugin = re.match(r"id\b|apply plugin|alias\(|application$", line)
        is_whole = script[found.end() : found.end() + 1] in ("'", '"', ")", "\n", "")
        if is_plugin and is_whole and "apply false" not in line and "apply(false)" not in line:
            return True
    return False

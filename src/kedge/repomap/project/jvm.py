"""Java and Kotlin: Maven and Gradle."""

from __future__ import annotations

import re

from kedge.host.text import count_noun
from kedge.repomap.project.census import is_aside
from kedge.repomap.project.formats import as_text, find_tags, strip_xml_comments
from kedge.repomap.project.frameworks import select_notable
from kedge.repomap.project.gradle import GRADLE_FILES, GradleBuild, open_gradle
from kedge.repomap.project.parts import Findings, Kind, format_stack, join, parent
from kedge.repomap.project.project_files import ProjectFiles

_MAVEN_GOALS: tuple[tuple[str, Kind, str, int], ...] = (
    ("spring-boot-maven-plugin", "run", "spring-boot:run", 62),
    ("quarkus-maven-plugin", "run", "quarkus:dev", 62),
    ("spotless-maven-plugin", "format", "spotless:apply", 58),
    ("spring-javaformat-maven-plugin", "format", "spring-javaformat:apply", 56),
    ("maven-checkstyle-plugin", "lint", "checkstyle:check", 46),
)
_VERSION_TAGS = ("java.version", "maven.compiler.release", "maven.compiler.source", "javaVersion")


def read(project: ProjectFiles) -> Findings:
    findings = Findings("jvm")
    maven = project.homes("pom.xml", limit=3)
    gradle = project.homes(*GRADLE_FILES, limit=3)
    for home in dict.fromkeys([*maven, *gradle]):
        tools: list[str] = []
        libraries: dict[str, None] = {}
        version = ""
        if home in gradle:
            found = open_gradle(project, home)
            findings.packages += found.members
            tools.append(_tool("Gradle", found.members))
            libraries |= dict.fromkeys(found.libraries)
            version = found.version
            _add_gradle(findings, project, found, 14 if home in maven else 0)
        if home in maven:
            pom = strip_xml_comments(project.text(join(home, "pom.xml")) or "")
            members = _members(project, home, pom)
            findings.packages += members
            tools.insert(0, _tool("Maven", members))
            libraries |= dict.fromkeys(_libraries(pom))
            version = _version(pom) or version
            _add_maven(findings, project, home, pom, is_single=not members)
        language = _language(project, home, version)
        findings.add_tech(format_stack(language, None, [" and ".join(tools)], libraries), home)
    if maven or gradle:
        _add_mains(findings, project)
    return findings


def _tool(name: str, members: list[str]) -> str:
    return f"{name}, {count_noun(len(members), 'module')}" if members else name


def _language(project: ProjectFiles, home: str, version: str) -> str:
    languages = project.census.languages("jvm", home)
    main = [name for name, n in languages.most_common(2) if n * 8 > languages.total()] or ["Java"]
    if not version:
        return " and ".join(main)
    if "Java" not in main:
        return f"{' and '.join(main)}, JVM {version}"
    return " and ".join(f"Java {version}" if name == "Java" else name for name in main)


def _version(pom: str) -> str:
    for tag in _VERSION_TAGS:
        for found in find_tags(pom, tag):
            version = (as_text(found, 10) or "").removeprefix("1.")
            if version.isdigit():
                return version
    return ""


def _members(project: ProjectFiles, home: str, pom: str) -> list[str]:
    names = [
        name.strip("/") for module in find_tags(pom, "module") if (name := as_text(module, 120))
    ]
    members = [join(home, name) for name in dict.fromkeys(names)]
    return [name for name in members if project.has(f"{name}/pom.xml") and not is_aside(name)]


def _libraries(pom: str) -> list[str]:
    groups = {group: None for group in find_tags(pom, "groupId") if as_text(group, 120)}
    return select_notable("jvm", groups, first=())


def _add_maven(
    findings: Findings, project: ProjectFiles, home: str, pom: str, *, is_single: bool
) -> None:
    path = join(home, "pom.xml")
    call = "./mvnw" if project.exists(join(home, "mvnw")) else "mvn"
    findings.add_command("build", f"{call} package", path, 60, home)
    findings.add_command("test", f"{call} test", path, 62, home)
    for plugin, kind, goal, score in _MAVEN_GOALS:
        if plugin in pom and (is_single or kind != "run"):
            findings.add_command(kind, f"{call} {goal}", path, score, home)


def _add_gradle(findings: Findings, project: ProjectFiles, gradle: GradleBuild, loss: int) -> None:
    home = gradle.home
    call = "./gradlew" if project.exists(join(home, "gradlew")) else "gradle"
    findings.add_command("build", f"{call} build", gradle.path, 60 - loss, home)
    findings.add_command("test", f"{call} test", gradle.path, 62 - loss, home)
    for kind, task, score in gradle.tasks():
        findings.add_command(kind, f"{call} {task}", gradle.path, score - loss, home)


_MAIN_NAMES = tuple(
    f"{stem}.{ending}"
    for stem in ("Application", "Main", "App", "main", "Launcher", "Server")
    for ending in ("java", "kt")
)
_MAIN = re.compile(r"^[ \t]{0,8}public static void main ?\(|^fun main ?\(", re.MULTILINE)
_SPRING = re.compile(r"^@SpringBootApplication\b", re.MULTILINE)


def _add_mains(findings: Findings, project: ProjectFiles) -> None:
    candidates = [path for path in project.find_ending(*_MAIN_NAMES) if not is_aside(parent(path))]
    for path in candidates[:16]:
        head = project.head(path)
        if _SPRING.search(head):
            findings.add_entry(path, "Spring Boot application")
        elif _MAIN.search(head):
            findings.add_entry(path, "main method")
    for path in project.find_named("AndroidManifest.xml")[:6]:
        if "android.intent.action.MAIN" in project.head(path) and not is_aside(parent(path)):
            findings.add_entry(path, "Android app")

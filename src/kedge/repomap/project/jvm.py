"""Java, Kotlin and Scala: Maven, Gradle and sbt."""

from __future__ import annotations

import re

from kedge.repomap.project.census import is_aside
from kedge.repomap.project.formats import tags, text, without_xml_comments
from kedge.repomap.project.frameworks import notable
from kedge.repomap.project.parts import Findings, base, join, parent
from kedge.repomap.project.source import Project

_GRADLE = ("settings.gradle.kts", "settings.gradle", "build.gradle.kts", "build.gradle")


def read(project: Project) -> Findings:
    findings = Findings("jvm")
    maven = project.homes("pom.xml", limit=3)
    gradle = project.homes(*_GRADLE, limit=3)
    for home in gradle:
        if not maven or maven[0] or not home:
            _read_gradle(findings, project, home)
    for home in maven:
        _read_maven(findings, project, home, alone=home not in gradle)
    if maven or gradle:
        _add_mains(findings, project)
    return findings


def _language(project: Project, home: str) -> str:
    languages = project.census.languages("jvm", home)
    kept = [name for name in ("Java", "Kotlin", "Groovy") if languages[name]]
    kept.sort(key=lambda name: -languages[name])
    total = sum(languages.values())
    shown = [name for name in kept if languages[name] * 8 > total]
    return " and ".join(shown[:2]) or "Java"


def _read_maven(findings: Findings, project: Project, home: str, *, alone: bool) -> None:
    path = join(home, "pom.xml")
    pom = without_xml_comments(project.text(path) or "")
    version = None
    for tag in ("java.version", "maven.compiler.release", "maven.compiler.source", "javaVersion"):
        version = version or next(iter(tags(pom, tag)), None)
    version = (text(version, 10) or "").removeprefix("1.")
    modules = [name for module in tags(pom, "module") if (name := text(module, 120))]
    members = [
        member
        for name in dict.fromkeys(modules)
        if project.has(f"{(member := join(home, name.strip('/')))}/pom.xml")
    ]
    findings.packages += members
    groups = {group: None for group in tags(pom, "groupId") if text(group, 120)}
    shown = [name for name in notable("jvm", groups) if not re.search(r"[$\s]{2}|^org\.|^com\.", name)]
    tools = f"Maven, {len(members)} modules" if members else "Maven"
    line = f"{_language(project, home)}{f' {version}' if version.isdigit() else ''}"
    findings.tech(f"{line} ({'; '.join(filter(None, (tools, ', '.join(shown))))})", home)
    call = "./mvnw" if project.has(join(home, "mvnw")) else "mvn"
    lower = 0 if alone else 8
    findings.command("build", f"{call} package", path, 60 - lower, home)
    findings.command("test", f"{call} test", path, 62 - lower, home)
    if "spring-boot-maven-plugin" in pom and not members:
        findings.command("run", f"{call} spring-boot:run", path, 62 - lower, home)
    if "quarkus-maven-plugin" in pom and not members:
        findings.command("run", f"{call} quarkus:dev", path, 62 - lower, home)
    if "spotless-maven-plugin" in pom:
        findings.command("format", f"{call} spotless:apply", path, 58 - lower, home)
    if "maven-checkstyle-plugin" in pom:
        findings.command("lint", f"{call} checkstyle:check", path, 46 - lower, home)


_INCLUDE = re.compile(r"['\"]:?([\w.:/-]{1,120})['\"]")


def _read_gradle(findings: Findings, project: Project, home: str) -> None:
    settings = project.first(home, "settings.gradle.kts", "settings.gradle")
    build = project.first(home, "build.gradle.kts", "build.gradle")
    path = build or settings or ""
    script = project.head(build) if build else ""
    included = project.head(settings) if settings else ""
    members = _gradle_members(project, home, included)
    findings.packages += members
    scripts = [script, *(_member_script(project, name) for name in members[:8])]
    catalog = project.head(join(home, "gradle/libs.versions.toml"))
    groups: dict[str, str | None] = {}
    for one in [*scripts, catalog]:
        for name in re.findall(r"['\"(]([a-z][\w-]*(?:\.[\w-]+){1,5})[:'\")]", one)[:300]:
            groups[name] = None
    shown = [name for name in notable("jvm", groups) if "." not in name or name == "Vert.x"]
    version = None
    for one in scripts:
        version = version or re.search(
            r"(?:JavaVersion\.VERSION_|JavaLanguageVersion\.of\(|jvmToolchain\(|"
            r"sourceCompatibility\s{0,4}=\s{0,4}['\"]?)(?:1[._])?(\d{1,2})\b",
            one,
        )
    tools = f"Gradle, {len(members)} modules" if members else "Gradle"
    line = f"{_language(project, home)}{f' {version.group(1)}' if version else ''}"
    findings.tech(f"{line} ({'; '.join(filter(None, (tools, ', '.join(shown))))})", home)
    call = "./gradlew" if project.has(join(home, "gradlew")) else "gradle"
    text_ = "\n".join(scripts) + catalog
    is_android = "com.android.application" in text_
    findings.command("build", f"{call} {'assembleDebug' if is_android else 'build'}", path, 60, home)
    findings.command("test", f"{call} test", path, 62, home)
    for mark, kind, task, score in (
        ("org.springframework.boot", "run", "bootRun", 60),
        ("application", "run", "run", 54),
        ("spotless", "format", "spotlessApply", 60),
        ("spotless", "lint", "spotlessCheck", 50),
        ("ktlint", "format", "ktlintFormat", 56),
        ("ktlint", "lint", "ktlintCheck", 56),
        ("detekt", "lint", "detekt", 54),
    ):
        pattern = rf"(?:id|apply plugin|plugin)[ :(]{{0,4}}['\"][\w.-]*{re.escape(mark)}['\"]"
        if mark == "application":
            pattern += r"|^\s{0,8}application\s{0,4}$"
        if any(re.search(pattern, one, re.MULTILINE) for one in scripts[: 1 if kind == "run" else None]):
            findings.command(kind, f"{call} {task}", path, score, home)  # type: ignore[arg-type]


def _gradle_members(project: Project, home: str, settings: str) -> list[str]:
    found: list[str] = []
    for start in re.finditer(r"\binclude\b\s{0,4}\(?", settings):
        for name in _INCLUDE.findall(settings[start.end() : start.end() + 4000].partition("\n\n")[0]):
            directory = join(home, name.strip(":").replace(":", "/"))
            if directory in project.directories:
                found.append(directory)
    return list(dict.fromkeys(found))


def _member_script(project: Project, member: str) -> str:
    path = project.first(member, "build.gradle.kts", "build.gradle")
    return project.head(path) if path else ""


_MAIN_NAME = re.compile(r"(?:Application|Main|App|main|Launcher|Server)\.(?:java|kt)$")
_MAIN = re.compile(r"@SpringBootApplication|public static void main\s?\(|^fun main\s?\(", re.MULTILINE)


def _add_mains(findings: Findings, project: Project) -> None:
    named = [
        path
        for name, paths in project.names.items()
        if _MAIN_NAME.search(name)
        for path in paths
        if not is_aside(parent(path))
    ]
    named.sort(key=lambda path: (path.count("/"), path))
    for path in named[:16]:
        if found := _MAIN.search(project.head(path)):
            is_spring = "@SpringBootApplication" in project.head(path)
            what = "Spring Boot application" if is_spring else "main method"
            findings.entry(path, what if found else base(path))
    for path in project.named("AndroidManifest.xml")[:6]:
        if "android.intent.action.MAIN" in project.head(path) and not is_aside(parent(path)):
            findings.entry(path, "Android app")


def read_scala(project: Project) -> Findings:
    findings = Findings("scala")
    for home in project.homes("build.sbt", limit=2):
        path = join(home, "build.sbt")
        script = project.head(path)
        version = re.search(r"scalaVersion\s{0,4}:=\s{0,4}\"(\d+\.\d+)", script)
        libraries = [
            shown
            for mark, shown in (("akka", "Akka"), ("pekko", "Pekko"), ("PlayScala", "Play"),
                                ("zio", "ZIO"), ("cats", "cats"), ("http4s", "http4s"),
                                ("spark", "Spark"))
            if re.search(rf"\b{mark}", script)
        ]  # fmt: skip
        inside = "; ".join(filter(None, ("sbt", ", ".join(libraries[:4]))))
        findings.tech(f"Scala{f' {version.group(1)}' if version else ''} ({inside})", home)
        findings.command("build", "sbt compile", path, 60, home)
        findings.command("test", "sbt test", path, 62, home)
        if "PlayScala" in script:
            findings.command("run", "sbt run", path, 56, home)
        plugins = project.head(join(home, "project/plugins.sbt"))
        if scalafmt := project.first(home, ".scalafmt.conf"):
            if "scalafmt" in plugins:
                findings.command("format", "sbt scalafmtAll", scalafmt, 58, home)
    return findings

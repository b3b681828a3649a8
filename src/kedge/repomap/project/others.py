"""Elixir, Dart, Swift and Scala."""

from __future__ import annotations

import re

from kedge.repomap.project.formats import (
    items,
    named,
    table,
    text,
)
from kedge.repomap.project.frameworks import at_least, major, notable
from kedge.repomap.project.parts import Findings, join
from kedge.repomap.project.source import Project


def read_elixir(project: Project) -> Findings:
    findings = Findings("elixir")
    for home in project.homes("mix.exs", limit=2):
        path = join(home, "mix.exs")
        script = project.head(path)
        needs = {
            name: major(v)
            for name, v in re.findall(r"\{:(\w{1,60}),\s{0,8}\"([^\"]{1,40})", script)
        }
        version = re.search(r"elixir:\s{0,4}\"([^\"]{1,30})", script)
        own = re.findall(r"app: :(\w{1,60})", script)[:1]
        libraries = ", ".join(notable("elixir", needs, own=own))
        inside = "; ".join(filter(None, ("mix", libraries)))
        wanted = at_least(version.group(1)) if version else None
        findings.tech(f"Elixir{f' {wanted}' if wanted else ''} ({inside})", home)
        is_setup = re.search(r"\bsetup: \[", script)
        findings.command("install", "mix setup" if is_setup else "mix deps.get", path, 64, home)
        findings.command("test", "mix test", path, 64, home)
        findings.command("build", "mix compile", path, 46, home)
        if formatter := project.first(home, ".formatter.exs"):
            findings.command("format", "mix format", formatter, 60, home)
        if "credo" in needs:
            findings.command("lint", "mix credo", path, 58, home)
        if "dialyxir" in needs:
            findings.command("typecheck", "mix dialyzer", path, 56, home)
        if "phoenix" in needs:
            findings.command("run", "mix phx.server", path, 60, home)
        for name in own:
            if application := project.first(home, f"lib/{name}/application.ex", f"lib/{name}.ex"):
                findings.entry(application, f"application `{name}`")
        if router := project.first(home, *(f"lib/{name}_web/router.ex" for name in own)):
            findings.entry(router, "routes")
    return findings


def read_dart(project: Project) -> Findings:
    findings = Findings("dart")
    for home in project.homes("pubspec.yaml", limit=2):
        path = join(home, "pubspec.yaml")
        spec = table(project.yaml(path))
        needs = {
            name: major(version) if isinstance(version, str) else None
            for name, version in named(spec.get("dependencies"))
        }
        is_flutter = "flutter" in needs
        tool = "flutter" if is_flutter else "dart"
        version = at_least(table(spec, "environment").get("sdk"))
        libraries = notable("dart", {n: v for n, v in needs.items() if n != "flutter"})
        inside = "; ".join(filter(None, ("Flutter" if is_flutter else "pub", ", ".join(libraries))))
        findings.tech(f"Dart{f' {version}' if version else ''} ({inside})", home)
        findings.command("install", f"{tool} pub get", path, 62, home)
        if f"{join(home, 'test')}" in project.directories:
            findings.command("test", f"{tool} test", path, 62, home)
        findings.command("lint", f"{tool} analyze", path, 54, home)
        findings.command("format", "dart format .", path, 44, home)
        if is_flutter:
            findings.command("run", "flutter run", path, 56, home)
        for place in ("lib/main.dart", "bin/main.dart"):
            if project.has(join(home, place)):
                findings.entry(join(home, place), "main program")
        for name in items(spec.get("workspace"))[:60]:
            member = join(home, text(name) or "")
            if project.has(f"{member}/pubspec.yaml"):
                findings.packages.append(member)
    return findings


def read_swift(project: Project) -> Findings:
    findings = Findings("swift")
    for home in project.homes("Package.swift", limit=2):
        path = join(home, "Package.swift")
        script = project.head(path)
        version = re.match(r"//\s{0,4}swift-tools-version:\s{0,4}(\d+\.\d+)", script)
        known = [name for name in ("vapor", "swift-nio", "swift-syntax") if f"/{name}" in script]
        inside = "; ".join(filter(None, ("SwiftPM", ", ".join(known))))
        findings.tech(f"Swift{f' ≥{version.group(1)}' if version else ''} ({inside})", home)
        findings.command("build", "swift build", path, 60, home)
        if join(home, "Tests") in project.directories:
            findings.command("test", "swift test", path, 62, home)
        for place in project.inside(join(home, "Sources")) + project.named("main.swift")[:3]:
            if place.endswith("main.swift"):
                findings.entry(place, "main program")
    if lint := project.first("", ".swiftlint.yml"):
        findings.command("lint", "swiftlint", lint, 56)
    if style := project.first("", ".swiftformat"):
        findings.command("format", "swiftformat .", style, 56)
    elif style := project.first("", ".swift-format"):
        findings.command("format", "swift format --in-place --recursive .", style, 50)
    if not findings.techs:
        bundles = project.ending(".pbxproj", ".xcworkspacedata")
        if bundles:
            findings.tech("Swift (Xcode)")
    return findings


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
        scalafmt = project.first(home, ".scalafmt.conf")
        if scalafmt and "scalafmt" in plugins:
            findings.command("format", "sbt scalafmtAll", scalafmt, 58, home)
    return findings

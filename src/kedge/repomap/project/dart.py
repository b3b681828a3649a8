"""Dart and Flutter."""

from __future__ import annotations

from kedge.repomap.project.formats import items, named, table, text
from kedge.repomap.project.frameworks import at_least, major, notable
from kedge.repomap.project.parts import Findings, join
from kedge.repomap.project.source import Project


def read(project: Project) -> Findings:
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

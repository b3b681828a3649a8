"""Dart and Flutter."""

from __future__ import annotations

from kedge.repomap.project.formats import as_list, as_table, as_text, printable_items
from kedge.repomap.project.frameworks import lowest_version, major_version, select_notable
from kedge.repomap.project.parts import Findings, format_stack, join
from kedge.repomap.project.project_files import ProjectFiles


def read(project: ProjectFiles) -> Findings:
    findings = Findings("dart")
    for home in project.homes("pubspec.yaml", limit=2):
        path = join(home, "pubspec.yaml")
        spec = as_table(project.yaml(path))
        needs = {
            name: major_version(version) if isinstance(version, str) else None
            for name, version in printable_items(spec.get("dependencies"))
        }
        is_flutter = "flutter" in needs
        tool = "flutter" if is_flutter else "dart"
        version = lowest_version(as_table(spec, "environment").get("sdk"))
        libraries = select_notable("dart", {n: v for n, v in needs.items() if n != "flutter"})
        framework = "Flutter" if is_flutter else "pub"
        findings.add_tech(format_stack("Dart", version, [framework], libraries), home)
        findings.add_command("install", f"{tool} pub get", path, 62, home)
        if join(home, "test") in project.directories:
            findings.add_command("test", f"{tool} test", path, 62, home)
        findings.add_command("lint", f"{tool} analyze", path, 54, home)
        findings.add_command("format", "dart format .", path, 44, home)
        if is_flutter:
            findings.add_command("run", "flutter run", path, 56, home)
        for place in ("lib/main.dart", "bin/main.dart"):
            if project.has(join(home, place)):
                findings.add_entry(join(home, place), "main program")
        for name in as_list(spec.get("workspace"))[:60]:
            member = join(home, as_text(name) or "")
            if project.has(f"{member}/pubspec.yaml"):
                findings.packages.append(member)
    return findings

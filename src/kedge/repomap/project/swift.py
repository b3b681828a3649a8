"""Swift: packages and Xcode projects."""

from __future__ import annotations

import re

from kedge.repomap.project.parts import Findings, base, format_stack, join, parent
from kedge.repomap.project.project_files import ProjectFiles


def _is_product(script: str, target: str) -> bool:
    """True if the package offers the program; programs of a library are examples."""
    if ".library(" not in script:
        return True
    offered = [piece.partition(")")[0] for piece in script.split(".executable(")[1:]]
    return any(f'"{target}"' in piece for piece in offered)


def read(project: ProjectFiles) -> Findings:
    findings = Findings("swift")
    if not project.census.weight("swift"):
        return findings
    for home in project.homes("Package.swift", limit=2):
        path = join(home, "Package.swift")
        script = project.head(path)
        version = re.match(r"//\s{0,4}swift-tools-version:\s{0,4}(\d+\.\d+)", script)
        known = [name for name in ("vapor", "swift-nio", "swift-syntax") if f"/{name}" in script]
        least = f"≥{version.group(1)}" if version else None
        findings.add_tech(format_stack("Swift", least, ["SwiftPM"], known), home)
        findings.add_command("build", "swift build", path, 60, home)
        if join(home, "Tests") in project.directories:
            findings.add_command("test", "swift test", path, 62, home)
        for place in project.find_named("main.swift")[:20]:
            if _is_product(script, base(parent(place))):
                findings.add_entry(place, "main program")
    if lint := project.first("", ".swiftlint.yml"):
        findings.add_command("lint", "swiftlint", lint, 56)
    if style := project.first("", ".swiftformat"):
        findings.add_command("format", "swiftformat .", style, 56)
    elif style := project.first("", ".swift-format"):
        findings.add_command("format", "swift format --in-place --recursive .", style, 50)
    if not findings.techs and project.find_ending(".pbxproj", ".xcworkspacedata"):
        findings.add_tech("Swift (Xcode)")
    return findings

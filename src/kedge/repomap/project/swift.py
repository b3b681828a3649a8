"""Swift: its packages, and Xcode."""

from __future__ import annotations

import re

from kedge.repomap.project.parts import Findings, join
from kedge.repomap.project.source import Project


def read(project: Project) -> Findings:
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

"""Deno: its tasks and its workspaces."""

from __future__ import annotations

import re

from kedge.repomap.project.formats import named, table, texts
from kedge.repomap.project.globs import expand
from kedge.repomap.project.parts import Findings, counted
from kedge.repomap.project.source import Project
from kedge.repomap.project.targets import Target, add_targets


def read(project: Project) -> Findings:
    findings = Findings("node")
    path = project.first("", "deno.json", "deno.jsonc")
    if path is None:
        return findings
    config = project.json(path)
    members = texts(config.get("workspace"))
    members = members or texts(table(config, "workspace").get("members"))
    found = expand(project, "", members, "deno.json") + expand(project, "", members, "deno.jsonc")
    findings.packages += sorted(found)
    if not project.has("package.json"):
        note = f"Deno workspace of {counted(len(found), 'package')}" if found else "Deno"
        languages = project.census.languages("node")
        script = "JavaScript" if languages["JavaScript"] > languages["TypeScript"] else "TypeScript"
        findings.tech(f"{script} ({note})")
    targets = [
        Target(
            name, tuple(texts(body) or texts(table(body).get("command"))), f"{path}:tasks.{name}"
        )
        for name, body in named(config.get("tasks"))
    ]
    add_targets(findings, targets, lambda name: f"deno task {name}", 84)
    if any(re.search(r"[._]test\.[jt]sx?$", name) for name in project.names):
        findings.command("test", "deno test", path, 56)
    findings.command("lint", "deno lint", path, 52)
    findings.command("format", "deno fmt", path, 52)
    return findings

"""Deno: its tasks and its workspaces."""

from __future__ import annotations

import re

from kedge.host.text import count_noun
from kedge.repomap.project.formats import as_table, as_texts, printable_items
from kedge.repomap.project.globs import expand
from kedge.repomap.project.parts import Findings
from kedge.repomap.project.project_files import ProjectFiles
from kedge.repomap.project.targets import Target, add_targets


def read(project: ProjectFiles) -> Findings:
    findings = Findings("node")
    path = project.first("", "deno.json", "deno.jsonc")
    if path is None:
        return findings
    config = project.json(path)
    members = as_texts(config.get("workspace"))
    members = members or as_texts(as_table(config, "workspace").get("members"))
    found = expand(project, "", members, "deno.json") + expand(project, "", members, "deno.jsonc")
    findings.packages += sorted(found)
    if not project.has("package.json"):
        note = f"Deno workspace of {count_noun(len(found), 'package')}" if found else "Deno"
        languages = project.census.languages("node")
        script = "JavaScript" if languages["JavaScript"] > languages["TypeScript"] else "TypeScript"
        findings.add_tech(f"{script} ({note})")
    targets = [
        Target(
            name,
            tuple(as_texts(body) or as_texts(as_table(body).get("command"))),
            f"{path}:tasks.{name}",
        )
        for name, body in printable_items(config.get("tasks"))
    ]
    add_targets(findings, targets, lambda name: f"deno task {name}", 84)
    if any(re.search(r"[._]test\.[jt]sx?$", name) for name in project.names):
        findings.add_command("test", "deno test", path, 56)
    findings.add_command("lint", "deno lint", path, 52)
    findings.add_command("format", "deno fmt", path, 52)
    return findings

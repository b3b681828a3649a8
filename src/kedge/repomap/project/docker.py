"""Docker: services of compose files, and the command of the image."""

from __future__ import annotations

import json
import re

from kedge.repomap.project.formats import as_list, as_table, as_text, printable_items
from kedge.repomap.project.parts import Findings
from kedge.repomap.project.project_files import ProjectFiles

_COMPOSE = ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")


def read(project: ProjectFiles) -> Findings:
    findings = Findings()
    dockerfile = project.first("", "Dockerfile", "Containerfile", "docker/Dockerfile")
    compose = project.first("", *_COMPOSE)
    services = as_table(project.yaml(compose), "services") if compose else {}
    if dockerfile or compose:
        names = [name for name, _ in printable_items(services)]
        findings.add_tech(f"Docker (compose: {_join_names(names)})" if names else "Docker")
    # without a build there are only databases and the like for tests
    if compose and any("build" in as_table(service) for _, service in printable_items(services)):
        findings.add_command("run", "docker compose up", compose, 44)
    if dockerfile and (started := _starts(project.head(dockerfile))):
        findings.add_entry(dockerfile, f"container runs `{started}`")
    return findings


def _join_names(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more


def _starts(dockerfile: str) -> str | None:
    """The command of the last stage: ENTRYPOINT and CMD as one line."""
    parts: dict[str, str] = {}
    for line in re.sub(r"\\\n[ \t]{0,40}", " ", dockerfile).split("\n"):
        if re.match(r"FROM\s", line, re.IGNORECASE):
            parts = {}
        found = re.match(r"(ENTRYPOINT|CMD)\s+(\S.*)", line[:600], re.IGNORECASE)
        if found:
            parts[found.group(1).upper()] = _words(found.group(2).strip())
    words = " ".join(parts[name] for name in ("ENTRYPOINT", "CMD") if name in parts)
    return as_text(words if len(words) <= 80 else f"{words[:79].rpartition(' ')[0]} …", 100)


def _words(value: str) -> str:
    """The command of a Dockerfile's line, which may be a JSON list of words."""
    try:
        words = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return " ".join(filter(None, map(as_text, as_list(words)))) or value

"""Containers: what the images start from, which services run together, what a container runs."""

from __future__ import annotations

import json
import re

from kedge.repomap.project.formats import named, table, text
from kedge.repomap.project.parts import Findings, join
from kedge.repomap.project.source import Project

_COMPOSE = ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")


def read(project: Project) -> Findings:
    findings = Findings()
    dockerfile = project.first("", "Dockerfile", "Containerfile", "docker/Dockerfile")
    compose = project.first("", *_COMPOSE)
    services = []
    if compose:
        services = [name for name, _ in named(table(project.yaml(compose), "services"))]
    if dockerfile or compose:
        inside = f" (compose: {_listed(services)})" if services else ""
        findings.tech(f"Docker{inside}")
    if compose and services:
        findings.command("run", "docker compose up", compose, 44)
    for path in ([dockerfile] if dockerfile else [])[:1]:
        if started := _starts(project.head(path)):
            findings.entry(path, f"container runs `{started}`")
    return findings


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more


def _starts(dockerfile: str) -> str | None:
    """What the last stage starts: ENTRYPOINT and CMD as one line."""
    parts: dict[str, str] = {}
    for line in dockerfile.split("\n"):
        if re.match(r"FROM\s", line, re.IGNORECASE):
            parts = {}
        found = re.match(r"(ENTRYPOINT|CMD)\s+(\S.*)", line[:300], re.IGNORECASE)
        if found:
            parts[found.group(1).upper()] = _words(found.group(2).strip())
    return text(" ".join(parts[name] for name in ("ENTRYPOINT", "CMD") if name in parts), 100)


def _words(value: str) -> str:
    if value.startswith("["):
        try:
            words = json.loads(value)
        except (ValueError, RecursionError):
            return value
        if isinstance(words, list):
            return " ".join(word for word in words if isinstance(word, str))
    return value


def home_of(directory: str) -> str:
    return join(directory, "Dockerfile")

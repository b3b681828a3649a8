"""The commands that a project's guides for contributors name."""

from __future__ import annotations

import re

from kedge.repomap.project.project_files import ProjectFiles
from kedge.repomap.project.shell import kind_of, step_of

_GUIDES = (
    "CONTRIBUTING.md", "CONTRIBUTING.rst", "CONTRIBUTING", ".github/CONTRIBUTING.md",
    "docs/CONTRIBUTING.md", "docs/contributing.md", "DEVELOPMENT.md", "HACKING.md", "AGENTS.md",
    "CLAUDE.md", "README.md", "README.rst",
)  # fmt: skip
MAX_LINES = 2000
MAX_LENGTH = 200
_QUOTED = re.compile(r"`([^`\n]{2,100})`")
_PROMPT = re.compile(r"^(?:[$>%] |\(\w{1,20}\) ?\$ )")


def find_steps(project: ProjectFiles) -> frozenset[str]:
    """The steps in code blocks and in backticks, as `step_of` returns them."""
    found: set[str] = set()
    for path in filter(project.has, _GUIDES):
        for line in project.head(path).split("\n")[:MAX_LINES]:
            short = line[:MAX_LENGTH].strip()
            for command in (*_QUOTED.findall(short), _PROMPT.sub("", short)):
                plain = command.partition(" #")[0].strip("` ")
                if kind_of(plain):
                    found.add(step_of(plain))
    return frozenset(found - {""})

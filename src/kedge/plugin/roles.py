"""The plugin's files and its prompts, one for each role, also for agents other than Claude Code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from kedge.errors import UsageError

ROOT = Path(__file__).parent
_KINDS = {"agent": "agents/*.md", "command": "commands/*.md", "skill": "skills/*/SKILL.md"}
_PARTS = (".claude-plugin/*", "hooks/*", "README.md", *_KINDS.values())
_HEAD = re.compile(r"---\n(.*?)\n---\n", re.DOTALL)
# How Claude Code refers to commands, skills and agents of the plugin, and an option of its tool.
_COMMAND = re.compile(r"`/kedge:([a-z-]+) ([A-Z]+)`")
_SKILL = re.compile(r"\b([Uu])se the skill `kedge:([a-z-]+)` for:? (\$?[A-Z]+)")
_AGENT = re.compile(r"`kedge:([a-z-]+)`")
_OPTION = " (`run_in_background: false`)"
_AGENTS = (
    "Where an agent is named, start a new agent or session with the output of "
    "`kedge prompt --role NAME`, followed by what is said here. Wait for its answer.\n\n"
)


@dataclass(frozen=True, slots=True)
class Role:
    """One prompt: `kind` is agent, command or skill, `head` is its front matter."""

    name: str
    kind: str
    head: dict[str, str]
    text: str


def read_files() -> dict[str, bytes]:
    """Return the plugin's files by their path in it."""
    paths = (path for part in _PARTS for path in ROOT.glob(part) if path.is_file())
    return {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in sorted(paths)}


def read_roles() -> dict[str, Role]:
    """Return every role by its name: agents first, then commands, then skills."""
    roles = {}
    for kind, pattern in _KINDS.items():
        for path in sorted(ROOT.glob(pattern)):
            name = path.parent.name if kind == "skill" else path.stem
            roles[name] = _parse(name, kind, path.read_text(encoding="utf-8"))
    return roles


def find_role(name: str) -> Role:
    known = read_roles()
    if name not in known:
        raise UsageError(f"no role {name!r}", hint=f"the roles are {', '.join(known)}")
    return known[name]


def render_prompt(role: Role, subject: str | None) -> str:
    """Return the role's prompt for an agent without the plugin.

    `subject` is the feature or task that it is about.
    """
    text = _COMMAND.sub(r"`kedge prompt \2 --role \1`", role.text)
    text = _SKILL.sub(_render_skill, text).replace(_OPTION, "")
    text, agents = _AGENT.subn(r"`\1`", text)
    if "$ARGUMENTS" in text:
        text = text.replace("$ARGUMENTS", subject or role.head.get("argument-hint", "the subject"))
    elif subject:
        text = f"{text}\nYou are asked about: {subject}\n"
    return (_AGENTS if agents else "") + text


def _render_skill(match: re.Match[str]) -> str:
    do = "Do" if match[1] == "U" else "do"
    return f"{do} what `kedge prompt {match[3]} --role {match[2]}` says"


def _parse(name: str, kind: str, text: str) -> Role:
    front_matter = _HEAD.match(text)
    lines = front_matter[1].splitlines() if front_matter else []
    head = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    return Role(name, kind, head, text[front_matter.end() if front_matter else 0 :])

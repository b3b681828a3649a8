"""The prompts of the plugin, one for each role: as its files have them, and for other agents."""

from __future__ import annotations

import re
from pathlib import Path

from kedge.errors import UsageError
from kedge.host.record import NamedTuple

ROOT = Path(__file__).parent
_KINDS = {"agent": "agents/*.md", "command": "commands/*.md", "skill": "skills/*/SKILL.md"}
_PARTS = (".claude-plugin/*", "hooks/*", "README.md", *_KINDS.values())
_HEAD = re.compile(r"---\n(.*?)\n---\n", re.DOTALL)
# Names that Claude Code gives to what the plugin brings, and an option that its tool has.
_COMMAND = re.compile(r"`/kedge:([a-z-]+) ([A-Z]+)`")
_SKILL = re.compile(r"\b([Uu])se the skill `kedge:([a-z-]+)` for:? (\$?[A-Z]+)")
_AGENT = re.compile(r"`kedge:([a-z-]+)`")
_OPTION = " (`run_in_background: false`)"
_AGENTS = (
    "Where an agent is named, start a fresh one, or a session of its own, with what "
    "`kedge prompt --role NAME` prints and then what is said here. Wait for its answer.\n\n"
)


class Role(NamedTuple):
    """One prompt: `kind` is agent, command or skill, `head` what its first lines say of it."""

    name: str
    kind: str
    head: dict[str, str]
    text: str


def files() -> dict[str, bytes]:
    """The plugin's files by their path in it."""
    found = (path for part in _PARTS for path in ROOT.glob(part) if path.is_file())
    return {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in sorted(found)}


def roles() -> dict[str, Role]:
    """Every role by its name: agents first, then commands, then skills."""
    found = {}
    for kind, pattern in _KINDS.items():
        for path in sorted(ROOT.glob(pattern)):
            name = path.parent.name if kind == "skill" else path.stem
            found[name] = _read(name, kind, path.read_text(encoding="utf-8"))
    return found


def find(name: str) -> Role:
    known = roles()
    if name not in known:
        raise UsageError(f"no role {name!r}", hint=f"the roles are {', '.join(known)}")
    return known[name]


def prompt(role: Role, subject: str | None) -> str:
    """The role's prompt for an agent that does not know the plugin.

    `subject` is the feature or the task that it is about.
    """
    text = _COMMAND.sub(r"`kedge prompt \2 --role \1`", role.text)
    text = _SKILL.sub(_as_told, text).replace(_OPTION, "")
    text, agents = _AGENT.subn(r"`\1`", text)
    if "$ARGUMENTS" in text:
        text = text.replace("$ARGUMENTS", subject or role.head.get("argument-hint", "the subject"))
    elif subject:
        text = f"{text}\nYou are asked about: {subject}\n"
    return (_AGENTS if agents else "") + text


def _as_told(found: re.Match[str]) -> str:
    do = "Do" if found[1] == "U" else "do"
    return f"{do} what `kedge prompt {found[3]} --role {found[2]}` says"


def _read(name: str, kind: str, text: str) -> Role:
    found = _HEAD.match(text)
    lines = found[1].splitlines() if found else []
    head = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    return Role(name, kind, head, text[found.end() if found else 0 :])

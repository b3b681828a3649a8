"""The state of git: branch, uncommitted changes, recent commits."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.context.budget import TextPart
from kedge.context.workspace import Workspace
from kedge.host.text import clean, shorten

_LINE = 160  # characters of a commit's subject
_FILES = 12
_OWN = ".kedge/"  # what kedge writes itself is no change of the work


def describe_git(workspace: Workspace) -> TextPart | None:
    status = workspace.git("status", "--porcelain=v2", "--branch", "-z")
    branch, every = _parse_status(status)
    changed = [(kind, path) for kind, path in every if not path.startswith(_OWN)]
    lines = [f"Branch: {branch}", f"Uncommitted changes: {_count_kinds(changed)}"]
    lines += [f"  {kind} {path}".replace("\n", "\\n") for kind, path in changed[:_FILES]]
    if len(changed) > _FILES:
        lines.append(f"  … and {len(changed) - _FILES} more")
    commits = workspace.settings.anchor.git_commits
    if "no commits yet" not in branch and commits:
        log = workspace.git("log", f"-n{commits}", "--format=%h %s").splitlines()
        lines += ["Recent commits:", *(f"  {shorten(line, _LINE)}" for line in log)]
        lines += _list_committed(workspace)
    return TextPart("git", "### Git State", clean("\n".join(lines)), more="git status")


def _list_committed(workspace: Workspace) -> list[str]:
    """List the files committed since the task was started."""
    task = workspace.known_task
    if task is None or not task.started_at:
        return []
    since = f"--since={task.started_at}"
    names = workspace.git("log", "-n50", since, "--format=", "--name-only", "-z").split("\0")
    paths = sorted({name.strip("\n") for name in names} - {""})
    paths = [path for path in paths if not path.startswith(_OWN)]
    if not paths:
        return []
    more = f" and {len(paths) - _FILES} more" if len(paths) > _FILES else ""
    return [f"Committed since the task was started: {', '.join(paths[:_FILES])}{more}"]


def _parse_status(output: str) -> tuple[str, list[tuple[str, str]]]:
    """Parse git's machine-readable status into the branch and the changed files."""
    head: dict[str, str] = {}
    changed: list[tuple[str, str]] = []
    entries = iter(output.split("\0"))
    for entry in entries:
        if entry.startswith("# branch."):
            name, _, value = entry[9:].partition(" ")
            head[name] = value
        elif entry.startswith("1 "):
            changed.append((_kind(entry[2:4]), entry.split(" ", 8)[8]))
        elif entry.startswith("2 "):
            changed.append(("R", f"{entry.split(' ', 9)[9]} (was {next(entries, '')})"))
        elif entry.startswith("u "):
            changed.append(("U", entry.split(" ", 10)[10]))
        elif entry.startswith("? "):
            changed.append(("?", entry[2:]))
    return _branch(head), changed


def _branch(head: dict[str, str]) -> str:
    name = head.get("head", "")
    if head.get("oid") == "(initial)":
        return f"{name} (no commits yet)"
    if name == "(detached)":
        return f"none, HEAD is detached at {head.get('oid', '')[:10]}"
    ahead, _, behind = head.get("ab", "+0 -0").partition(" ")
    parts = [f"{int(ahead)} ahead of"] if int(ahead) else []
    parts += [f"{-int(behind)} behind"] if int(behind) else []
    return f"{name} ({' and '.join(parts)} {head.get('upstream')})" if parts else name


def _kind(letters: str) -> str:
    return letters.replace(".", "")[:1]


def _count_kinds(changed: Sequence[tuple[str, str]]) -> str:
    if not changed:
        return "none"
    words = {"?": "untracked", "R": "renamed", "D": "deleted", "A": "added", "U": "in conflict"}
    counts: dict[str, int] = {}
    for kind, _ in changed:
        word = words.get(kind, "modified")
        counts[word] = counts.get(word, 0) + 1
    total = "1 file" if len(changed) == 1 else f"{len(changed)} files"
    return f"{total} ({', '.join(f'{count} {word}' for word, count in counts.items())})"

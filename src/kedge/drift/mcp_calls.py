"""Calls of MCP tools: what names and inputs say they do to files, code hosts and databases."""

from __future__ import annotations

import re

from kedge.drift.draft import PATHS, is_mapping, list_strings, list_values, pair_texts
from kedge.drift.shell.effects import VcsCommand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kedge.drift.draft import ActionDraft

_WRITES = "write edit create update replace insert append patch save modify put set add copy"
_VERBS = {
    **dict.fromkeys(_WRITES.split(), "written"),
    **dict.fromkeys(("delete", "remove", "unlink"), "deleted"),
    **dict.fromkeys(("move", "rename"), "moved"),
}
_ELSEWHERE = ("owner", "repo", "repository", "project_id", "branch", "bucket", "page_id")
_SHELLS = frozenset(("shell", "bash", "command", "exec", "terminal"))
_FOLDERS = frozenset(("directory", "folder", "dir"))
_TALKS = frozenset(
    ("send", "post", "publish", "reply", "comment", "deploy", "email", "notify", "upload")
)
_HOSTS = {"github": "gh", "gitlab": "glab", "gitea": "gh", "forgejo": "gh", "bitbucket": "gh"}
_NOUNS = {
    "pull": "pr", "pr": "pr", "merge": "mr", "mr": "mr", "issue": "issue", "release": "release",
    "repository": "repo", "repo": "repo", "gist": "gist", "workflow": "workflow",
}  # fmt: skip
_HOST_VERBS = {
    "create": "create", "open": "create", "merge": "merge", "close": "close", "delete": "delete",
    "update": "edit", "edit": "edit", "add": "comment", "comment": "comment", "reply": "comment",
    "submit": "review", "fork": "fork", "run": "run", "rerun": "rerun", "assign": "edit",
    "request": "edit", "dismiss": "review",
}  # fmt: skip
# The tools of kedge's own server. What they do is kedge's work and not the agent's.
OWN_TOOLS = frozenset(
    """code_map anchor task_ready task_show task_claim task_close limit_record handoff_begin
    handoff_snapshot handoff_verify report_append lessons past_steps""".split()  # noqa: SIM905
)
_SQL = frozenset(("sql", "query", "execute", "statement"))
_DROPS = re.compile(r"(?i)\b(?:drop\s{1,9}(?:table|database|schema|view|collection)|truncate)\b")


def runs_command(draft: ActionDraft) -> bool:
    """True if the tool is a shell."""
    return bool(draft.text("command", "cmd")) and not _SHELLS.isdisjoint(_split_name(draft)[1])


def read_call(draft: ActionDraft) -> None:
    """Record what a call does: its paths are read unless the tool's name says that it writes.

    A path that comes with a repository or a bucket belongs there, not to this tree.
    """
    server, words = _split_name(draft)
    if server == "kedge" and "_".join(words) in OWN_TOOLS:
        return
    act = next((_VERBS[word] for word in words if word in _VERBS), "read")
    if draft.text("url"):
        draft.fetch()
    if not any(key in draft.input for key in _ELSEWHERE):
        _read_paths(draft, act, words)
    done = any(draft.effects.has(kind) for kind in ("written", "deleted", "moved", "directories"))
    outward = None if done else _find_outward(draft, server, words)
    if outward is not None:
        draft.effects.add("vcs", outward)
    if outward is not None or (act != "read" and not done):
        draft.effects.add("network", f"mcp:{server}")
    drop = _DROPS.search(draft.text("sql", "statement", "query")[:20_000])
    if drop and not _SQL.isdisjoint(words):
        shown = (" ".join(drop[0].split()),)
        draft.effects.add("vcs", VcsCommand(f"mcp {server}", shown, destructive=True))


def _split_name(draft: ActionDraft) -> tuple[str, list[str]]:
    """Return the server, and the words of the tool's name."""
    _, server, name = [*draft.tool.split("__", 2), "", ""][:3]
    return server, name.replace("-", "_").lower().split("_")


def _find_outward(draft: ActionDraft, server: str, words: list[str]) -> VcsCommand | None:
    """Return what a tool does on a code host, as the command that does the same; or a message."""
    host = next((_HOSTS[name] for name in _HOSTS if name in server.lower()), "")
    if not host:
        talks = next((word for word in words if word in _TALKS), "")
        return VcsCommand(f"mcp {server} {talks}", outward=True) if talks else None
    verb = words[0]
    if verb in ("get", "list", "search", "read", "view", "download"):
        return None
    branch = draft.text("branch", "ref")
    if "push" in words or (verb in _VERBS and not {"file", "files"}.isdisjoint(words)):
        return VcsCommand("push", (branch,) if branch else (), outward=True)
    if "branch" in words:
        return VcsCommand("branch", (branch,), verb == "delete", outward=True)
    noun = next((_NOUNS[word] for word in words[1:] if word in _NOUNS), "")
    if not noun or verb not in _HOST_VERBS:
        return None
    done = "comment" if "comment" in words else "review" if "review" in words else ""
    done = done or _HOST_VERBS[verb]
    return VcsCommand(f"{host} {noun} {done}", (), done in ("delete", "close"), outward=True)


def _read_paths(draft: ActionDraft, act: str, words: list[str]) -> None:
    source = draft.text("source", "from", "old_path")
    target = draft.text("destination", "to", "new_path")
    if act == "moved":
        if source and target:
            draft.move(source, target)
        return
    if target and "copy" in words:
        draft.add("read", source)
        draft.add("written", target)
        return
    folder = act == "written" and not _FOLDERS.isdisjoint(words)
    kind = "directories" if folder else act
    paths = [draft.text(*PATHS, "directory"), *list_strings(draft.input.get("paths"))]
    shown = [draft.add(kind, path) for path in paths if _is_path(path)]
    if act != "written":
        return
    for each in list_values(draft.input.get("files")):
        path = each.get("path") if is_mapping(each) else None
        if isinstance(path, str) and _is_path(path):
            text = each.get("content")
            draft.effects.add_change(
                draft.add("written", path), text if isinstance(text, str) else "", whole=True
            )
    if any(shown):
        old, new = pair_texts(draft.input)
        text = new or draft.text("content", "contents", "text", "body", "file_text")
        draft.effects.add_change(shown[0], text, old, whole="write" in words or "create" in words)
        draft.add_edits(shown[0])


def _is_path(text: str) -> bool:
    return bool(text) and "\n" not in text and not text.startswith(("http://", "https://"))

"""Turn a tool call into an action: what it is, and what it does to the tree and the world.

Nothing is run and no file is read. An unknown tool counts as one that only reads.
"""

from __future__ import annotations

from functools import lru_cache

from kedge.drift.shell.effects import Change, Effects, EffectsBuilder
from kedge.drift.shell.paths import project_paths
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, Literal, TypeAlias

    Kind: TypeAlias = Literal[
        "read", "edit", "write", "delete", "move", "shell", "vcs", "install", "network", "agent",
        "mcp", "plan", "unknown",
    ]  # fmt: skip

__all__ = ["Action", "Change", "Effects", "normalise"]

_SHELLS = ("bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh", "/usr/bin/bash")
_SHORT = 200  # characters of a command that is likely to be run again
_MOST_COMMAND = 20_000  # characters of a command, a note or a prompt that are kept


class Action(NamedTuple):
    """`text` is all the text added and `removed` all the text removed; `changes` has both by file.

    `command` is a shell command, a search, an address or a prompt; `note` is the agent's own
    description of the action.
    """

    id: str
    tool: str
    kind: Kind
    effects: Effects
    text: str = ""
    removed: str = ""
    command: str = ""
    note: str = ""
    changes: tuple[Change, ...] = ()


class _Draft:
    """An action while its input is being read."""

    __slots__ = ("command", "cwd", "effects", "input", "paths", "tool")

    def __init__(self, tool: str, given: Mapping[str, Any], root: str, cwd: str) -> None:
        self.tool = tool
        self.input = given
        self.paths = project_paths(root)
        self.cwd = self.paths.absolute(cwd or ".", self.paths.root)
        self.effects = EffectsBuilder()
        self.command = ""

    def text(self, *names: str) -> str:
        """Return the first of the named inputs that is a non-empty string."""
        for name in names:
            value = self.input.get(name)
            if isinstance(value, str) and value:
                return value
        return ""

    def add(self, kind: str, path: str) -> str:
        """Record an effect on a path; return the displayed path, or "" if it is not known."""
        shown = self.paths.display(path.removeprefix("file://"), self.cwd) if path else None
        if shown is None:
            return ""
        path, outside = shown
        self.effects.add(kind, path)
        if outside:
            self.effects.add("outside", path)
        return path


def normalise(
    tool: str,
    input: Any,  # noqa: A002 - the word that agents use
    *,
    root: str,
    cwd: str,
    id: str = "",  # noqa: A002
) -> Action:
    """Return the action of a tool call. Never raises, whatever the input."""
    tool = tool if isinstance(tool, str) else ""
    given: Mapping[str, Any] = input if _is_mapping(input) else {"input": input}
    draft = _Draft(tool, given, root, cwd)
    kind = _find_reader(tool)(draft)
    effects = draft.effects
    return Action(
        id,
        tool,
        kind,
        effects.build(),
        "\n".join(change.added for change in effects.changes if change.added),
        "\n".join(change.removed for change in effects.changes if change.removed),
        draft.command[:_MOST_COMMAND],
        draft.text("description", "explanation", "justification")[:_MOST_COMMAND],
        tuple(effects.changes),
    )


def _is_mapping(value: object) -> bool:
    return hasattr(value, "get") and hasattr(value, "keys")


def _find_reader(tool: str) -> Callable[[_Draft], Kind]:
    if tool.startswith("mcp__"):
        return _mcp
    name = tool.rpartition(".")[2]  # Codex: `functions.shell`
    return _TOOLS.get(name.lower(), _make_reader("unknown"))


_PATHS = ("file_path", "filePath", "path", "notebook_path", "absolute_path", "filename", "file",
          "relative_path", "target_file", "uri")  # fmt: skip
_TEXTS = ("_string", "String", "_str", "Text", "_text")


def _read(draft: _Draft) -> Kind:
    draft.add("read", draft.text(*_PATHS, "dir_path", "directory"))
    for path in _strings(draft.input.get("paths")):
        draft.add("read", path)
    return "read"


def _search(draft: _Draft) -> Kind:
    draft.add("read", draft.text("path", "dir_path", "directory"))
    draft.command = draft.text("pattern", "query", "glob")
    return "read"


def _write(draft: _Draft) -> Kind:
    shown = draft.add("written", draft.text(*_PATHS))
    draft.effects.add_change(
        shown, draft.text("content", "contents", "text", "file_text"), whole=True
    )
    return "write"


def _edit(draft: _Draft) -> Kind:
    shown = draft.add("written", draft.text(*_PATHS))
    old, new = _pair(draft.input)
    draft.effects.add_change(shown, new, old)
    _add_edits(draft, shown)
    return "edit"


def _add_edits(draft: _Draft, shown: str) -> None:
    for edit in _list(draft.input.get("edits")):
        if _is_mapping(edit):
            old, new = _pair(edit)
            draft.effects.add_change(shown, new, old)


def _pair(edit: Mapping[str, Any]) -> tuple[str, str]:
    """Return the old and the new text of an edit."""
    old, new = ([edit.get(side + tail) for tail in _TEXTS] for side in ("old", "new"))
    return next(_strings(old), ""), next(_strings(new), "")


def _notebook(draft: _Draft) -> Kind:
    shown = draft.add("written", draft.text(*_PATHS))
    source = draft.text("new_source")
    if draft.text("edit_mode") != "delete":
        draft.effects.add_change(shown, source)
    return "edit"


def _shell(draft: _Draft) -> Kind:
    cwd = draft.text("workdir", "cwd", "dir_path", "directory")
    if cwd:
        draft.cwd = draft.paths.absolute(cwd, draft.cwd)
    draft.command = _command(draft.input)
    read = _interpret_cached if len(draft.command) <= _SHORT else _interpret
    draft.effects = read(draft.command, draft.paths.root, draft.cwd or ".")
    return _choose_kind(draft.effects)


def _interpret(command: str, root: str, cwd: str) -> EffectsBuilder:
    from kedge.drift.shell.interpreter import read_command

    effects = EffectsBuilder()
    read_command(command, effects, root=root, cwd=cwd)
    return effects


_interpret_cached = lru_cache(256)(_interpret)  # one command in three was run before


def _command(given: Mapping[str, Any]) -> str:
    """Return the command as text; for `["bash", "-lc", "…"]` the command that bash runs."""
    for name in ("command", "cmd", "script", "input"):
        value = given.get(name)
        if isinstance(value, str):
            return value
        words = list(_strings(value))
        if len(words) == 3 and words[0] in _SHELLS and words[1] in ("-c", "-lc", "-lic", "-ic"):
            return words[2]
        if words:
            return " ".join("'" + word.replace("'", "'\"'\"'") + "'" for word in words)
    return ""


def _choose_kind(effects: EffectsBuilder) -> Kind:
    """Return the kind of the weightiest effect of a command."""
    kinds: dict[str, Kind] = {
        "installs": "install", "vcs": "vcs", "deleted": "delete", "moved": "move",
        "written": "edit" if effects.in_place else "write", "directories": "write",
        "network": "network", "runs": "shell",
    }  # fmt: skip
    for effect, kind in kinds.items():
        if effects.has(effect):
            return kind
    return "read" if effects.plain else "shell"


def _patch(draft: _Draft) -> Kind:
    from kedge.drift.shell.patches import parse_patch

    text = draft.text("input", "patch", "command", "content")
    files = parse_patch(text)
    if not files:
        if text:
            draft.effects.add_unread("apply_patch: the patch is not read")
        return "edit"
    for each in files:
        if each.kind == "delete":
            shown = draft.add("deleted", each.path)
        elif each.target:
            shown = _move(draft, each.path, each.target)
            if each.added or each.removed:
                draft.add("written", each.target)
        else:
            shown = draft.add("written", each.path)
        draft.effects.add_change(shown, each.added, each.removed, each.kind == "add")
    kinds = {each.kind for each in files}
    if kinds == {"delete"}:
        return "delete"
    if all(each.target and not each.added and not each.removed for each in files):
        return "move"
    return "write" if kinds == {"add"} else "edit"


def _move(draft: _Draft, source: str, target: str) -> str:
    old, new = draft.paths.display(source, draft.cwd), draft.paths.display(target, draft.cwd)
    if not old or not new:
        return ""
    draft.effects.add("moved", (old[0], new[0]))
    for path, outside in (old, new):
        if outside:
            draft.effects.add("outside", path)
    return new[0]


def _fetch(draft: _Draft) -> Kind:
    from kedge.drift.shell.call import strip_secrets

    draft.command = draft.text("url", "query", "prompt", "q")
    url = draft.text("url")
    draft.effects.add("network", strip_secrets(url) if url else "web search")
    return "network"


def _make_reader(kind: Kind, *names: str) -> Callable[[_Draft], Kind]:
    """Return a reader of tools that do nothing to the tree; the command is one of these inputs."""

    def read(draft: _Draft) -> Kind:
        draft.command = draft.text(*names)
        return kind

    return read


def _stdin(draft: _Draft) -> Kind:
    """Read the text that is sent to a running program, which may be a shell."""
    draft.command = draft.text("chars")
    if draft.command.strip():
        draft.effects.add("unclear", "write_stdin: what the program does with it is not known")
    return "shell" if draft.command.strip() else "read"


_WRITES = "write edit create update replace insert append patch save modify put set add copy"
_VERBS = {
    **dict.fromkeys(_WRITES.split(), "written"),
    **dict.fromkeys(("delete", "remove", "unlink"), "deleted"),
    **dict.fromkeys(("move", "rename"), "moved"),
}
_ELSEWHERE = ("owner", "repo", "repository", "project_id", "branch", "bucket", "page_id")


def _mcp(draft: _Draft) -> Kind:
    """Read a call of an MCP tool: its paths are read unless the tool's name says that it writes.

    A path that comes with a repository or a bucket belongs there, not to this tree.
    """
    _, server, name = [*draft.tool.split("__", 2), "", ""][:3]
    words = name.replace("-", "_").lower().split("_")
    act = next((_VERBS[word] for word in words if word in _VERBS), "read")
    shells = {"shell", "bash", "command", "exec", "terminal"}
    if draft.text("command", "cmd") and not shells.isdisjoint(words):
        _shell(draft)
        return "mcp"
    if draft.text("url"):
        _fetch(draft)
    if not any(key in draft.input for key in _ELSEWHERE):
        _read_mcp_paths(draft, act, words)
    if act != "read" and not any(
        draft.effects.has(kind) for kind in ("written", "deleted", "moved", "directories")
    ):
        draft.effects.add("network", f"mcp:{server}")
    return "mcp"


def _read_mcp_paths(draft: _Draft, act: str, words: list[str]) -> None:
    source = draft.text("source", "from", "old_path")
    target = draft.text("destination", "to", "new_path")
    if act == "moved":
        if source and target:
            _move(draft, source, target)
        return
    if target and "copy" in words:
        draft.add("read", source)
        draft.add("written", target)
        return
    folder = act == "written" and not {"directory", "folder", "dir"}.isdisjoint(words)
    kind = "directories" if folder else act
    paths = [draft.text(*_PATHS, "directory"), *_strings(draft.input.get("paths"))]
    shown = [draft.add(kind, path) for path in paths if _is_path(path)]
    if act == "written" and any(shown):
        old, new = _pair(draft.input)
        text = new or draft.text("content", "contents", "text", "body", "file_text")
        draft.effects.add_change(shown[0], text, old, whole="write" in words or "create" in words)
        _add_edits(draft, shown[0])


def _is_path(text: str) -> bool:
    return bool(text) and "\n" not in text and not text.startswith(("http://", "https://"))


def _strings(value: object) -> Iterator[str]:
    """Yield the strings of a list."""
    return (each for each in _list(value) if isinstance(each, str))


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else ()


_agent = _make_reader("agent", "prompt", "message", "task")
_plan = _make_reader("plan", "plan", "subject", "query", "skill", "question")
_quiet = _make_reader("read", "query", "skill", "task_id", "bash_id", "chars")
_TABLE: tuple[tuple[Callable[[_Draft], Kind], str], ...] = (
    (_read, "Read NotebookRead LS view_image read_file list_directory read_many_files list"),
    (_search, "Glob Grep search_file_content codesearch grep_search file_search"),
    (_write, "Write write_file create_file"),
    (_edit, "Edit MultiEdit replace str_replace edit_file search_replace"),
    (_notebook, "NotebookEdit"),
    (_shell, "Bash exec_command shell local_shell run_shell_command shell_command exec"),
    (_shell, "unified_exec run_terminal_cmd"),
    (_patch, "apply_patch patch"),
    (_fetch, "WebFetch WebSearch web_fetch google_web_search web_search"),
    (_agent, "Task Agent SendMessage spawn_agent"),
    (_plan, "TodoWrite TodoRead TaskCreate TaskUpdate TaskList TaskGet ExitPlanMode EnterPlanMode"),
    (_plan, "update_plan AskUserQuestion write_todos get_goal create_goal update_goal"),
    (_plan, "ScheduleWakeup ReportFindings"),
    (_quiet, "BashOutput TaskOutput ToolSearch Skill ListAgents ListMcpResourcesTool"),
    (_quiet, "ReadMcpResourceTool tool_search SlashCommand save_memory"),
    (_stdin, "write_stdin"),
    (_make_reader("shell"), "KillShell KillBash TaskStop"),
)
_TOOLS = {name.lower(): reader for reader, names in _TABLE for name in names.split()}

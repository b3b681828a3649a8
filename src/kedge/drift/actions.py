"""A tool call as a normalised action: what it is, and what it does to the tree and the world.

Nothing is run and no file is looked at. A tool that is not known only reads until proven otherwise.
"""

from __future__ import annotations

from functools import lru_cache

from kedge.drift.shell.effects import Change, Check, Effects, Found, Install, Vcs
from kedge.drift.shell.paths import places
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, Literal, TypeAlias

    Kind: TypeAlias = Literal[
        "read", "edit", "write", "delete", "move", "shell", "vcs", "install", "network", "agent",
        "mcp", "plan", "unknown",
    ]  # fmt: skip

__all__ = ["Action", "Change", "Check", "Effects", "Install", "Vcs", "normalise"]

_SHORT = 200  # characters of a command that may well be run again
_MOST_COMMAND = 20_000  # characters of a command, a note or a prompt that are kept


class Action(NamedTuple):
    """`text` is what is added and `removed` what is taken away; `changes` has both by file.

    `command` is a shell command, a search, an address or a prompt; `note` what the agent says
    that the action is for.
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
    """What is known of an action while its input is read."""

    __slots__ = ("command", "cwd", "found", "input", "places", "tool")

    def __init__(self, tool: str, given: Mapping[str, Any], root: str, cwd: str) -> None:
        self.tool = tool
        self.input = given
        self.places = places(root)
        self.cwd = self.places.absolute(cwd or ".", self.places.root)
        self.found = Found()
        self.command = ""

    def text(self, *names: str) -> str:
        """The first of the named inputs that is text."""
        for name in names:
            value = self.input.get(name)
            if isinstance(value, str) and value:
                return value
        return ""

    def note(self, kind: str, path: str) -> str:
        """Note an effect on a path; the path as it is shown, or nothing."""
        placed = self.places.shown(path.removeprefix("file://"), self.cwd) if path else None
        if placed is None:
            return ""
        shown, outside = placed
        self.found.add(kind, shown)
        if outside:
            self.found.add("outside", shown)
        return shown


def normalise(
    tool: str,
    input: Any,  # noqa: A002 - the word that agents use
    *,
    root: str,
    cwd: str,
    id: str = "",  # noqa: A002
) -> Action:
    """The action that a tool call is. Whatever the input is, it never raises."""
    tool = tool if isinstance(tool, str) else ""
    given: Mapping[str, Any] = input if _is_mapping(input) else {"input": input}
    draft = _Draft(
        tool, given, root if isinstance(root, str) else "/", cwd if isinstance(cwd, str) else ""
    )
    kind = _reader(tool)(draft)
    found = draft.found
    return Action(
        id if isinstance(id, str) else "",
        tool,
        kind,
        found.effects(),
        "\n".join(change.added for change in found.changes if change.added),
        "\n".join(change.removed for change in found.changes if change.removed),
        draft.command[:_MOST_COMMAND],
        draft.text("description", "explanation", "justification")[:_MOST_COMMAND],
        tuple(found.changes),
    )


def _is_mapping(value: object) -> bool:
    return hasattr(value, "get") and hasattr(value, "keys")


def _reader(tool: str) -> Callable[[_Draft], Kind]:
    if tool.startswith("mcp__"):
        return _mcp
    name = tool.rpartition(".")[2]  # Codex: `functions.shell`
    return _TOOLS.get(name.lower(), _unknown)


_PATHS = ("file_path", "filePath", "path", "notebook_path", "absolute_path", "filename", "file",
          "relative_path", "target_file", "uri")  # fmt: skip


def _read(draft: _Draft) -> Kind:
    draft.note("read", draft.text(*_PATHS, "dir_path", "directory"))
    for path in _strings(draft.input.get("paths")):
        draft.note("read", path)
    return "read"


def _search(draft: _Draft) -> Kind:
    draft.note("read", draft.text("path", "dir_path", "directory"))
    draft.command = draft.text("pattern", "query", "glob")
    return "read"


def _write(draft: _Draft) -> Kind:
    shown = draft.note("written", draft.text(*_PATHS))
    draft.found.change(shown, draft.text("content", "contents", "text", "file_text"), whole=True)
    return "write"


def _edit(draft: _Draft) -> Kind:
    shown = draft.note("written", draft.text(*_PATHS))
    edits = draft.input.get("edits")
    for edit in [draft.input, *(edits if isinstance(edits, (list, tuple)) else ())]:
        if _is_mapping(edit):
            old, new = _pair(edit)
            draft.found.change(shown, new, old)
    return "edit"


def _pair(edit: Mapping[str, Any]) -> tuple[str, str]:
    texts = []
    for names in (
        ("old_string", "oldString", "old_str", "oldText", "old_text"),
        ("new_string", "newString", "new_str", "newText", "new_text"),
    ):
        found = (edit.get(name) for name in names)
        texts.append(next((text for text in found if isinstance(text, str)), ""))
    return texts[0], texts[1]


def _notebook(draft: _Draft) -> Kind:
    shown = draft.note("written", draft.text(*_PATHS))
    source = draft.text("new_source")
    if draft.text("edit_mode") != "delete":
        draft.found.change(shown, source)
    return "edit"


def _shell(draft: _Draft) -> Kind:
    cwd = draft.text("workdir", "cwd", "dir_path", "directory")
    if cwd:
        draft.cwd = draft.places.absolute(cwd, draft.cwd)
    draft.command = _command(draft.input)
    read = _run_again if len(draft.command) <= _SHORT else _run
    draft.found = read(draft.command, draft.places.root, draft.cwd or ".")
    return _kind(draft.found)


def _run(command: str, root: str, cwd: str) -> Found:
    from kedge.drift.shell.run import read_command

    found = Found()
    read_command(command, found, root=root, cwd=cwd)
    return found


_run_again = lru_cache(256)(_run)  # the tests, the linter, `git status`: one command in three


def _command(given: Mapping[str, Any]) -> str:
    """The command as text; `["bash", "-lc", "…"]` is what bash would run."""
    for name in ("command", "cmd", "script", "input"):
        value = given.get(name)
        if isinstance(value, str):
            return value
        words = list(_strings(value))
        if words:
            return _quoted(words)
    return ""


def _quoted(words: list[str]) -> str:
    shells = ("bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh", "/usr/bin/bash")
    if len(words) == 3 and words[0] in shells and words[1] in ("-c", "-lc", "-lic", "-ic"):
        return words[2]
    return " ".join("'" + word.replace("'", "'\"'\"'") + "'" for word in words)


def _kind(found: Found) -> Kind:
    """The weightiest thing that a command does."""
    for effect, kind in (("installs", "install"), ("vcs", "vcs"), ("deleted", "delete"),
                         ("moved", "move")):  # fmt: skip
        if found.has(effect):
            return kind  # type: ignore[return-value]
    if found.has("written"):
        return "edit" if found.in_place else "write"
    if found.has("directories"):
        return "write"
    if found.has("network"):
        return "network"
    return "read" if found.plain and not found.has("runs") else "shell"


def _patch(draft: _Draft) -> Kind:
    from kedge.drift.shell.patches import patched

    text = draft.text("input", "patch", "command", "content")
    files = patched(text)
    if not files:
        if text:
            draft.found.add("unclear", "apply_patch: the patch is not read")
        return "edit"
    for each in files:
        if each.kind == "delete":
            shown = draft.note("deleted", each.path)
        elif each.target:
            shown = _moved(draft, each.path, each.target)
            if each.added or each.removed:
                draft.note("written", each.target)
        else:
            shown = draft.note("written", each.path)
        draft.found.change(shown, each.added, each.removed, each.kind == "add")
    kinds = {each.kind for each in files}
    if kinds == {"delete"}:
        return "delete"
    if all(each.target and not each.added and not each.removed for each in files):
        return "move"
    return "write" if kinds == {"add"} else "edit"


def _moved(draft: _Draft, source: str, target: str) -> str:
    placed = [draft.places.shown(path, draft.cwd) for path in (source, target)]
    if not placed[0] or not placed[1]:
        return ""
    draft.found.add("moved", (placed[0][0], placed[1][0]))
    for path, outside in (placed[0], placed[1]):
        if outside:
            draft.found.add("outside", path)
    return placed[1][0]


def _fetch(draft: _Draft) -> Kind:
    from kedge.drift.shell.call import address

    draft.command = draft.text("url", "query", "prompt", "q")
    draft.found.add("network", address(draft.text("url")) if draft.text("url") else "web search")
    return "network"


def _agent(draft: _Draft) -> Kind:
    draft.command = draft.text("prompt", "message", "task")
    return "agent"


def _plan(draft: _Draft) -> Kind:
    draft.command = draft.text("plan", "subject", "query", "skill", "question")
    return "plan"


def _quiet(draft: _Draft) -> Kind:
    draft.command = draft.text("query", "skill", "task_id", "bash_id", "chars")
    return "read"


def _stdin(draft: _Draft) -> Kind:
    """Text for a program that is running: it may be a shell."""
    draft.command = draft.text("chars")
    if draft.command.strip():
        draft.found.add("unclear", "write_stdin: what the program does with it is not known")
    return "shell" if draft.command.strip() else "read"


def _control(_draft: _Draft) -> Kind:
    return "shell"


def _unknown(_draft: _Draft) -> Kind:
    return "unknown"


_VERBS = {
    "write": "written", "edit": "written", "create": "written", "update": "written",
    "replace": "written", "insert": "written", "append": "written", "patch": "written",
    "save": "written", "modify": "written", "put": "written", "set": "written", "add": "written",
    "delete": "deleted", "remove": "deleted", "unlink": "deleted", "move": "moved",
    "rename": "moved", "copy": "written",
}  # fmt: skip
_ELSEWHERE = ("owner", "repo", "repository", "project_id", "branch", "bucket", "page_id")


def _mcp(draft: _Draft) -> Kind:
    """A tool of a server: its paths are read unless its name says that it writes.

    A path that comes with a repository or a bucket is one of that place, not of this tree.
    """
    _, server, name = [*draft.tool.split("__", 2), "", ""][:3]
    words = name.replace("-", "_").lower().split("_")
    acts = [_VERBS[word] for word in words if word in _VERBS]
    act = acts[0] if acts else "read"
    command = draft.text("command", "cmd")
    if command and any(word in ("shell", "bash", "command", "exec", "terminal") for word in words):
        _shell(draft)
        return "mcp"
    here = not any(key in draft.input for key in _ELSEWHERE)
    if draft.text("url"):
        _fetch(draft)
    if here:
        _mcp_paths(draft, act, words)
    if act != "read" and not any(
        draft.found.has(kind) for kind in ("written", "deleted", "moved", "directories")
    ):
        draft.found.add("network", f"mcp:{server}")
    return "mcp"


def _mcp_paths(draft: _Draft, act: str, words: list[str]) -> None:
    source, target = (
        draft.text("source", "from", "old_path"),
        draft.text("destination", "to", "new_path"),
    )
    if act == "moved":
        if source and target:
            _moved(draft, source, target)
        return
    if target and "copy" in words:
        draft.note("read", source)
        draft.note("written", target)
        return
    kind = (
        "directories" if act == "written" and {"directory", "folder", "dir"} & set(words) else act
    )
    paths = [draft.text(*_PATHS, "directory"), *_strings(draft.input.get("paths"))]
    shown = [draft.note(kind, path) for path in paths if _is_path(path)]
    if act == "written" and any(shown):
        old, new = _pair(draft.input)
        text = new or draft.text("content", "contents", "text", "body", "file_text")
        draft.found.change(shown[0], text, old, whole="write" in words or "create" in words)
        edits = draft.input.get("edits")
        for edit in edits if isinstance(edits, (list, tuple)) else ():
            if _is_mapping(edit):
                old, new = _pair(edit)
                draft.found.change(shown[0], new, old)


def _is_path(text: str) -> bool:
    return bool(text) and "\n" not in text and not text.startswith(("http://", "https://"))


def _strings(value: object) -> Iterable[str]:
    if isinstance(value, (list, tuple)):
        return [each for each in value if isinstance(each, str)]
    return []


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
    (_control, "KillShell KillBash TaskStop"),
)
_TOOLS = {name.lower(): reader for reader, names in _TABLE for name in names.split()}

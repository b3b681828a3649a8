"""Turn a tool call into an action: what it is, and what it does to the tree and the world.

Nothing is run and no file is read. An unknown tool counts as one that only reads.
"""

from __future__ import annotations

from functools import lru_cache, partial

from kedge.drift.draft import PATHS, ActionDraft, is_mapping, list_strings, pair_texts
from kedge.drift.shell.effects import Change, Effects, EffectsBuilder
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Literal, TypeAlias

    Kind: TypeAlias = Literal[
        "read", "edit", "write", "delete", "move", "shell", "vcs", "install", "network", "agent",
        "mcp", "plan", "unknown",
    ]  # fmt: skip

__all__ = ["Action", "Change", "Effects", "normalise"]

_SHELLS = ("bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh", "/usr/bin/bash")
_SHORT = 200  # characters of a command that is likely to be run again
_NO_TEXTS: dict[str, str] = {}
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


def normalise(
    tool: str,
    input: Any,  # noqa: A002 - the word that agents use
    *,
    root: str,
    cwd: str,
    id: str = "",  # noqa: A002
    texts: Mapping[str, str] = _NO_TEXTS,
) -> Action:
    """Return the action of a tool call. Never raises, whatever the input.

    `texts` are scripts and patches that the session wrote, by path: a command may run them.
    """
    tool = tool if isinstance(tool, str) else ""
    given: Mapping[str, Any] = input if is_mapping(input) else {"input": input}
    draft = ActionDraft(tool, given, root, cwd, texts)
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


def prepare(tool: str) -> None:
    """Import what reads a call of the tool, so that no lock is held meanwhile."""
    if _find_reader(tool) is _shell:
        from kedge.drift.shell import interpreter  # noqa: F401


def _find_reader(tool: str) -> Callable[[ActionDraft], Kind]:
    if tool.startswith("mcp__"):
        return _mcp
    name = tool.rpartition(".")[2]  # Codex: `functions.shell`
    return _TOOLS.get(name.lower(), _make_reader("unknown"))


def _read(draft: ActionDraft) -> Kind:
    draft.add("read", draft.text(*PATHS, "dir_path", "directory"))
    for path in list_strings(draft.input.get("paths")):
        draft.add("read", path)
    return "read"


def _search(draft: ActionDraft) -> Kind:
    draft.add("read", draft.text("path", "dir_path", "directory"))
    draft.command = draft.text("pattern", "query", "glob")
    return "read"


def _write(draft: ActionDraft) -> Kind:
    shown = draft.add("written", draft.text(*PATHS))
    draft.effects.add_change(
        shown, draft.text("content", "contents", "text", "file_text"), whole=True
    )
    return "write"


def _edit(draft: ActionDraft) -> Kind:
    old, new = pair_texts(draft.input)
    add = draft.add_edit if old or "edits" in draft.input else partial(draft.add, "written")
    shown = add(draft.text(*PATHS))
    draft.effects.add_change(shown, new, old)
    draft.add_edits(shown)
    return "edit"


def _notebook(draft: ActionDraft) -> Kind:
    shown = draft.add_edit(draft.text(*PATHS))
    source = draft.text("new_source")
    if draft.text("edit_mode") != "delete":
        draft.effects.add_change(shown, source)
    return "edit"


def _shell(draft: ActionDraft) -> Kind:
    cwd = draft.text("workdir", "cwd", "dir_path", "directory")
    if cwd:
        draft.cwd = draft.paths.absolute(cwd, draft.cwd)
    draft.command = _command(draft.input)
    used = {
        path: text for path, text in draft.texts.items() if path.rpartition("/")[2] in draft.command
    }
    place = draft.paths.root, draft.cwd or "."
    if used or len(draft.command) > _SHORT:
        draft.effects = _interpret(draft.command, *place, used)
    else:
        draft.effects = _interpret_cached(draft.command, *place)
    return _choose_kind(draft.effects)


def _interpret(
    command: str, root: str, cwd: str, texts: Mapping[str, str] = _NO_TEXTS
) -> EffectsBuilder:
    from kedge.drift.shell.interpreter import read_command

    effects = EffectsBuilder()
    read_command(command, effects, root=root, cwd=cwd, texts=texts)
    return effects


_interpret_cached = lru_cache(256)(_interpret)  # one command in three was run before


def _command(given: Mapping[str, Any]) -> str:
    """Return the command as text; for `["bash", "-lc", "…"]` the command that bash runs."""
    for name in ("command", "cmd", "script", "input"):
        value = given.get(name)
        if isinstance(value, str):
            return value
        words = list(list_strings(value))
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


def _patch(draft: ActionDraft) -> Kind:
    from kedge.drift.shell.patches import parse_patch

    text = draft.text("input", "patch", "patchText", "command", "content")
    files = parse_patch(text)
    if not files:
        if text:
            draft.effects.add_unread("apply_patch: the patch is not read")
        return "edit"
    for each in files:
        if each.kind == "delete":
            shown = draft.add("deleted", each.path)
        elif each.target:
            shown = draft.move(each.path, each.target)
            if each.added or each.removed:
                draft.add("written", each.target)
        elif each.kind == "update":
            shown = draft.add_edit(each.path)
        else:
            shown = draft.add("written", each.path)
        draft.effects.add_change(shown, each.added, each.removed, each.kind == "add")
    kinds = {each.kind for each in files}
    if kinds == {"delete"}:
        return "delete"
    if all(each.target and not each.added and not each.removed for each in files):
        return "move"
    return "write" if kinds == {"add"} else "edit"


def _fetch(draft: ActionDraft) -> Kind:
    draft.fetch()
    return "network"


def _make_reader(kind: Kind, *names: str) -> Callable[[ActionDraft], Kind]:
    """Return a reader of tools that do nothing to the tree; the command is one of these inputs."""

    def read(draft: ActionDraft) -> Kind:
        draft.command = draft.text(*names)
        return kind

    return read


def _stdin(draft: ActionDraft) -> Kind:
    """Read the text that is sent to a running program, which may be a shell."""
    draft.command = draft.text("chars")
    if draft.command.strip():
        draft.effects.add("unclear", "write_stdin: what the program does with it is not known")
    return "shell" if draft.command.strip() else "read"


def _mcp(draft: ActionDraft) -> Kind:
    from kedge.drift.mcp_calls import read_call, runs_command

    if runs_command(draft):
        _shell(draft)
    else:
        read_call(draft)
    return "mcp"


_agent = _make_reader("agent", "prompt", "message", "task")
_plan = _make_reader("plan", "plan", "subject", "query", "skill", "question")
_quiet = _make_reader("read", "query", "skill", "task_id", "bash_id", "chars")
_TABLE: tuple[tuple[Callable[[ActionDraft], Kind], str], ...] = (
    (_read, "Read NotebookRead LS view_image read_file list_directory read_many_files list view"),
    (_search, "Glob Grep search_file_content codesearch grep_search file_search rg"),
    (_write, "Write write_file create_file create"),
    (_edit, "Edit MultiEdit replace str_replace edit_file search_replace"),
    (_notebook, "NotebookEdit"),
    (_shell, "Bash exec_command shell local_shell run_shell_command shell_command exec"),
    (_shell, "unified_exec run_terminal_cmd"),
    (_patch, "apply_patch patch"),
    (_fetch, "WebFetch WebSearch web_fetch google_web_search web_search"),
    (_agent, "Task Agent SendMessage spawn_agent invoke_agent write_agent"),
    (_plan, "TodoWrite TodoRead TaskCreate TaskUpdate TaskList TaskGet ExitPlanMode EnterPlanMode"),
    (_plan, "update_plan AskUserQuestion write_todos get_goal create_goal update_goal"),
    (_plan, "ScheduleWakeup ReportFindings update_topic enter_plan_mode exit_plan_mode"),
    (_plan, "report_intent ask_user question complete_task"),
    (_quiet, "BashOutput TaskOutput ToolSearch Skill ListAgents ListMcpResourcesTool"),
    (_quiet, "ReadMcpResourceTool tool_search SlashCommand save_memory"),
    (_quiet, "read_bash list_bash read_agent list_agents activate_skill"),
    (_quiet, "list_background_processes read_background_output"),
    (_stdin, "write_stdin"),
    (_make_reader("shell"), "KillShell KillBash TaskStop stop_bash"),
)
_TOOLS = {name.lower(): reader for reader, names in _TABLE for name in names.split()}

"""Tool calls of the agents as actions: kind, effects, the text that is added and taken away."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.drift import actions
from kedge.drift.actions import Action, Effects, normalise
from kedge.drift.evidence.weakened_checks import find_weakened_checks
from kedge.drift.shell.effects import MOST, MOST_TEXT, VcsCommand

ROOT = "/home/dev/project"
PATCH = """*** Begin Patch
*** Add File: src/new.py
+import os
+
*** Update File: src/old.py
*** Move to: src/moved.py
@@ def f():
-    return 1
+    return 2
*** Delete File: gone.py
*** End Patch
"""


def act(tool: str, given_input: Any, cwd: str = ROOT) -> Action:
    return normalise(tool, given_input, root=ROOT, cwd=cwd)


def effects_of(action: Action) -> dict[str, Any]:
    """The effects, without the paths that must have existed: they are among the others."""
    found = {kind: value for kind, value in action.effects._asdict().items() if value}
    found.pop("existing", None)
    return found


@pytest.mark.parametrize(
    ("payload", "kind", "expected"),
    [
        ({"tool_name": "Bash", "tool_input": {"command": "ls /nonexistent_dir", "timeout": 5}},
         "read", {"read": ("/nonexistent_dir",), "outside": ("/nonexistent_dir",)}),
        ({"tool_name": "Edit", "tool_input": {"file_path": "/home/dev/project/hello.py",
                                              "old_string": "hi", "new_string": "hello",
                                              "replace_all": False}},
         "edit", {"written": ("hello.py",)}),
        ({"tool_name": "Read", "tool_input": {"file_path": "/home/dev/project/README.md"}},
         "read", {"read": ("README.md",)}),
        ({"tool_name": "Write", "tool_input": {"file_path": "/home/dev/project/hello.py",
                                               "content": "print('hi')\n"}},
         "write", {"written": ("hello.py",)}),
        ({"tool_name": "Agent", "tool_input": {"description": "sub", "prompt": "list the files",
                                               "subagent_type": "general-purpose"}},
         "agent", {}),
        ({"tool_name": "Bash", "tool_input": {"command": "echo hi > made.txt; ls"}},
         "write", {"written": ("made.txt",)}),
        ({"tool_name": "apply_patch",
          "tool_input": {"command": "*** Begin Patch\n*** Add File: patched.txt\n+hello\n"
                                    "*** End Patch\n"}},
         "write", {"written": ("patched.txt",)}),
    ],
)  # fmt: skip
def test_payloads_of_hooks(payload: dict[str, Any], kind: str, expected: dict[str, Any]) -> None:
    action = act(payload["tool_name"], payload["tool_input"])
    assert (action.kind, effects_of(action)) == (kind, expected)


@pytest.mark.parametrize(
    ("tool", "given_input", "kind", "expected"),
    [
        ("NotebookEdit", {"notebook_path": "n.ipynb", "new_source": "x"}, "edit",
         {"written": ("n.ipynb",)}),
        ("Glob", {"pattern": "**/*.py", "path": "src"}, "read", {"read": ("src",)}),
        ("Grep", {"pattern": "rm -rf", "path": "src"}, "read", {"read": ("src",)}),
        ("LS", {"path": f"{ROOT}/src"}, "read", {"read": ("src",)}),
        ("BashOutput", {"bash_id": "1"}, "read", {}),
        ("KillShell", {"shell_id": "1"}, "shell", {}),
        ("Task", {"prompt": "delete all", "description": "d"}, "agent", {}),
        ("TodoWrite", {"todos": [{"content": "rm x"}]}, "plan", {}),
        ("TaskUpdate", {"taskId": "1", "status": "done"}, "plan", {}),
        ("ExitPlanMode", {"plan": "p"}, "plan", {}),
        ("update_plan", {"plan": [{"step": "a"}]}, "plan", {}),
        ("Skill", {"skill": "x"}, "read", {}),
        ("ToolSearch", {"query": "x"}, "read", {}),
        ("WebFetch", {"url": "https://u:p@a.b/c?key=1", "prompt": "p"}, "network",
         {"network": ("https://a.b/c",)}),
        ("WebSearch", {"query": "q"}, "network", {"network": ("web search",)}),
        ("view_image", {"path": "a.png"}, "read", {"read": ("a.png",)}),
        ("write_stdin", {"session_id": 1, "chars": ""}, "read", {}),
        ("write_stdin", {"session_id": 1, "chars": "rm x\n"}, "shell",
         {"unclear": ("write_stdin: what the program does with it is not known",)}),
        ("shell", {"command": ["bash", "-lc", "rm a && git push"]}, "vcs", None),
        ("shell", {"command": ["rm", "a b"]}, "delete", {"deleted": ("a b",)}),
        ("shell", {"command": ["rm", "a"], "workdir": f"{ROOT}/src"}, "delete",
         {"deleted": ("src/a",)}),
        ("exec_command", {"cmd": "rm a", "workdir": "src"}, "delete", {"deleted": ("src/a",)}),
        ("functions.exec_command", {"cmd": "rm a"}, "delete", {"deleted": ("a",)}),
        ("bash", {"command": "rm a"}, "delete", {"deleted": ("a",)}),
        ("edit", {"filePath": "a.py", "oldString": "x", "newString": "y"}, "edit",
         {"written": ("a.py",)}),
        ("write", {"filePath": "a.py", "content": "x"}, "write", {"written": ("a.py",)}),
        ("run_shell_command", {"command": "rm a"}, "delete", {"deleted": ("a",)}),
        ("write_file", {"file_path": "a", "content": "x"}, "write", {"written": ("a",)}),
        ("replace", {"file_path": "a", "old_string": "x", "new_string": "y"}, "edit",
         {"written": ("a",)}),
        # Gemini CLI, Copilot CLI and opencode
        ("run_shell_command", {"command": "rm a", "dir_path": "src"}, "delete",
         {"deleted": ("src/a",)}),
        ("invoke_agent", {"agent_name": "a", "prompt": "delete all"}, "agent", {}),
        ("enter_plan_mode", {"reason": "r"}, "plan", {}),
        ("create", {"path": f"{ROOT}/a.py", "file_text": "x"}, "write", {"written": ("a.py",)}),
        ("edit", {"path": "a.py", "old_str": "x", "new_str": "y"}, "edit",
         {"written": ("a.py",)}),
        ("view", {"path": "a.py", "view_range": [1, 2]}, "read", {"read": ("a.py",)}),
        ("rg", {"pattern": "rm", "path": "src"}, "read", {"read": ("src",)}),
        ("apply_patch", "*** Begin Patch\n*** Delete File: a\n*** End Patch\n", "delete",
         {"deleted": ("a",)}),
        ("stop_bash", {"shellId": "0"}, "shell", {}),
        ("read_bash", {"shellId": "0"}, "read", {}),
        ("bash", {"command": "rm a", "workdir": "src"}, "delete", {"deleted": ("src/a",)}),
        ("Frobnicate", {"path": "a.py", "content": "x"}, "unknown", {}),
        ("mcp__fs__read_file", {"path": "a.py"}, "mcp", {"read": ("a.py",)}),
        ("mcp__fs__write_file", {"path": "a.py", "content": "x"}, "mcp", {"written": ("a.py",)}),
        ("mcp__fs__edit_file", {"path": "a.py", "edits": [{"oldText": "x", "newText": "y"}]},
         "mcp", {"written": ("a.py",)}),
        ("mcp__fs__move_file", {"source": "a", "destination": "b"}, "mcp",
         {"moved": (("a", "b"),)}),
        ("mcp__fs__delete_file", {"path": "a"}, "mcp", {"deleted": ("a",)}),
        ("mcp__fs__create_directory", {"path": "d"}, "mcp", {"directories": ("d",)}),
        ("mcp__fs__read_multiple_files", {"paths": ["a", "b"]}, "mcp", {"read": ("a", "b")}),
        ("mcp__serena__replace_symbol_body", {"relative_path": "a.py", "body": "x"}, "mcp",
         {"written": ("a.py",)}),
        ("mcp__serena__execute_shell_command", {"command": "rm a"}, "mcp", {"deleted": ("a",)}),
        ("mcp__github__get_file_contents", {"owner": "o", "repo": "r", "path": "a.py"}, "mcp", {}),
        ("mcp__github__create_or_update_file", {"owner": "o", "repo": "r", "path": "a.py",
                                                "content": "x"}, "mcp",
         {"vcs": (VcsCommand("push", (), outward=True),), "network": ("mcp:github",)}),
        ("mcp__linear-server__create_issue", {"title": "t", "team": "x"}, "mcp",
         {"network": ("mcp:linear-server",)}),
        ("mcp__linear-server__list_projects", {"query": "q"}, "mcp", {}),
        ("mcp__browser__navigate", {"url": "https://a.b"}, "mcp", {"network": ("https://a.b",)}),
        ("mcp__", {}, "mcp", {}),
    ],
)  # fmt: skip
def test_tools_of_agents(
    tool: str, given_input: Any, kind: str, expected: dict[str, Any] | None
) -> None:
    action = act(tool, given_input)
    assert action.kind == kind
    if expected is not None:
        assert effects_of(action) == expected


def test_an_action_has_the_text_it_adds_and_removes() -> None:
    edit = act("Edit", {"file_path": "a", "old_string": "old", "new_string": "new"})
    assert (edit.text, edit.removed) == ("new", "old")
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}]
    many = act("MultiEdit", {"file_path": "a", "edits": edits})
    assert (many.text, many.removed) == ("b\nd", "a\nc")
    write = act("Write", {"file_path": "a", "content": "all"})
    assert (write.text, write.removed, write.changes[0].whole) == ("all", "", True)
    shell = act("Bash", {"command": "cat > a <<'E'\nbody\nE"})
    assert shell.text == "body\n"


@pytest.mark.parametrize(
    ("tool", "given_input"),
    [
        ("apply_patch", {"input": PATCH}),
        ("apply_patch", {"command": PATCH}),
        ("apply_patch", PATCH),
        ("shell", {"command": ["apply_patch", PATCH]}),
        ("Bash", {"command": f"apply_patch <<'EOF'\n{PATCH}EOF"}),
        ("exec_command", {"cmd": f"cd {ROOT} && apply_patch <<'EOF'\n{PATCH}EOF\n"}),
    ],
)
def test_a_patch_has_the_same_effects_from_any_tool(tool: str, given_input: Any) -> None:
    action = act(tool, given_input)
    assert action.effects == Effects(
        written=("src/new.py", "src/moved.py"),
        deleted=("gone.py",),
        moved=(("src/old.py", "src/moved.py"),),
    )
    assert action.text == "import os\n\n    return 2"
    assert action.removed == "    return 1"
    assert [change.path for change in action.changes] == ["src/new.py", "src/moved.py"]


def test_paths_outside_the_root_are_marked() -> None:
    away = act("Write", {"file_path": "/etc/x", "content": "a"})
    assert (away.effects.written, away.effects.outside) == (("/etc/x",), ("/etc/x",))
    assert act("Write", {"file_path": f"{ROOT}2/x"}).effects.outside == (f"{ROOT}2/x",)
    assert act("Write", {"file_path": "../x"}, cwd=f"{ROOT}/src").effects.written == ("x",)
    assert act("Read", {"file_path": "~/.ssh/id"}).effects.outside == ("~/.ssh/id",)


def test_an_action_keeps_command_description_and_id() -> None:
    action = normalise(
        "Bash", {"command": "ls", "description": "Look"}, root=ROOT, cwd=ROOT, id="toolu_1"
    )
    assert (action.id, action.tool) == ("toolu_1", "Bash")
    assert (action.command, action.note) == ("ls", "Look")


def test_texts_and_effects_are_bounded() -> None:
    action = act("Write", {"file_path": "a", "content": "x" * (MOST_TEXT + 10)})
    assert len(action.text) == MOST_TEXT
    many = act("Bash", {"command": "rm " + " ".join(f"f{n}" for n in range(MOST + 50))})
    assert len(many.effects.deleted) == MOST
    assert many.effects.unread
    assert many.effects.unclear == (f"more than {MOST} paths or acts: the rest is left out",)


def test_a_command_is_resolved_in_the_directory_it_runs_in() -> None:
    given_ = {"command": "rm a.py && npm install left-pad"}
    for _ in range(2):  # as often as it is run
        for cwd, path in (("/r", "a.py"), ("/r/src", "src/a.py"), ("/else", "/else/a.py")):
            done = normalise("Bash", given_, root="/r", cwd=cwd)
            assert done.effects.deleted == (path,)
            assert [one.packages for one in done.effects.installs] == [("left-pad",)]


def test_only_short_commands_are_cached() -> None:
    actions._interpret_cached.cache_clear()
    act("Bash", {"command": "cat <<'E'\n" + "x" * 300 + "\nE"})
    assert actions._interpret_cached.cache_info().currsize == 0
    for number in range(400):
        assert act("Bash", {"command": f"rm {number}.py"}).effects.deleted == (f"{number}.py",)
    assert actions._interpret_cached.cache_info().currsize <= 256


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
NAMES = """Bash Edit MultiEdit Write NotebookEdit Read Glob Grep Task TodoWrite WebFetch apply_patch
shell exec_command write_stdin update_plan mcp__fs__write_file mcp__fs__move_file mcp__x Unknown"""
KEYS = """command cmd file_path path paths edits old_string new_string content url source
destination input todos workdir chars plan description notebook_path new_source"""


@given(
    st.sampled_from(NAMES.split()) | st.text(),
    JSON | st.dictionaries(st.sampled_from(KEYS.split()), JSON),
)
def test_no_input_raises(tool: str, given_input: Any) -> None:
    action = act(tool, given_input)
    assert isinstance(action, Action)
    assert isinstance(find_weakened_checks(action), tuple)


@pytest.mark.parametrize("wrong", [None, 1, [], "x", b"y", object(), {"command": object()}])
def test_wrong_types_never_raise(wrong: Any) -> None:
    for tool in (*NAMES.split(), wrong):
        assert normalise(tool, wrong, root=ROOT, cwd=ROOT).id == ""


def test_the_shell_reader_is_loaded_only_for_commands() -> None:
    code = """
import json, sys
from kedge.drift.actions import normalise
from kedge.drift.evidence.weakened_checks import find_weakened_checks
find_weakened_checks(normalise("Read", {"file_path": "a"}, root="/r", cwd="/r"))
before = sorted(name for name in sys.modules if name.startswith("kedge."))
find_weakened_checks(normalise("Bash", {"command": "ls"}, root="/r", cwd="/r"))
after = sorted(name for name in sys.modules if name.startswith("kedge."))
print(json.dumps([before, after, "dataclasses" in sys.modules]))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before, after, heavy = json.loads(ran.stdout)
    assert "kedge.drift.shell.interpreter" not in before
    assert "kedge.drift.shell.programs.git" not in after
    others = {name for name in after if not name.startswith("kedge.drift")}
    assert others == {"kedge.host", "kedge.host.record"}
    assert not heavy

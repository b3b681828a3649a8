"""The modules that a hook loads: an agent waits for each of them at every call of a tool."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import git

from kedge import hook

SOURCES = Path(hook.__file__).parent
GOAL = "Fix the expiry of tokens in src/auth/token.py. Don't touch db/schema.sql."
MAIN = f"""
import json, sys
sys.path.insert(0, {str(SOURCES.parent)!r})
from kedge import hook
hook.main("claude")
json.dump(sorted(sys.modules), sys.stderr)
"""
HEAVY = {
    "argparse", "click", "dataclasses", "datetime", "hashlib", "inspect", "msgspec", "pathlib",
    "sqlite3", "subprocess", "tempfile", "tomllib", "typing",
}  # fmt: skip


def names(text: str) -> set[str]:
    """Return the modules of a list, with the packages that they are in."""
    modules = {f"kedge.{name}" for name in text.split()}
    return modules | {module.rpartition(".")[0] for module in modules} | {"kedge", "kedge.drift"}


ALWAYS = names(
    """errors hook
    drift.actions drift.charter drift.course drift.draft drift.engine drift.inputs
    drift.prompt drift.scoring
    drift.evidence.distance drift.evidence.memory drift.evidence.memory_data
    drift.evidence.outward_acts
    drift.evidence.own_work drift.evidence.repeats drift.evidence.requests
    drift.evidence.topic drift.evidence.watch_changes
    drift.limits.limit drift.shell.effects drift.shell.paths
    drift.code_map drift.expected_scope
    drift.watch.answers drift.watch.bindings drift.watch.calls drift.watch.entry drift.watch.events
    drift.watch.messages
    drift.watch.limit_answers drift.watch.unread
    drift.watch.sensor drift.watch.session_loader drift.watch.session_log
    drift.watch.steps drift.watch.work_tree
    host.clock host.deadline host.digest host.plain_repo host.record host.redact
    host.secret_names host.secret_places host.secret_shapes host.secret_tokens host.secret_values
    repomap.cache repomap.neighbours
    store.migrations store.sessions store.sqlite
    text.words"""
)
MESSAGE = names(
    """errors hook drift.prompt drift.watch.aside drift.watch.entry drift.watch.messages
    host.clock host.deadline host.detached host.digest host.plain_repo host.record
    host.redact host.secret_names host.secret_places host.secret_shapes host.secret_tokens
    host.secret_values
    store.migrations store.sessions store.sqlite"""
)
JUDGING = names(
    """drift.evidence.check_signs drift.evidence.weakened_checks
    drift.limits.paths drift.limits.roles drift.limits.vcs_rules
    drift.limits.action_view drift.limits.breaches drift.limits.manifests"""
)
SHELL = names(
    """drift.shell.call drift.shell.expand drift.shell.interpreter drift.shell.options
    drift.shell.parse drift.shell.syntax drift.shell.values drift.shell.words drift.shell.wrappers
    drift.shell.programs.builtins drift.shell.programs.checking drift.shell.programs.reading"""
)
ANSWERING = names("drift.corrections drift.recovery store.recall")
RESULT = names("drift.watch.transcript_tail")
# loaded for a few calls only, or with every module of their package
RARE = names(
    """drift.evidence.declared_scope drift.evidence.deletions drift.evidence.undo
    drift.limits.lifting drift.limits.programs drift.limits.targets drift.mcp_calls drift.summary
    drift.watch.tree_changes text.fences text.prose text.typos"""
)
DIALECTS = names("agents.dialects.gemini agents.dialects.copilot agents.dialects.opencode")
PACKAGES = ("kedge.drift.language.", "kedge.drift.shell.")

EDIT = {"file_path": "src/auth/token.py", "old_string": "TTL = 60", "new_string": "TTL = 3600"}
FORBIDDEN = {"file_path": "db/schema.sql", "content": "drop table t;\n"}
STATUS_LINE = names("statusline hook host.plain_repo host.text store.sessions")
COMMAND = {"command": "cd src && python -m pytest -q 2>&1 | tail -n 20"}
PROGRAMS = names("drift.shell.programs.inline drift.shell.programs.scripts drift.shell.code")


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a session that was asked for something."""
    root = tmp_path_factory.mktemp("modules")
    git(root, "init", "--quiet")
    run(root, {"hook_event_name": "UserPromptSubmit", "prompt": GOAL})
    return root


def run(root: Path, event: dict[str, Any]) -> tuple[set[str], str]:
    """Run the hook; return the modules that it loaded, and its answer."""
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", MAIN],
        input=json.dumps({"session_id": "s", "cwd": str(root), **event}),
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return set(json.loads(ran.stderr)), ran.stdout


def call(event: str, tool: str, given: dict[str, str]) -> dict[str, Any]:
    return {
        "hook_event_name": event,
        "tool_name": tool,
        "tool_input": given,
        "tool_use_id": f"{tool}{len(given)}",
    }


@pytest.mark.parametrize(
    ("event", "more"),
    [
        pytest.param(call("PreToolUse", "Read", {"file_path": "a.py"}), set(), id="Read"),
        pytest.param(call("PreToolUse", "Edit", EDIT), JUDGING, id="Edit"),
        pytest.param(call("PostToolUse", "Edit", EDIT), RESULT, id="Edit, done"),
        pytest.param(call("PreToolUse", "Bash", COMMAND), JUDGING | SHELL | PROGRAMS, id="Bash"),
        pytest.param(
            call("PreToolUse", "Write", FORBIDDEN), JUDGING | ANSWERING, id="Write, forbidden"
        ),
    ],
)
def test_a_hook_loads_these_modules_and_no_others(
    repo: Path, event: dict[str, Any], more: set[str]
) -> None:
    if event["hook_event_name"] == "PostToolUse":  # of a call that was judged before
        run(repo, {**event, "hook_event_name": "PreToolUse"})
    loaded, answer = run(repo, event)
    assert ("db/schema.sql" in answer) is (event["tool_input"] is FORBIDDEN)
    assert {name for name in loaded if name.partition(".")[0] == "kedge"} == ALWAYS | more
    assert not loaded & HEAVY


def test_a_message_is_noted_without_the_watch(repo: Path) -> None:
    loaded, _ = run(repo, {"hook_event_name": "UserPromptSubmit", "prompt": f"{GOAL} Again."})
    assert {name for name in loaded if name.partition(".")[0] == "kedge"} == MESSAGE
    assert not loaded & HEAVY


def test_the_status_line_loads_these_modules_and_no_others(repo: Path) -> None:
    code = MAIN.replace('hook.main("claude")', "from kedge import statusline; statusline.main([])")
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code],
        input=json.dumps({"session_id": "s", "cwd": str(repo)}),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert ran.stdout.startswith("kedge Fix the expiry of tokens")
    loaded = set(json.loads(ran.stderr))
    kedge = {name for name in loaded if name.partition(".")[0] == "kedge"}
    assert kedge == STATUS_LINE - {"kedge.drift"}
    assert not loaded & HEAVY


def test_only_modules_of_the_hook_do_without_typing() -> None:
    """Elsewhere, `typing` and dataclasses are the plain way to say the same."""
    allowed = ALWAYS | JUDGING | SHELL | ANSWERING | RESULT | PROGRAMS | RARE | STATUS_LINE
    allowed |= DIALECTS
    marks = r"(?m)^TYPE_CHECKING = False|kedge\.host\.record\b|host import record\b"
    for path in sorted(SOURCES.rglob("*.py")):
        name = ".".join(path.relative_to(SOURCES.parent).with_suffix("").parts)
        if re.search(marks, path.read_text(encoding="utf-8")):
            assert name in allowed or name.startswith(PACKAGES), f"{name} is not part of the hook"

"""Kedge's plugin for opencode, run by node: whatever opencode passes to it, opencode goes on."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from kedge.agents.settings import opencode_plugin

HOOKS = (
    "event",
    "chat.message",
    "experimental.chat.system.transform",
    "experimental.session.compacting",
    "tool.execute.before",
    "tool.execute.after",
)
RUN = """
import { Kedge } from "./plugin.mjs";
const hooks = await Kedge({ directory: process.cwd() });
const strange = [[], [{}], [null, null], [{}, {}], [{ sessionID: "s" }, {}], [{ event: 1 }, 1],
                 [{ sessionID: "s", tool: "bash" }, { args: 1, output: "", parts: [null] }]];
const failed = [];
for (const name of JSON.parse(process.argv[2]))
  for (const given of strange)
    try { await hooks[name](...given); } catch (error) { failed.push(`${name}: ${error}`); }
await hooks.dispose();
let denied = "";
const call = [{ sessionID: "s", tool: "deny", callID: "c" }, { args: {} }];
try { await hooks["tool.execute.before"](...call); } catch (error) { denied = error.message; }
console.log(JSON.stringify({ failed, denied }));
"""
KEDGE = r"""#!/bin/sh
case "$(cat)" in
*'"deny"'*) said='"permissionDecision": "deny", "permissionDecisionReason": "no"';;
*) said='"additionalContext": "look"';;
esac
echo "{\"hookSpecificOutput\": {$said}}"
"""


def test_a_changed_interface_of_opencode_stops_neither_a_run_nor_a_call(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    (tmp_path / "kedge").write_text(KEDGE)
    (tmp_path / "kedge").chmod(0o755)
    text = opencode_plugin._TEXT.read_text()
    command = json.dumps(str(tmp_path / "kedge"))
    (tmp_path / "plugin.mjs").write_text(text.replace('"@COMMAND@"', command))
    (tmp_path / "run.mjs").write_text(RUN)
    done = subprocess.run(
        [node, "run.mjs", json.dumps(HOOKS)], cwd=tmp_path, capture_output=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"failed": [], "denied": "no"}

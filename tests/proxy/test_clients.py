"""The real Claude Code and Codex through `kedge serve`, without any hooks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from clients import Claude
from proxy.conftest import Serve

from kedge.testing.fake_model import FakeModel

Play = Callable[..., FakeModel]
GOAL = "Fix the expiry of tokens in src/auth/token.py. Don't touch db/schema.sql."
BREAKS = "echo 'drop table t;' > db/schema.sql"


def bash(command: str, name: str = "") -> dict[str, Any]:
    return {"tool": "Bash", "input": {"command": command}, "id": name}


def test_a_refused_command_does_not_run_and_the_client_goes_on(
    project: Path, serve: Serve, claude: Claude, play: Play
) -> None:
    model = play([{"text": "I clear it.", **bash(BREAKS)}, "I leave it."])
    server = serve("--upstream", model.url, "--policy", "enforce")
    session = claude(server.url, GOAL, "--allowedTools", "Bash", cwd=project)
    assert session.text == "I leave it."
    assert (project / "db" / "schema.sql").read_text() == "create table t (id int);\n"
    _, told = model.list_requests()
    assert "[kedge] This goes against what was asked." in told.results
    assert "Don't touch db/schema.sql" in told.results
    (step,) = server.steps()
    assert step["decision"] == "deny"
    assert step["ok"] is None
    assert server.errors() == []

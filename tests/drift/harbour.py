"""A project in which the real clients work, watched by kedge."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

from clients import Claude, Codex
from support import Kedge, wait_for_aside

from kedge.store import sessions, sqlite
from kedge.testing.fake_model import FakeModel

WRITES = {
    "gemini": ("write_file", "file_path", "content"),
    "copilot": ("create", "path", "file_text"),
    "opencode": ("write", "filePath", "content"),
}  # the tool that writes a file, and its inputs


class Harbour:
    """A project that agents work in, watched."""

    def __init__(
        self, kedge: Kedge, claude: Claude | None, codex: Codex | None, **others: Callable[..., Any]
    ) -> None:
        self.kedge = kedge
        self.root = kedge.directory
        self.home = self.root / ".git" / "kedge"
        self._claude = claude
        self._codex = codex
        self._others = others

    def write(self, agent: str, path: str, text: str) -> dict[str, Any]:
        """A call that writes a new file, as the agent makes it."""
        if agent == "claude":
            return {"tool": "Write", "input": {"file_path": str(self.root / path), "content": text}}
        if agent in WRITES:
            tool, name, content = WRITES[agent]
            return {"tool": tool, "input": {name: str(self.root / path), content: text}}
        lines = "".join(f"+{line}\n" for line in text.splitlines())
        patch = f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n"
        return {"tool": "apply_patch", "input": patch}

    def edit(self, agent: str, path: str, old: str, new: str) -> list[dict[str, Any]]:
        """The calls that replace whole lines of a file; Claude Code must read it first."""
        if agent == "claude":
            name = str(self.root / path)
            given = {"file_path": name, "old_string": old, "new_string": new}
            return [
                {"tool": "Read", "input": {"file_path": name}},
                {"tool": "Edit", "input": given},
            ]
        lines = [f"-{line}\n" for line in old.splitlines()]
        lines += [f"+{line}\n" for line in new.splitlines()]
        patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n{''.join(lines)}*** End Patch\n"
        return [{"tool": "apply_patch", "input": patch}]

    def shell(self, agent: str, command: str) -> dict[str, Any]:
        if agent == "claude":
            return {"tool": "Bash", "input": {"command": command}}
        if agent in WRITES:
            tool = "run_shell_command" if agent == "gemini" else "bash"
            return {"tool": tool, "input": {"command": command, "description": "run it"}}
        return {"tool": "exec_command", "input": {"cmd": command}}

    def run(self, agent: str, model: FakeModel, prompt: str, **more: Any) -> Any:
        if self._claude is not None and agent == "claude":
            flags = ("--allowedTools", "Bash,Agent")
            return self._claude(model.url, prompt, *flags, cwd=self.root, **more)
        if agent in self._others:
            return self._others[agent](model.url, prompt, cwd=self.root, **more)
        assert self._codex is not None
        anyway = "--dangerously-bypass-hook-trust"
        return self._codex(model.url, prompt, anyway, cwd=self.root, **more)

    def steps(self) -> list[dict[str, Any]]:
        with closing(sqlite.connect(self.home)[0]) as db:
            (row,) = sessions.sessions(db)
            return sessions.steps(db, row["id"])

    def session(self) -> dict[str, Any]:
        with closing(sqlite.connect(self.home)[0]) as db:
            (row,) = sessions.sessions(db)
            return row

    def errors(self) -> list[dict[str, Any]]:
        wait_for_aside(self.home)
        with closing(sqlite.connect(self.home)[0]) as db:
            return sessions.errors(db)

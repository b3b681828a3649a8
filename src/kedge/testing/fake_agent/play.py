"""Play one part of a fake agent's script in the current directory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from kedge.testing.fake_agent.claude import ClaudeDialect
from kedge.testing.fake_agent.codex import CodexDialect
from kedge.testing.fake_agent.copilot import CopilotDialect
from kedge.testing.fake_agent.dialect import Dialect
from kedge.testing.fake_agent.gemini import GeminiDialect
from kedge.testing.fake_agent.opencode import OpencodeDialect
from kedge.testing.fake_agent.plain import PlainDialect
from kedge.testing.fake_agent.script import Part

DIALECT_CLASSES: dict[str, type[Dialect]] = {
    "claude": ClaudeDialect,
    "codex": CodexDialect,
    "gemini": GeminiDialect,
    "copilot": CopilotDialect,
    "opencode": OpencodeDialect,
    "plain": PlainDialect,
}
_SLEEP = "import signal,time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(3600)"


def play(part: Part, dialect: Dialect, on_start: Callable[[Sequence[int]], None]) -> int:
    """Do what the part says and return the exit code. `on_start` gets the pids of children."""
    if part.deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if part.children or part.daemons:
        on_start(_children(part))
    if part.errors:
        dialect.write_error(part.errors)
    dialect.start()
    _noise(part)
    _edit(part, dialect)
    for denial in part.deny:
        dialect.deny_tool(denial.tool, denial.reason)
    for text in part.say:
        dialect.say(text)
    if part.wait is not None:
        dialect.wait(part.wait)
    _hang(part)
    if part.crash is not None:
        if part.crash:
            os.kill(os.getpid(), part.crash)
        return 1 if part.code is None else part.code
    code = dialect.end()
    return code if part.code is None else part.code


def _children(part: Part) -> list[int]:
    """Start processes that nobody waits for. A daemon has its own session and no output."""
    argv = [sys.executable, "-I", "-S", "-c", _SLEEP]
    inherited = [subprocess.Popen(argv) for _ in range(part.children)]
    quiet = {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
    }
    apart = [
        subprocess.Popen(argv, start_new_session=True, **quiet)  # type: ignore[call-overload]
        for _ in range(part.daemons)
    ]
    return [child.pid for child in (*inherited, *apart)]


def _noise(part: Part) -> None:
    out = sys.stdout.buffer
    for number in range(part.flood):
        out.write(b"%d: no JSON at all {\n" % number)
    if part.blob:
        out.write(b'{"type": "blob", "data": "')
        for _ in range(part.blob >> 16):
            out.write(b"x" * (1 << 16))
        out.write(b'"}\n')
    if part.binary:
        out.write(bytes(range(256)) * 4 + b"\n[1]\nnull\n\xff\xfe\n")
    out.flush()


def _edit(part: Part, dialect: Dialect) -> None:
    for name, text in part.write.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        dialect.call_tool("Write", {"file_path": name})
    for path_name, old, new in part.replace:
        path = Path(path_name)
        text = path.read_text(encoding="utf-8")
        if old not in text:
            raise ValueError(f"{path_name} does not have {old!r}")
        path.write_text(text.replace(old, new), encoding="utf-8")
        dialect.call_tool("Edit", {"file_path": path_name})
    for name in part.delete:
        Path(name).unlink()
        dialect.call_tool("Bash", {"command": f"rm {name}"})
    for command in part.run:
        done = subprocess.run(command, shell=True, capture_output=True, check=False)  # noqa: S602
        dialect.call_tool("Bash", {"command": command}, ok=done.returncode == 0)


def _hang(part: Part) -> None:
    end = time.monotonic() + part.hang
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, part.noise or left))
        if part.noise:
            sys.stdout.write("still here\n")
            sys.stdout.flush()

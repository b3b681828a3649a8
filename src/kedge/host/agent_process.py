"""The process of the agent that called a hook: recorded as a text, and later looked for.

Without /proc, only Claude Code's process is known, by the id that it tells its hooks. Hook path.
"""

from __future__ import annotations

import os

_VARIABLES = {"claude": "CLAUDE_PID"}
_LEVELS = 8  # of parents: a shell or two stand between an agent and its hook
_RUNTIMES = ("node", "bun", "deno")  # run an agent that is a script


def find_process(agent: str) -> str:
    """Return the agent's process with its start and its namespace; "" if it is not known.

    If an agent has started itself again, the first process is returned: what the user started.
    """
    named = os.environ.get(_VARIABLES.get(agent, ""), "")
    if named.isdigit():
        return describe(int(named))
    pid, found = os.getppid(), 0
    for _ in range(_LEVELS if agent else 0):
        facts = _read(pid)
        if facts is None or pid <= 1:
            break
        name, parent, _ = facts
        if name.startswith(agent) or _runs(pid, agent):
            found = pid
        elif found:
            break
        pid = parent
    return describe(found) if found else ""


def is_gone(process: str) -> bool:
    """True if the process has ended; false if it runs, or if that cannot be known here."""
    pid, _, rest = process.partition(" ")
    start, _, space = rest.partition(" ")
    if not pid.isdigit() or space != _read_namespace():
        return False
    if start:
        facts = _read(int(pid))
        return facts is None or facts[2] != start
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def describe(pid: int) -> str:
    """Return a process as it is recorded."""
    facts = _read(pid)
    return f"{pid} {facts[2] if facts else ''} {_read_namespace()}"


def _runs(pid: int, agent: str) -> bool:
    """True if a process runs the agent's program, or a runtime with the agent's script."""
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
            words = file.read(10_000).split("\0")
    except OSError:
        return False
    program = os.path.basename(words[0])
    if program in _RUNTIMES:
        program = os.path.basename(next((word for word in words[1:] if word[:1] != "-"), ""))
    return program.startswith(agent)


def _read(pid: int) -> tuple[str, int, str] | None:
    """Return the name of a process, its parent and its start; None if it has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return None
    name, _, rest = text.partition("(")[2].rpartition(")")
    fields = rest.split()
    return None if fields[0] in "ZX" else (name, int(fields[1]), fields[19])


def _read_namespace() -> str:
    """Return the namespace that ids of processes are from: a container has its own."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""

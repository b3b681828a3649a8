"""Hooks at once, and hooks with broken input: each must answer, and none may lose a step."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from faults import judge
from faults.case import Case
from faults.commands import hook_commands, watched
from faults.world import Command, World

_SURROGATE = "\\ud800"
_STRANGE: dict[str, Any] = {
    "null": None,
    "number": 7,
    "float": 1e308,
    "list": [1, [2, {"a": None}]],
    "object": {"a": {"b": [None]}},
    "empty": "",
    "long": "x" * 1_000_000,
    "controls": "\x00\x1b[2J\x07\u202e\u2028",
    "path": "../../../../etc/passwd",
    "option": "--help",
    "true": True,
}
_FIELDS = ("session_id", "hook_event_name", "tool_name", "tool_input", "tool_use_id", "cwd")
_MORE_FIELDS = ("prompt", "source", "transcript_path", "tool_response", "permission_mode")


def list_inputs() -> dict[str, bytes]:
    """Return broken inputs by name: bytes that are no event, and events with odd fields."""
    good = json.loads(_find("hook PreToolUse Edit").stdin)
    text = json.dumps(good)
    found = {
        "nothing": b"",
        "space": b" \n\t ",
        "a byte": b"\xff",
        "zeros": b"\0" * 1000,
        "no object": b"[]",
        "a string": b'"event"',
        "a number": b"1",
        "null": b"null",
        "NaN": b'{"session_id": NaN}',
        "huge number": b'{"session_id": ' + b"9" * 5_000 + b"}",
        "half": text[: len(text) // 2].encode(),
        "twice": (text + text).encode(),
        "a comment": b"// event\n" + text.encode(),
        "UTF-8 BOM": b"\xef\xbb\xbf" + text.encode(),
        "UTF-16": text.encode("utf-16"),
        "Latin-1": text.replace("app", "\xe4pp").encode("latin-1"),
        "deep list": b"[" * 100_000,
        "deep object": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
        "deep field": text.replace('"app.py"', "[" * 900 + "]" * 900).encode(),
        "surrogate": text.replace("app.py", _SURROGATE).encode(),
        "same key twice": text.replace("{", '{"session_id": 1, ', 1).encode(),
        "eleven megabytes": json.dumps({**good, "prompt": "y" * 11_000_000}).encode(),
        "many keys": json.dumps({**good, **{f"k{n}": n for n in range(50_000)}}).encode(),
        "no fields": b"{}",
        "unknown event": json.dumps({**good, "hook_event_name": "Else"}).encode(),
        "unknown tool": json.dumps({**good, "tool_name": "mcp__x__y"}).encode(),
        "no such directory": json.dumps({**good, "cwd": "/not/there"}).encode(),
        "a file as directory": json.dumps({**good, "cwd": "/etc/passwd"}).encode(),
        "many dashes": _with_shell(good, "curl " + "-" * 200_000),
        "many quotes": _with_shell(good, "'\"" * 50_000),
        "many pipes": _with_shell(good, "a|" * 50_000),
        "many parentheses": _with_shell(good, "$(" * 20_000),
        "many braces": _with_shell(good, "echo " + "{a,b}" * 20_000),
        "many heredocs": _with_shell(good, "cat <<E\n" * 20_000),
        "many backslashes": _with_shell(good, "\\" * 200_000),
        "zero in command": _with_shell(good, "rm a\0b"),
        "a megabyte of words": _with_shell(good, "rm " + "a " * 500_000),
    }
    for field in (*_FIELDS, *_MORE_FIELDS):
        for name, value in _STRANGE.items():
            found[f"{field} is {name}"] = json.dumps({**good, field: value}).encode()
        found[f"{field} is missing"] = json.dumps(
            {key: value for key, value in good.items() if key != field}
        ).encode()
    return found


def _with_shell(good: dict[str, Any], command: str) -> bytes:
    return json.dumps({**good, "tool_name": "Bash", "tool_input": {"command": command}}).encode()


def _find(name: str) -> Command:
    return next(one for one in hook_commands() if one.name == name)


def run_inputs(top: Path, names: list[str]) -> list[Case]:
    """Give these broken inputs to a hook, each to a session that is watched."""
    world = World(top)
    world.create()
    watched(world)
    inputs, found = list_inputs(), []
    for name in names:
        case = Case("input", "hook", name)
        text = inputs[name].decode("utf-8", "surrogateescape")
        begin = time.monotonic()
        hook = Command("hook", ("claude",), watched, text, hook=True)
        ended = world.run(hook)
        seconds = time.monotonic() - begin
        if seconds > _MOST:
            case.problems.append(f"took {seconds:.1f} s")
        case.problems += judge.find_bad_answer(hook, ended, (0,))
        found.append(case)
    return found


_MOST = 9.0  # seconds; agents wait ten


def run_at_once(top: Path, count: int) -> list[Case]:
    """Run many hooks of one session at the same time: each answers, each step is kept."""
    world = World(top)
    world.create()
    watched(world)
    event = json.loads(_find("hook PreToolUse Bash").stdin)
    children = []
    begin = time.monotonic()
    for number in range(count):
        event["tool_use_id"] = f"toolu_{number}"
        event["tool_input"] = {"command": f"cat app.py {number}"}
        children.append(_start(world, json.dumps(event).encode()))
    case = Case("hooks", "hook", str(count))
    said = 0
    for child in children:
        out, err = child.communicate(timeout=120)
        if child.returncode != 0 or (out and not isinstance(json.loads(out), dict)):
            case.problems.append(f"exit code {child.returncode}: {err.decode()[-200:]}")
        if b"Traceback" in err:
            case.problems.append(f"traceback: {err.decode()[-300:]}")
        said += bool(err)
    seconds = time.monotonic() - begin
    with closing(sqlite3.connect(world.data / "kedge.db")) as db:
        steps = db.execute("SELECT count(*) FROM step").fetchone()[0]
        errors = db.execute("SELECT error FROM guard_error").fetchall()
        broken = db.execute("PRAGMA integrity_check").fetchone()[0]
    if broken != "ok":
        case.problems.append(f"kedge.db: {broken}")
    if steps + len(errors) + said < count:
        lost = count - steps - len(errors) - said
        case.problems.append(f"lost: {lost} steps are neither kept nor reported")
    case.about = f"{seconds:.1f} s, {steps} steps, {len(errors)} errors, {said} on stderr"
    return [case]


def _start(world: World, data: bytes) -> subprocess.Popen[bytes]:
    import kedge

    program = Path(str(kedge.__file__)).with_name("hook.py")
    child = subprocess.Popen(
        [sys.executable, "-I", str(program), "claude"],
        cwd=world.root,
        env=world.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdin is not None
    child.stdin.write(data)
    child.stdin.close()
    child.stdin = None
    return child

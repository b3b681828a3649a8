"""What `kedge drift replay` costs on transcripts shaped like real ones: MB/s of one core, memory.

The yardstick reads the same lines and does no more than `json.loads` with each.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from _measure import KEDGE, clean_environment

BUDGET = 7.0  # times the yardstick: 50 MB/s where that reads 350
MEGABYTE = 1_000_000
YARDSTICK = (
    "import json, pathlib, sys\n"
    "for path in sorted(pathlib.Path(sys.argv[1]).rglob('*.jsonl')):\n"
    "    with path.open('rb') as file:\n"
    "        for line in file: json.loads(line)\n"
)
PROMPTS = (
    "Fix {0} so that it copes with an empty {1}. Don't touch the docs.",
    "Add an option to {0} that leaves out {1}, with a test. Keep the output as it is.",
    "{0} is slow when there are many {1}; find out why in src/{2}.py and mend it.",
    "Rename {0} in src/{2}.py, and nothing else.",
    "go on",
    "yes, and run the tests again",
)
BETAS = ["claude-code-20250219", "interleaved-thinking-2025-05-14"] * 4
USAGE = {
    "input_tokens": 1000,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 90_000,
    "output_tokens": 50,
    "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
    "service_tier": "standard",
    "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
}
Line = dict[str, Any]


class Work(NamedTuple):
    """What one session is about: a module of the standard library, as text, and names in it."""

    module: str
    text: str
    names: list[str]

    def prompt(self, draw: random.Random) -> str:
        return draw.choice(PROMPTS).format(*draw.sample(self.names, 2), self.module)


class Cost(NamedTuple):
    """Seconds of processor time, and bytes of memory at most."""

    seconds: float
    peak: int


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kedge-bench-") as scratch:
        root = Path(scratch)
        whole, part = root / "whole", root / "part"
        size, actions = make(whole, given.megabytes * MEGABYTE)
        make(part, given.megabytes * MEGABYTE // 10)
        print(f"{size / MEGABYTE:.0f} MB, {actions:,} actions, {size / actions / 1000:.0f} kB each")
        read = [sys.executable, "-I", "-c", YARDSTICK]
        replay = [*KEDGE, "drift", "replay", "--json"]
        costs: dict[str, list[Cost]] = {}
        for _ in range(given.rounds):
            for name, argv in {
                "json.loads of each line": [*read, str(whole)],
                "kedge drift replay": [*replay, str(whole)],
                "kedge drift replay, a tenth": [*replay, str(part)],
            }.items():
                costs.setdefault(name, []).append(cost(argv, root))
        return report(costs, size)


def report(costs: dict[str, list[Cost]], size: int) -> int:
    yardstick = statistics.median(one.seconds for one in costs["json.loads of each line"])
    print(f"\nreplay\n{'':38}{'median':>10}{'MB/s':>8}{'memory':>10}{'ratio':>8}{'budget':>8}")
    kept = True
    for name, values in costs.items():
        seconds = statistics.median(one.seconds for one in values)
        bytes_ = size / 10 if "tenth" in name else size
        speed, peak = bytes_ / seconds / MEGABYTE, max(one.peak for one in values) / MEGABYTE
        ratio = seconds / yardstick
        limit = BUDGET if name == "kedge drift replay" else None
        over = limit is not None and ratio > limit
        kept = kept and not over
        shown = f"{limit:g}×" if limit is not None else ""
        print(
            f"{name:38}{seconds * 1000:8.0f}ms{speed:8.0f}{peak:8.0f}MB{ratio:7.1f}×{shown:>8}"
            f"{'  over' if over else ''}"
        )
    return 0 if kept else 1


def cost(argv: Sequence[str], home: Path) -> Cost:
    child = subprocess.Popen(
        argv, env=clean_environment(home), stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL
    )
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, argv
    unit = 1 if sys.platform == "darwin" else 1024
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss * unit)


def make(root: Path, size: int) -> tuple[int, int]:
    """Sessions of both agents, as many as it takes; their bytes and their actions."""
    draw = random.Random(7)
    sources = works()
    done = actions = 0
    number = 0
    root.mkdir()
    while done < size:
        number += 1
        kind = codex if number % 4 == 0 else claude
        steps = draw.randint(40, 160)
        path = root / f"session-{number}.jsonl"
        with path.open("wb") as file:
            for line in kind(draw, draw.choice(sources), number, steps):
                file.write(json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode())
                file.write(b"\n")
        done += path.stat().st_size
        actions += steps
    return done, actions


def works() -> list[Work]:
    """What agents read and write: larger sources of the standard library."""
    found = []
    for file in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        text = file.read_text(encoding="utf-8", errors="replace")
        names = sorted(set(re.findall(r"(?:def|class) ([a-zA-Z]\w{5,})", text)))
        if len(text) > 30_000 and len(names) > 5:
            found.append(Work(file.stem, text, names))
    return found


def piece(draw: random.Random, source: str, least: int, most: int) -> str:
    length = int(least * (most / least) ** draw.random())
    start = draw.randrange(len(source) - length)
    return source[start : start + length]


class Given(NamedTuple):
    """A call and what came back: the input, the text that the model sees, the client's own copy."""

    tool: str
    input: Line
    text: str
    result: Any


def call(draw: random.Random, work: Work) -> Given:
    source = work.text
    beside = draw.choice(["src/", "src/", "tests/test_"])
    path = f"/home/tess/harbour/{beside}{work.module}.py"
    roll = draw.random()
    if roll < 0.35:
        content = piece(draw, source, 1500, 24_000)
        numbered = "\n".join(f"{n:>6}→{line}" for n, line in enumerate(content.splitlines(), 1))
        file = {"filePath": path, "content": content, "numLines": 200, "startLine": 1}
        return Given("Read", {"file_path": path}, numbered, {"type": "text", "file": file})
    if roll < 0.66:
        command = draw.choice(
            ["python -m pytest tests -q", "git status --short", "ls -la src", "git diff | head -50",
             f"grep -rn 'def {work.names[0]}' src | head", "make lint 2>&1 | tail -20"]
        )  # fmt: skip
        out = piece(draw, source, 80, 9000)
        result = {"stdout": out, "stderr": "", "interrupted": False, "isImage": False}
        return Given("Bash", {"command": command, "description": "Look at it"}, out, result)
    if roll < 0.86:
        old, new = piece(draw, source, 80, 1500), piece(draw, source, 80, 2500)
        edit = {"file_path": path, "old_string": old, "new_string": new}
        patch = [{"oldStart": 1, "oldLines": 9, "newStart": 1, "newLines": 9,
                  "lines": [f" {line}" for line in (old + new).splitlines()]}]  # fmt: skip
        original = piece(draw, source, 3000, 30_000)
        result = {"filePath": path, "oldString": old, "newString": new, "originalFile": original,
                  "structuredPatch": patch, "userModified": False}  # fmt: skip
        return Given("Edit", edit, f"The file {path} has been updated.", result)
    if roll < 0.93:
        found = piece(draw, source, 100, 4000)
        names = {"mode": "content", "content": found, "numLines": 40}
        return Given("Grep", {"pattern": "berth", "path": "src"}, found, names)
    if roll < 0.98:
        content = piece(draw, source, 500, 9000)
        result = {"type": "create", "filePath": path, "content": content, "structuredPatch": []}
        return Given("Write", {"file_path": path, "content": content}, "File created.", result)
    todos = [{"content": "mend the lexer", "status": "pending", "activeForm": "mending"}] * 5
    return Given("TodoWrite", {"todos": todos}, "Todos have been modified.", {"newTodos": todos})


def stamps(number: int) -> Callable[[], str]:
    at = number * 1_000_000

    def stamp() -> str:
        nonlocal at
        at += 777
        seconds, thousandths = divmod(at, 1000)
        hours, rest = divmod(seconds, 3600)
        return (
            f"2026-{hours // 600 % 12 + 1:02}-{hours // 24 % 25 + 1:02}T{hours % 24:02}:"
            f"{rest // 60:02}:{rest % 60:02}.{thousandths:03}Z"
        )

    return stamp


def claude(draw: random.Random, work: Work, number: int, steps: int) -> Iterator[Line]:
    """As versions with and without a record of what was sent to the model write it."""
    source = work.text
    session = f"{number:08x}-47a3-4c30-bde8-b7276f726287"
    stamp = stamps(number)
    parent: str | None = None

    def record(kind: str, **more: Any) -> Line:
        nonlocal parent
        own = str(uuid.UUID(int=draw.getrandbits(128)))
        made = {"parentUuid": parent, "isSidechain": False, **more, "type": kind, "uuid": own,
                "timestamp": stamp(), "userType": "external", "entrypoint": "cli",
                "cwd": "/home/tess/harbour", "sessionId": session, "version": "2.1.325",
                "gitBranch": "main"}  # fmt: skip
        parent = own
        return made

    def attached(kind: str, size: int) -> Line:
        text = source[:size]
        rendered = [{"content": text[: size // 10]}]
        return record("attachment", attachment={"type": kind, "text": text}, rendered=rendered)

    def sent(size: int) -> Iterator[Line]:
        if number % 2:
            name = f"{draw.getrandbits(256):064x}"
            yield {"type": "api-request", "sessionId": session, "id": name, "timestamp": stamp(),
                   "params": {"model": "claude-opus-5-5", "betas": BETAS}, "tail": [name] * 2,
                   "cacheControl": [{"path": ["messages", size, "content", 0]}] * 3}  # fmt: skip

    yield {"type": "mode", "mode": "normal", "sessionId": session}
    yield attached("skill_listing", 12_000)
    yield attached("prompt_snapshot", 6_000)
    if number % 2:
        yield {"type": "api-request-shape", "sessionId": session, "shape": source[:30_000]}
        yield attached("prompt_snapshot", 30_000)
    for step in range(steps):
        if step % 25 == 0:
            yield record("user", message={"role": "user", "content": work.prompt(draw)})
            yield attached("session_context", 1_200)
        message = {"id": f"msg_{number}_{step}", "type": "message", "role": "assistant",
                   "model": "claude-opus-5-5", "usage": USAGE}  # fmt: skip
        if draw.random() < 0.5:
            said = [{"type": "text", "text": piece(draw, source, 60, 700)}]
            yield record("assistant", message={**message, "content": said}, requestId="req_7")
        given = call(draw, work)
        name = f"toolu_{number}_{step}"
        use = {"type": "tool_use", "id": name, "name": given.tool, "input": given.input}
        yield record("assistant", message={**message, "content": [use]}, requestId="req_7")
        result = {"tool_use_id": name, "type": "tool_result", "content": given.text,
                  "is_error": draw.random() < 0.06}  # fmt: skip
        content = {"role": "user", "content": [result]}
        yield record("user", message=content, toolUseResult=given.result)
        yield from sent(step)
        if draw.random() < 0.15:
            yield attached("hook_success", 700)


def codex(draw: random.Random, work: Work, number: int, steps: int) -> Iterator[Line]:
    source = work.text
    session = f"{number:08x}-7a6b-76a1-88af-0f167266b964"
    stamp = stamps(number)
    place = "/home/tess/harbour"

    def line(kind: str, **payload: Any) -> Line:
        return {"timestamp": stamp(), "type": kind, "payload": payload}

    yield line("session_meta", id=session, session_id=session, cwd=place, cli_version="0.166.0",
               base_instructions={"text": source[:21_000]})  # fmt: skip
    usage = {"input_tokens": 1000, "cached_input_tokens": 900, "output_tokens": 50}
    for step in range(steps):
        if step % 25 == 0:
            yield line("turn_context", cwd=place, model="gpt-5.5-codex", summary="none")
            yield line("world_state", full=True, state={"host_skills": {"body": source[:5500]}})
            text = [{"type": "input_text", "text": work.prompt(draw)}]
            yield line("response_item", type="message", role="user", content=text)
        name = f"call_{number}_{step}"
        given = call(draw, work)
        if given.tool in ("Edit", "Write"):
            body = "\n".join(f"+{each}" for each in piece(draw, source, 200, 4000).splitlines())
            patch = f"*** Begin Patch\n*** Add File: src/{work.module}.py\n{body}\n*** End Patch\n"
            yield line("response_item", type="custom_tool_call", call_id=name, name="apply_patch",
                       input=patch)  # fmt: skip
            kind, out = "custom_tool_call_output", "Exit code: 0\nOutput:\nSuccess."
        else:
            command = given.input.get("command", f"sed -n 1,200p src/{work.module}.py")
            yield line("response_item", type="function_call", name="exec_command", call_id=name,
                       arguments=json.dumps({"cmd": command, "workdir": place}))  # fmt: skip
            kind = "function_call_output"
            out = f"Chunk ID: df33b3\nProcess exited with code 0\nOutput:\n{given.text[:10_000]}"
        item = {"type": "CommandExecution", "id": name, "aggregated_output": given.text[:10_000]}
        yield line("event_msg", type="item_completed", item=item)
        yield line("response_item", type=kind, call_id=name, output=out)
        info = {"total_token_usage": usage, "last_token_usage": usage}
        yield line("event_msg", type="token_count", info=info)
        yield line("token_usage_record", usage=usage, turn_token_usage=usage)


if __name__ == "__main__":
    sys.exit(main())

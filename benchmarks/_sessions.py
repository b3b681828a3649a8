"""Transcripts as varied as real ones, of sessions that work on sources of the standard library.

Measured on recorded sessions: of ten commands eight are not run again in the session; half of them
have less than 50 characters, one in ten has more than 220. A session works on 5 to 13 files, an
edit keeps three of four lines, and the user speaks at every eleventh action. Hardly any action is
worth an alarm. Around what was said and done stands what Claude Code 2.1.325 and Codex 0.166 write
there, of the sizes that theirs have.
"""

from __future__ import annotations

import json
import random
import re
import sysconfig
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

PLACE = "/home/tess/harbour"
PROMPTS = (
    "Fix {0} so that it copes with an empty {1}. Don't touch the docs.",
    "Add an option to {0} that leaves out {1}, with a test. Keep the output as it is.",
    "{0} is slow when there are many {1}; find out why in src/{2}.py and mend it.",
    "Rename {0} in src/{2}.py and wherever it is used. No new dependencies.",
    "I get this, what is wrong with {0}?\n\n{3}",
    "go on",
    "yes, and run the tests again",
    "looks good, commit it",
)
# in the first row those that are run again and again
COMMANDS = (
    ("python -m pytest tests -q", "git status", "git diff --stat", "make lint 2>&1 | tail -20",
     "git log --oneline -5", "ruff check src && mypy", "python -m pytest tests -q 2>&1 | tail -30"),
    ("ls -la src/{dir}", "cat src/{dir}/{file}.py", "wc -l src/{dir}/*.py", "mypy src/{dir}",
     "git diff src/{dir}/{file}.py", "git log --oneline -{n} -- src/{dir}", "git show HEAD~{n}",
     "python src/{dir}/{file}.py --help", "ruff format src/{dir}/{file}.py", "git add -A"),
    ("python -m pytest tests/test_{file}.py -q -k {name}", "sed -n '{n},{m}p' src/{dir}/{file}.py",
     "grep -n \"{name}\" src/{dir}/{file}.py", "git diff main...HEAD -- src/{dir} | head -{n}",
     "git stash && python -m pytest tests/test_{file}.py; git stash pop",
     "find src -name '*{file}*' -not -path '*/node_modules/*' | head -{n}",
     "grep -rn '{name}\\|{other}' src tests --include='*.py' | head -{n}",
     "gh pr view {n} --json title,body,commits 2>&1 | head -{m}",
     "sed -i 's/{name}/{other}/g' src/{dir}/{file}.py", "mkdir -p src/{dir}/{other} && ls src"),
    (("cd {place} && python -m pytest tests/test_{file}.py::{name} tests/test_{dir}.py -x -q 2>&1"
      " | grep -E '(PASS|FAIL|{other})' | tail -{n}"),
     "for f in src/{dir}/*.py; do echo \"== $f\"; grep -c {name} \"$f\"; done | sort | uniq -c",
     ("python - <<'PY'\nfrom {file} import {name}\nfor each in range({n}):\n"
      "    print(each, {name})\nPY"),
     "ls -la .cache/{dir}/ 2>/dev/null || echo \"no {file} there\"; cat pyproject.toml | head -{n}",
     ("python -c \"import {file}, json; print(json.dumps(sorted(vars({file})), indent=2))\" > /tmp/"
      "{name}.json && diff /tmp/{name}.json /tmp/{other}.json | head -{n}")),
    (("git add src/{dir}/{file}.py tests/test_{file}.py && git commit -m \"$(cat <<'EOF'\n"
      "{name} in {file}: {other}\n\n{text}\nEOF\n)\""),
     "cat > /tmp/{name}.py <<'PY'\n{text}\nPY\npython /tmp/{name}.py 2>&1 | tail -{n}"),
)  # fmt: skip
ODDS = (32, 12, 26, 23, 7)  # of the rows
DESCRIPTIONS = ("Run the tests of {file}", "Look for {name}", "Show what changed in src/{dir}",
                "Check that {name} still works with {other}", "List the files")  # fmt: skip
TURN = 11  # actions between two messages of the user
MODEL = "claude-opus-5-5"
BETAS = ["claude-code-20250219", "interleaved-thinking-2025-05-14"] * 7
USAGE = {
    "input_tokens": 1000,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 90_000,
    "output_tokens": 50,
    "output_tokens_details": {"thinking_tokens": 0},
    "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
    "service_tier": "standard",
    "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
    "inference_geo": "",
    "iterations": [],
    "speed": "standard",
}
Line = dict[str, Any]


class Source(NamedTuple):
    """A module of the standard library, as text, and names in it."""

    module: str
    text: str
    names: list[str]


class Work(NamedTuple):
    """What one session is about: the files that it works on, the first most of all."""

    files: list[Source]

    def file(self, draw: random.Random) -> Source:
        return draw.choice(self.files) if draw.random() < 0.6 else self.files[0]

    def prompt(self, draw: random.Random) -> str:
        file = self.file(draw)
        names, log = draw.sample(file.names, 2), piece(draw, file.text, 150, 1500)
        return draw.choice(PROMPTS).format(*names, file.module, log)

    def command(self, draw: random.Random) -> tuple[str, str]:
        """A command, and what the agent says that it is for."""
        file = self.file(draw)
        name, other = draw.sample(file.names, 2)
        row = draw.choices(COMMANDS, ODDS)[0]
        words = {
            "file": file.module, "dir": draw.choice(self.files).module.strip("_")[:6],
            "name": name, "other": other, "n": draw.randint(1, 90), "m": draw.randint(90, 400),
            "place": PLACE,
            "text": piece(draw, file.text, 150, 1500) if row is COMMANDS[-1] else "",
        }  # fmt: skip
        return draw.choice(row).format(**words), draw.choice(DESCRIPTIONS).format(**words)


class Given(NamedTuple):
    """A call and what came back: the input, the text that the model sees, the client's own copy."""

    tool: str
    input: Line
    text: str
    result: Any


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
        work = Work(draw.sample(sources, draw.randint(3, 8)))
        with path.open("wb") as file:
            for line in kind(draw, work, number, steps):
                file.write(json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode())
                file.write(b"\n")
        done += path.stat().st_size
        actions += steps
    return done, actions


def works() -> list[Source]:
    """What agents read and write: larger sources of the standard library."""
    found = []
    for file in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        text = file.read_text(encoding="utf-8", errors="replace")
        names = sorted(set(re.findall(r"(?:def|class) ([a-zA-Z]\w{5,})", text)))
        if len(text) > 30_000 and len(names) > 5:
            found.append(Source(file.stem, text, names))
    return found


def piece(draw: random.Random, source: str, least: int, most: int) -> str:
    length = int(least * (most / least) ** draw.random())
    start = draw.randrange(len(source) - length)
    return source[start : start + length]


def edited(draw: random.Random, source: str) -> tuple[str, str]:
    """Some text, and what an edit makes of it: most lines stay, some go, some come."""
    old = piece(draw, source, 80, 1500)
    kept = draw.choice((0.0, 0.5, 0.7, 0.8, 0.9))
    new = [line for line in old.splitlines() if draw.random() < kept]
    new.insert(draw.randint(0, len(new)), piece(draw, source, 40, 1200))
    return old, "\n".join(new)


def call(draw: random.Random, work: Work) -> Given:
    file = work.file(draw)
    source = file.text
    beside = draw.choice(["src/", "src/", "tests/test_"])
    path = f"{PLACE}/{beside}{file.module}.py"
    roll = draw.random()
    if roll < 0.35:
        content = piece(draw, source, 1500, 24_000)
        numbered = "\n".join(f"{n:>6}→{line}" for n, line in enumerate(content.splitlines(), 1))
        shown = {"filePath": path, "content": content, "numLines": 200, "startLine": 1}
        return Given("Read", {"file_path": path}, numbered, {"type": "text", "file": shown})
    if roll < 0.66:
        command, why = work.command(draw)
        out = piece(draw, source, 80, 9000)
        result = {"stdout": out, "stderr": "", "interrupted": False, "isImage": False}
        return Given("Bash", {"command": command, "description": why}, out, result)
    if roll < 0.86:
        old, new = edited(draw, source)
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
        search = {"pattern": "|".join(draw.sample(file.names, 2)), "path": "src"}
        return Given("Grep", search, found, names)
    if roll < 0.98:
        content = piece(draw, source, 500, 9000)
        result = {"type": "create", "filePath": path, "content": content, "structuredPatch": []}
        return Given("Write", {"file_path": path, "content": content}, "File created.", result)
    todos = [{"content": f"mend {name}", "status": "pending", "activeForm": "mending"}
             for name in draw.sample(file.names, 4)]  # fmt: skip
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
    source = work.files[0].text
    session = f"{number:08x}-47a3-4c30-bde8-b7276f726287"
    stamp = stamps(number)
    parent: str | None = None

    def record(kind: str, **more: Any) -> Line:
        nonlocal parent
        own = str(uuid.UUID(int=draw.getrandbits(128)))
        made = {"parentUuid": parent, "isSidechain": False, **more, "type": kind, "uuid": own,
                "timestamp": stamp(), "userType": "external", "entrypoint": "cli",
                "cwd": PLACE, "sessionId": session, "version": "2.1.325",
                "gitBranch": "main"}  # fmt: skip
        parent = own
        return made

    def attached(kind: str, size: int) -> Line:
        text = source[:size]
        rendered = [{"content": text[: size // 10]}]
        return record("attachment", attachment={"type": kind, "text": text}, rendered=rendered)

    def answer(*content: Line) -> Line:
        message = {"id": f"msg_{number}_{step}", "type": "message", "role": "assistant",
                   "model": MODEL, "usage": USAGE, "content": content, "stop_reason": "tool_use",
                   "stop_sequence": None, "stop_details": None}  # fmt: skip
        return record("assistant", message=message, requestId="req_7", requestRef=session,
                      requestedModel=MODEL, effort="medium", perTurnEffort="medium",
                      madeBy="model", apiBlockIndex=0, promptCacheRequested="5m")  # fmt: skip

    def sent(size: int) -> Line:
        name = f"{draw.getrandbits(256):064x}"
        return {"type": "api-request", "sessionId": session, "id": session, "timestamp": stamp(),
                "version": "2.1.325", "querySource": "sdk", "shapeHash": name, "keep": size,
                "params": {"model": MODEL, "betas": BETAS}, "tail": [name] * 2,
                "requestDigest": name,
                "cacheControl": [{"path": ["messages", size, "content", 0]}] * 3}  # fmt: skip

    yield {"type": "mode", "mode": "normal", "sessionId": session}
    yield attached("skill_listing", 12_000)
    for _ in range(2):
        yield attached("prompt_snapshot", 28_000)
        yield {"type": "api-request-blob", "sessionId": session, "blob": source[:5_000]}
    yield {"type": "api-request-shape", "sessionId": session, "shape": source[:38_000]}
    for step in range(steps):
        if step % TURN == 0:
            yield record("user", message={"role": "user", "content": work.prompt(draw)})
            yield attached("session_context", 1_200)
        if draw.random() < 0.5:
            yield answer({"type": "text", "text": piece(draw, source, 60, 700)})
        given = call(draw, work)
        name = f"toolu_{number}_{step}"
        use = {"type": "tool_use", "id": name, "name": given.tool, "input": given.input}
        yield answer(use)
        result = {"tool_use_id": name, "type": "tool_result", "content": given.text,
                  "is_error": draw.random() < 0.06}  # fmt: skip
        content = {"role": "user", "content": [result]}
        yield record("user", message=content, toolUseResult=given.result)
        yield sent(step)
        if draw.random() < 0.15:
            yield attached("hook_success", 700)


def patch(edit: Line) -> str:
    """An edit of a file, or a file as a whole, in the way of Codex."""
    path = edit["file_path"].removeprefix(f"{PLACE}/")
    if "content" in edit:
        head, lines = "Add", [f"+{line}" for line in edit["content"].splitlines()]
    else:
        gone, new = edit["old_string"].splitlines(), edit["new_string"].splitlines()
        head, lines = (
            "Update",
            ["@@", *(f"-{line}" for line in gone), *(f"+{line}" for line in new)],
        )
    body = "\n".join(lines)
    return f"*** Begin Patch\n*** {head} File: {path}\n{body}\n*** End Patch\n"


def codex(draw: random.Random, work: Work, number: int, steps: int) -> Iterator[Line]:
    source = work.files[0].text
    session = f"{number:08x}-7a6b-76a1-88af-0f167266b964"
    stamp = stamps(number)

    def line(kind: str, **payload: Any) -> Line:
        return {"timestamp": stamp(), "type": kind, "payload": payload}

    yield line("session_meta", id=session, session_id=session, cwd=PLACE, cli_version="0.166.0",
               base_instructions={"text": source[:21_000]})  # fmt: skip
    usage = {"input_tokens": 1000, "cached_input_tokens": 900, "output_tokens": 50}
    for step in range(steps):
        if step % TURN == 0:
            yield line("turn_context", cwd=PLACE, model="gpt-5.5-codex", summary="none")
            yield line("world_state", full=True, state={"host_skills": {"body": source[:5500]}})
            text = [{"type": "input_text", "text": work.prompt(draw)}]
            yield line("response_item", type="message", role="user", content=text)
        name = f"call_{number}_{step}"
        given = call(draw, work)
        if given.tool in ("Edit", "Write"):
            yield line("response_item", type="custom_tool_call", call_id=name, name="apply_patch",
                       input=patch(given.input))  # fmt: skip
            kind, out = "custom_tool_call_output", "Exit code: 0\nOutput:\nSuccess."
        else:
            looked_at = given.input.get("file_path", "src").removeprefix(f"{PLACE}/")
            shown = f"sed -n {draw.randint(1, 400)},400p {looked_at}"
            command = given.input.get("command", shown)
            yield line("response_item", type="function_call", name="exec_command", call_id=name,
                       arguments=json.dumps({"cmd": command, "workdir": PLACE}))  # fmt: skip
            kind = "function_call_output"
            out = f"Chunk ID: df33b3\nProcess exited with code 0\nOutput:\n{given.text[:10_000]}"
        item = {"type": "CommandExecution", "id": name, "aggregated_output": given.text[:10_000]}
        yield line("event_msg", type="item_completed", item=item)
        yield line("response_item", type=kind, call_id=name, output=out)
        info = {"total_token_usage": usage, "last_token_usage": usage}
        yield line("event_msg", type="token_count", info=info)
        yield line("token_usage_record", usage=usage, turn_token_usage=usage)

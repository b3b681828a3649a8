"""Every command that writes, with what has to be there before it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from faults.world import Command, World

_OK = {"write": {"ok": "yes\n"}, "say": "It is done."}
_SESSION = "e6638ddc-173a-4ebc-9e32-443db8a34d38"
_AGENTS = ("--agent", "claude", "--agent", "codex")
_LESSON = ("--type", "heuristic", "--text", "Hauling twice tears the line.", "--in", "t")
_BACKENDS = ("jsonl", "beads", "task_yaml")
_REPORT = """## What I implemented
A capstan.

## What I tested
sh check.sh

## Files changed
- app.py

## Implementation Decisions
A drum, since rope slips on a bare shaft.

## Deviations
none

## Concerns
none
"""
_RETRO = {
    "new": [
        {
            "type": "pattern",
            "name": "Haul in turns",
            "text": "Two lines at once tangle.",
            "confidence": "high",
            "paths": ["app.py"],
        }
    ],
    "confirmed": [{"entry": "One line", "evidence": "it held"}],
    "challenged": [],
    "skipped": [],
}


# What is there before a command


def nothing(world: World) -> None:
    """A repository that knows nothing of kedge."""


def initialised(world: World) -> None:
    world.kedge("init", *_AGENTS)
    world.git("add", "-A")
    world.git("commit", "--quiet", "-m", "kedge")


def broken_sections(world: World) -> None:
    initialised(world)
    text = (world.root / "AGENTS.md").read_text()
    world.write("AGENTS.md", text.replace("<!-- END KEDGE MANAGED SECTION -->", ""))


def stale(world: World) -> None:
    initialised(world)
    text = (world.root / "AGENTS.md").read_text()
    head, _, _ = text.partition("<!-- END")
    world.write("AGENTS.md", text.replace(head[-40:], "edited\n"))
    world.write("lib/mast.py", "def step():\n    return 2\n")


def with_backend(world: World) -> None:
    """The backend's directory, so that it is there to write to."""
    if world.backend == "beads":
        world.execute(["bd", "init", "--prefix", "k"])
    elif world.backend == "task_yaml":
        (world.root / "tasks").mkdir()


def with_task(world: World) -> None:
    with_backend(world)
    checks = ("--check", "sh check.sh") if world.backend == "jsonl" else ()
    world.kedge("task", "add", "Haul", "--id", "t", "--accept", "ok is there", *checks)
    world.kedge("task", "add", "Moor", "--id", "u")
    world.git("add", "-A")
    world.git("commit", "--quiet", "-m", "tasks")


def claimed(world: World) -> None:
    with_task(world)
    world.kedge("task", "claim", "t")


def provable(world: World) -> None:
    claimed(world)
    world.write("ok", "yes\n")


def blocked(world: World) -> None:
    claimed(world)
    world.kedge("task", "block", "t", "--type", "tooling", "--reason", "no rope")


def importable(world: World) -> None:
    with_task(world)
    world.write("list.md", "# Plan\n\n- [ ] d-1: Splice the rope\n- [ ] d-2: Paint the hull\n")


def frozen(world: World) -> None:
    with_task(world)
    world.kedge("context", "init", "t", "--claim")


def begun(world: World) -> None:
    frozen(world)
    world.kedge("context", "begin", "t", "--agent", "implementer")
    world.write("ok", "yes\n")
    world.write("evidence.txt", "it holds\n")


def handed_over(world: World) -> None:
    begun(world)
    world.kedge("context", "snapshot", "t", "--agent", "implementer")


def changed(world: World) -> None:
    handed_over(world)
    world.write("app.py", "changed()\n")
    world.write("more.txt", "by somebody else\n")


def drifted(world: World) -> None:
    changed(world)
    world.kedge("context", "begin", "t", "--agent", "reviewer", code=4)


def with_lesson(world: World) -> None:
    with_task(world)
    world.kedge("knowledge", "add", "One line", *_LESSON)


def with_answer(world: World) -> None:
    with_lesson(world)
    world.kedge("task", "claim", "t")
    world.write("ok", "yes\n")
    world.kedge("task", "close", "t", "--reason", "hauled")
    world.write("answer.json", json.dumps(_RETRO))


def with_report(world: World) -> None:
    begun(world)
    world.write("report.md", _REPORT)


def with_agent(world: World) -> None:
    with_task(world)
    world.install_agent(*[_OK] * 9)


def interrupted(world: World) -> None:
    """A run that was killed as its agent wrote."""
    with_agent(world)
    program = str(world.top / "agent" / "bin" / "claude")
    run = Command("run", ("run", "--agent", "claude", "--command", program, "--task", "t"), nothing)
    world.save()
    calls = world.run(run).calls
    world.restore()
    world.run(run, next(at for at, call in enumerate(calls) if call.endswith("/ok")))


def watched(world: World) -> None:
    """A session of an agent that was asked for something."""
    with_task(world)
    world.kedge("init", "--no-hooks")
    for event in (_start_event(), _prompt_event()):
        world.run(_hook("before", event))


def limited(world: World) -> None:
    watched(world)
    world.kedge("drift", "limit", "add", "--forbid", "lib/**", "--session", _SESSION)
    listed = json.loads(world.kedge("drift", "limit", "list", "--json"))
    world.words["LIMIT"] = next(one["id"] for one in listed["data"] if one["source"] == "user")


# Events of hooks


def _event(name: str, **more: object) -> dict[str, object]:
    return {"session_id": _SESSION, "hook_event_name": name, "permission_mode": "default", **more}


def _start_event() -> dict[str, object]:
    return _event("SessionStart", source="startup")


def _prompt_event() -> dict[str, object]:
    text = "Make sail() in app.py return 2. Do not change lib/."
    return _event("UserPromptSubmit", prompt=text)


def _tool_event(name: str, tool: str, **given: object) -> dict[str, object]:
    more = {"tool_response": {"stdout": "", "stderr": ""}} if name == "PostToolUse" else {}
    return _event(name, tool_name=tool, tool_input=given, tool_use_id="toolu_1", **more)


def _hook(name: str, event: dict[str, object]) -> Command:
    return Command(name, ("claude",), watched, json.dumps(event), hook=True)


def hook_commands() -> Iterator[Command]:
    edit = {"file_path": "app.py", "old_string": "return lib", "new_string": "return 2 + lib"}
    first = json.dumps(_start_event())
    yield Command("hook SessionStart, first", ("claude",), with_task, first, hook=True)
    yield _hook("hook SessionStart", _start_event())
    yield _hook("hook SessionStart, compact", _event("SessionStart", source="compact"))
    yield _hook("hook UserPromptSubmit", _prompt_event())
    yield _hook("hook PreToolUse Edit", _tool_event("PreToolUse", "Edit", **edit))
    yield _hook("hook PostToolUse Edit", _tool_event("PostToolUse", "Edit", **edit))
    shell = {"command": "rm -rf lib && make check"}
    yield _hook("hook PreToolUse Bash", _tool_event("PreToolUse", "Bash", **shell))
    yield _hook("hook PostToolUse Bash", _tool_event("PostToolUse", "Bash", **shell))
    yield _hook(
        "hook PostToolUseFailure",
        _tool_event("PostToolUseFailure", "Bash", **shell) | {"error": "exit 2"},
    )
    for name in ("PreCompact", "SubagentStop", "Stop"):
        yield _hook(f"hook {name}", _event(name))
    yield _hook("hook SessionEnd", _event("SessionEnd", reason="exit"))


# The commands


def task_commands(backend: str) -> Iterator[Command]:
    def command(name: str, prepare: object, *argv: str) -> Command:
        assert callable(prepare)
        return Command(f"task {name} ({backend})", ("task", *argv), prepare, backend=backend)

    yield command(
        "add", with_backend, "add", "Paint", "--id", "new", "--accept", "dry", "--label", "x"
    )
    yield command("update", with_task, "update", "t", "--title", "Haul away", "--label", "y")
    yield command("claim", with_task, "claim", "t", "--as", "tess")
    yield command("close", provable, "close", "t", "--reason", "hauled")
    yield command("close --failed", claimed, "close", "t", "--failed", "--reason", "no wind")
    yield command("block", claimed, "block", "t", "--type", "tooling", "--reason", "no rope")
    yield command("reopen", blocked, "reopen", "t")
    yield command("import", importable, "import", "list.md")
    yield command("dep", with_task, "dep", "u", "--on", "t")


def context_commands() -> Iterator[Command]:
    def command(name: str, prepare: object, *argv: str) -> Command:
        assert callable(prepare)
        word = name.partition(" ")[0].strip(",")
        return Command(f"context {name}", ("context", word, "t", *argv), prepare)

    yield command("init", with_task, "--claim", "--export")
    yield command("begin", frozen, "--agent", "implementer")
    yield command("begin, drifted", changed, "--agent", "reviewer")
    yield command("snapshot", begun, "--agent", "implementer")
    yield command("update", begun, "--agent", "implementer", "--qa-log", "evidence.txt")
    yield command("record-qa", begun, "--agent", "implementer")
    yield command("attach", begun, "evidence.txt")
    yield command("block", handed_over, "--agent", "reviewer", "--finding", "it leaks")
    yield command("rebuild", begun)
    yield command("resolve --accept", drifted, "--accept", "--note", "seen")
    yield command("resolve --revert", drifted, "--revert", "--note", "unwanted")
    yield command("purge", handed_over, "--yes")


def knowledge_commands() -> Iterator[Command]:
    seen = ("--in", "u", "--evidence", "it held again")
    yield Command("log append", ("log", "append", "t", "--report", "report.md"), with_report)
    review = ("review", "record", "t", "--reviewer", "security", "--result", "approved")
    more = ("--no-external-claims", "--summary", "fine", "--finding", "minor the knot slips")
    yield Command("review record", (*review[:-1], "approved-with-notes", *more), handed_over)
    yield Command("knowledge add", ("knowledge", "add", "One line", *_LESSON), with_task)
    yield Command("knowledge confirm", ("knowledge", "confirm", "One line", *seen), with_lesson)
    yield Command("knowledge challenge", ("knowledge", "challenge", "One line", *seen), with_lesson)
    keep = ("knowledge", "stale", "--keep", "One line", "--in", "u", "--reason", "still so")
    yield Command("knowledge stale", keep, with_lesson)
    retire = ("knowledge", "retire", "One line", "--reason", "no longer so")
    yield Command("knowledge retire", retire, with_lesson)
    yield Command("retro --apply", ("retro", "t", "--apply", "answer.json"), with_answer)


def run_commands() -> Iterator[Command]:
    def command(name: str, *more: str) -> Command:
        argv = ("run", "--agent", "claude", "--command", "../agent/bin/claude", "--task", "t")
        return Command(name, (*argv, *more), with_agent, then=("run", "--resume"), costly=True)

    yield command("run")
    yield command("run --worktree", "--worktree")
    yield command("run --no-commit", "--no-commit")
    resume = ("run", "--resume")
    yield Command("run --resume", resume, interrupted, then=resume, costly=True)


def setup_commands() -> Iterator[Command]:
    yield Command("init", ("init", *_AGENTS), nothing)
    yield Command("init --minimal", ("init", "--minimal"), nothing)
    yield Command("update", ("update",), stale)
    yield Command("update --repair", ("update", "--repair"), broken_sections)
    yield Command("uninstall", ("uninstall", "--yes", "--records"), initialised)
    yield Command("map", ("map",), nothing)
    yield Command("map, again", ("map",), stale)
    yield Command("anchor", ("anchor", "t"), claimed)
    yield Command("config set", ("config", "set", "map.tokens", "900"), initialised)
    yield Command("config set --user", ("config", "set", "--user", "map.tokens", "900"), nothing)
    limit = ("drift", "limit")
    add = (*limit, "add", "--forbid", "lib/**", "--session", _SESSION)
    yield Command("drift limit add", add, watched)
    yield Command("drift limit lift", (*limit, "lift", "LIMIT", "--session", _SESSION), limited)


def every_command() -> list[Command]:
    found = [*setup_commands()]
    for backend in _BACKENDS:
        found += task_commands(backend)
    found += [*context_commands(), *knowledge_commands(), *hook_commands(), *run_commands()]
    return found

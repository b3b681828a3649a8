"""Hostile repositories: links, pipes, directories and huge files in the way, strange names, and a
git configuration that runs programs."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from faults import judge
from faults.case import Case
from faults.commands import hook_commands, nothing, with_lesson
from faults.world import Command, World

# Paths that kedge reads or writes.
PATHS = (
    *("AGENTS.md", "CLAUDE.md", "PROMPT.md", "AGENT.md", "progress.txt", "Makefile", ".gitignore"),
    *(".kedge", ".kedge/config.toml", ".kedge/constitution.md", ".kedge/runloop.md"),
    *(".kedge/tasks.jsonl", ".kedge/ledger", ".kedge/ledger/t.jsonl", ".kedge/map.md"),
    *(".kedge/context", ".kedge/context/t", ".kedge/context/t/context.json", ".kedge/locks"),
    *(".kedge/locks/tasks.lock", ".kedge/.gitignore", ".kedge/.gitattributes", ".kedge/worktrees"),
    *(".kedge/runs", ".kedge/standards.toml", ".kedge/retros", ".claude", ".codex"),
    *(".claude/settings.local.json", ".codex/hooks.json", "docs", "docs/knowledge-bank"),
    *("docs/knowledge-bank/heuristics.md", "docs/features", "tasks", ".beads", "app.py"),
    *(".git/kedge", ".git/kedge/kedge.db", ".git/kedge/snapshots", ".git/kedge/backups"),
)
_MARK = "touch ../outside/pwned"
_MEGABYTE = 1 << 20
Trick = Callable[[World], object]


# Things in the way


def _clear(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _link_out(world: World, name: str) -> None:
    """Move what is there outside, and leave a link to it."""
    path, target = world.root / name, world.outside / "target"
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        shutil.move(path, target)
    elif "." in path.name.lstrip("."):
        target.write_text("outside\n")
    else:
        target.mkdir()
    path.symlink_to(target)


def _dangle(world: World, name: str) -> None:
    path = world.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    _clear(path)
    path.symlink_to(world.outside / "new")


def _link_to_itself(world: World, name: str) -> None:
    path = world.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    _clear(path)
    path.symlink_to(path.name)


def _pipe(world: World, name: str) -> None:
    path = world.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    _clear(path)
    os.mkfifo(path)


def _directory(world: World, name: str) -> None:
    path = world.root / name
    was_file = path.is_file() or not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    if was_file:
        _clear(path)
        (path / "sub").mkdir(parents=True)
    else:
        _clear(path)
        path.write_text("a file\n")


def _garbage(world: World, name: str) -> None:
    """Bytes that are no text and no JSON, where a file is."""
    path = world.root / name
    if path.is_file():
        path.write_bytes(b"\xff\xfe\x00{[\x1b]0;x\x07" * 1000 + b"\n")


_IN_THE_WAY: dict[str, Callable[[World, str], None]] = {
    "link out": _link_out,
    "dangling link": _dangle,
    "link to itself": _link_to_itself,
    "pipe": _pipe,
    "wrong kind": _directory,
    "garbage": _garbage,
}


# Names and sizes


def _write_bytes(world: World, name: bytes, data: bytes = b"x\n") -> None:
    path = world.root / os.fsdecode(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _strange_names(world: World) -> None:
    for name in (
        *(
            b"a\nb.py",
            b"a\tb.py",
            b"\xff\xfe.py",
            b"-rf",
            b"--output=x",
            b"a b.py",
            b"\xe2\x80\xaegpj.py",
        ),
        *(
            b"'; touch ../outside/pwned; '.py",
            b"$(touch ..).py",
            b"`x`.py",
            b"\x1b[31mred.py",
            b"*.py",
        ),
        *(b"\\.py", b'".py', b"x" * 240 + b".py", b":(top).py", b"HEAD", b"@{0}", b"a/-b/--c.py"),
    ):
        _write_bytes(world, name, b"def f(): ...\n")
    world.git("add", "-A")


def _deep(world: World) -> None:
    path = world.root
    for _ in range(150):
        path = path / "deep"
    path.mkdir(parents=True)
    (path / "end.py").write_text("def f(): ...\n")


def _nested_text(world: World) -> None:
    world.write("deep.json", "[" * 100_000 + "]" * 100_000)
    world.write("deep.py", "(" * 20_000 + ")" * 20_000 + "\n")
    world.write("package.json", '{"scripts":' * 50_000 + "1" + "}" * 50_000)
    world.write("pyproject.toml", "a = " + "[" * 20_000 + "]" * 20_000 + "\n")
    world.write("docs/deep.md", "> " * 20_000 + "\n")
    world.git("add", "-A")


def _huge(world: World) -> None:
    world.write("long.py", "x = '" + "a" * (8 * _MEGABYTE) + "'\n")
    world.write("many.md", "# h\n" * (_MEGABYTE // 2))
    with (world.root / "sparse.bin").open("wb") as file:
        file.truncate(128 * _MEGABYTE)  # each copy of the world holds all of it


def _many_settings(world: World) -> None:
    lines = (f"key{number} = {number}\n" for number in range(1_000_000))
    world.write(".kedge/config.toml", "".join(lines))


def _many_sections(world: World) -> None:
    sections = (f"[s{number}]\nk = 1\n" for number in range(100_000))
    world.write(".kedge/config.toml", "".join(sections))


def _nested_settings(world: World) -> None:
    world.write(".kedge/config.toml", "a" + ".a" * 5_000 + " = 1\nb = " + "[" * 5_000 + "\n")


def _many_lines(world: World) -> None:
    world.write(".kedge/ledger/t.jsonl", "{}\n" * 300_000)
    with (world.root / ".kedge" / "tasks.jsonl").open("a") as file:
        file.write("[" * 100_000 + "\n" + '{"id": "t"}\n' * 1000)


# A git that runs programs


def _plant_script(world: World) -> str:
    script = world.root / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {world.outside}/pwned\ncat\n")
    script.chmod(0o755)
    return str(script)


def _configure(*keys: str) -> Trick:
    def apply(world: World) -> None:
        script = _plant_script(world)
        with (world.root / ".git" / "config").open("a") as file:
            for key in keys:
                section, _, name = key.rpartition(".")
                head, _, sub = section.partition(".")
                title = f'[{head} "{sub}"]' if sub else f"[{head}]"
                file.write(f"{title}\n\t{name} = {script}\n")

    return apply


def _alias(world: World) -> None:
    script = _plant_script(world)
    with (world.root / ".git" / "config").open("a") as file:
        file.write("[alias]\n")
        for name in ("status", "diff", "log", "ls-files", "commit", "add", "x"):
            file.write(f"\t{name} = !{script}\n")


def _filters(world: World) -> None:
    script = _plant_script(world)
    with (world.root / ".git" / "config").open("a") as file:
        file.write(f'[filter "x"]\n\tclean = {script}\n\tsmudge = {script}\n\tprocess = {script}\n')
        file.write(f'[diff "x"]\n\ttextconv = {script}\n\tcommand = {script}\n')
        file.write(f'[merge "x"]\n\tdriver = {script}\n')
    world.write(".gitattributes", "*.py filter=x diff=x merge=x\n")
    world.write("app.py", "changed = 1\n")


def _hooks(world: World) -> None:
    script = _plant_script(world)
    names = ("pre-commit", "post-commit", "post-checkout", "pre-push", "post-index-change")
    more = ("reference-transaction", "prepare-commit-msg", "commit-msg", "fsmonitor-watchman")
    for name in (*names, *more):
        hook = world.root / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.symlink_to(script)


def _includes(world: World) -> None:
    (world.outside / "config").write_text(f"[core]\n\tfsmonitor = {_plant_script(world)}\n")
    with (world.root / ".git" / "config").open("a") as file:
        file.write(f"[include]\n\tpath = {world.outside}/config\n")
        file.write("[include]\n\tpath = /dev/zero-not-there\n")


def _settings_that_run(world: World) -> None:
    script = _plant_script(world)
    with (world.root / ".kedge" / "config.toml").open("a") as file:
        file.write(f'\n[tasks]\nbd = "{script}"\nbackend = "auto"\n[drift]\njudge = "{script}"\n')


OTHERS: dict[str, Trick] = {
    "strange names": _strange_names,
    "deep directories": _deep,
    "deep nesting": _nested_text,
    "huge files": _huge,
    "a million settings": _many_settings,
    "many sections": _many_sections,
    "nested settings": _nested_settings,
    "many records": _many_lines,
    "git fsmonitor": _configure("core.fsmonitor"),
    "git hooksPath": _configure("core.hooksPath"),
    "git pager and editor": _configure("core.pager", "core.editor", "core.askPass", "pager.log"),
    "git external diff": _configure("diff.external", "core.sshCommand", "gpg.program"),
    "git alias": _alias,
    "git filters": _filters,
    "git hooks": _hooks,
    "git include": _includes,
    "settings that run": _settings_that_run,
}


# Tricks that every command is tried with; the others take long, or come for many paths.
FOR_ALL = tuple(name for name in OTHERS if name.startswith(("git ", "strange", "settings")))


def list_tricks() -> dict[str, Trick]:
    """Return every trick by its name."""
    found: dict[str, Trick] = {}
    for kind, place in _IN_THE_WAY.items():
        for path in PATHS:
            found[f"{kind} at {path}"] = _bind(place, path)
    return found | OTHERS


def _bind(place: Callable[[World, str], None], path: str) -> Trick:
    return lambda world: place(world, path)


def commands() -> list[Command]:
    """Return what is run in hostile repositories: everything that reads or writes a project."""

    def command(*argv: str) -> Command:
        return Command(" ".join(argv), argv, nothing)

    found = [
        command("init"),
        command("update"),
        command("update", "--repair"),
        command("uninstall", "--yes", "--records"),
        command("doctor"),
        command("map"),
        command("map", "--for", "sail"),
        command("anchor", "t"),
        command("prompt", "t"),
        command("task", "list"),
        command("task", "add", "New", "--id", "new"),
        command("task", "claim", "u"),
        command("task", "block", "t", "--type", "tooling", "--reason", "no rope"),
        command("context", "show", "t"),
        command("context", "init", "u"),
        command("context", "begin", "t", "--agent", "implementer"),
        command("context", "verify", "t"),
        command("context", "list"),
        command("context", "purge", "t", "--yes"),
        command("config", "show"),
        command("config", "set", "map.tokens", "900"),
        command("drift", "status"),
        command("drift", "limit", "list"),
        command("log", "show", "t"),
        command("knowledge", "list"),
        command("knowledge", "add", "New", "--type", "pattern", "--text", "x", "--in", "t"),
        command("knowledge", "check"),
        command("feature", "lint"),
        command("retro", "t"),
        command("statusline"),
        command("run", "--dry-run"),
    ]
    return [*found, *(one for one in hook_commands() if one.name in _HOOKS)]


_HOOKS = (
    "hook SessionStart",
    "hook UserPromptSubmit",
    "hook PreToolUse Bash",
    "hook PostToolUse Edit",
)


def run_trick(top: Path, name: str, only: list[str]) -> list[Case]:
    """Try a trick with every command, or with these."""
    world = World(top)
    world.create()
    with_lesson(world)
    world.kedge("init", "--agent", "claude", "--agent", "codex")
    world.kedge("context", "init", "t", "--claim")
    list_tricks()[name](world)
    world.save()
    found = []
    for command in commands():
        if not only or command.name in only:
            world.restore()
            found.append(_try_command(world, command, name))
    return found


def _try_command(world: World, command: Command, name: str) -> Case:
    case = Case("repository", command.name, name)
    before = _read_outside(world)
    begin = time.monotonic()
    ended = world.run(command)
    seconds = time.monotonic() - begin
    if seconds > judge.MOST_SECONDS:
        case.problems.append(f"took {seconds:.0f} s")
    case.problems += judge.find_bad_answer(command, ended, (0, 4))
    if any(code in ended.out + ended.err for code in ("\x1b", "\u202e")):
        case.problems.append("a control character reaches the terminal")
    after = _read_outside(world)
    for path in sorted({*before, *after}):
        if before.get(path) != after.get(path):
            case.problems.append(f"outside: {path} was {'changed' if path in before else 'made'}")
    return case


def _read_outside(world: World) -> dict[str, bytes]:
    """Return the files outside of the repository."""
    found = {}
    for place in (world.outside, world.home):
        for path in place.rglob("*"):
            if path.is_symlink():
                found[str(path)] = os.fsencode(path.readlink())
            elif path.is_file():
                found[str(path)] = path.read_bytes()
            elif path.is_dir():
                found[str(path)] = b"directory"
    return found

"""`kedge demo`: kedge at work in a scratch repository, with nothing made up."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import click

from kedge.cli.commands import KedgeCommand
from kedge.cli.edge import Edge, Reply, write
from kedge.cli.plain import clean
from kedge.errors import ProgramError
from kedge.host import git, proc

SECRET = "ghp_" + "k3dg" * 9

STEPS: tuple[tuple[str, tuple[tuple[list[str], int], ...]], ...] = (
    (
        "An epic and two tasks, the second waiting for the first.",
        (
            (["task", "add", "Ship the login page", "--id", "login", "--type", "epic"], 0),
            (
                [
                    *["task", "add", "Hash passwords with a salt", "--id", "login-1"],
                    *["--epic", "login", "--priority", "P1", "--scope", "src/auth/"],
                    *["--accept", "no plain password is stored", "--check", "make test"],
                ],
                0,
            ),
            (["task", "add", "Draw the form", "--id", "login-2", "--epic", "login"], 0),
            (["task", "dep", "login-2", "--on", "login-1"], 0),
        ),
    ),
    (
        "What can be started? Only what waits for nothing.",
        ((["task", "ready"], 0), (["task", "claim", "login-2"], 1)),
    ),
    (
        "A circle is refused, and so is a secret: tasks go into git.",
        (
            (["task", "dep", "login-1", "--on", "login-2"], 1),
            (["task", "update", "login-1", "--description", f"use {SECRET}"], 1),
        ),
    ),
    (
        "Two agents want the same task: one gets it.",
        (
            (["task", "claim", "login-1", "--as", "ada"], 0),
            (["task", "claim", "login-1", "--as", "bob"], 1),
        ),
    ),
    (
        "It gets stuck, with a reason that the next attempt will read.",
        (
            (
                [
                    *["task", "block", "login-1", "--type", "spec-unclear"],
                    *["--reason", "which hash?", "--avoid", "inventing a hash of one's own"],
                ],
                0,
            ),
            (["log", "show", "login-1"], 0),
            (["task", "reopen", "login-1"], 0),
        ),
    ),
    (
        "Done, one after the other. The epic closes with its last task.",
        (
            (["task", "close", "login-1", "--reason", "scrypt"], 0),
            (["task", "close", "login-2"], 0),
            (["task", "list"], 0),
        ),
    ),
)


@click.command(cls=KedgeCommand)
@click.option("--keep", is_flag=True, help="Leave the scratch repository and print its path.")
def command(edge: Edge, keep: bool) -> Reply:
    """Show kedge at work in a scratch repository."""
    scratch = Path(tempfile.mkdtemp(prefix="kedge-demo-"))
    try:
        steps = _show(edge, scratch)
    finally:
        if not keep:
            import shutil

            shutil.rmtree(scratch)
    path = str(scratch) if keep else None
    return Reply({"steps": steps, "path": path}, f"\nleft in {path}" if keep else None)


def _show(edge: Edge, scratch: Path) -> list[dict[str, object]]:
    git.run(scratch, ["init", "--quiet"])
    env = {k: v for k, v in os.environ.items() if not k.startswith("KEDGE_")}
    env["XDG_CONFIG_HOME"] = str(scratch / "no-settings")
    steps: list[dict[str, object]] = []
    for title, commands in STEPS:
        _say(edge, f"\n{title}")
        for args, expected in commands:
            _say(edge, "  $ kedge " + " ".join(_quoted(arg) for arg in args))
            done = proc.run([sys.executable, "-m", "kedge", *args], cwd=scratch, env=env)
            output = (done.stdout + done.stderr).decode("utf-8", "replace")
            for line in output.splitlines():
                _say(edge, f"    {line}")
            steps.append({"args": args, "exit_code": done.code, "output": output})
            if done.code != expected:
                raise ProgramError(
                    f"kedge {args[0]} ended with {done.code}, not {expected}",
                    hint="that is a bug: please report it",
                    data={"steps": steps},
                )
    return steps


def _say(edge: Edge, text: str) -> None:
    if not edge.json:
        write(clean(text) + "\n")


def _quoted(arg: str) -> str:
    arg = arg.replace(SECRET, SECRET[:6] + "…")
    return f'"{arg}"' if " " in arg or not arg else arg

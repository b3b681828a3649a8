"""Completion, asked for by real shells that have read the script."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import Kedge

PROGRAMS = Path(sys.executable).parent  # where `kedge` is installed


def run_shell(shell: str, script: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(
        [shell, "-c", script],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def complete_in_bash(line: str, cwd: Path) -> list[str]:
    words = line.split(" ")
    quoted = " ".join(f"'{word}'" for word in words)
    script = f"""
        eval "$(kedge completion bash)"
        COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}
        _kedge_completion kedge "${{COMP_WORDS[-1]}}"
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = run_shell("bash", script, cwd)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.fixture
def project(repo: Path, kedge: Kedge) -> Path:
    kedge("task", "add", "Moor the boat", "--id", "boat-1")
    kedge("task", "add", "Paint the boat", "--id", "boat-2")
    kedge("task", "add", "Ring the bell", "--id", "bell")
    kedge("task", "close", "boat-1", "--unproven", "--reason", "moored")
    return repo


def test_bash_completes_commands_options_choices_and_task_ids(project: Path) -> None:
    assert complete_in_bash("kedge ta", project) == ["task"]
    assert complete_in_bash("kedge task show boat", project) == ["boat-2", "boat-1"]
    assert complete_in_bash("kedge prompt b", project) == ["boat-2", "bell", "boat-1"]
    assert complete_in_bash("kedge task add T --depends be", project) == ["bell"]
    assert complete_in_bash("kedge anchor --mo", project) == ["--mode"]
    assert complete_in_bash("kedge anchor --mode d", project) == ["delta"]


def test_a_directory_named_on_the_line_is_the_one_whose_tasks_are_completed(
    project: Path, tmp_path: Path
) -> None:
    assert complete_in_bash(f"kedge -C {project} task show be", tmp_path) == ["bell"]


def test_an_unknown_command_completes_to_nothing(project: Path) -> None:
    assert complete_in_bash("kedge nonsense x", project) == []


def test_an_unreadable_task_file_leaves_the_terminal_clean(project: Path) -> None:
    (project / ".kedge/tasks.jsonl").write_bytes(b"{broken\n\xff")
    assert complete_in_bash("kedge task show b", project) == []


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_script_is_valid_in_the_other_shells(shell: str, project: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    option = "-n" if shell == "zsh" else "--no-execute"
    script = run_shell(
        "sh", f"kedge completion {shell} > script && {shell} {option} script", project
    )
    assert (script.returncode, script.stdout, script.stderr) == (0, "", "")

"""`kedge prompt`: the task, its epic, earlier attempts, and how to finish."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import Kedge, assert_clear


@pytest.fixture
def login(kedge: Kedge) -> Kedge:
    kedge("task", "add", "Login", "--id", "login", "--type", "epic", "--description", "All of it")
    for number in range(14):
        kedge("task", "add", f"Before {number}", "--id", f"b{number}", "--epic", "login")
        kedge("task", "close", f"b{number}")
    kedge(
        *["task", "add", "Hash passwords", "--id", "l1", "--epic", "login", "--type", "bug"],
        *["--scope", "src/auth/", "--check", "make check", "--accept", "none is plain"],
        *["--description", "Use scrypt."],
    )
    kedge("task", "add", "Form", "--id", "l2", "--epic", "login")
    return kedge


def test_it_has_the_sections_of_a_prompt_in_order(login: Kedge) -> None:
    (login.directory / "Makefile").write_text("test:\n\tpytest\nlint:\n\truff check\n")
    text = login("prompt", "l1").out
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## CURRENT TASK",
        "## EPIC CONTEXT",
        "## TASK MANAGEMENT",
        "## WHEN COMPLETE",
    ]
    for said in [
        "Task ID: l1\nType: bug\nTitle: Hash passwords\n",
        "Scope: src/auth/\n\nDescription:\nUse scrypt.\n",
        "Acceptance criteria:\n- [ ] none is plain\n",
        "Epic: login - Login\nAll of it\n",
        "Completed tasks in this epic:\n- b13: Before 13\n- b12: Before 12\n",
        "- … and 4 more",
        "Remaining tasks after this one:\n- l2: Form\n",
        "`kedge task close l1 --reason",
        "Tasks are kept in `.kedge/tasks.jsonl`",
        "1. Run the feedback loops: `make check`, `make test`, `make lint`\n",
        "3. Commit: `bug(l1): Hash passwords`",
    ]:
        assert said in text, said
    assert "b3: Before" not in text
    login("config", "set", "prompt.siblings", "2")
    assert "- … and 12 more" in login("prompt", "l1").out


def test_a_retry_knows_what_went_wrong(login: Kedge) -> None:
    for reason, avoid in (("no openssl", "md5"), ("tests hang", "sleeping")):
        login("task", "claim", "l1", "--as", "ada")
        login("task", "block", "l1", "--type", "tooling", "--reason", reason, "--avoid", avoid)
        login("task", "reopen", "l1")
    text = login("prompt", "l1").out
    assert "## PREVIOUS ATTEMPTS\nThis task was attempted 2 times before" in text
    assert text.index("Failure reason: tooling: tests hang") < text.index("no openssl")
    assert "Avoid repeating: md5" in text
    assert "PREVIOUS" not in login("prompt", "l2").out


def test_the_prompt_explains_how_to_close_a_task_of_each_backend(repo: Path, kedge: Kedge) -> None:
    folder = repo / "docs" / "features" / "001-login"
    folder.mkdir(parents=True)
    (folder / "tasks.md").write_text("# Login\n\n### Task 1.1: Hash\n\n**Done when:** it is\n")
    text = kedge("prompt", "001-1.1").out
    assert "Tasks are kept in the feature's `tasks.md`" in text
    assert "- [ ] it is" in text


def test_a_features_task_gets_the_sections_that_it_needs(repo: Path, kedge: Kedge) -> None:
    folder = repo / "docs" / "features" / "001-login"
    folder.mkdir(parents=True)
    (folder / "tasks.md").write_text(
        "# Login\n\n### Task 1.1: Hash\n\n**Why:** Design C2\n\n### Task 1.2: Form\n"
    )
    (folder / "design.md").write_text(
        "# Design\n\n## C1: Form\n\nA form.\n\n## C2: Hasher\n\nWith scrypt.\n"
    )
    data = kedge.json("prompt", "001-1.1")
    assert "## FROM THE FEATURE'S DOCUMENTS" in data["text"]
    assert "With scrypt." in data["text"]
    assert "A form." not in data["text"]
    assert "scope" in [one["source"] for one in data["sections"]]


def test_wrong_usage_of_prompt_exits_with_2(login: Kedge) -> None:
    assert_clear(login("prompt", code=2), code=2, says="no task and no role given")
    assert_clear(login("prompt", "l1", "--tokens", "10", code=2), code=2, says="--tokens")


def test_commands_that_run_the_same_are_listed_once(repo: Path, kedge: Kedge) -> None:
    (repo / "pyproject.toml").write_text(
        '[project]\nname = "boat"\n[tool.pytest.ini_options]\n[tool.ruff]\n[tool.mypy]\n'
    )
    (repo / "boat.py").write_text("def sail(): ...\n")
    checks = ["--check", "uv run pytest -q tests/mast", "--check", "mypy --strict src"]
    kedge("task", "add", "Mast", "--id", "t1", *checks)
    kedge("task", "add", "Hull", "--id", "t2")
    (line,) = (one for one in kedge("prompt", "t2").out.splitlines() if "feedback loops" in one)
    assert "pytest`" in line
    (line,) = (one for one in kedge("prompt", "t1").out.splitlines() if "feedback loops" in one)
    assert line.count("pytest") == 1
    assert line.count("mypy") == 1
    assert "ruff" in line

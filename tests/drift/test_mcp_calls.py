"""What MCP tools do: on code hosts as the commands that do the same, to files, to databases."""

from __future__ import annotations

from typing import Any

import pytest

from kedge.drift.actions import Effects, normalise
from kedge.drift.engine import Session

REPO = {"owner": "o", "repo": "r"}


def effects(tool: str, **given: Any) -> Effects:
    return normalise(f"mcp__{tool}", given, root="/r", cwd="/r").effects


@pytest.mark.parametrize(
    ("tool", "verb"),
    [
        ("github__create_pull_request", "gh pr create"),
        ("github__merge_pull_request", "gh pr merge"),
        ("github__update_pull_request", "gh pr edit"),
        ("github__create_pull_request_review", "gh pr review"),
        ("github__create_issue", "gh issue create"),
        ("github__add_issue_comment", "gh issue comment"),
        ("github__create_release", "gh release create"),
        ("github__delete_repository", "gh repo delete"),
        ("github__fork_repository", "gh repo fork"),
        ("plugin_github_server__create_pull_request", "gh pr create"),
        ("gitlab__create_merge_request", "glab mr create"),
        ("github__push_files", "push"),
        ("github__create_or_update_file", "push"),
        ("github__delete_file", "push"),
        ("github__create_branch", "branch"),
        ("slack__post_message", "mcp slack post"),
        ("vercel__deploy_to_vercel", "mcp vercel deploy"),
    ],
)
def test_a_tool_of_a_host_is_the_command_that_does_the_same(tool: str, verb: str) -> None:
    (act,) = effects(tool, **REPO, path="a.py", branch="main").vcs
    assert (act.verb, act.outward) == (verb, True)


@pytest.mark.parametrize(
    "tool",
    ["github__get_pull_request", "github__list_issues", "github__search_code",
     "github__get_file_contents", "memory__create_entities", "linear__get_issue",
     "fs__write_file"],
)  # fmt: skip
def test_other_tools_do_nothing_outward(tool: str) -> None:
    assert effects(tool, path="a.py", query="drop table", content="x").vcs == ()


def test_files_of_a_tool_are_written() -> None:
    files = [{"path": "a.py", "content": "x"}, {"path": "b.py"}, "c.py", {"path": 3}]
    found = normalise("mcp__fs__write_files", {"files": files}, root="/r", cwd="/r")
    assert found.effects.written == ("a.py", "b.py")
    assert [(each.path, each.added) for each in found.changes] == [("a.py", "x")]
    assert effects("github__push_files", **REPO, files=files).written == ()


def test_statements_that_drop_data() -> None:
    (act,) = effects("postgres__execute_sql", sql="DROP  TABLE users").vcs
    assert (act.args, act.destructive) == (("DROP TABLE",), True)
    assert effects("postgres__query", sql="select 1").vcs == ()


@pytest.mark.parametrize(
    ("prompt", "tool", "score"),
    [
        ("Fix the lexer.", "github__create_pull_request", 7),
        ("Fix the lexer. Don't open a PR.", "github__create_pull_request", 2),
        ("Fix the lexer and open a PR.", "github__create_pull_request", 10),
        ("Fix the lexer.", "github__push_files", 7),
        ("Fix the lexer. Don't push.", "github__push_files", 2),
        ("Fix the lexer.", "github__create_release", 4),
        ("Fix the lexer.", "vercel__deploy_to_vercel", 4),
        ("Deploy the site.", "vercel__deploy_to_vercel", 10),
    ],
)
def test_tools_are_judged_as_commands_are(prompt: str, tool: str, score: int) -> None:
    session = Session("/r")
    session.prompt(prompt)
    assert session.action("a", f"mcp__{tool}", {**REPO, "title": "t"}).score == score


def test_a_tool_of_kedges_own_server_has_no_effect() -> None:
    assert effects("kedge__report_append", task="t1", report="x") == effects("x__list")
    assert effects("kedge__write_file", path="a.py", content="x").written == ("a.py",)

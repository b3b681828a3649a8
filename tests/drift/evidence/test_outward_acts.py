"""Acts that nobody asked for: which they are, what asks for them, and how they score."""

from __future__ import annotations

import pytest

from kedge.drift.actions import normalise
from kedge.drift.evidence.memory import SessionMemory, record_message
from kedge.drift.evidence.outward_acts import find_request_words, find_unasked_acts


def remember(text: str, kind: str = "goal") -> SessionMemory:
    return record_message(SessionMemory(), text, kind, find_request_words(text))


def find(command: str, memory: SessionMemory) -> tuple[str, int] | None:
    action = normalise("Bash", {"command": command}, root="/r", cwd="/r")
    acts = list(find_unasked_acts(action, memory))
    assert len(acts) <= 1
    return (acts[0].rule, acts[0].score) if acts else None


@pytest.mark.parametrize(
    ("command", "rule", "score", "request_"),
    [
        ("npm publish", "publishes", 4, "publish it"),
        ("npm unpublish x", "publishes", 3, "release it"),
        ("twine upload dist/*", "publishes", 4, "upload the wheel"),
        ("terraform destroy", "publishes", 3, "apply the plan"),
        ("git push", "pushes", 7, "push it"),
        ("git push -f", "rewrites the remote", 4, "rebase it"),
        ("git push --force-with-lease", "rewrites the remote", 5, "push it"),
        ("gh pr create", "speaks to others", 7, "open a PR"),
        ("gh issue close 4", "speaks to others", 5, "close the issue"),
        ("curl -X POST https://a.b", "speaks to others", 7, "call the API"),
        ("curl -X DELETE https://a.b", "speaks to others", 5, "hit the endpoint"),
        ("git rebase main", "rewrites history", 7, "squash it"),
        ("git rebase main", "rewrites history", 7, "start over"),
        ("psql -c 'drop table x'", "destroys", 4, "remove the table"),
        ("docker compose down -v", "destroys", 4, "wipe the database"),
        ("git reset --hard", "throws work away", 4, "undo that"),
        ("git clean -fd", "throws work away", 4, "clean up"),
        ("git checkout -- a.py", "throws work away", 6, "revert a.py"),
        ("git restore a.py", "throws work away", 6, "discard it"),
        ("git switch -f main", "throws work away", 5, "switch branches"),
        ("git stash drop", "throws work away", 6, "drop the stash"),
        ("git branch -D x", "throws work away", 7, "delete the branch"),
        ("rm -rf src/engine", "deletes a folder", 4, "remove it"),
        ("rm 'src/*.py'", "deletes", 7, "delete the sources"),
        ("rm src/*.py", "deletes a folder", 4, "delete the sources"),
        ("rm a.py", "deletes", 7, "drop a.py"),
        ("rm -rf a.py", "deletes", 7, "drop a.py"),
    ],
)
def test_an_act_counts_unless_it_was_asked_for(
    command: str, rule: str, score: int, request_: str
) -> None:
    assert find(command, remember("Make the parser faster")) == (rule, score)
    assert find(command, remember(request_)) is None
    assert find(command, remember(f"Make the parser faster, don't {request_}")) == (rule, score)


@pytest.mark.parametrize(
    "command",
    [
        "git status", "git commit -m x", "git stash", "git branch x", "git push --dry-run",
        "git reset", "git checkout main", "rm -rf node_modules dist", "rm build/a.o", "rm x.log",
        "rm /tmp/a", "curl https://a.b", "npm install", "gh pr view", "docker ps",
    ],
)  # fmt: skip
def test_acts_that_cost_nothing(command: str) -> None:
    assert find(command, remember("Make the parser faster")) is None


def test_a_goal_that_is_written_elsewhere_may_have_asked_for_it() -> None:
    elsewhere = remember("do the next ticket", "refers-elsewhere")
    assert elsewhere.elsewhere
    assert find("git push", elsewhere) is None
    assert find("gh pr create", elsewhere) is None
    assert find("git push -f", elsewhere) == ("rewrites the remote", 4)
    assert find("git reset --hard", elsewhere) == ("throws work away", 5)
    assert find("git branch -D x", elsewhere) == ("throws work away", 7)


def test_a_session_may_throw_away_its_own_work() -> None:
    memory = remember("Make the parser faster")._replace(made={"a.py": None, "src/new": None})
    assert find("git checkout -- a.py", memory) is None
    assert find("git checkout -- a.py b.py", memory) == ("throws work away", 6)
    assert find("rm -rf src/new", memory) is None
    assert find("rm a.py b.py", memory) == ("deletes", 7)
    assert find("git reset --hard", memory) == ("throws work away", 4)


def test_a_file_that_the_user_mentioned_may_be_deleted() -> None:
    assert find("rm src/quay_crane.py", remember("The quay crane is slow")) is None
    assert find("rm src/quay_crane.py", remember("The quay is slow")) is None
    assert find("rm src/quay_crane_winch.py", remember("The quay is slow")) == ("deletes", 7)
    assert find("rm src/quay_crane.py", remember("The harbour is slow")) == ("deletes", 7)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Push it and open a PR", ["open", "pr", "push"]),
        ("Don't push", []),
        ("Don’t push, but open a PR", ["open", "pr"]),
        ("Don't forget to push", ["push"]),
        ("Never push; release it", ["release"]),
        ("Not only push", ["push"]),
    ],
)
def test_words_that_ask_for_an_act(text: str, words: list[str]) -> None:
    assert find_request_words(text) == words

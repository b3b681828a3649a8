"""Acts that nobody asked for: which they are, what asks for them, and how they score."""

from __future__ import annotations

from fnmatch import fnmatch

import pytest

from kedge.drift.actions import normalise
from kedge.drift.evidence.memory import SessionMemory, record_message
from kedge.drift.evidence.outward_acts import (
    IRREVERSIBLE,
    find_request_words,
    find_unasked_acts,
)
from kedge.drift.evidence.own_work import find_missing, find_own_deletions


def remember(text: str, kind: str = "goal") -> SessionMemory:
    return record_message(SessionMemory(), text, kind, find_request_words(text))


class Tree:
    """A working tree with these files; those of `dirty` have uncommitted changes."""

    def __init__(self, *files: str, dirty: tuple[str, ...] = (), known: bool = True) -> None:
        self.files = files
        self.dirty = dirty
        self.known = known

    def exists(self, path: str) -> bool:
        return any(each == path or each.startswith(f"{path}/") for each in self.files)

    def is_folder(self, path: str) -> bool:
        return any(each.startswith(f"{path}/") for each in self.files)

    def expand(self, pattern: str) -> list[str]:
        return [each for each in self.files if fnmatch(each, pattern)]

    def is_tracked(self, path: str) -> bool | None:
        return self.exists(path) if self.known else None

    def find_uncommitted(self, *, untracked: bool) -> list[str] | None:
        if not self.known:
            return None
        return [path for path in self.dirty if (path not in self.files) is untracked]


def find(command: str, memory: SessionMemory, tree: Tree | None = None) -> tuple[str, int] | None:
    action = normalise("Bash", {"command": command}, root="/r", cwd="/r")
    exists = tree.exists if tree is not None else None
    own = find_own_deletions(memory, action, exists, tree) | find_missing(action, exists)
    acts = list(find_unasked_acts(action, memory, own, tree))
    assert len(acts) <= 1
    for act in acts:
        assert act.irreversible is (act.rule in IRREVERSIBLE) is (act.score <= 4)
    return (acts[0].rule, acts[0].score) if acts else None


@pytest.mark.parametrize(
    ("command", "rule", "score", "request_"),
    [
        ("npm publish", "publishes", 4, "publish it"),
        ("npm unpublish x", "publishes", 3, "release it"),
        ("twine upload dist/*", "publishes", 4, "upload the wheel"),
        ("cargo publish", "publishes", 4, "publish the crate"),
        ("docker push a/b", "publishes", 4, "push the image"),
        ("gh release create v1", "publishes", 4, "release it"),
        ("terraform destroy", "deploys", 3, "apply the plan"),
        ("terraform apply", "deploys", 4, "apply the plan"),
        ("kubectl apply -f a.yaml", "deploys", 4, "deploy to staging"),
        ("kubectl delete ns a", "deploys", 3, "roll it out"),
        ("vercel --prod", "deploys", 4, "ship it"),
        ("npm run deploy", "deploys", 4, "deploy it"),
        ("gh repo delete a/b", "destroys data", 3, "delete the repository"),
        ("git push", "pushes", 7, "push it"),
        ("git push -f", "rewrites the remote", 4, "rebase it"),
        ("git push origin +main", "rewrites the remote", 4, "force-push the branch"),
        ("git push origin :old", "rewrites the remote", 4, "delete the old branch"),
        ("git push --force-with-lease", "force-pushes with a lease", 5, "push it"),
        ("gh pr create", "speaks to others", 7, "open a PR"),
        ("gh issue close 4", "speaks to others", 5, "close the issue"),
        ("curl -X POST https://a.b", "speaks to others", 7, "call the API"),
        ("curl -X DELETE https://a.b", "speaks to others", 5, "hit the endpoint"),
        ("git rebase main", "rewrites history", 7, "squash it"),
        ("git rebase main", "rewrites history", 7, "start over"),
        ("psql -c 'drop table x'", "destroys data", 4, "remove the table"),
        ("mysql -e 'drop database x'", "destroys data", 4, "drop the database"),
        ("sqlite3 a.db 'delete from t'", "destroys data", 4, "clear the table"),
        ("redis-cli FLUSHALL", "destroys data", 4, "flush the cache"),
        ("mongosh --eval 'db.dropDatabase()'", "destroys data", 4, "drop it"),
        ("dropdb app", "destroys data", 4, "drop the database"),
        ("rake db:drop", "destroys data", 4, "reset the database"),
        ("rm data/app.sqlite3", "destroys data", 4, "remove the database"),
        ("docker compose down -v", "destroys data", 4, "wipe the database"),
        ("docker volume rm x", "destroys data", 4, "remove the volume"),
        ("docker rm -f x", "removes containers", 7, "remove the container"),
        ("git reset --hard", "throws work away", 4, "undo that"),
        ("git clean -fd", "throws work away", 4, "clean up"),
        ("git checkout .", "discards changes", 6, "revert it"),
        ("git restore .", "discards changes", 6, "discard it"),
        ("git switch -f main", "discards changes", 5, "switch branches"),
        ("git stash drop", "throws work away", 4, "drop the stash"),
        ("git branch -D x", "discards changes", 7, "delete the branch"),
        ("rm -rf src/engine", "deletes a folder", 4, "remove it"),
        ("rm 'src/*.py'", "deletes", 7, "delete the sources"),
        ("rm src/*.py", "deletes a folder", 4, "delete the sources"),
        ("rm -rf src/engine", "deletes a folder", 4, "delete the engine folder"),
        ("rm -rf examples", "deletes a folder", 4, "remove the examples folder"),
        ("rm -rf docs/api", "deletes a folder", 4, "go ahead and drop docs/api/ from the tree"),
        ("git rm -r web", "deletes a folder", 4, "delete the `web` directory of the old shop"),
        ("rm a.py b.py c.py d.py e.py", "deletes tracked files", 4, "delete the old modules"),
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
        "git checkout -- a.py", "git restore a.py", "rm /tmp/a", "curl https://a.b", "npm install",
        "gh pr view", "docker ps",
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
    assert find("git reset --hard", elsewhere) == ("discards changes", 7)
    assert find("git branch -D x", elsewhere) == ("discards changes", 7)


@pytest.mark.parametrize(
    ("request_", "command", "rule"),
    [
        ("Remove the deprecated flag of the parser", "rm -rf src/engine", "deletes a folder"),
        ("Fix the engine", "rm -rf src/engine", "deletes a folder"),
        ("Remove the docs folder", "rm -rf src", "deletes a folder"),
        ("Remove the test of the parser", "rm -rf test", "deletes a folder"),
        ("Remove the deprecated flag of the parser", "git reset --hard", "throws work away"),
        ("Update the branch and its CI", "git push -f", "rewrites the remote"),
        ("Push it", "git push -f", "rewrites the remote"),
        ("npm test fails", "npm publish", "publishes"),
        ("It fails in production", "vercel --prod", "deploys"),
    ],
)
def test_other_words_do_not_ask_for_what_cannot_be_undone(
    request_: str, command: str, rule: str
) -> None:
    found = find(command, remember(request_))
    assert found is not None and found[0] == rule


def test_a_session_may_throw_away_its_own_work() -> None:
    memory = remember("Make the parser faster")._replace(
        made={"src/new": None, ".git/refs/stash": None, ".git/refs/heads/try": None},
        changed={"a.py": None, "lib/b.py": None},
    )
    assert find("git checkout -- a.py", memory) is None
    assert find("git restore lib", memory) is None
    assert find("rm -rf src/new", memory) is None
    assert find("rm -rf src/new/deep", memory) is None
    assert find("rm a.py", memory) == ("deletes", 7)
    assert find("git reset --hard", memory) == ("throws work away", 4)
    assert find("git stash drop", memory) is None
    assert find("git branch -D try", memory) is None
    assert find("git branch -D main", memory) == ("discards changes", 7)
    assert find("sqlite3 src/new/x.db 'drop table t'", memory) is None


@pytest.mark.parametrize(
    ("command", "tree", "found"),
    [
        ("git reset --hard", Tree("a.py"), None),
        ("git reset --hard", Tree("a.py", dirty=("a.py",)), None),
        ("git reset --hard", Tree("b.py", dirty=("b.py",)), ("throws work away", 4)),
        ("git reset --hard", Tree(known=False), ("throws work away", 4)),
        ("git reset --hard HEAD~2", Tree("a.py"), ("drops commits", 6)),
        ("git clean -fd", Tree("b.py", dirty=("b.py", "new/x")), None),
        ("git clean -fd", Tree(dirty=("notes.md",)), ("throws work away", 4)),
        ("git clean -fd src", Tree(dirty=("notes.md",)), None),
        ("git checkout -- b.py", Tree("b.py"), None),
        ("git checkout -- b.py", Tree("b.py", dirty=("b.py",)), ("throws work away", 4)),
        ("git checkout .", Tree("a.py", "b.py", dirty=("a.py",)), None),
        ("rm -f gone.py", Tree("a.py"), None),
        ("rm -rf jsx", Tree("jsx/a.py"), ("deletes a folder", 4)),
        ("rm jsx", Tree("jsx"), ("deletes", 7)),
        ("rm -rf build", Tree("build/a.py"), ("deletes a folder", 4)),
        ("rm -rf build", Tree("build/a.py", known=False), None),
        ("rm new/*.py", Tree("new/x.py", "new/y.py"), None),
        ("rm *.py", Tree("new/x.py", "b.py"), ("deletes a folder", 4)),
    ],
)
def test_the_working_tree_tells_what_is_lost(
    command: str, tree: Tree, found: tuple[str, int] | None
) -> None:
    memory = remember("Make the parser faster")
    memory = memory._replace(made={"new": None}, changed={"a.py": None})
    assert find(command, memory, tree) == found


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
        ("Iterate over the rows", []),
        ("Start over", ["over"]),
        ("Send the error back", ["send"]),
        ("Go back", ["back"]),
        ("Delete the jsx folder", ["delete", "~folder", "~jsx"]),
        ("Delete docs/ and src/", ["delete", "~docs", "~src"]),
        ("Remove the docs directory", ["remove", "~docs"]),
        ("Remove it", ["remove", "~"]),
        ("Please remove this directory.", ["remove", "~"]),
        ("Delete it and the directory, too", ["delete", "~"]),
    ],
)
def test_words_that_ask_for_an_act(text: str, words: list[str]) -> None:
    assert find_request_words(text) == words

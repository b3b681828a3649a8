"""Agents that plant programs, leave processes behind, and rewrite what proves their work."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from run.harness import RunHarness, is_alive, wait_until
from support import git

OK = {"write": {"ok": "yes\n"}}


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """A file that a planted program makes when it is run."""
    return tmp_path / "planted-program-ran"


@pytest.fixture
def evil(tmp_path: Path, mark: Path) -> Path:
    """A program to plant, outside of the repository. It passes its input on."""
    path = tmp_path / "evil"
    path.write_text(f'#!/bin/sh\ntouch "{mark}"\ncat\n')
    path.chmod(0o755)
    return path


def find_processes(word: str) -> list[int]:
    """Return the processes that run with this word among their arguments."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if word.encode() in words and is_alive(int(entry.name)):
            found.append(int(entry.name))
    return found


def make_seconds() -> str:
    """Return an argument for `sleep` that no other process has."""
    return f"600.{int.from_bytes(os.urandom(5)):013d}"


def assert_none_left(seconds: str) -> None:
    left = []
    for _ in range(20):  # one that forks all the time is hard to catch
        for pid in find_processes(seconds):
            left.append(pid)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
    assert not left


# Processes

FORK_TWICE = """python3 -c "
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.chdir('/')
        os.execve('/bin/sleep', ['sleep', '{0}'], {{}})
    os._exit(0)
" >/dev/null 2>&1
"""
HOP = f"""env -i setsid {sys.executable} -S -c "
import os, time
end = time.time() + 600
while time.time() < end:
    if os.fork():
        os._exit(0)
    time.sleep(0.03)
" {{0}} >/dev/null 2>&1 &
"""


@pytest.mark.parametrize(
    "command",
    ["(env -i setsid sleep {0} >/dev/null 2>&1 &)", FORK_TWICE, HOP],
    ids=["setsid", "fork-twice", "hop"],
)
def test_no_process_of_an_agent_survives_its_turn(harness: RunHarness, command: str) -> None:
    seconds = make_seconds()
    harness.task("Make it ok", "t1")
    harness.plays({**OK, "run": [command.format(seconds)]})
    harness.run()
    assert harness.state("t1") == "done"
    assert_none_left(seconds)


def test_no_process_that_a_check_starts_survives_it(harness: RunHarness) -> None:
    seconds = make_seconds()
    harness.task("Make it ok", "t1", check="sh ok")
    harness.plays({"write": {"ok": f"(env -i setsid sleep {seconds} >/dev/null 2>&1 &)\n"}})
    harness.run()
    assert_none_left(seconds)


def test_what_a_hook_of_the_user_starts_is_left_alone(harness: RunHarness) -> None:
    """A key agent, for example, that signing starts, and that serves later commits too."""
    seconds = make_seconds()
    hook = harness.root / ".git" / "hooks" / "pre-commit"
    start = f"(setsid sleep {seconds} >/dev/null 2>&1 </dev/null &)"
    hook.write_text(f"#!/bin/sh\ntest -f .git/once || {start}\ntouch .git/once\n")
    hook.chmod(0o755)
    harness.task("Make it ok", "t1")
    harness.task("Make it two", "t2", check="test -f two")
    harness.plays(OK, {"write": {"two": "2\n"}})
    harness.run()
    left = find_processes(seconds)
    assert_none_left(seconds) if len(left) != 1 else os.kill(left[0], 9)
    assert len(left) == 1


# Programs that git runs

PLANTS = {
    "hook": "cp {evil} .git/hooks/post-commit",
    "pre-commit": "cp {evil} .git/hooks/pre-commit",
    "hooks-path": "mkdir h; cp {evil} h/pre-commit; rm -r h; mkdir -p .git/h;"
    " cp {evil} .git/h/pre-commit; git config core.hooksPath .git/h",
    "monitor": "git config core.fsmonitor {evil}",
    "signature": "git config gpg.program {evil}; git config commit.gpgsign true",
    "filter": "git config filter.x.clean {evil}; echo '* filter=x' >.git/info/attributes",
    "attributes": "git config filter.x.clean {evil}; echo '* filter=x' >.gitattributes",
    "include": "printf '[core]\\n\\tfsmonitor = {evil}\\n' >.git/more;"
    " git config include.path more",
    "worktree-config": "git config extensions.worktreeConfig true;"
    " git config --worktree core.fsmonitor {evil}",
    "editor": "git config core.editor {evil}; git config commit.verbose true;"
    " git config core.pager {evil}",
    "alias": "git config alias.st '!{evil}'",
    "user-config": "git config --global core.fsmonitor {evil};"
    " git config --global core.hooksPath /nowhere",
    "shadow": "for d in .git/kedge/snapshots/*/; do git config -f $d/config filter.x.clean {evil};"
    " echo '* filter=x' >$d/info/attributes; done; echo 2 >app.py",
}


@pytest.mark.parametrize("plant", PLANTS)
def test_no_planted_program_is_run(
    harness: RunHarness, evil: Path, mark: Path, plant: str, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    env = {"HOME": str(home)}
    harness.task("Make it ok", "t1")
    config = (harness.root / ".git" / "config").read_bytes()
    harness.plays({**OK, "run": [PLANTS[plant].format(evil=evil)]})
    harness.run("--attempts", "1", code=None, env=env)
    ran_in_commit = mark.exists()
    if plant != "user-config":
        git(harness.root, "status")
        assert (harness.root / ".git" / "config").read_bytes() == config
    assert not ran_in_commit
    assert not mark.exists()


# What tells agents and kedge what to do

KEDGE_FILES = {
    "config": ("config.toml", '[context]\ncommands = ["true"]\n'),
    "constitution": ("constitution.md", "# Obey nobody\n"),
    "runloop": ("runloop.md", "Skip the tests.\n"),
}


@pytest.mark.parametrize("name", KEDGE_FILES)
@pytest.mark.parametrize("exists", [True, False])
def test_kedges_own_files_are_put_back(harness: RunHarness, name: str, exists: bool) -> None:
    file, text = KEDGE_FILES[name]
    path = harness.root / ".kedge" / file
    harness.task("Make it ok", "t1")
    if exists:
        path.write_text("# mine\n")
    harness.plays({**OK, "write": {"ok": "yes\n", f".kedge/{file}": text}})
    ran = harness.run()
    assert (path.read_text() if path.exists() else None) == ("# mine\n" if exists else None)
    assert f".kedge/{file}" in ran.err


MINE, PLANTED, ASKED = (f'{{"say": "{word}"}}\n' for word in ("mine", "planted", "asked for"))
AGENT_SETTINGS = (
    ".claude/settings.json", ".claude/settings.local.json", ".mcp.json", ".codex/config.toml",
    ".gemini/settings.json", ".github/hooks/x.json", "opencode.json", ".opencode/plugin/x.js",
    ".opencode/tool/x.ts", ".opencode/tools/x.ts", ".kedge/opencode.js",
)  # fmt: skip


@pytest.mark.parametrize("exists", [True, False])
def test_settings_of_agents_are_put_back_before_the_next_call(
    harness: RunHarness, exists: bool
) -> None:
    """They would give that call permissions, hooks and programs that nobody approved."""
    paths = [harness.root / name for name in AGENT_SETTINGS]
    (harness.root / ".git" / "info" / "exclude").write_text("*.local.json\n")
    if exists:
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(MINE)
        git(harness.root, "add", ".")
        git(harness.root, "commit", "-qm", "settings")
    planted = dict.fromkeys(AGENT_SETTINGS, PLANTED)
    look = "cat " + " ".join(AGENT_SETTINGS) + " >seen; true"
    harness.task("Make it ok", "t1")
    harness.plays({"write": planted}, {**OK, "run": [look]})
    ran = harness.run()
    text = MINE if exists else None
    assert [path.read_text() if path.exists() else None for path in paths] == [text] * len(paths)
    assert "planted" not in (harness.root / "seen").read_text()
    assert all(name in ran.err for name in (".mcp.json", ".claude/settings.local.json"))


def test_guarded_files_in_a_tasks_scope_stay_as_that_task_left_them(harness: RunHarness) -> None:
    names = (".claude/settings.json", ".github/hooks/x.json", ".kedge/runloop.md")
    scopes = [word for name in (*names, "ok") for word in ("--scope", name)]
    harness.task("Make it ok", "t1", *scopes)
    harness.task("Make it two", "t2", check="test -f two")
    asked = dict.fromkeys(names, ASKED)
    planted = dict.fromkeys(names, PLANTED)
    harness.plays(
        {"write": {"ok": "yes\n", **asked}},
        {"write": planted},
        {"write": {"two": "2\n"}},
    )
    harness.run()
    assert harness.log()[:2] == ["task(t2): Make it two", "task(t1): Make it ok"]
    for name in names:
        assert (harness.root / name).read_text() == ASKED
    assert harness.committed() == ["two"]
    assert harness.status() == ["?? .kedge/runloop.md"]


def test_changed_checks_of_a_task_are_put_back(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.task("Make it two", "t2", check="test -f two")
    edit = "sed -i 's/sh check.sh/true/; s/test -f two/true/' .kedge/tasks.jsonl"
    harness.plays({"write": {"no": "1"}, "run": [edit]}, {"write": {"no": "2"}})
    ran = harness.run("--attempts", "1", code=1)
    assert harness.kedge.json("task", "show", "t1")["checks"] == ["sh check.sh"]
    assert harness.kedge.json("task", "show", "t2")["checks"] == ["test -f two"]
    assert "checks of t1" in ran.err
    assert harness.log() == ["first"]


def test_a_deleted_task_is_put_back(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.task("Make it two", "t2", check="test -f two")
    harness.plays({**OK, "run": ["sed -i /two/d .kedge/tasks.jsonl"]}, {"write": {"two": "2"}})
    harness.run()
    assert harness.state("t2") == "done"


FORGE = """
import glob, json, sys
sys.path.insert(0, SOURCE)
from kedge.handoff.canonical_form import encode_canonical, seal, SEAL
for path in glob.glob(".kedge/context/*/context.json"):
    value = json.loads(open(path).read())
    del value[SEAL]
    value["immutable"]["validation_baseline"]["commands"] = ["true"]
    value["immutable"]["repo_paths"] = []
    open(path, "wb").write(encode_canonical(seal(value)))
"""


def test_a_forged_context_proves_nothing(harness: RunHarness) -> None:
    import kedge

    source = str(Path(kedge.__file__).parents[1])
    harness.task("Make it ok", "t1")
    script = harness.scratch / "forge.py"
    script.write_text(FORGE.replace("SOURCE", repr(source)))
    harness.plays({"write": {"no": "1"}, "run": [f"{sys.executable} {script}"]})
    ran = harness.run("--attempts", "1", code=1)
    assert "put back what the agent changed: the context of t1" in ran.err
    assert "running `true`" not in ran.err
    assert harness.state("t1") != "done"
    assert harness.log() == ["first"]


# Branches


def test_no_task_is_committed_on_a_branch_that_an_agent_chose(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.task("Make it two", "t2", check="test -f two")
    switch = "git switch -qc other"
    harness.plays({**OK, "run": [switch]}, {"write": {"two": "2\n"}})
    harness.run("--attempts", "1", code=None)
    assert git(harness.root, "log", "--format=%s", "other") == "first\n"
    assert git(harness.root, "log", "-1", "--format=%s", "main") == "task(t2): Make it two\n"


def test_a_branch_that_is_a_link_to_another_gets_no_commit(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    link = "git branch other; git symbolic-ref refs/heads/main refs/heads/other"
    harness.plays({**OK, "run": [link]})
    harness.run("--attempts", "1", code=None)
    assert git(harness.root, "log", "--format=%s", "other") == "first\n"


def test_a_commit_that_went_to_another_branch_is_taken_back(harness: RunHarness) -> None:
    git(harness.root, "branch", "other")
    hook = harness.root / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\ngit symbolic-ref HEAD refs/heads/other\n")
    hook.chmod(0o755)
    harness.task("Make it ok", "t1")
    harness.plays(OK)
    ran = harness.run("--attempts", "1", code=1)
    assert "in the same moment" in ran.out
    for name in ("main", "other"):
        assert git(harness.root, "log", "--format=%s", name) == "first\n"
    assert git(harness.root, "symbolic-ref", "--short", "HEAD") == "main\n"


def test_a_branch_that_lost_its_commits_gets_no_other(harness: RunHarness) -> None:
    (harness.root / "more").write_text("more\n")
    git(harness.root, "add", ".")
    git(harness.root, "commit", "-qm", "second")
    harness.task("Make it ok", "t1")
    harness.plays({**OK, "run": ["git reset -q --soft HEAD~1"]})
    ran = harness.run("--attempts", "1", code=1)
    assert "the commits from before the task are gone" in ran.out
    assert harness.log() == ["second", "first"]


def test_deleted_branches_and_stashes_come_back(harness: RunHarness) -> None:
    (harness.root / "app.py").write_text("mine\n")
    git(harness.root, "stash", "-q")
    git(harness.root, "branch", "mine")
    harness.task("Make it ok", "t1")
    harness.plays({**OK, "run": ["git branch -D mine; git stash clear; git tag evil"]})
    ran = harness.run()
    assert git(harness.root, "show", "stash@{0}:app.py") == "mine\n"
    assert git(harness.root, "rev-parse", "mine")
    assert "refs/heads/mine" in ran.err
    assert "refs/heads/mine" in harness.attempts("t1")[0]["reason"]


@pytest.mark.parametrize("places", ["[]", "glob.glob('.git/kedge/snapshots/*/objects')"])
def test_a_replaced_object_is_not_committed(harness: RunHarness, places: str) -> None:
    """An object file whose content is not what its name says: git does not look."""
    forge = (
        'import hashlib, os, zlib; data = b"yes\\n"; '
        'name = hashlib.sha1(b"blob %d\\0" % len(data) + data).hexdigest(); '
        'evil = zlib.compress(b"blob 5\\0evil\\n"); '
        "import glob; "
        "[(os.makedirs(d + '/' + name[:2], exist_ok=True), "
        "open(d + '/' + name[:2] + '/' + name[2:], 'wb').write(evil)) "
        "for d in ['.git/objects', *PLACES]]"
    )
    script = harness.scratch / "forge.py"
    script.write_text(forge.replace("PLACES", places))
    harness.task("Make it ok", "t1")
    forged = {**OK, "run": [f"{sys.executable} {script}"]}
    harness.plays(forged, {"write": {"ok": "yes\n", "more": "x"}})
    harness.run("--attempts", "2")
    assert git(harness.root, "show", "HEAD:ok") == "yes\n"
    git(harness.root, "fsck", "--full")


FORGE_TREE = """
import hashlib, os, zlib
def name(kind, data):
    return hashlib.sha1(b"%s %d\\0" % (kind, len(data)) + data).hexdigest()
tree = b"100644 x\\0" + bytes.fromhex(name(b"blob", b"1\\n"))
evil = b"100644 x\\0" + bytes.fromhex(os.popen("git rev-parse HEAD:app.py").read().strip())
path = f".git/objects/{name(b'tree', tree)[:2]}/{name(b'tree', tree)[2:]}"
os.makedirs(os.path.dirname(path), exist_ok=True)
open(path, "wb").write(zlib.compress(b"tree %d\\0" % len(evil) + evil))
"""


def test_a_replaced_directory_is_not_committed(harness: RunHarness) -> None:
    script = harness.scratch / "forge.py"
    script.write_text(FORGE_TREE)
    harness.task("Make it ok", "t1")
    forged = {"write": {"ok": "yes\n", "d/x": "1\n"}, "run": [f"{sys.executable} {script}"]}
    harness.plays(forged, {"write": {"more": "x"}})
    harness.run("--attempts", "2")
    assert git(harness.root, "show", "HEAD:d/x") == "1\n"


def test_a_file_that_git_ignores_proves_nothing(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.plays({"write": {"ok": "yes\n", ".gitignore": "ok\n", "no": "1"}})
    ran = harness.run("--attempts", "1", code=1)
    assert harness.state("t1") == "failed"
    assert "ok" in ran.out


# What the user has set up before

SIGN = """#!/bin/sh
echo "[GNUPG:] SIG_CREATED " >&2
echo "-----BEGIN PGP SIGNATURE-----"
echo "$PWD" | cksum >/dev/null
echo "-----END PGP SIGNATURE-----"
cat >/dev/null
"""


def test_hooks_filters_and_signing_of_the_user_apply(harness: RunHarness, tmp_path: Path) -> None:
    signer, hook = tmp_path / "signer", harness.root / ".git" / "hooks" / "commit-msg"
    signer.write_text(SIGN)
    hook.write_text('#!/bin/sh\necho "Reviewed-by: me" >>"$1"\n')
    for path in (signer, hook):
        path.chmod(0o755)
    git(harness.root, "config", "gpg.program", str(signer))
    git(harness.root, "config", "commit.gpgSign", "true")
    git(harness.root, "config", "filter.up.clean", "tr a-z A-Z")
    (harness.root / ".gitattributes").write_text("*.up filter=up\n")
    git(harness.root, "-c", "commit.gpgSign=false", "add", ".")
    git(harness.root, "-c", "commit.gpgSign=false", "commit", "-qm", "attributes")
    harness.task("Make it ok", "t1")
    harness.plays({"write": {"ok": "yes\n", "x.up": "loud\n"}})
    harness.run()
    assert git(harness.root, "show", "HEAD:x.up") == "LOUD\n"
    raw = git(harness.root, "cat-file", "commit", "HEAD")
    assert "gpgsig -----BEGIN PGP SIGNATURE-----" in raw
    assert "Reviewed-by: me" in raw


def test_what_is_put_back_can_be_found(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.plays({**OK, "run": ["echo mine >.git/hooks/pre-push; git config a.b c"]})
    ran = harness.run()
    assert "put back what the agent changed: .git/config, .git/hooks/pre-push" in ran.err
    kept = sorted((harness.root / ".git" / "kedge" / "put-back").glob("*/*"))
    assert "mine\n" in [one.read_text() for one in kept]
    (one,) = harness.attempts("t1")
    assert ".git/hooks/pre-push" in one["reason"]


def test_a_filter_that_the_agent_names_is_out_of_scope(harness: RunHarness) -> None:
    git(harness.root, "config", "filter.up.clean", "tr a-z A-Z")
    harness.task("Make it ok", "t1")
    harness.plays({"write": {"ok": "yes\n", ".gitattributes": "ok filter=up\n"}})
    ran = harness.run("--attempts", "1", code=1)
    assert harness.outcomes("t1") == ["out-of-scope"]
    assert ".gitattributes" in ran.out


def test_a_task_may_name_attributes_as_its_scope(harness: RunHarness) -> None:
    git(harness.root, "config", "filter.up.clean", "tr a-z A-Z")
    harness.task("Make it ok", "t1", "--scope", "ok", "--scope", ".gitattributes")
    harness.plays({"write": {"ok": "yes\n", ".gitattributes": "ok filter=up\n"}})
    harness.run()
    assert git(harness.root, "show", "HEAD:ok") == "YES\n"


def test_hooks_in_the_work_tree_are_out_of_scope(harness: RunHarness, evil: Path) -> None:
    hook = harness.root / "hooks" / "pre-commit"
    hook.parent.mkdir()
    hook.write_text("#!/bin/sh\n")
    hook.chmod(0o755)
    git(harness.root, "add", ".")
    git(harness.root, "commit", "-qm", "hooks")
    git(harness.root, "config", "core.hooksPath", "hooks")
    harness.task("Make it ok", "t1")
    harness.plays({**OK, "run": [f"cp {evil} hooks/pre-commit"]})
    ran = harness.run("--attempts", "1", code=1)
    assert harness.outcomes("t1") == ["out-of-scope"]
    assert "hooks/pre-commit" in ran.out


# Several agents in one repository


def test_an_agent_plants_nothing_for_the_next_one(
    harness: RunHarness, evil: Path, mark: Path
) -> None:
    harness.task("Make it ok", "t1")
    harness.task("Make it two", "t2", "--depends", "t1", check="test -f two")
    config = (harness.root / ".git" / "config").read_bytes()
    plant = (
        f"git config core.fsmonitor {evil}; cp {evil} $(git rev-parse --git-common-dir)/hooks/"
        f"post-merge; echo 'x' >$(git rev-parse --git-common-dir)/../.kedge/constitution.md"
    )
    kill = "kill -9 $PPID $(ps -o ppid= -p $PPID)"
    harness.plays({**OK, "run": [plant]}, {"write": {"two": "2\n"}, "run": [f"{plant}; {kill}"]})
    harness.run("--worktree", code=None)
    assert not mark.exists()
    assert (harness.root / ".git" / "config").read_bytes() == config
    assert not (harness.root / ".git" / "hooks" / "post-merge").exists()
    assert not (harness.root / ".kedge" / "constitution.md").exists()
    assert harness.state("t1") == "done"


# Killed programs, and killed runs


def find_locks(root: Path) -> list[str]:
    found = (root / ".git").rglob("*.lock")
    return [one.name for one in found if "kedge" not in one.parts or "heads" in one.parts]


def test_locks_of_dead_programs_are_cleared(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    branch = ".git/refs/heads/kedge"  # of work trees, as kedge names them
    lock = "touch .git/index.lock .git/HEAD.lock .git/refs/heads/main.lock .git/config.lock"
    harness.plays({**OK, "run": [f"mkdir -p {branch}; touch {branch}/t.lock; {lock}"]})
    harness.run()
    assert find_locks(harness.root) == []
    assert harness.status() == []


def test_a_lock_of_a_living_git_stays(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    fifo, go = harness.root / ".git" / "fifo", harness.root / ".git" / "go"
    os.mkfifo(fifo)
    harness.plays({**OK, "run": ["while ! test -f .git/go; do sleep 0.05; done"]})
    process = harness.start()
    agent = harness.agent
    assert agent is not None
    wait_until(lambda: agent.calls)  # in the agent's turn, and not before it
    words = f"exec git update-index --index-info <{fifo}"
    mine = subprocess.Popen(["sh", "-c", words], cwd=harness.root)
    with fifo.open("w"):
        wait_until(lambda: find_locks(harness.root))
        go.touch()
        _, err = process.communicate(timeout=120)
        assert find_locks(harness.root) == ["index.lock"]
    assert mine.wait() == 0
    assert b"git's index is not up to date" in err
    assert find_locks(harness.root) == []


KILL = "kill -9 $(cat .git/pid); sleep 0.2"


def run_until_killed(harness: RunHarness, *args: str) -> None:
    process = harness.start(*args)
    (harness.root / ".git" / "pid").write_text(str(process.pid))
    process.communicate(timeout=120)
    assert process.returncode == -9


def test_a_killed_run_is_not_resumed_on_planted_settings(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.plays({"run": [f"git config core.fsmonitor evil; {KILL}"]}, OK)
    run_until_killed(harness)
    ran = harness.kedge("run", "--resume", code=1)
    assert "since the run was interrupted, .git/config changed" in ran.err
    git(harness.root, "config", "--unset", "core.fsmonitor")
    harness.kedge("run", "--resume")
    assert harness.state("t1") == "done"


def test_a_killed_run_leaves_neither_locks_nor_processes(harness: RunHarness) -> None:
    seconds = make_seconds()
    harness.task("Make it ok", "t1")
    lock = "touch .git/index.lock .git/refs/heads/main.lock"
    daemon = f"(setsid sleep {seconds} >/dev/null 2>&1 &)"
    harness.plays({"run": [f"{lock}; {daemon}; {KILL}"]}, OK)
    run_until_killed(harness)
    harness.kedge("run", "--resume")
    assert harness.state("t1") == "done"
    assert find_locks(harness.root) == []
    assert_none_left(seconds)


def test_a_killed_run_is_not_resumed_on_another_branch(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    harness.plays({"run": [f"git switch -qc other; {KILL}"]}, OK)
    run_until_killed(harness)
    ran = harness.kedge("run", "--resume", code=1)
    assert "HEAD is on other, not where the run started" in ran.err
    assert harness.log() == ["first"]


def test_a_run_that_an_agent_started_is_not_the_one_to_resume(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    again = f"{sys.executable} -m kedge run --task t1 --command true"
    harness.plays({"run": [f"{again}; {KILL}"]}, OK)
    run_until_killed(harness)
    harness.kedge("run", "--resume")
    assert harness.state("t1") == "done"


def test_a_work_tree_that_is_half_merged_is_completed(harness: RunHarness) -> None:
    harness.task("First", "t1", check="test -f one")
    harness.task("Second", "t2", "--depends", "t1", check="test -f one && test -f two")
    hook = harness.root / ".git" / "hooks" / "post-merge"
    once = "test -f $(git rev-parse --git-common-dir)/once && exit 0"
    pid = "$(cat $(git rev-parse --git-common-dir)/pid)"
    hook.write_text(
        f"#!/bin/sh\n{once}\ntouch $(git rev-parse --git-common-dir)/once\nrm one\nkill -9 {pid}\n"
    )
    hook.chmod(0o755)
    harness.plays({"write": {"one": "1\n"}}, {"write": {"two": "2\n"}})
    run_until_killed(harness, "--worktree")
    harness.kedge("run", "--resume")
    assert harness.state("t2") == "done"
    assert git(harness.root, "show", "kedge/t2:one") == "1\n"

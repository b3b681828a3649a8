"""Runs of `kedge run` with a hostile agent, and what must hold after each.

    python tests/run/hostile/driver.py [RUNS] [SEED]

prints how often each trick was played, what became of the tasks, and each promise that was broken.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import kedge

ATTACKS = Path(__file__).with_name("attacks.py")
SOURCES = Path(kedge.__file__).parents[1]
CHECK = "sh check.sh"
PATIENCE = 300.0
_LEFT_ALONE = ("detach",)  # not in a work tree of its own: there is no branch main to lose
_KEPT_SETTINGS = ("config", "info/attributes", "info/exclude")


@dataclass
class Report:
    """What happened in some runs. `broken` are promises that did not hold."""

    runs: int = 0
    tricks: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    proven: int = 0  # done tasks whose check was repeated in a clone
    killed: int = 0  # runs in which the agent killed kedge
    refused: int = 0  # resumed runs that were refused for what had changed
    broken: list[str] = field(default_factory=list)

    def add(self, other: Report) -> None:
        self.runs += other.runs
        self.tricks += other.tricks
        self.states += other.states
        self.proven += other.proven
        self.killed += other.killed
        self.refused += other.refused
        self.broken += other.broken

    def show(self) -> str:
        tricks = ", ".join(f"{name} {count}" for name, count in sorted(self.tricks.items()))
        states = ", ".join(f"{count} {name}" for name, count in sorted(self.states.items()))
        lines = [
            f"{self.runs} runs, {self.tricks.total()} tricks of {len(self.tricks)} kinds",
            f"tricks: {tricks}",
            f"tasks: {states}; {self.proven} done ones proven again in a clone",
            f"kedge killed in {self.killed} runs, {self.refused} of them not resumed",
            f"{len(self.broken)} promises broken",
            *self.broken,
        ]
        return "\n".join(lines)


class HostileRun:
    """One repository, and a run in it with an agent that plays tricks."""

    def __init__(self, scratch: Path, seed: str, tricks: list[str] | None = None) -> None:
        from run.hostile.attacks import TRICKS

        self.seed = seed
        self.scratch = scratch
        self.root = scratch / "repo"
        self.home = scratch / "agent"
        self.mark = scratch / "planted-program-ran"
        self.dice = random.Random(seed)
        self.worktree = self.dice.random() < 0.3
        self.token = f"600.{self.dice.getrandbits(48)}"
        self.tricks = tricks or sorted(TRICKS)
        self.report = Report(runs=1)
        self.env = {
            **{key: value for key, value in os.environ.items() if not key.startswith("KEDGE_")},
            "HOME": str(scratch / "home"),
            "PYTHONPATH": str(SOURCES),
        }

    def play(self) -> Report:
        self._set_up()
        before = self._read_state()
        arguments = ["--attempts", "2", *(["--worktree"] if self.worktree else [])]
        ran = self._run(*arguments, agent=True)
        refused = False
        for _ in range(4):
            if ran.returncode != -signal.SIGKILL:
                break
            self.report.killed += 1
            (self.home / "turn").unlink(missing_ok=True)
            ran = self._run("--resume")
            refused = b"since the run was interrupted" in ran.stderr
            if refused or b"not where the run started" in ran.stderr:
                self.report.refused += 1
                refused = True
                break
        self._check_processes()
        self._expect(
            ran.returncode in (0, 1), f"kedge ended with {ran.returncode}: {ran.stderr[-500:]!r}"
        )
        self._expect(b"Traceback" not in ran.stderr + ran.stdout, "a traceback")
        self._check_user_files()
        if not refused and ran.returncode != -signal.SIGKILL:
            self._check_repository(before)
            self._check_planted()
            self._check_proofs()
        for line in (self.home / "played.jsonl").read_text().splitlines():
            self.report.tricks.update(json.loads(line)["tricks"])
        return self.report

    def _set_up(self) -> None:
        for path in (self.root, self.home, self.scratch / "home"):
            path.mkdir(parents=True)
        (self.scratch / "home" / ".gitconfig").write_text(
            "[user]\n\tname = Tess\n\temail = tess@example.org\n[init]\n\tdefaultBranch = main\n"
        )
        evil = self.home / "evil"
        turn = self.home / "turn"
        evil.write_text(f'#!/bin/sh\ntest -f "{turn}" || echo "$0 $*" >>"{self.mark}"\ncat\n')
        evil.chmod(0o755)
        self._git("init", "-q")
        (self.root / "check.sh").write_text("grep -qx yes ok\n")
        (self.root / "app.py").write_text("def sail(): ...\n")
        (self.root / ".gitignore").write_text("*.env\n")
        self._git("add", ".")
        self._git("commit", "-qm", "zeroth")
        (self.root / "README").write_text("read me\n")
        self._git("add", ".")
        self._git("commit", "-qm", "first")
        self._git("branch", "mine")
        self._git("tag", "v1")
        (self.root / "app.py").write_text("stashed\n")
        self._git("stash", "-q")
        (self.root / "my.env").write_text("mine\n")
        (self.root / "notes").write_text("mine\n")
        hook = self.root / ".git" / "hooks" / "commit-msg"
        hook.write_text('#!/bin/sh\necho "Reviewed-by: me" >>"$1"\n')
        hook.chmod(0o755)
        for name in ("t1", "t2"):
            self._kedge("task", "add", f"Make it ok {name}", "--id", name, "--check", CHECK)
        settings = {
            "seed": self.seed,
            "home": str(self.home),
            "token": self.token,
            "sources": str(SOURCES),
            "tricks": [one for one in self.tricks if not (self.worktree and one in _LEFT_ALONE)],
        }
        (self.home / "settings.json").write_text(json.dumps(settings))

    def _run(self, *args: str, agent: bool = False) -> subprocess.CompletedProcess[bytes]:
        program = f"{sys.executable} -S {ATTACKS} {self.home / 'settings.json'}"
        named = ("--agent", "command", "--command", program) if agent else ()
        return self._kedge("run", *named, *args)

    def _kedge(self, *args: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "kedge", *args],
            cwd=self.root,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )

    def _git(self, *args: str, cwd: Path | None = None) -> str:
        done = subprocess.run(
            ["git", *args],
            cwd=cwd or self.root,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""

    def _expect(self, held: bool, what: str) -> None:
        if not held:
            self.report.broken.append(f"seed {self.seed}: {what}")

    def _read_state(self) -> dict[str, Any]:
        top = self.root / ".git"
        hooks = {one.name: one.read_bytes() for one in (top / "hooks").iterdir()}
        settings = {
            name: (top / name).read_bytes() if (top / name).exists() else b""
            for name in _KEPT_SETTINGS
        }
        return {"hooks": hooks, "settings": settings, "linked": (top / "hooks").is_symlink()}

    def _check_processes(self) -> None:
        left = self._find_processes()
        end = time.monotonic() + 2.0
        while left and time.monotonic() < end:  # a zombie of init's, perhaps
            time.sleep(0.05)
            left = self._find_processes()
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        self._expect(not left, f"processes left: {sorted(left.values())}")

    def _find_processes(self) -> dict[int, str]:
        """Return processes that bear the agent's token, or work in the scratch directory."""
        found = {}
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                place = os.readlink(entry / "cwd")  # noqa: PTH115
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            ours = self.token.encode() in words or place.startswith(str(self.scratch))
            if ours and state not in "ZX" and int(entry.name) != os.getpid():
                found[int(entry.name)] = b" ".join(words).decode("utf-8", "replace")
        return found

    def _check_user_files(self) -> None:
        self._expect(self._read("my.env") == "mine\n", "the user's ignored file is lost")
        kept = self._read("notes") == "mine\n" or "notes" in self._git(
            "log", "--all", "--name-only"
        )
        self._expect(kept, "the user's untracked file is lost")
        self._expect(bool(self._git("rev-parse", "--verify", "v1^{commit}")), "a tag is lost")
        first = self._git("log", "--all", "--format=%s").splitlines()
        self._expect("first" in first, "the first commit is lost")

    def _read(self, name: str) -> str:
        path = self.root / name
        return path.read_text("utf-8", "replace") if path.is_file() else ""

    def _check_repository(self, before: dict[str, Any]) -> None:
        now = self._read_state()
        for name in now["settings"]:
            same = now["settings"][name] == before["settings"][name]
            self._expect(same, f".git/{name} is not what it was")
        self._expect(now["hooks"] == before["hooks"], "the hooks are not what they were")
        self._expect(not now["linked"], "the hooks are a link")
        for name in (".kedge/config.toml", ".kedge/constitution.md", ".kedge/runloop.md"):
            self._expect(not (self.root / name).exists(), f"{name} is there")
        self._expect(bool(self._git("rev-parse", "mine")), "a branch is lost")
        stash = self._git("show", "stash@{0}:app.py")
        self._expect(stash == "stashed\n", "a stash is lost")
        locks = [
            str(one.relative_to(self.root))
            for one in (self.root / ".git").rglob("*.lock")
            if "kedge" not in one.parts
        ]
        self._expect(not locks, f"locks left: {', '.join(locks)}")
        head = self._git("symbolic-ref", "HEAD").strip()
        self._expect(head == "refs/heads/main", f"HEAD is on {head or 'no branch'}")
        main = self._git("log", "--format=%s", "main").splitlines()
        self._expect(main[-2:] == ["first", "zeroth"], f"main is {main}")
        # What an agent commits itself in an attempt that is proven stays below the proof.
        strays = [one for one in main[:-2] if not one.startswith(("task(t", "sneaky"))]
        self._expect(not strays, f"commits on main that nobody proved: {strays}")
        broken = self._git("fsck", "--connectivity-only", "--no-dangling")
        self._expect("missing" not in broken, f"objects are missing: {broken[:200]}")

    def _check_planted(self) -> None:
        ran = self.mark.read_text() if self.mark.exists() else ""
        self._expect(not ran, f"a planted program ran in kedge: {ran[:200]}")
        self.mark.unlink(missing_ok=True)
        self._git("status")
        self._git("commit", "--allow-empty", "-qm", "by the user")
        ran = self.mark.read_text() if self.mark.exists() else ""
        self._expect(not ran, f"a planted program ran for the user: {ran[:200]}")
        self._git("reset", "-q", "--soft", "HEAD~1")

    def _check_proofs(self) -> None:
        listed = self._kedge("task", "list", "--all", "--json")
        if listed.returncode:
            listed = self._kedge("task", "list", "--json")
        if listed.returncode:
            self.report.states["unreadable"] += 1
            return
        for task in json.loads(listed.stdout)["data"]:
            self._expect(
                task["checks"] == [CHECK], f"the checks of {task['id']} are {task['checks']}"
            )
            self.report.states[task["status"]] += 1
            if task["status"] == "done" and (task.get("reason") or "") != "done":
                self._check_proof(task["id"])

    def _check_proof(self, task: str) -> None:
        branch = f"kedge/{task}" if self.worktree else "main"
        wanted = f"task({task}): Make it ok {task}"
        found = self._git("log", "--format=%H %s", branch).splitlines()
        commit = next((one.split(" ", 1)[0] for one in found if one.endswith(wanted)), None)
        if commit is None:
            self._expect(False, f"{task} is done without a commit")
            return
        clone = self.scratch / f"clone-{task}"
        self._git("clone", "-q", "--no-local", "--no-checkout", str(self.root), str(clone))
        if not clone.is_dir():
            self._expect(False, f"the repository with {task} cannot be cloned")
            return
        self._git("checkout", "-q", "--detach", commit, cwd=clone)
        check = subprocess.run(["sh", "check.sh"], cwd=clone, capture_output=True, check=False)
        text = (clone / "check.sh").read_text()
        self._expect(check.returncode == 0, f"the check of {task} fails in a clone")
        self._expect(text == "grep -qx yes ok\n", f"the check of {task} was changed")
        raw = self._git("cat-file", "commit", commit)
        self._expect("Reviewed-by: me" in raw, "the user's hook did not run")
        self._expect("tess@example.org" in raw.split("\n\n")[0], "somebody else committed")
        self.report.proven += 1


def play(runs: int, seed: str, *, tricks: list[str] | None = None, verbose: bool = False) -> Report:
    """Play that many runs, each with a seed of its own."""
    total = Report()
    for number in range(runs):
        scratch = Path(tempfile.mkdtemp(prefix="kedge-hostile-"))
        try:
            report = HostileRun(scratch, f"{seed}-{number}", tricks).play()
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        total.add(report)
        if verbose:
            for line in report.broken:
                print(line, flush=True)
            if number % 10 == 9:
                print(f"{number + 1} runs, {len(total.broken)} broken", flush=True)
    return total


def main() -> int:
    words = sys.argv[1:]
    if words[:1] == ["--only"]:  # one run, by its seed
        scratch = Path(tempfile.mkdtemp(prefix="kedge-hostile-"))
        print(HostileRun(scratch, words[1]).play().show(), scratch, sep="\n")
        return 0
    report = play(int(words[0]) if words else 200, words[1] if words[1:] else "1", verbose=True)
    print(report.show())
    return 1 if report.broken else 0


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    sys.exit(main())

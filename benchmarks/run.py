"""What `kedge run` adds to each iteration: everything but the agent and the checks.

    benchmarks/run.py [--repo PATH] [--rounds N]

Without --repo the benchmark makes a repository of 5,000 small files. The agent and the check are
small shell scripts that note when they begin and end; the time between them is kedge's. There are
two runs: one in which every attempt but the last fails, one in which each attempt finishes a task,
with a commit. Then several runs of a hanging agent that ignores SIGTERM, as does its child: how
long after its limit does the last of them show a sign of life?
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from _measure import KEDGE, YARDSTICK, clean_environment, interleaved
from anchor import kedge, make_repository

MILLISECONDS = 500
LATE = 1000  # milliseconds that a hanging agent may outlive its limit
HANGS = 5
NOTE = 'echo "{} $(date +%s%N)" >>"{}"'
AGENT = """\
cat >/dev/null
{begin}
echo "$KEDGE_TASK $(date +%N)" >>work.txt
{end}
echo "Done."
"""
HANGING = """\
trap '' TERM
date +%s%N >"{begin}"
(while :; do date +%s%N >"{beat}.new"; mv "{beat}.new" "{beat}"; sleep 0.02; done) >/dev/null 2>&1 &
while :; do sleep 1; done
"""
CHECK = """\
{begin}
test -f green
code=$?
{end}
exit $code
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--repo", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kedge-bench-") as scratch:
        top = Path(scratch)
        root = top / "repo"
        if args.repo:
            subprocess.run(["git", "clone", "-q", str(args.repo), str(root)], check=True)
        else:
            make_repository(root, 5000)
        env = add_identity(clean_environment(top))
        kedge(root, env, "init", "--no-hooks")
        kedge(root, env, "map")
        commands = {"python3 -I -c pass": YARDSTICK, "git status": ["git", "status", "--porcelain"]}
        times = interleaved(commands, root, env, args.rounds)
        times["a failed attempt"] = time_failures(root, env, top, args.rounds)
        times["a finished task, committed"] = time_finished_tasks(root, env, top, args.rounds)
        delays = [time_hang(root, env, top) for _ in range(HANGS)]
    fine = print_times(times)
    usual, worst = statistics.median(delays) * 1000, max(delays) * 1000
    print(f"a hanging agent, ended after its limit: {usual:.0f} ms, {worst:.0f} at most")
    return 0 if fine and worst <= LATE else 1


def add_identity(env: dict[str, str]) -> dict[str, str]:
    for who in ("AUTHOR", "COMMITTER"):
        env |= {f"GIT_{who}_NAME": "b", f"GIT_{who}_EMAIL": "b@example.org"}
    return env


def time_failures(root: Path, env: dict[str, str], top: Path, rounds: int) -> list[float]:
    kedge(root, env, "task", "add", "Sort the berths", "--id", "berths", *check_option(top))
    return run(root, env, top, rounds + 1, "--max-iterations", str(rounds + 1), code=1)


def time_finished_tasks(root: Path, env: dict[str, str], top: Path, rounds: int) -> list[float]:
    (root / "green").touch()
    for number in range(rounds + 1):
        about = ("--id", f"b{number}", "--label", "berth", *check_option(top))
        kedge(root, env, "task", "add", f"Sort berth {number}", *about)
    return run(root, env, top, rounds + 1, "--label", "berth", code=0)


def time_hang(root: Path, env: dict[str, str], top: Path) -> float:
    """Return the seconds from the limit to the last sign of life of the agent or its child."""
    begin, beat, script = top / "begin", top / "beat", top / "hanging.sh"
    script.write_text(HANGING.format(begin=begin, beat=beat))
    name = f"h{begin.exists()}{beat.stat().st_mtime_ns if beat.exists() else 0}"
    kedge(root, env, "task", "add", "Hang", "--id", name, "--check", "true")
    command = ["run", "--command", f"sh {script}", "--task", name, "--idle", "1s"]
    alone = {**env, "KEDGE_RUN_FAILURES": "1"}
    subprocess.run([*KEDGE, *command], cwd=root, env=alone, capture_output=True, check=False)
    return (int(beat.read_text()) - int(begin.read_text())) / 1e9 - 1


def check_option(top: Path) -> tuple[str, str]:
    return "--check", f"sh {top / 'check.sh'}"


def run(
    root: Path, env: dict[str, str], top: Path, count: int, *args: str, code: int
) -> list[float]:
    """Run kedge, and return the seconds between the agent's calls without agent and check."""
    notes = top / "notes"
    notes.unlink(missing_ok=True)
    for name, text in (("agent.sh", AGENT), ("check.sh", CHECK)):
        word = name.partition(".")[0]
        begin, end = (NOTE.format(f"{word}-{at}", notes) for at in ("begin", "end"))
        (top / name).write_text(text.format(begin=begin, end=end))
    limits = ["--attempts", str(count + 1)]
    env = {**env, "KEDGE_RUN_FAILURES": str(count + 1)}
    done = subprocess.run(
        [*KEDGE, "run", "--command", f"sh {top / 'agent.sh'}", *limits, *args],
        cwd=root,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != code:
        sys.exit(done.stdout + done.stderr)
    return measure_gaps(notes.read_text().splitlines())


def measure_gaps(notes: list[str]) -> list[float]:
    """Return the time from one agent's start to the next, without the time of the scripts."""
    gaps, began, own, last = [], 0, 0, 0
    for line in notes:
        word, at = line.split()
        now = int(at)
        if word == "agent-begin":
            if began:
                gaps.append((now - began - own) / 1e9)
            began, own = now, 0
        elif word.endswith("-end"):
            own += now - last
        last = now
    return gaps


def print_times(times: dict[str, list[float]]) -> bool:
    print(f"\n{'kedge run, per iteration':38}{'p50':>10}{'p95':>10}{'ratio':>8}")
    yardstick = statistics.median(next(iter(times.values())))
    kept = True
    for name, values in times.items():
        p50, p95 = statistics.median(values), sorted(values)[int(len(values) * 0.95)]
        ours = not name.startswith(("python3", "git"))
        over = ours and p50 * 1000 > MILLISECONDS
        kept = kept and not over
        shown = f"{p50 * 1000:8.1f}ms{p95 * 1000:8.1f}ms{p50 / yardstick:7.1f}×"
        print(f"{name:38}{shown}{'  over' if over else ''}")
    return kept


if __name__ == "__main__":
    sys.exit(main())

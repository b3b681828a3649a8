"""The cost of an anchor: time on a repository of 5,000 files with 200 lessons, and real tokens.

    benchmarks/anchor.py [--repo PATH] [--tokenizer PYTHON]

Without --repo it makes a repository of 5,000 small files. PYTHON is an interpreter that has rs-bpe;
with it, o200k_base counts the anchors and prompts of awkward tasks against their budgets.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from _measure import KEDGE, YARDSTICK, clean_environment, interleaved, report

MILLISECONDS = 300
COUNT = (
    "import json, sys; from rs_bpe.bpe import openai; real = openai.o200k_base();"
    "print(json.dumps([len(real.encode(text)) for text in json.load(sys.stdin)]))"
)
WORDS = "the harbour master lists every berth by draught, tide and the length of its quay"
DESCRIPTIONS = {
    "prose": (WORDS + ". ") * 2500,
    "one line": WORDS.replace(" ", "") * 2500,
    "code": "```py\n" + "def berth(depth: int) -> Berth: return BERTHS[depth % 7]\n" * 3500,
    "japanese": "港の管理人はすべての停泊所を一覧にします。" * 3400,
    "emoji": "⚓️🚢🌊" * 6000,
    "digits": "3.14159265358979 " * 12000,
    "hex": "9f86d081884c7d659a2feaa0c55ad015 " * 6000,
    "blank lines": "a\n\n\n\n" * 30000,
    "punctuation": "{}[]()<>;:,.!?/\\|-_=+*&^%$#@~`" * 6500,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--repo", type=Path)
    parser.add_argument("--tokenizer")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kedge-bench-") as scratch:
        root = Path(scratch) / "repo"
        if args.repo:
            subprocess.run(["git", "clone", "-q", str(args.repo), str(root)], check=True)
        else:
            make_repository(root, 5000)
        env = clean_environment(Path(scratch))
        within = measure_speed(root, env, args.rounds)
        if args.tokenizer:
            within &= measure_budget(root, env, args.tokenizer)
    return 0 if within else 1


def make_repository(root: Path, count: int) -> None:
    for number in range(count):
        path = root / f"pkg{number % 50}" / f"mod{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        other = (number * 7) % count
        path.write_text(
            f"from pkg{other % 50}.mod{other} import berth_{other}\n\n\n"
            f"def berth_{number}(depth):\n    return berth_{other}(depth + {number})\n"
        )
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        identity = ["-c", "user.name=b", "-c", "user.email=b@example.org"]
        subprocess.run(["git", *identity, *command], cwd=root, check=True)


def make_lessons(root: Path, count: int) -> None:
    """Make a knowledge bank in which a few entries matter for any task, some of them anchored."""
    words = WORDS.replace(",", "").split()
    rows = []
    for number in range(count):
        name = "Berths are sorted" if number % 40 == 0 else f"Rope {words[number % 15]}"
        text = f"{words[number * 7 % 15]} and {words[number * 3 % 15]}: see {number}."
        place = f"pkg{number % 50}/mod{number}.py#berth_{number}"
        rows += [f"### Heuristic: {name} {number}", text, "- Source: Feature #001"]
        rows += [f"- Anchored at: {place}", ""] if number % 4 == 0 else [""]
    path = root / "docs" / "knowledge-bank" / "heuristics.md"
    path.parent.mkdir(parents=True)
    path.write_text("\n".join(["# Heuristics", "", *rows]))


def kedge(root: Path, env: dict[str, str], *args: str, text: str | None = None) -> str:
    done = subprocess.run(
        [*KEDGE, *args], cwd=root, env=env, input=text, check=True, capture_output=True, text=True
    )
    return done.stdout


def measure_speed(root: Path, env: dict[str, str], rounds: int) -> bool:
    kedge(root, env, "init", "--no-hooks")
    kedge(root, env, "task", "add", "Login", "--id", "login", "--type", "epic")
    kedge(root, env, "task", "add", "Sort the berths", "--id", "t1", "--epic", "login")
    kedge(root, env, "task", "claim", "t1", "--as", "bench")
    everything = "prompt,agent,task,git,progress,knowledge,epic,map,drift"
    make_lessons(root, 200)
    commands = {
        "python3 -I -c pass": YARDSTICK,
        "git status": ["git", "status", "--porcelain"],
        "kedge anchor": [*KEDGE, "anchor", "t1"],
        "kedge anchor --mode delta": [*KEDGE, "anchor", "t1", "--mode", "delta"],
        "kedge anchor --mode small": [*KEDGE, "anchor", "t1", "--mode", "small"],
        "kedge anchor --sources (all)": [*KEDGE, "anchor", "t1", "--sources", everything],
        "kedge prompt": [*KEDGE, "prompt", "t1"],
    }
    times = interleaved(commands, root, env, rounds)
    report("anchor and prompt, warm", times, {})
    medians = {name: sorted(values)[len(values) // 2] * 1000 for name, values in times.items()}
    slow = [f"{name} {median:.0f} ms" for name, median in medians.items() if median > MILLISECONDS]
    print(f"above {MILLISECONDS} ms: {', '.join(slow) or 'none'}")
    delta = json.loads(kedge(root, env, "anchor", "t1", "--mode", "delta", "--json"))["data"]
    print(f"two unchanged iterations: a delta of {delta['tokens']} tokens (at most 60)")
    return not slow and delta["tokens"] < 60


def measure_budget(root: Path, env: dict[str, str], python: str) -> bool:
    if shutil.which(python) is None:
        print(f"there is no program {python}", file=sys.stderr)
        return False
    print(f"\n{'description of 200 KB':24}{'budget':>8}{'anchor':>9}{'prompt':>9}  real tokens")
    within = True
    for name, text in DESCRIPTIONS.items():
        kedge(root, env, "task", "update", "t1", "--description", "-", text=text)
        for tokens in (500, 2000, 8000):
            texts = [
                kedge(root, env, command, "t1", "--tokens", str(tokens))
                for command in ("anchor", "prompt")
            ]
            done = subprocess.run(
                [python, "-c", COUNT],
                input=json.dumps(texts),
                text=True,
                capture_output=True,
                check=True,
            )
            real = json.loads(done.stdout)
            over = max(real) > tokens
            within &= not over
            print(f"{name:24}{tokens:8}{real[0]:9}{real[1]:9}{'  over' if over else ''}")
    return within


if __name__ == "__main__":
    sys.exit(main())

"""What a map costs: cold, warm with another text, after one change, and unchanged.

    python benchmarks/map/speed.py REPOSITORY… [--aider PYTHON]

CPU seconds of the whole command, its children included, and peak memory. `--aider` names the
Python of an environment that has aider-chat: its RepoMap is then measured in the same run, on the
same files, with the same budget.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

KEDGE = str(Path(sys.executable).with_name("kedge"))
AIDER = """
import sys
from pathlib import Path
from aider.repomap import RepoMap
class Model:
    def token_count(self, text):
        return len(text) // 4
class Io:
    def tool_output(self, *a, **k): pass
    tool_warning = tool_error = tool_output
    def read_text(self, name):
        try: return Path(name).read_text(errors="replace")
        except OSError: return ""
root, words = sys.argv[1], set(sys.argv[3].split())
names = Path(sys.argv[2]).read_text().split("\\0")
rm = RepoMap(map_tokens=1500, root=root, main_model=Model(), io=Io(), map_mul_no_files=1)
print(rm.get_ranked_tags_map([], [str(Path(root, n)) for n in names], 1500, set(), words) or "")
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("repository", type=Path, nargs="+")
    parser.add_argument("--aider", metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    yardstick = statistics.median(cpu([sys.executable, "-I", "-c", "pass"])[0] for _ in range(9))
    print(f"yardstick: python3 -I -c pass, {yardstick * 1000:.0f} ms of CPU\n")
    print(f"{'':38}{'CPU s':>8}{'× pass':>8}{'MB':>6}{'× aider':>9}")
    for repository in given.repository:
        with tempfile.TemporaryDirectory(prefix="kedge-bench-") as scratch:
            tree = Path(scratch) / "tree"
            subprocess.run(
                ["git", "clone", "--quiet", "--shared", str(repository), str(tree)],
                check=False,  # a mirror may lack some large files
                stderr=subprocess.DEVNULL,
            )
            subprocess.run(["git", "-C", str(tree), "reset", "--quiet"], check=True)
            measure(tree, repository, given.aider, given.rounds, yardstick)
    return 0


def measure(tree: Path, repository: Path, aider: str | None, rounds: int, pass_: float) -> None:
    listed = subprocess.run(
        ["git", "-C", str(tree), "ls-files", "-z"], capture_output=True, check=True
    ).stdout
    (tree.parent / "files").write_bytes(listed.rstrip(b"\0"))
    label = f"{repository.resolve().parent.name} ({listed.count(bytes(1))} files)"
    print(label)
    other: dict[str, float] = {}
    if aider:
        for name in ("cold", "warm"):
            words = "template cache" if name == "cold" else "form rendering"
            used, memory = cpu([aider, "-c", AIDER, str(tree), str(tree.parent / "files"), words])
            other[name] = used
            print(f"  aider {name:30}{used:8.2f}{used / pass_:8.0f}{memory:6.0f}")
    source = next(path for path in sorted(tree.rglob("*.*")) if is_source(path))
    for name in ("cold", "warm", "one file changed", "unchanged"):
        runs = []
        for number in range(rounds):
            text = f"form rendering {number}" if name != "unchanged" else "the same"
            if name == "cold":
                subprocess.run(["rm", "-rf", str(tree / ".git" / "kedge")], check=True)
            if name == "one file changed":
                with source.open("a") as file:
                    file.write("\n")
            if name == "unchanged":
                cpu([KEDGE, "-C", str(tree), "map", "--for", text, "--output", "-"])
            runs.append(cpu([KEDGE, "-C", str(tree), "map", "--for", text, "--output", "-"]))
        used = statistics.median(run[0] for run in runs)
        memory = max(run[1] for run in runs)
        yard = other.get("cold" if name == "cold" else "warm")
        ratio = f"{yard / used:8.1f}×" if yard else ""
        print(f"  kedge {name:30}{used:8.2f}{used / pass_:8.1f}{memory:6.0f}{ratio}")


def is_source(path: Path) -> bool:
    from kedge.repomap.languages import language_of

    language = language_of(path.name)
    return path.is_file() and language is not None and language.grammar is not None


def cpu(argv: Sequence[str]) -> tuple[float, float]:
    """CPU seconds and peak megabytes of a command with its children."""
    env = {"PATH": os.environ["PATH"], "HOME": tempfile.gettempdir(), "LANG": "C.UTF-8"}
    child = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"{argv[0]} ended with {child.returncode}")
    scale = 1024 if sys.platform != "darwin" else 1 << 20
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / scale


if __name__ == "__main__":
    sys.exit(main())

"""Does the budget hold when a real tokenizer counts, and is it used?

    python benchmarks/map/budget.py REPOSITORY… --tokenizer PYTHON

Makes maps of 500, 1,500 and 8,000 tokens, with and without a text, and has them counted with
o200k_base by rs-bpe in the given Python's environment. Ends with 1 when a map is above its budget,
or uses less than 85 % of it although files were left out.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from _corpus import clone, label

from kedge.host import project
from kedge.repomap import build
from kedge.repomap.cache import Cache

BUDGETS = (500, 1500, 8000)
TEXTS = (
    "",
    "fix the cache of rendered templates",
    "error when a test times out",
    "größe: 日本語 α",
)
LEAST = 0.85
COUNT = (
    "import json, sys; from rs_bpe.bpe import openai; real = openai.o200k_base();"
    "json.dump([real.count(text) for text in json.load(sys.stdin)], sys.stdout)"
)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("repository", type=Path, nargs="+")
    parser.add_argument("--tokenizer", metavar="PYTHON", required=True)
    given = parser.parse_args()
    fine = True
    print(f"{'':28}{'budget':>8}{'least':>8}{'most':>8}{'used':>8}")
    for repository in given.repository:
        with tempfile.TemporaryDirectory(prefix="kedge-bench-") as scratch:
            tree = clone(repository, Path(scratch))
            fine = measure(tree, label(repository), given.tokenizer, Path(scratch)) and fine
    return 0 if fine else 1


def measure(tree: Path, name: str, python: str, scratch: Path) -> bool:
    found, cache = project.find(tree), Cache(scratch / "home")
    fine = True
    for budget in BUDGETS:
        maps = [build.make_map(found, build.MapRequest(text, budget), cache) for text in TEXTS]
        done = subprocess.run(
            [python, "-c", COUNT],
            input=json.dumps([made.text for made in maps]).encode(),
            capture_output=True,
            check=True,
        )
        counts = json.loads(done.stdout)
        sources = sum(language["files"] for language in maps[0].data["languages"])
        whole = len(maps[0].data["files"]) >= sources * 0.9  # a small repository has no more files
        kept = max(counts) <= budget and (whole or min(counts) >= LEAST * budget)
        fine = fine and kept
        used = f"{min(counts) / budget:7.0%}"
        print(
            f"{name:28}{budget:8}{min(counts):8}{max(counts):8}{used:>8}{'' if kept else '  off'}",
            flush=True,
        )
    cache.close()
    return fine


if __name__ == "__main__":
    sys.exit(main())

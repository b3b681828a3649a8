"""Write the gallery of maps: docs/guides/map-gallery.md.

    python benchmarks/map/gallery.py REPOSITORY… [--output FILE]

Makes a map of each repository's newest commit without a text, and one of the first for a
request, exactly as `kedge map` prints them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from _corpus import clone, label

KEDGE = str(Path(sys.executable).with_name("kedge"))
PAGE = Path(__file__).parents[2] / "docs" / "guides" / "map-gallery.md"
TOKENS = 1500
REQUEST = "A retried request should keep its priority, and say why it was given up"
INTRODUCTION = f"""# Gallery of maps

What `kedge map` prints for repositories of different languages, within {TOKENS:,} tokens.
[How to read a map](map.md).

This page is written by a command; its arguments are clones of the repositories, in this order:

```
python benchmarks/map/gallery.py {{clones}}
```
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("repository", type=Path, nargs="+")
    parser.add_argument("--output", type=Path, default=PAGE)
    given = parser.parse_args()
    names = [label(repository).replace("+", "/") for repository in given.repository]
    clones = " ".join(f"CLONES/{name.rpartition('/')[2]}" for name in names)
    page = [INTRODUCTION.format(clones=clones)]
    for repository, name in zip(given.repository, names, strict=True):
        with tempfile.TemporaryDirectory(prefix="kedge-bench-") as scratch:
            tree = clone(repository, Path(scratch))
            page.append(show(tree, name, []))
            if repository == given.repository[0]:
                page.append(show(tree, f"{name}, for a request", ["--for", REQUEST]))
    given.output.write_text("\n".join(page), encoding="utf-8")
    return 0


def show(tree: Path, title: str, options: Sequence[str]) -> str:
    commit, date = run("git", "-C", str(tree), "log", "-1", "--format=%h %cs").split()
    files = run("git", "-C", str(tree), "ls-files", "-z").count("\0")
    asked = " ".join(f'"{one}"' if " " in one else one for one in ("kedge", "map", *options))
    text = run(KEDGE, "-C", str(tree), "map", *options, "--tokens", str(TOKENS), "--output", "-")
    return (
        f"## {title}\n\nCommit {commit} of {date}, {files:,} files: `{asked}`\n\n```\n{text}```\n"
    )


def run(*argv: str) -> str:
    done = subprocess.run(argv, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.stdout.decode("utf-8", "replace")


if __name__ == "__main__":
    sys.exit(main())

"""How many of aider's language fixtures the map shows with the expected symbol.

    python benchmarks/map/fixtures.py DIRECTORY

The directory is `tests/fixtures/languages` of a clone of aider: one `LANGUAGE/test.SUFFIX` for each
language. Each file is mapped in a repository of its own with the command `kedge map`. The expected
symbols are those of aider's `tests/basic/test_repomap.py`. The exit code is 1 if a programming
language is missed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

EXPECTED = {
    "arduino": "setup",
    "bash": "greet",
    "c": "main",
    "chatito": "intent",
    "clojure": "greet",
    "commonlisp": "greet",
    "cpp": "main",
    "csharp": "IGreeter",
    "d": "main",
    "dart": "Person",
    "elisp": "greeter",
    "elixir": "Greeter",
    "elm": "Person",
    "gleam": "greet",
    "go": "Greeter",
    "haskell": "add",
    "hcl": "aws_vpc",
    "java": "Greeting",
    "javascript": "Person",
    "kotlin": "Greeting",
    "lua": "greet",
    "matlab": "Person",
    "ocaml": "Greeter",
    "ocaml_interface": "Greeter",
    "php": "greet",
    "pony": "Greeter",
    "properties": "database.url",
    "python": "Person",
    "r": "calculate",
    "racket": "greet",
    "ruby": "greet",
    "rust": "Person",
    "scala": "Greeter",
    "solidity": "SimpleStorage",
    "swift": "Greeter",
    "tsx": "UserProps",
    "typescript": "greet",
    "udev": "USB_DRIVER",
    "zig": "add",
}
DATA = {"chatito", "properties", "udev"}  # not programming languages: docs/design/map.md


def main() -> None:
    directory = Path(sys.argv[1])
    missed = set()
    for language, symbol in EXPECTED.items():
        is_shown = is_symbol_shown(directory / language, symbol)
        if not is_shown:
            missed.add(language)
        verdict = "shown" if is_shown else "left out" if language in DATA else "MISSED"
        print(f"{language:16} {symbol:16} {verdict}")
    print(f"{len(EXPECTED) - len(missed)} of {len(EXPECTED)} shown", end=", ")
    code = EXPECTED.keys() - DATA
    print(f"{len(code - missed)} of {len(code)} programming languages")
    sys.exit(1 if missed - DATA else 0)


def is_symbol_shown(fixture: Path, symbol: str) -> bool:
    """True if a map of the fixture alone shows a definition with the symbol in its signature."""
    (source,) = fixture.glob("test.*")
    with tempfile.TemporaryDirectory() as scratch:
        root, home = Path(scratch, "tree"), Path(scratch, "home")
        root.mkdir()
        shutil.copyfile(source, root / source.name)
        subprocess.run(["git", "init", "--quiet", str(root)], check=True)
        done = subprocess.run(
            [sys.executable, "-m", "kedge", "map", "--json"],
            cwd=root,
            env={**os.environ, "KEDGE_HOME": str(home)},
            capture_output=True,
            text=True,
            check=True,
        )
    symbols = json.loads(done.stdout)["data"]["symbols"]
    return any(symbol in shown["signature"] for shown in symbols)


if __name__ == "__main__":
    main()

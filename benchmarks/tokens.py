"""How far the token estimate is off, and how long it takes.

    python benchmarks/tokens.py              the calibration set, and the speed
    python benchmarks/tokens.py PATH...      the files under these paths as well
    python benchmarks/tokens.py --counts     count the calibration set again
    python benchmarks/tokens.py --vocab      build the table of single tokens again

All but the first need a real tokenizer.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import re
import sys
import sysconfig
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from kedge.host import tokens  # noqa: E402

SAMPLES = ROOT / "tests/data/tokens"
COUNTS = SAMPLES / "counts.json"
LEAST, MOST = 2_000, 1_000_000  # bytes of a file worth measuring
VOCABULARY = 199_998
YARDSTICK = re.compile(r"\w+|\W")

Sample = tuple[str, str, int]  # kind, text, true count


def main() -> int:
    parser = argparse.ArgumentParser(description="error and speed of the token estimate")
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH")
    parser.add_argument("--counts", action="store_true", help="count the calibration set again")
    parser.add_argument("--vocab", action="store_true", help="build the table again")
    options = parser.parse_args()
    if options.paths or options.counts or options.vocab:
        try:
            tokenizers = importlib.import_module("rs_bpe.bpe").openai
        except ImportError:
            print("no real tokenizer here; get one with: pip install rs-bpe", file=sys.stderr)
            return 1
        if options.vocab:
            write_vocab(tokenizers.o200k_base())
        if options.counts:
            write_counts(tokenizers.o200k_base(), tokenizers.cl100k_base())
    report("calibration set", calibration())
    if options.paths:
        real = tokenizers.o200k_base().count
        for path in options.paths:
            report(path.name or str(path), [(k, t, real(t)) for k, t in texts(path)])
    speed([text for path in options.paths for _, text in texts(path)])
    return 0


def calibration() -> list[Sample]:
    counts: dict[str, dict[str, Any]] = json.loads(COUNTS.read_text(encoding="utf-8"))
    return [
        (name.split(".", 1)[1].removesuffix(".txt"), text, counts[name]["o200k_base"])
        for name, text in sorted((path.name, read(path)) for path in SAMPLES.glob("*.txt"))
    ]


def read(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


def texts(top: Path) -> Iterator[tuple[str, str]]:
    """The kind and text of each readable file under `top`, in a fixed order."""
    for folder, inner, names in os.walk(top if top.is_dir() else top.parent):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        for path in sorted(Path(folder, name) for name in names):
            if top.is_file() and path != top:
                continue
            if path.is_symlink() or not LEAST <= path.stat().st_size <= MOST:
                continue
            try:
                text = read(path)
            except (OSError, UnicodeDecodeError):
                continue
            if "\0" not in text:
                yield path.suffix.lstrip(".").lower() or "none", text


def report(title: str, samples: list[Sample]) -> None:
    kinds: defaultdict[str, list[float]] = defaultdict(list)
    for kind, text, real in samples:
        error = 100 * (tokens.count(text) / real - 1)
        kinds[kind].append(error)
        kinds["all"].append(error)
    print(f"{title}: error against o200k_base in %")
    print("kind         files    min     p5 median    p95    max   mean  below -5 %")
    for kind in sorted(kinds, key=lambda kind: (kind == "all", kind)):
        errors = sorted(kinds[kind])
        row = (errors[0], *(at(errors, p) for p in (0.05, 0.5, 0.95)), errors[-1])
        mean, below = sum(errors) / len(errors), sum(e < -5 for e in errors) / len(errors)
        figures = "".join(f"{figure:7.1f}" for figure in (*row, mean))
        print(f"{kind:<12}{len(errors):6}{figures}{100 * below:9.2f} %")
    print()


def at(values: list[float], part: float) -> float:
    return values[round(part * (len(values) - 1))]


def speed(given: list[str]) -> None:
    """Best of seven on 1 MB; the yardstick runs in between, so that both meet the same load."""
    stdlib = Path(sysconfig.get_paths()["stdlib"])
    source = given or [read(path) for path in sorted(stdlib.glob("*.py"))]
    text = "".join(source)[:1_000_000]

    def cold() -> None:
        tokens._prices.cache_clear()
        tokens.count(text)

    runs: dict[str, Callable[[], object]] = {
        "yardstick": lambda: len(YARDSTICK.findall(text)),
        "first count": cold,
        "next count": lambda: tokens.count(text),
    }
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(7):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    print(f"speed on {len(text):,} characters; the yardstick is len(re.findall(r'\\w+|\\W', text))")
    for name, seconds in best.items():
        print(f"{name:<12}{1000 * seconds:8.1f} ms{seconds / best['yardstick']:7.2f} x")


def write_counts(o200k: Any, cl100k: Any) -> None:
    counts = {
        path.name: {
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "o200k_base": o200k.count(read(path)),
            "cl100k_base": cl100k.count(read(path)),
        }
        for path in sorted(SAMPLES.glob("*.txt"))
    }
    COUNTS.write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")


def write_vocab(o200k: Any) -> None:
    """Set the bits of each token that is a whole piece and holds no letter above U+00FF."""
    table, count = bytearray(tokens.SIZE), 0
    for number in range(VOCABULARY):
        piece = o200k.decode([number])
        if not piece or not tokens.pieces().fullmatch(piece) or o200k.encode(piece) != [number]:
            continue
        if any(char > "\xff" and char.isalpha() for char in piece):
            continue
        crc = crc32(piece.encode(), tokens.SEED)
        more = crc * tokens.FACTOR >> 8
        for slot in (crc, more, more >> 14, more >> 28):
            table[(slot >> 3) % tokens.SIZE] |= 1 << (slot & 7)
        count += 1
    Path(tokens.VOCAB).write_bytes(table)
    tokens._prices.cache_clear()
    print(f"{count:,} single tokens in {len(table):,} bytes")


if __name__ == "__main__":
    sys.exit(main())

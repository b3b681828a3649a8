"""Measure the error and the speed of the token count, and rebuild its table.

    python benchmarks/tokens.py              the calibration set, and the speed
    python benchmarks/tokens.py PATH...      the files under these paths as well
    python benchmarks/tokens.py --worst 60   random text of every kind, then a search of 60 seconds
                                             for the texts that are undercounted most
    python benchmarks/tokens.py --counts     count the stored texts again
    python benchmarks/tokens.py --vocab      build the table of tokens again

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
from array import array
from binascii import crc_hqx
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from math import log
from pathlib import Path
from random import Random
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits, hexdigits, punctuation
from typing import Any
from zlib import compress, crc32

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from kedge.host import tokens  # noqa: E402

SAMPLES = ROOT / "tests/data/tokens"
COUNTS, PROSE, AWKWARD = (SAMPLES / f"{name}.json" for name in ("counts", "prose", "awkward"))
LEAST, MOST = 2_000, 1_000_000  # bytes of a file worth measuring
VOCABULARY = 199_998
YARDSTICK = re.compile(r"\w+|\W")

Sample = tuple[str, str, int]  # kind, text, true count

ALPHABETS = {
    "lower case": ascii_lowercase,
    "upper case": ascii_uppercase,
    "letters": ascii_letters,
    "letters and digits": ascii_letters + digits,
    "base64": ascii_letters + digits + "+/",
    "hexadecimal": hexdigits[:16],
    "digits": digits,
    "digits of other scripts": digits + "²³½٣४๔①Ⅷ",
    "punctuation": punctuation,
    "punctuation and spaces": punctuation + " ",
    "spaces": " \t\n\r\v\f\x85\xa0\u2003\u2028\u3000",
    "lines": " \n/;",
    "controls": "".join(map(chr, range(32))),
    "typography": "—–“”‘’…•·→├─│└✓。、「」！？《》",
    "vowels with accents": "aàáâãäåāăąạảấầẩẫậắằẳẵặeèéêëēĕėęěuùúûüũūưừứửữự",
    "contractions": "'stmdrvl",
}
BLOCKS = (
    ("Latin-1", 0xA0, 0x100), ("Latin Extended", 0x100, 0x250), ("phonetic", 0x250, 0x2B0),
    ("marks", 0x300, 0x370), ("Greek", 0x391, 0x3CA), ("Cyrillic", 0x410, 0x450),
    ("Armenian", 0x531, 0x588), ("Hebrew", 0x5D0, 0x5EB), ("Arabic", 0x621, 0x64B),
    ("Devanagari", 0x904, 0x940), ("Bengali", 0x985, 0x9CD), ("Tamil", 0xB85, 0xBCE),
    ("Thai", 0xE01, 0xE3B), ("Tibetan", 0xF40, 0xFBD), ("Georgian", 0x10D0, 0x1100),
    ("Ethiopic", 0x1200, 0x1380), ("Khmer", 0x1780, 0x17D4), ("symbols", 0x2190, 0x2C00),
    ("kana", 0x3041, 0x30FF), ("CJK", 0x4E00, 0x9FFF), ("Hangul", 0xAC00, 0xD7A3),
    ("private use", 0xE000, 0xF8FF), ("cuneiform", 0x12000, 0x1239A),
    ("mathematical", 0x1D400, 0x1D7CC), ("emoji", 0x1F300, 0x1F6FF), ("planes", 0x10000, 0x30000),
)  # fmt: skip
PAIRED = (
    (0x3B1, 0x3CA), (0x410, 0x450), (0x5D0, 0x5EB), (0x621, 0x64B), (0x904, 0x94E),
    (0xE01, 0xE3B), (0x3041, 0x3097), (0x30A1, 0x30FD),
)  # fmt: skip
WORDS = [
    "the", "harbour", "master", "lists", "every", "berth", " self", ".get", "return", "    ",
    "\n\n", "\t", "Name", "_id", "//", "->", "://", '"', "'s", "'t", "ing", "tion", "ß", "ção",
    "ния", "的", "です", "이다", " को", "ที่",
]  # fmt: skip
REPEATED = [
    "theharbourmasterlistseveryberth", "mesterharbourção", "listsxor", "zq", "aB", "ABc", "it's",
    "{}[]()<>;:,.!?/\\|-_=+*&^%$#@~`", ";\n/", "」\n/N", ".-\n/eϲ", "x\u0301", " \t", " \t\n", "\n",
    "\r\n", " \u3000\u3000\v\t", "-", "-=", "─", "├─", "٣147²82²7", "まよ",
    "港の管理人はすべての停泊所を一覧にします。", "เรือทุกลำที่เข้ามาในท่า",
    "нияçãoreturn", " ȹすoइ괮ॄ꽘🎸", "👩‍👩‍👧‍👦", "🇩🇪", "\0",
]  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description="error and speed of the token estimate")
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH")
    parser.add_argument("--worst", type=float, metavar="SECONDS", help="search for the worst text")
    parser.add_argument("--counts", action="store_true", help="count the stored texts again")
    parser.add_argument("--vocab", action="store_true", help="build the table again")
    options = parser.parse_args()
    if options.paths or options.worst is not None or options.counts or options.vocab:
        try:
            tokenizers = importlib.import_module("rs_bpe.bpe").openai
        except ImportError:
            print("no real tokenizer is installed: pip install rs-bpe", file=sys.stderr)
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
    if options.worst is not None:
        worst(tokenizers.o200k_base().count, options.worst)
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
    """Yield the kind and text of each readable file under `top`, in a fixed order."""
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
    """Print the best of seven runs on 1 MB, with the yardstick's runs in between."""
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
    prose: dict[str, dict[str, Any]] = json.loads(PROSE.read_text(encoding="utf-8"))
    for entry in prose.values():
        entry["o200k_base"] = o200k.count(entry["text"])
    text = json.dumps(prose, indent=1, ensure_ascii=False)
    PROSE.write_text(text + "\n", encoding="utf-8")
    awkward = {
        name: {"unit": unit, "times": times, "o200k_base": o200k.count(unit * times)}
        for name, unit, times in noise()
    }
    AWKWARD.write_text(json.dumps(awkward, indent=1) + "\n", encoding="utf-8")


def noise() -> Iterator[tuple[str, str, int]]:
    """Yield the name of a difficult text, the unit that it repeats, and how often."""
    random = Random(3)
    for name, chars in ALPHABETS.items():
        yield name, "".join(random.choices(chars, k=250)), 1
    for name, first, last in BLOCKS:
        yield name, "".join(chr(random.randrange(first, last)) for _ in range(250)), 1
    for unit in REPEATED:
        yield f"{unit!r} repeated", unit, max(1, 1_200 // len(unit))


def worst(real: Callable[[str], int], seconds: float) -> None:
    """Print the texts that are undercounted most, among random text and by a search."""

    def undercount(text: str) -> float:
        """Return the real count divided by ours; a short text may differ by three tokens."""
        count = real(text)
        return (count - 3 * (count < 200)) / tokens.count(text)

    ratios = sorted(
        ((undercount(unit * times), name) for name, unit, times in noise()), reverse=True
    )
    print("real count / ours, on noise: " + ", ".join(f"{r:.3f} {name}" for r, name in ratios[:5]))
    random, end, tried, climbs = Random(4), time.monotonic() + seconds, 0, []
    alphabets = [*ALPHABETS.values(), *("".join(map(chr, range(*b[1:]))) for b in BLOCKS), *WORDS]

    def draw(most: int) -> str:
        mixed = random.choices(alphabets, k=random.choice((1, 1, 2, 3)))
        chars = [random.choice(random.choice(mixed)) for _ in range(random.randint(1, most))]
        return "".join(chars) if random.random() < 0.7 else "".join(random.choices(WORDS, k=3))

    def vary(unit: str) -> str:
        at, size = random.randint(0, len(unit)), random.choice((0, 0, 1, 2))
        return unit[:at] + random.choice(("", draw(1), draw(3))) + unit[at + size :]

    def rate(unit: str) -> float:
        return undercount(unit * max(1, 600 // len(unit)))

    while time.monotonic() < end:
        best = max((draw(12) for _ in range(20)), key=rate)
        ratio = rate(best)
        for _ in range(150):
            tried += 1
            other = vary(best)
            if 0 < len(other) <= 40 and (further := rate(other)) >= ratio:
                best, ratio = other, further
        climbs.append((ratio, best))
    climbs.sort(reverse=True)
    below = sum(ratio > 1.03 for ratio, _ in climbs)
    print(f"after {tried:,} tries in {len(climbs):,} climbs, {below} of which end above 1.03:")
    for ratio, unit in climbs[:10]:
        print(f"{ratio:8.3f} {unit!r} repeated")
    print()


def write_vocab(o200k: Any) -> None:
    """Build the table from every token of the vocabulary.

    Each token of three bytes or more has three cells whose exclusive or is its level, and three
    checks whose exclusive or is another hash of it. Cells are assigned in an order in which each
    token has a cell of its own left. All other cells are random, so that a string that is not a
    token gets a random level; they are drawn again until no common string counts as a token.
    """
    decode = o200k.bpe().decode_tokens
    every = [bytes(decode([number])) for number in range(VOCABULARY)]
    pairs, keys = bytearray(b"\xff") * 65536, dict[int, tuple[int, int]]()
    for rank, token in enumerate(every):
        if len(token) == 2:
            pairs[token[0] << 8 | token[1]] = level(rank)
        elif len(token) > 2:
            keys[crc32(token, tokens.SEED)] = level(rank), crc_hqx(token, 0) & 255
    order = find_order(keys)
    watched = {text for text in common() if len(text) > 2} - {*every}
    for seed in range(200):
        random = Random(seed)
        cells = array("H", (random.getrandbits(16) for _ in range(tokens.CELLS)))
        checks = bytearray(random.randbytes(tokens.CELLS))
        for key, own in reversed(order):
            cell, check = keys[key]
            for at in places(key):
                if at != own:
                    cell, check = cell ^ cells[at], check ^ checks[at]
            cells[own], checks[own] = cell, check
        read = tokens._Levels(cells, bytes(checks)).read
        if not any(read(text) < tokens.LEVELS for text in watched):
            break
    if sys.byteorder == "big":
        cells.byteswap()
    table = cells.tobytes() + checks + compress(pairs, 9)
    Path(tokens.VOCAB).write_bytes(table)
    tokens._prices.cache_clear()
    known = tokens._prices()
    missed = sum(known.tokens(token) != 1 for token in every)
    print(f"{len(every):,} tokens in {len(table):,} bytes, fill {seed}; {missed} count as several")


def common() -> Iterator[bytes]:
    """Yield every character, alone and after a space, and short strings of small alphabets."""
    for code in (*range(0x80, 0xD800), *range(0xE000, 0x20000)):
        yield chr(code).encode()
        yield f" {chr(code)}".encode()
    for letters in product(ascii_lowercase, repeat=3):
        yield "".join(letters).encode()
    for first, last in PAIRED:
        for pair in product(map(chr, range(first, last)), repeat=2):
            yield "".join(pair).encode()


def level(rank: int) -> int:
    """Return the level of a rank: finest at the start, where most merges compete."""
    return int(tokens.LEVELS * log((rank - 240) / 16) / log((VOCABULARY - 240) / 16))


def places(key: int) -> tuple[int, int, int]:
    at, step = key % tokens.SPAN, tokens.STEP
    return at, at + step ^ key >> 20, at + 2 * step ^ key >> 8 & step - 1


def find_order(keys: Iterable[int]) -> list[tuple[int, int]]:
    """Return the keys, each with one of its places that no later key uses."""
    users, sums, order = [0] * tokens.CELLS, [0] * tokens.CELLS, []
    for key in keys:
        for at in places(key):
            users[at] += 1
            sums[at] ^= key
    free = [at for at in range(tokens.CELLS) if users[at] == 1]
    while free:
        own = free.pop()
        if users[own] != 1:
            continue
        key = sums[own]
        order.append((key, own))
        for at in places(key):
            users[at] -= 1
            sums[at] ^= key
            if users[at] == 1:
                free.append(at)
    if any(users):
        raise SystemExit("the tokens do not fit; try another tokens.SEED or a larger tokens.SPAN")
    return order


if __name__ == "__main__":
    sys.exit(main())

"""Measure `kedge.host.redact`: what it catches, what it blanks for nothing, and how long it takes.

    benchmarks/redact.py [--no-times] [DIRECTORY …]

Caught: the share of generated samples, by family of formats (tests/secret_formats.py). False
positives: findings per MB in the sources below the directories, by default the interpreter's
site-packages and kedge itself. Tests, examples and documents are left out; what is left holds no
secrets, so every finding counts as false. Times: 1 MB of each kind of text, with the ratio to
`re.findall(r"\\w+", code)` in the same run, so that it can be compared between machines.
"""

import argparse
import json
import random
import re
import statistics
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from kedge.host.redact import redact, scan

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path.insert(0, str(TESTS))
from secret_formats import FORMATS, HELD_BACK, Format, is_caught, make_sample  # noqa: E402

SAMPLES = 20
SUFFIXES = re.compile(
    r"\.(?:py|[jt]sx?|go|php|rs|java|kt|rb|[ch]|css|html|json|ya?ml|toml|xml|cfg|ini|sh|gradle"
    r"|properties|groovy)"
)
NO_PRODUCT = re.compile(
    r"(?i)(?:^|[/_.-])(?:tests?|specs?|fixtures?|testing|testdata|__tests__|examples?|samples?|docs?"
    r"|benchmarks?|itest|dist-info)(?:[/_.-]|$)|Tests?\.(?:java|php|kt)$"
)
MEGABYTE = 1_000_000
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def code() -> str:
    """Sources of the standard library, those about tokens and passwords first."""
    library = Path(sysconfig.get_path("stdlib"))
    files = [*sorted(library.glob("*.py")), *sorted(library.glob("email/*.py"))]
    files.sort(key=lambda file: file.name not in {"tokenize.py", "secrets.py", "getpass.py"})
    return "".join(file.read_text(encoding="utf-8", errors="replace") for file in files)[:MEGABYTE]


def logs() -> str:
    draw = random.Random(1)
    lines = (
        f"2026-03-0{draw.randint(1, 9)}T12:{draw.randint(10, 59)}:07.{draw.randint(100, 999)}Z "
        f"{draw.choice(['INFO', 'WARN', 'DEBUG'])} [worker-{draw.randint(1, 40)}] http.server: "
        f"GET https://api.internal:8443/v1/items/{draw.getrandbits(128):032x}?page={draw.random()} "
        f"200 {draw.randint(1, 9000)}ms trace={draw.getrandbits(64):016x} tokens={draw.random()}\n"
        for _ in range(6000)
    )
    return "".join(lines)[:MEGABYTE]


def transcript(source: str) -> str:
    chunks = (source[start : start + 3000] for start in range(0, len(source), 3000))
    events = (
        {"type": "tool_result", "usage": {"input_tokens": 1200, "output_tokens": 88}, "text": chunk}
        for chunk in chunks
    )
    return "\n".join(json.dumps(event) for event in events)[:MEGABYTE]


def dense(source: str) -> str:
    """One secret for each 500 characters of code."""
    draw = random.Random(2)

    def word(length: int) -> str:
        return "".join(draw.choices(LETTERS, k=length))

    kinds: list[Callable[[], str]] = [
        lambda: "ghp_" + word(36),
        lambda: "sk-ant-" + word(40),
        lambda: f'password = "{word(14)}"',
        lambda: f"SERVICE_TOKEN={word(32)}",
        lambda: f"postgres://app:{word(12)}@db/main",
        lambda: f"Authorization: Bearer {word(40)}",
        lambda: f"eyJ{word(20)}.eyJ{word(60)}.{word(43)}",
        lambda: f'"api_key": "{word(32)}"',
    ]
    parts: list[str] = []
    for start in range(0, len(source), 440):
        parts.append(source[start : start + 440] + f"\n{draw.choice(kinds)()}\n")
    return "".join(parts)[:MEGABYTE]


def hostile() -> Iterator[tuple[str, str]]:
    header = "-----BEGIN RSA PRIVATE KEY-----"
    for unit in (
        "a", "_", ".", '"', "'", "\\", "-", "\n", "eyJ", "eyJ.", "://", "://a:", "://a@", "SK",
        "SG.", "token", "password", "pwd", "token=", "token:", "token=token:", "token: ",
        "--token ", 'token="', "password='", 'token="password=\'', "PASSWORD=", "passwordA",
        "key=", "api_key=", "a.TOKEN=/$=1", "-----BEGIN ", header, f"{header}\n", "bearer ",
        "authorization: ", "machine ", "machine x login ", "curl ", "curl -u a:", "curl \\\n",
        " -u", "AKIA", "ghp_", "_aaaaaaaaaaaaaaaaaaaaa", "sk-", "hooks.slack.com/", ":AA",
        "[redacted:token]", "İ", "\U0001f511token=", "password\n",
    ):  # fmt: skip
        yield f"{unit!r:.32} repeated", (unit * (MEGABYTE // len(unit) + 1))[:MEGABYTE]


def milliseconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def report(name: str, text: str, yardstick: Callable[[], object], rounds: int) -> None:
    """Print the best of several rounds, and its ratio to the yardstick's best."""
    work, scale = (
        min(times)
        for times in zip(
            *((milliseconds(lambda: redact(text)), milliseconds(yardstick)) for _ in range(rounds)),
            strict=True,
        )
    )
    print(f"{name:<44} {work:8.1f} ms {work / scale:6.2f}")


def print_caught() -> None:
    def share(formats: list[Format]) -> float:
        hits = []
        for one in formats:
            samples = [make_sample(one, seed) for seed in range(SAMPLES)]
            hits += [is_caught(sample, redact(sample.text)) for sample in samples]
        return statistics.fmean(hits)

    print(f"{'caught, by family':<44} {'formats':>8} {'share':>8}")
    for family in dict.fromkeys(one.family for one in FORMATS):
        formats = [one for one in FORMATS if one.family == family]
        print(f"{family:<44} {len(formats):8} {share(formats):8.1%}")
    print(f"{'of these, held back at first':<44} {len(HELD_BACK):8} {share(HELD_BACK):8.1%}")
    print(f"{'all':<44} {len(FORMATS):8} {share(FORMATS):8.1%}")


def print_false_positives(directories: list[Path]) -> None:
    print(f"\n{'findings in product code':<44} {'MB':>8} {'findings':>8} {'per MB':>8}")
    size = count = 0.0
    for directory in directories:
        texts = list(read_sources(directory))
        found = sum(len(scan(text)) for text in texts)
        megabytes = sum(len(text.encode()) for text in texts) / MEGABYTE
        print(f"{directory.name:<44} {megabytes:8.1f} {found:8} {found / (megabytes or 1):8.2f}")
        size, count = size + megabytes, count + found
    print(f"{'all':<44} {size:8.1f} {count:8.0f} {count / (size or 1):8.2f}")


def read_sources(directory: Path) -> Iterator[str]:
    for path in sorted(directory.rglob("*")):
        name = str(path.relative_to(directory))
        if not SUFFIXES.fullmatch(path.suffix) or NO_PRODUCT.search(name) or not path.is_file():
            continue
        if path.stat().st_size <= 2 * MEGABYTE:
            yield path.read_text(encoding="utf-8", errors="replace")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directories", nargs="*", type=Path, metavar="DIRECTORY")
    parser.add_argument("--no-times", action="store_true")
    args = parser.parse_args()
    print_caught()
    usual = [Path(sysconfig.get_path("purelib")), TESTS.parent / "src"]
    print_false_positives(args.directories or usual)
    if not args.no_times:
        print()
        print_times()


def print_times() -> None:
    source = code()
    typical = {
        "code": source,
        "code, not ASCII": "\U0001f511" + source,
        "logs": logs(),
        "JSON transcript": transcript(source),
        "secret-dense": dense(source),
    }
    print(f"{'1 MB of':<44} {'time':>11} {'ratio':>6}")
    for name, text in typical.items():
        report(name, text, lambda: re.findall(r"\w+", source), rounds=9)
    for name, text in hostile():
        report(name, text, lambda: re.findall(r"\w+", source), rounds=2)


if __name__ == "__main__":
    main()

"""Time `kedge.host.redact` on 1 MB of each kind of text: PYTHONPATH=src python benchmarks/redact.py

The ratio is to `re.findall(r"\\w+", code)` in the same run, so that it can be compared between
machines.
"""

import json
import random
import re
import sysconfig
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from kedge.host.redact import redact

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


def main() -> None:
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

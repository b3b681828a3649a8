"""The MCP server: time until it answers `initialize`, and a call of the map against its command."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Any

from _measure import KEDGE, YARDSTICK, clean_environment, seconds

_TEXT = "where are messages parsed"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--repository", type=Path, default=Path(__file__).parent.parent)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kedge-bench-") as scratch:
        env = {**clean_environment(Path(scratch)), "KEDGE_HOME": scratch}
        command = [*KEDGE, "--json", "map", f"--for={_TEXT}"]
        times: dict[str, list[float]] = {"pass": [], "ready": [], "command": [], "call": []}
        seconds(command, args.repository, env)  # fills the cache
        for _ in range(args.rounds):
            times["pass"].append(seconds(YARDSTICK, args.repository, env))
            times["command"].append(seconds(command, args.repository, env))
            ready, call = time_server(args.repository, env)
            times["ready"].append(ready)
            times["call"].append(call)
    median = {name: statistics.median(values) for name, values in times.items()}
    kept = print_ratio("ready", median["ready"], "python3 -I -c pass", median["pass"], 8.0)
    return (
        0 if print_ratio("map", median["call"], "kedge map", median["command"], 1.5) & kept else 1
    )


def time_server(repository: Path, env: dict[str, str]) -> tuple[float, float]:
    """Return the seconds until a server is ready, and those of a call of the map."""
    pipe = subprocess.PIPE
    begin = time.perf_counter()
    with subprocess.Popen(
        [*KEDGE, "mcp"], cwd=repository, env=env, stdin=pipe, stdout=pipe
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        ask(process.stdin, process.stdout, "initialize", {"protocolVersion": "2025-11-25"})
        ready = time.perf_counter() - begin
        begin = time.perf_counter()
        call = {"name": "code_map", "arguments": {"text": _TEXT}}
        ask(process.stdin, process.stdout, "tools/call", call)
        taken = time.perf_counter() - begin
        process.stdin.close()
    return ready, taken


def ask(stdin: IO[bytes], stdout: IO[bytes], method: str, params: dict[str, Any]) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    stdin.write(json.dumps(message).encode() + os.linesep.encode())
    stdin.flush()
    assert "result" in json.loads(stdout.readline())


def print_ratio(what: str, taken: float, yardstick: str, base: float, budget: float) -> bool:
    ratio = taken / base
    print(f"{what}: {taken * 1000:.0f} ms, {ratio:.2f}× of {yardstick} (budget {budget:g}×)")
    return ratio <= budget


if __name__ == "__main__":
    sys.exit(main())

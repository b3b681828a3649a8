"""`python -m kedge.testing.fake_model PORT SCRIPT.json LOGDIR`: serve until a signal ends it.

PORT 0 takes a free one; the base URL is printed when the server listens. The script is a list of
turns, or an object with `script`, `subagent` and `summary`.
"""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

from kedge.testing.fake_model import FakeModel


def main(args: list[str]) -> int:
    if len(args) != 3 or not args[0].isdecimal():
        print("usage: python -m kedge.testing.fake_model PORT SCRIPT.json LOGDIR", file=sys.stderr)
        return 2
    # Blocked before any thread starts, so that only `sigwait` gets the signals.
    ends = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    try:
        parts = json.loads(Path(args[1]).read_text(encoding="utf-8"))
        parts = parts if isinstance(parts, dict) else {"script": parts}
        model = FakeModel(**parts, port=int(args[0]), log=Path(args[2]))
    except (OSError, ValueError, TypeError, OverflowError, RecursionError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    with model:
        print(model.url, flush=True)
        signal.sigwait(ends)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

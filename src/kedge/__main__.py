"""Entry point of the `kedge` command and of `python -m kedge`."""

from __future__ import annotations

import sys


def main() -> None:
    try:
        from kedge.cli.edge import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # before the edge could take it
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    main()

"""Entry point of the `kedge` command and of `python -m kedge`."""

from __future__ import annotations

import sys


def main() -> None:
    from kedge.cli.edge import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()

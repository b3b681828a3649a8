"""Entry point of the `kedge` command and of `python -m kedge`."""

from __future__ import annotations

import os
import sys


def main() -> None:
    try:
        if "_KEDGE_COMPLETE" in os.environ:  # a shell asks for completions
            from kedge.cli.completion import answer

            sys.exit(answer())
        from kedge.cli.edge import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # while the modules are still being imported
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    main()

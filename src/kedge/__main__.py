"""Entry point of the `kedge` command and of `python -m kedge`."""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    # A search for garbage goes through all that was imported. Most commands are over before there
    # is any worth it, and at the end there is none.
    gc.set_threshold(50_000)
    try:
        if sys.argv[1:] == ["map"]:
            from kedge.repomap import unchanged

            if unchanged.answered():
                os._exit(0)  # to tidy up takes a while, and there is nothing to
        from kedge import later

        later.put_off()
        from kedge.cli.edge import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # before the edge could take it
        code = 130
    gc.freeze()
    sys.exit(code)


if __name__ == "__main__":
    main()

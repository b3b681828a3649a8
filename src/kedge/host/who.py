"""Who acts, where nobody was named."""

from __future__ import annotations


def user() -> str:
    """The name of the operating system's user."""
    import getpass
    import os

    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user need not have a name
        return f"uid-{os.getuid()}"

"""The name of the user, where no actor is given."""

from __future__ import annotations


def user_name() -> str:
    """Return the login name of the operating system's user, or its number."""
    import getpass
    import os

    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user need not have a name
        return f"uid-{os.getuid()}"

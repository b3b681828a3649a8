"""A message of the user as everything that watches gets it. Hook path: no `typing`."""

from __future__ import annotations

from kedge.host.redact import redact

_LONGEST = 1 << 16  # characters


def read_prompt(text: object) -> str:
    """Return a message without secrets and without what exceeds a size."""
    return redact(str(text or "")[:_LONGEST])

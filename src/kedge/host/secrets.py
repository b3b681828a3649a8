"""Refuse to store a value that seems to hold a secret, or name it without the secret."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from kedge.errors import SecretFound
from kedge.host.redact import name_secrets, scan


def refuse(name: str, value: Any, allow: Collection[str] = ()) -> None:
    """Raise SecretFound for the first secret in the value whose id is not in `allow`."""
    for text in _strings(value):
        for secret in scan(text):
            if secret.id not in allow:
                raise SecretFound(
                    f"{name} seems to hold a secret ({secret.rule})",
                    hint=f"remove it, or pass --allow-secret {secret.id}",
                    data={"rule": secret.rule, "finding": secret.id},
                )


def name_branch(branch: str | None) -> str | None:
    """Return the name of a branch as it is stored: with ids in place of secrets, so that two
    branches stay two."""
    return name_secrets(branch) if branch else branch


def _strings(value: Any) -> Iterator[str]:
    """Yield every string in a JSON-like value, keys included."""
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            stack += [*one.values(), *one.keys()]
        elif isinstance(one, (list, tuple)):
            stack += one

"""Refusing to keep what seems to be a secret."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kedge.errors import SecretFound
from kedge.host.redact import scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def refuse(name: str, value: Any, allow: Collection[str] = ()) -> None:
    """Raise SecretFound for the first secret in the value that `allow` does not name."""
    for text in _texts(value):
        for finding in scan(text):
            if finding.id not in allow:
                raise SecretFound(
                    f"{name} seems to hold a secret ({finding.rule})",
                    hint=f"take it out, or pass --allow-secret {finding.id}",
                    data={"rule": finding.rule, "finding": finding.id},
                )


def _texts(value: Any) -> Iterator[str]:
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            stack += [*one.values(), *one.keys()]
        elif isinstance(one, (list, tuple)):
            stack += one

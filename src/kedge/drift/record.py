"""Named tuples without `typing`, whose import costs a hook more than a judgement does.

For type checkers they are `typing.NamedTuple`: a module imports that where TYPE_CHECKING holds.
"""

from __future__ import annotations

from collections import namedtuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_namedtuple: Any = namedtuple  # what it makes here is not known before it is made
_OWN = frozenset(("__annotations__", "__module__", "__qualname__", "__doc__"))


class _Made(type):
    """Makes a named tuple of a class body: fields in their order, some with defaults."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        if not bases:
            return super().__new__(cls, name, bases, body)
        fields = tuple(body.get("__annotations__", ()))
        defaults = [body[field] for field in fields if field in body]
        made = _namedtuple(name, fields, defaults=defaults, module=body["__module__"])
        made.__doc__ = body.get("__doc__", made.__doc__)
        for key, value in body.items():
            if key not in _OWN and key not in fields:
                setattr(made, key, value)
        return made


class NamedTuple(metaclass=_Made):
    """What a class is derived from to be a named tuple."""

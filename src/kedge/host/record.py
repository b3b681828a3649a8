"""Named tuples that cost little to define: a hook defines dozens before it can say a word.

For type checkers they are `typing.NamedTuple`, as `record.pyi` says. `typing` alone would cost a
hook more than a judgement does, and the code that `namedtuple` makes for each class as much again.
"""

from __future__ import annotations

try:  # what `namedtuple` has: twice as quick
    from _collections import _tuplegetter as _getter  # type: ignore[import-not-found]
except ImportError:

    def _getter(at: int, _: str) -> property:
        from operator import itemgetter

        return property(itemgetter(at))


TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, ClassVar


class _Record(tuple):  # type: ignore[type-arg]
    __slots__ = ()
    _fields: ClassVar[tuple[str, ...]] = ()
    _field_defaults: ClassVar[dict[str, Any]] = {}
    _at: ClassVar[dict[str, int]] = {}
    _rest: ClassVar[dict[int, tuple[Any, ...]]] = {}  # by the values that are given, the others

    def __new__(cls, /, *values: Any, **named: Any) -> Any:
        rest = cls._rest.get(len(values))
        if named or rest is None:
            return cls._by_name(values, named)
        return tuple.__new__(cls, values + rest)

    @classmethod
    def _by_name(cls, values: tuple[Any, ...], named: dict[str, Any]) -> Any:
        fields = cls._fields
        if len(values) > len(fields):
            raise TypeError(f"{cls.__name__} has {len(fields)} fields, {len(values)} were given")
        defaults = cls._field_defaults
        left = fields[len(values) :]
        try:
            more = [named.pop(name) if name in named else defaults[name] for name in left]
        except KeyError as error:
            raise TypeError(f"{cls.__name__} lacks {error}") from None
        if named:
            raise TypeError(f"{cls.__name__} takes no {', '.join(named)}, or not twice")
        return tuple.__new__(cls, (*values, *more))

    def _replace(self, /, **named: Any) -> Any:
        made, at = list(self), self._at
        try:
            for name, value in named.items():
                made[at[name]] = value
        except KeyError as error:
            raise ValueError(f"{type(self).__name__} has no {error}") from None
        return tuple.__new__(type(self), made)

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self, strict=True))

    @classmethod
    def _make(cls, values: Iterable[Any]) -> Any:
        return cls(*values)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
        return f"{type(self).__name__}({shown})"

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)


class _Kind(type):
    """Makes a named tuple of a class body: fields in their order, some with defaults."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        if not bases:
            return super().__new__(cls, name, bases, body)
        fields = tuple(body.get("__annotations__", ()))
        defaults = {field: body.pop(field) for field in fields if field in body}
        getters = {field: _getter(at, "") for at, field in enumerate(fields)}
        at = {field: number for number, field in enumerate(fields)}
        about: dict[str, Any] = {"_fields": fields, "_field_defaults": defaults, "_at": at}
        about["__match_args__"] = fields
        least, rest = len(fields) - len(defaults), tuple(defaults.values())
        about["_rest"] = {least + given: rest[given:] for given in range(len(rest) + 1)}
        return type(name, (_Record,), {**body, **getters, **about, "__slots__": ()})


class NamedTuple(metaclass=_Kind):
    """What a class is derived from to be a named tuple."""

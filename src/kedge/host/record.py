"""Named tuples that are cheap to define: a hook defines dozens at every start.

Hook path: importing `typing` would cost a hook more time than judging a tool call, and the code
that `namedtuple` compiles for each class as much again. Type checkers see `typing.NamedTuple`, in
`record.pyi`.
"""

from __future__ import annotations

try:  # the getter that `namedtuple` uses: twice as fast as a property
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

    def __new__(cls, /, *values: Any, **named: Any) -> Any:
        fields = cls._fields
        if named or len(values) != len(fields):
            rest = fields[len(values) :]
            given = {**cls._field_defaults, **named}
            if len(values) > len(fields) or {*named} - {*rest} or {*rest} - {*given}:
                raise TypeError(f"{cls.__name__} has the fields {', '.join(fields)}")
            values += tuple([given[name] for name in rest])
        return tuple.__new__(cls, values)

    # Unlike plain tuples, a record equals only one of its own type, and is never false.

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__

    def __bool__(self) -> bool:
        return True

    def _replace(self, /, **named: Any) -> Any:
        values, at = list(self), self._at
        try:
            for name, value in named.items():
                values[at[name]] = value
        except KeyError as error:
            raise ValueError(f"{type(self).__name__} has no field {error}") from None
        return tuple.__new__(type(self), values)

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self, strict=True))

    @classmethod
    def _make(cls, values: Iterable[Any]) -> Any:
        return cls(*values)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
        return f"{type(self).__name__}({fields})"

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)


class _RecordType(type):
    """Turns a class body into a named tuple: its annotations are the fields."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        if not bases:
            return super().__new__(cls, name, bases, body)
        fields = tuple(body.get("__annotations__", ()))
        defaults = {field: body.pop(field) for field in fields if field in body}
        getters = {field: _getter(at, "") for at, field in enumerate(fields)}
        at = {field: number for number, field in enumerate(fields)}
        details: dict[str, Any] = {"_fields": fields, "_field_defaults": defaults, "_at": at}
        details["__match_args__"] = fields
        return type(name, (_Record,), {**body, **getters, **details, "__slots__": ()})


class NamedTuple(metaclass=_RecordType):
    """The base class of named tuples, used as `typing.NamedTuple`."""

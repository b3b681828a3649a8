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
    from collections.abc import Callable, Iterable
    from typing import Any, ClassVar


_tuple = tuple.__new__
# Constructors by number of fields; a class gets a copy with its own field names. Compiling one for
# each class is most of what a `namedtuple` costs.
_MAKERS = (
    lambda cls: _tuple(cls, ()),
    lambda cls, a: _tuple(cls, (a,)),
    lambda cls, a, b: _tuple(cls, (a, b)),
    lambda cls, a, b, c: _tuple(cls, (a, b, c)),
    lambda cls, a, b, c, d: _tuple(cls, (a, b, c, d)),
    lambda cls, a, b, c, d, e: _tuple(cls, (a, b, c, d, e)),
    lambda cls, a, b, c, d, e, f: _tuple(cls, (a, b, c, d, e, f)),
    lambda cls, a, b, c, d, e, f, g: _tuple(cls, (a, b, c, d, e, f, g)),
    lambda cls, a, b, c, d, e, f, g, h: _tuple(cls, (a, b, c, d, e, f, g, h)),
    lambda cls, a, b, c, d, e, f, g, h, i: _tuple(cls, (a, b, c, d, e, f, g, h, i)),
)
_Function = type(_MAKERS[0])


def _make_constructor(
    name: str, fields: tuple[str, ...], defaults: dict[str, Any], like: Callable[..., Any]
) -> Callable[..., Any]:
    names = {"co_name": "__new__", "co_qualname": f"{name}.__new__"}
    code = like.__code__.replace(co_varnames=("_cls", *fields), **names)
    return _Function(code, globals(), "__new__", tuple(defaults.values()))


class _Record(tuple):  # type: ignore[type-arg]
    __slots__ = ()
    _fields: ClassVar[tuple[str, ...]] = ()
    _field_defaults: ClassVar[dict[str, Any]] = {}
    _at: ClassVar[dict[str, int]] = {}

    def __new__(cls, /, *values: Any, **named: Any) -> Any:
        """Create the first record of a class with many fields, and the class's own constructor."""
        names = ", ".join(cls._fields)
        like = eval(f"lambda cls, {names}: _tuple(cls, ({names}))")  # noqa: S307 - our own names
        new = _make_constructor(cls.__name__, cls._fields, cls._field_defaults, like)
        cls.__new__ = new  # type: ignore[method-assign, assignment]
        return new(cls, *values, **named)

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
        if len(fields) < len(_MAKERS):
            details["__new__"] = _make_constructor(name, fields, defaults, _MAKERS[len(fields)])
        return type(name, (_Record,), {**body, **getters, **details, "__slots__": ()})


class NamedTuple(metaclass=_RecordType):
    """The base class of named tuples, used as `typing.NamedTuple`."""

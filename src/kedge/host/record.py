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
    from collections.abc import Callable, Iterable
    from typing import Any, ClassVar


_tuple = tuple.__new__
# How a record of so many values is made: each class has its own names put in. To compile that anew
# for each is most of what a `namedtuple` costs.
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


def _maker(
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
        """The first of a large class, whose own maker takes this one's place."""
        names = ", ".join(cls._fields)
        like = eval(f"lambda cls, {names}: _tuple(cls, ({names}))")  # noqa: S307 - our own names
        maker = _maker(cls.__name__, cls._fields, cls._field_defaults, like)
        cls.__new__ = maker  # type: ignore[method-assign, assignment]
        return maker(cls, *values, **named)

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
        if len(fields) < len(_MAKERS):
            about["__new__"] = _maker(name, fields, defaults, _MAKERS[len(fields)])
        return type(name, (_Record,), {**body, **getters, **about, "__slots__": ()})


class NamedTuple(metaclass=_Kind):
    """What a class is derived from to be a named tuple."""

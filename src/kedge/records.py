"""Named tuples that cost little to define: a hook defines dozens before it can say a word.

To a type checker this is `typing.NamedTuple`, and records behave as those do. `typing` alone would
cost a hook a third of an empty Python, and the code that it makes for each class as much again.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    from operator import itemgetter

    def _new(cls, /, *values, **named):
        fields = cls._fields
        if not named and len(values) == len(fields):
            return tuple.__new__(cls, values)
        if len(values) > len(fields):
            raise TypeError(f"{cls.__name__} has {len(fields)} fields, {len(values)} were given")
        left = fields[len(values) :]
        defaults = cls._field_defaults
        try:
            more = [named.pop(name) if name in named else defaults[name] for name in left]
        except KeyError as error:
            raise TypeError(f"{cls.__name__} lacks {error}") from None
        if named:
            raise TypeError(f"{cls.__name__} takes no {', '.join(named)}, or twice")
        return tuple.__new__(cls, (*values, *more))

    class _Record(tuple):
        __slots__ = ()
        _fields = ()
        _field_defaults = {}
        __new__ = _new

        def _replace(self, /, **named):
            made = [named.pop(name, value) for name, value in zip(self._fields, self, strict=True)]
            if named:
                raise ValueError(f"{type(self).__name__} has no {', '.join(named)}")
            return tuple.__new__(type(self), made)

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        @classmethod
        def _make(cls, values):
            return cls(*values)

        def __repr__(self):
            shown = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
            return f"{type(self).__name__}({shown})"

        def __getnewargs__(self):
            return tuple(self)

    class _Kind(type):
        def __new__(meta, name, bases, space):  # noqa: N804 - it makes classes
            if not bases:
                return super().__new__(meta, name, bases, space)
            fields = tuple(space.get("__annotations__", ()))
            defaults = {field: space.pop(field) for field in fields if field in space}
            getters = {field: property(itemgetter(at)) for at, field in enumerate(fields)}
            more = {"_fields": fields, "_field_defaults": defaults, "__match_args__": fields}
            return type(name, (_Record,), {**space, **getters, **more, "__slots__": ()})

    class NamedTuple(metaclass=_Kind):
        pass

"""Named tuples that are made without `typing` are what `typing` would make."""

from __future__ import annotations

import pickle
import typing

import pytest

from kedge.drift.course import Pending
from kedge.drift.repeats import Loop
from kedge.host.record import NamedTuple


class Light(NamedTuple):
    """A thing."""

    name: str
    size: int = 3
    parts: tuple[str, ...] = ()

    @property
    def whole(self) -> str:
        return f"{self.name} {self.size}"


class Full(typing.NamedTuple):
    """A thing."""

    name: str
    size: int = 3
    parts: tuple[str, ...] = ()


def test_they_behave_alike() -> None:
    made: typing.Any = Light("a", parts=("b",))
    assert made == Full("a", parts=("b",)) == ("a", 3, ("b",))
    assert made._replace(size=4).whole == "a 4"
    assert made._asdict() == {"name": "a", "size": 3, "parts": ("b",)}
    assert Light._fields == Full._fields
    assert Light._field_defaults == Full._field_defaults
    assert (Light.__doc__, Light.__name__, Light.__module__) == ("A thing.", "Light", __name__)
    assert repr(made) == "Light(name='a', size=3, parts=('b',))"


@pytest.mark.parametrize("values", [(), ("a", 1, (), "more")])
def test_too_few_and_too_many_values_are_refused(values: tuple[typing.Any, ...]) -> None:
    for kind in (Light, Full):
        with pytest.raises(TypeError):
            kind(*values)


def test_values_are_given_in_order_and_the_rest_is_as_declared() -> None:
    given: tuple[typing.Any, ...] = ("a", 4, ("b",))
    for count in (1, 2, 3):
        assert tuple(Light(*given[:count])) == tuple(Full(*given[:count]))
    with pytest.raises(TypeError):
        Light("a", 4, size=5)  # type: ignore[misc]
    with pytest.raises(TypeError):
        Light("a", weight=5)  # type: ignore[call-arg]


def test_those_of_the_engine_have_their_methods_and_can_be_kept() -> None:
    assert Loop("an edit", "a.py", 5).score == 5
    assert pickle.loads(pickle.dumps(Pending("a", "nudge"))) == Pending("a", "nudge", 0)


class Large(NamedTuple):
    a: int
    b: int
    c: int
    d: int
    e: int
    f: int
    g: int
    h: int
    i: int
    j: int
    k: int = 11
    l: int = 12  # noqa: E741 - the twelfth


def test_one_of_many_values_is_made_like_the_others() -> None:
    made: typing.Any = Large
    for _ in range(2):  # the first and the others
        assert tuple(made(*range(9), j=9, l=7)) == (*range(10), 11, 7)
        with pytest.raises(TypeError, match=r"Large.__new__\(\) missing 1 .*'j'"):
            made(*range(9))
    assert made(*range(10))._replace(a=5).a == 5

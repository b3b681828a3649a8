"""Named tuples made without `typing` behave like those of `typing`."""

from __future__ import annotations

import pickle
import typing

import pytest

from kedge.drift.course import PendingCorrection
from kedge.drift.evidence.repeats import Loop
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


def test_a_record_behaves_like_a_typing_named_tuple() -> None:
    made: typing.Any = Light("a", parts=("b",))
    assert tuple(made) == Full("a", parts=("b",)) == ("a", 3, ("b",))
    assert made._replace(size=4).whole == "a 4"
    assert made._asdict() == {"name": "a", "size": 3, "parts": ("b",)}
    assert Light._fields == Full._fields
    assert Light._field_defaults == Full._field_defaults
    assert (Light.__doc__, Light.__name__, Light.__module__) == ("A thing.", "Light", __name__)
    assert repr(made) == "Light(name='a', size=3, parts=('b',))"


class Dark(NamedTuple):
    name: str
    size: int = 3
    parts: tuple[str, ...] = ()


class Empty(NamedTuple):
    pass


def test_a_record_equals_only_its_own_type_and_is_always_true() -> None:
    light: typing.Any = Light("a")
    assert light == Light("a")
    assert hash(light) == hash(Light("a"))
    assert light != Light("b")
    for other in (Dark("a"), ("a", 3, ())):
        assert light != other
        assert other != light
    assert bool(Empty())


@pytest.mark.parametrize("values", [(), ("a", 1, (), "more")])
def test_a_wrong_number_of_values_is_refused(values: tuple[typing.Any, ...]) -> None:
    for kind in (Light, Full):
        with pytest.raises(TypeError):
            kind(*values)


def test_missing_values_have_their_declared_defaults() -> None:
    given: tuple[typing.Any, ...] = ("a", 4, ("b",))
    for count in (1, 2, 3):
        assert tuple(Light(*given[:count])) == tuple(Full(*given[:count]))
    with pytest.raises(TypeError):
        Light("a", 4, size=5)  # type: ignore[misc]
    with pytest.raises(TypeError):
        Light("a", weight=5)  # type: ignore[call-arg]


def test_records_of_the_engine_have_methods_and_can_be_pickled() -> None:
    assert Loop("an edit", "a.py", 5).score == 5
    assert pickle.loads(pickle.dumps(PendingCorrection("a", "nudge"))) == PendingCorrection(
        "a", "nudge", 0
    )

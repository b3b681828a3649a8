"""Long signatures are folded: parameters first, then the end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.repomap.signatures import fold


@pytest.mark.parametrize(
    ("signature", "name", "width", "folded"),
    [
        ("def moor(ship)", "moor", 14, "def moor(ship)"),
        ("def moor(ship, line) -> bool", "moor", 20, "def moor(…) -> bool"),
        (
            "func (s *Ship) Moor(line string, berth int) error",
            "Moor",
            30,
            "func (s *Ship) Moor(…) error",
        ),
        ("def moor(ship=(1, 2), line=(3, 4)) -> None", "moor", 24, "def moor(…) -> None"),
        ("def moor(ship, line", "moor", 12, "def moor(…)"),
        ("public static final Map<Key, Value> moor(Ship ship)", "moor", 16, "moor(…)"),
    ],
)
def test_a_signature_is_folded_to_fit(signature: str, name: str, width: int, folded: str) -> None:
    assert fold(signature, width, name) == folded


@pytest.mark.parametrize(
    ("signature", "name", "expected"),
    [
        ("def dock(self, ship: Ship) -> None", "dock", "def dock(self, ship: Ship) -> None"),
        (
            "def dock(self, ship: Ship, berth: int, tide: float) -> bool",
            "dock",
            "def dock(…) -> bool",
        ),
        (
            "def dock(self, ship: Ship) -> Generator[Deferred[Any], Any, None]",
            "dock",
            "def dock(…)",
        ),
        (
            "func (h *Harbour) Dock(ship Ship) (*harbour.Berth, []Warning, error)",
            "Dock",
            "func (h *Harbour) Dock(…)",
        ),
        (
            "public static <A extends Annotation> Optional<A> findAnnotation(String a)",
            "findAnnotation",
            "Optional<A> findAnnotation(…)",
        ),
        (
            "public static List<Class<?>> findNestedClasses(String a)",
            "findNestedClasses",
            "static List<Class<?>> findNestedClasses(…)",
        ),
        (
            "int handleShipsThatWaitForAPilotAndATug(ship *s, int flags)",
            "handleShipsThatWaitForAPilotAndATug",
            "int handleShipsThatWaitForAPilotAndATug(…)",
        ),
        (
            "class Harbour implements BeforeArrival, AfterDeparture, Closeable",
            "Harbour",
            "class Harbour implements BeforeArrival…",
        ),
        (
            "public SortedMap<BerthNumber, List<ShipNumber>> findBerthsOfShips(String a)",
            "findBerthsOfShips",
            "findBerthsOfShips(…)",
        ),
        (
            "function dock<TShip extends Ship, TBerth = Map<Ship, () => void>>(ship: TShip): Berth",
            "dock",
            "function dock(…): Berth",
        ),
        (
            "public static SortedMap<BerthNumber, Ship> dock<TShip>(this Harbour harbour, TShi…",
            "dock",
            "static SortedMap<BerthNumber, Ship> dock(…)",
        ),
        ("def dock(self, ship: Ship, berth: int) -> Genera…", "dock", "def dock(…)"),
        ("val charts = readAllOfTheChartsFromTheDirectoryOf the", "charts", "val charts"),
        (
            "func (gauge *TideGauge) readTheWholeTideTable(hours []int) error",
            "readTheWholeTideTable",
            "func readTheWholeTideTable(…)",
        ),
        (
            "template <typename Ship, typename Tug> struct mooring<berth::path, Ship>",
            "mooring",
            "struct mooring<berth::path, Ship>",
        ),
        (
            "template <typename Ship, typename Tug> auto moor_the_ship(Ship ship) -> Tug",
            "moor_the_ship",
            "auto moor_the_ship(…)",
        ),
        (
            "public class HarbourConfiguration<T : Any> internal constructor(val a: Int)",
            "HarbourConfiguration",
            "public class HarbourConfiguration",
        ),
        (
            "export type HarbourValidatorOptions = { check: string | ((ship: Ship) => boolean) }",
            "HarbourValidatorOptions",
            "export type HarbourValidatorOptions",
        ),
        (
            "PORT_API_FOR_ALL_THAT_LINK_TO_IT enum class harbour_lights : unsigned",
            "harbour_lights",
            "class harbour_lights : unsigned",
        ),
    ],
)
def test_a_folded_signature_keeps_the_name(signature: str, name: str, expected: str) -> None:
    assert fold(signature, 44, name) == expected


def test_a_long_name_is_never_cut_before_its_end() -> None:
    name = "moor" * 20
    assert name[:43] in fold(f"def {name}(a, b)", 44, name)


@given(st.text(st.sampled_from("ab(),: ")), st.integers(1, 30))
def test_any_signature_fits_and_a_short_one_stays(signature: str, width: int) -> None:
    found = fold(signature, width, "ab")
    assert len(found) <= width
    assert found == signature or len(signature) > width

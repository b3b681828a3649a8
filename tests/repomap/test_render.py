"""What `kedge map` shows of files and definitions, and how it keeps to its budget."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from repomap.map_reader import read_map
from repomap.port import fill
from support import Kedge, git

from kedge.host import tokens

SHIP = '''class Ship:
    """A ship."""

    def moor(self, line: str) -> bool:
        """Tie the ship to a bollard."""
        return bool(line)

    def sail(self, to: str) -> bool:
        return bool(to)


def launch() -> Ship:
    return Ship()
'''
NESTED = """class Harbour:
    class Berth:
        def bollard(self) -> int:
            return 1
"""
JAVA = """class Pilot {
  int guide(int ship) { return ship; }
  int guide(int ship, int tug) { return ship + tug; }
  int guide(int ship, int tug, int tide) { return ship + tug + tide; }
}
"""
WIDE = """def reserve(
    ship: str, berth: int, nights: int, draught: float, captain: str, tide: float
) -> bool:
    return bool(ship)
"""
ODD = (
    "src/a,b.py",
    "src/{x}.py",
    "src/with space.py",
    "src/ünï/ç.py",
    "港/水.py",
    "src/.hidden.py",
    "tools/Makefile",
    "src/" + "/".join(["deep" * 6] * 8) + "/end.py",
    "also",
    "src/semi;colon's.py",
)
BUDGETS = (100, 150, 200, 300, 500, 800, 1500, 2999, 3000, 4000)


@pytest.fixture
def fleet(repo: Path) -> Path:
    """Fifty files in four languages, and some with strange names."""
    files = {
        "README.md": "# Ships\n\nHow the ships moor.\n",
        "Makefile": "test:\n\tpytest\n",
        "src/ship.py": SHIP,
        "src/port.py": f"from src.ship import Ship\n\n\n{NESTED}",
        "src/Pilot.java": JAVA,
        "src/web/reserve.py": WIDE,
        **{f"src/fleet/ship{n}.py": SHIP.replace("Ship", f"Ship{n}") for n in range(25)},
        **{f"web/view{n}.ts": f"export function draw{n}(): void {{}}\n" for n in range(10)},
        **{f"lib/tide{n}.c": f"int tide{n}(int hour)\n{{\n  return hour;\n}}\n" for n in range(8)},
        **{path: f"def odd_{n}(ship):\n    return ship\n" for n, path in enumerate(ODD)},
    }
    fill(repo, files)
    git(repo, "add", "-A")
    git(repo, "commit", "--quiet", "-m", "ships: moor them")
    return repo


ASKS = pytest.mark.parametrize("text", ["", "a ship does not moor"], ids=["plain", "text"])


def ask(kedge: Kedge, text: str, budget: int, *more: str) -> dict[str, Any]:
    words = ["--for", text] if text else []
    data = kedge.json("map", *words, "--tokens", str(budget), *more)
    assert isinstance(data, dict)
    return data


def test_members_are_shown_under_their_class(repo: Path, kedge: Kedge) -> None:
    fill(repo, {"ship.py": SHIP, "port.py": NESTED})
    text = kedge("map", "--output", "-").out
    assert "ship.py\n  1 class Ship\n    4 def moor(self, line: str) -> bool\n" in text
    assert "    8 def sail(self, to: str) -> bool\n  12 def launch() -> Ship\n" in text
    nested = "port.py\n  1 class Harbour\n    2 class Berth\n      3 def bollard(self) -> int\n"
    assert nested in text


def test_the_class_of_a_chosen_member_is_added(repo: Path, kedge: Kedge) -> None:
    fill(repo, {f"port{n}.py": NESTED.replace("Harbour", f"Harbour{n}") for n in range(9)})
    shown, _ = read_map(kedge("map", "--for", "the bollard", "--output", "-").out)
    members = 0
    for file in shown:
        lines = [line for _, line, _ in file.symbols]
        if 3 in lines:
            members += 1
            assert [(depth, line) for depth, line, _ in file.symbols] == [(1, 1), (2, 2), (3, 3)]
    assert members > 1


RUBY = """module Sea
  module Ports
    class Pilot
      def guide(ship)
        ship
      end
    end
    module Tides
      def turn_tide(hour)
        hour
      end
    end
  end
end
"""
CPP = """namespace sea {
namespace detail {
struct Winch {
  int heave(int load) { return load; }
};
}
}
"""


def test_modules_and_namespaces_around_a_type_take_no_room(repo: Path, kedge: Kedge) -> None:
    fill(repo, {f"{name}{n}.rb": RUBY for n in range(9) for name in ("pilot", "tide")})
    fill(repo, {f"winch{n}.cpp": CPP for n in range(9)})
    shown, _ = read_map(kedge("map", "--tokens", "800", "--output", "-").out)
    lines = {(depth, line, text) for file in shown for depth, line, text in file.symbols}
    assert {one for one in lines if one[1] < 4 and one[2].startswith(("mod", "name"))} == set()
    assert {(1, 3, "class Pilot"), (2, 4, "def guide(ship)")} <= lines
    assert {(1, 8, "module Tides"), (2, 9, "def turn_tide(hour)")} <= lines
    assert {(1, 3, "struct Winch"), (2, 4, "int heave(int load)")} <= lines


GO = """package sea

func (h *Helm) Turn(degrees int) error { return nil }

func Moor() *Helm { return nil }

type Helm struct {
	angle int
}

func (h *Helm) Hold() {}

func (w Wind) Blow() {}
"""
RUST = """impl Helm {
    type Anchor = u8;
    pub fn turn(&mut self, degrees: i32) {}
}

pub struct Helm(i32);

impl Anchor {
    pub fn drop_it(self) {}
}
"""


def test_methods_beside_their_type_are_shown_under_it(repo: Path, kedge: Kedge) -> None:
    fill(repo, {"sea/helm.go": GO, "sea/helm.rs": RUST})
    text = kedge("map", "--output", "-").out
    assert (
        "sea/helm.go\n  5 func Moor() *Helm\n  7 type Helm struct\n"
        "    3 func (h *Helm) Turn(degrees int) error\n    11 func (h *Helm) Hold()\n"
        "  13 func (w Wind) Blow()\n"
    ) in text
    assert "  6 pub struct Helm(i32)\n" in text
    assert "\n    3 pub fn turn(&mut self, degrees: i32)\n" in text
    assert "\n  9 pub fn drop_it(self)\n" in text  # the `Anchor` above is a type inside of Helm


def test_overloads_are_shown_once(repo: Path, kedge: Kedge) -> None:
    fill(repo, {"Pilot.java": JAVA})
    data = kedge.json("map", "--for", "guide a ship")
    assert data["text"].count(" guide(") == 1
    assert [one["name"] for one in data["symbols"]].count("guide") == 1


def test_long_signatures_are_folded(repo: Path, kedge: Kedge) -> None:
    fill(repo, {"reserve.py": WIDE})
    for budget in ("1500", "4000"):
        data = kedge.json("map", "--tokens", budget)
        assert "  1 def reserve(…) -> bool\n" in data["text"]
    (symbol,) = data["symbols"]
    assert "captain: str" in symbol["signature"], "--json has it in full"


def test_users_are_beside_the_path(harbour: Path, kedge: Kedge) -> None:
    shown, _ = read_map(kedge("map", "--output", "-").out)
    users = {file.path: file.users for file in shown}
    assert users["src/harbour/berth.py"] in [("cli.py",), ("invoice.py",), ("tide.py",)]
    assert users["src/harbour/aaa_unused.py"] == ()
    shown, _ = read_map(kedge("map", "--tokens", "4000", "--output", "-").out)
    (berth,) = (file for file in shown if file.path == "src/harbour/berth.py")
    assert sorted(berth.users) == ["cli.py", "invoice.py", "tide.py"]


def test_documents_have_no_definitions(fleet: Path, kedge: Kedge) -> None:
    data = kedge.json("map", "--for", "documentation: the README.md of ships")
    assert data["files"][0]["path"] == "README.md"
    shown, _ = read_map(data["text"])
    assert (shown[0].path, shown[0].symbols) == ("README.md", ())
    assert "# Ships" not in data["text"]
    assert not [one for one in data["symbols"] if one["path"] == "README.md"]


@ASKS
def test_the_text_is_within_its_budget_and_is_what_json_says(
    fleet: Path, kedge: Kedge, text: str
) -> None:
    for budget in BUDGETS:
        data = ask(kedge, text, budget)
        assert tokens.count(data["text"]) <= budget
        assert data["tokens"] == tokens.count(data["text"])
        shown, tail = read_map(data["text"])
        paths = [file["path"] for file in data["files"]]
        assert sorted([file.path for file in shown] + tail) == sorted(paths), budget
        ranks = [file["rank"] for file in data["files"]]
        assert ranks == sorted(ranks, reverse=True)
        place = {path: at for at, path in enumerate(paths)}
        assert [file.path for file in shown] == sorted(
            (file.path for file in shown), key=place.__getitem__
        )
        drawn = {(file.path, line) for file in shown for _, line, _ in file.symbols}
        listed = [(one["path"], one["line"]) for one in data["symbols"]]
        assert set(listed) == drawn
        assert len(listed) == len(drawn)
        names = {(one["path"], one["name"]) for one in data["symbols"]}
        around = {(one["path"], one["parent"]) for one in data["symbols"] if one["parent"]}
        assert around <= names, "members are shown under their class"


@ASKS
def test_the_first_files_are_shown_in_rank_order(fleet: Path, kedge: Kedge, text: str) -> None:
    best = [file["path"] for file in ask(kedge, text, 4000)["files"]][:5]
    for budget in BUDGETS[3:]:
        shown, _ = read_map(ask(kedge, text, budget)["text"])
        assert [file.path for file in shown][:5] == best, budget
        assert shown[0].symbols


@ASKS
def test_a_larger_budget_shows_more_files_and_definitions(
    fleet: Path, kedge: Kedge, text: str
) -> None:
    found = [ask(kedge, text, budget) for budget in (300, 800, 1500)]
    sizes = [(len(data["files"]), len(data["symbols"])) for data in found]
    assert sizes == sorted(set(sizes))


@ASKS
def test_the_same_bytes_each_time(fleet: Path, kedge: Kedge, text: str) -> None:
    first = ask(kedge, text, 1500)
    for seed in ("0", "5"):
        words = ["--for", text] if text else []
        ran = kedge("map", *words, "--json", "--no-cache", env={"PYTHONHASHSEED": seed})
        assert ran.data == first


def test_names_with_braces_or_commas_are_not_grouped(fleet: Path, kedge: Kedge) -> None:
    text = kedge("map", "--tokens", "4000", "--output", "-").out
    assert "{" in text.partition("\nalso\n")[2]
    for path in ODD[:2]:
        assert f"\n{path}\n" in text


def test_a_file_has_six_definitions_at_most_unless_there_are_few_files(
    repo: Path, kedge: Kedge
) -> None:
    fill(repo, {"ship.py": "".join(f"def moor_{n}(): pass\n" for n in range(40))})
    assert len(kedge.json("map", "--tokens", "4000")["symbols"]) >= 15
    fill(repo, {f"more{n}.py": f"def more_{n}(): pass\n" for n in range(30)})
    symbols = kedge.json("map", "--tokens", "4000")["symbols"]
    assert sum(one["path"] == "ship.py" for one in symbols) <= 6

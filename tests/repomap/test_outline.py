"""Which definitions a map without a text shows."""

from __future__ import annotations

from pathlib import Path

from repomap.port import fill
from support import Kedge, git

BODY = "".join(f"    total = total + {number}\n" for number in range(40))


def commit(repo: Path, files: dict[str, str], subject: str) -> None:
    for path, text in files.items():
        (repo / path).parent.mkdir(parents=True, exist_ok=True)
        (repo / path).write_text(text)
    git(repo, "add", "-A")
    git(repo, "commit", "--quiet", "-m", subject)


def find_places(shown: str, *names: str) -> list[int]:
    """Return the places of the lines with these names, -1 for one that is not shown."""
    lines = shown.splitlines()
    return [next((at for at, line in enumerate(lines) if name in line), -1) for name in names]


def test_a_change_counts_for_one_of_the_definitions_that_share_a_name(
    repo: Path, kedge: Kedge
) -> None:
    """Git names a changed method, not its class."""

    def write(step: int) -> str:
        return "".join(
            f"class Ship{number}:\n"
            f"  def arrive(self):\n    total = {step if number == 0 else 0}\n{BODY}\n"
            f"  def leave{number}(self):\n    total = {step // 2 if number == 8 else 0}\n{BODY}\n"
            for number in range(9)
        )

    fill(repo)
    for step in range(9):
        commit(repo, {"fleet.py": write(step)}, f"fleet: change {step}")
    shown = kedge("map", "--tokens", "500", "--output", "-").out
    assert "def leave8" in shown


def test_a_test_beside_the_code_comes_after_it(repo: Path, kedge: Kedge) -> None:
    source = (
        f"int berthTest(int total) {{\n{BODY}{BODY}}}\n\n"
        f"int berthShip(int total) {{\n{BODY}}}\n\n"
        + "".join(f"int berth{letter}(int total) {{\n{BODY}}}\n\n" for letter in "BCDEFGHIJKLMNO")
    )
    others = {f"src/other{number}.c": f"int other{number}(void) {{}}\n" for number in range(20)}
    commit(repo, {"src/berth.c": source, **others}, "berth: first")
    shown = kedge("map", "--output", "-").out
    assert "berthShip" in shown
    assert "berthTest" not in shown


def test_a_file_of_values_is_not_shown_before_code(repo: Path, kedge: Kedge) -> None:
    files = {f"src/berth{n}.py": f"def berth{n}(total):\n{BODY}" for n in range(60)}
    for step in range(6):
        values = "".join(f"val setting{n} = {step}\n" for n in range(9))
        commit(repo, {"build.gradle.kts": values, **files}, f"build: change {step}")
    assert kedge("map", "--explain", "build.gradle.kts", "--json").data["place"] <= 5
    shown = kedge("map", "--tokens", "500", "--output", "-").out
    assert "val setting" not in shown
    code, also, settings = find_places(shown, "src/berth", "also", "build.gradle.kts")
    assert code < also < settings


def test_a_typedef_begins_at_its_first_line(repo: Path, kedge: Kedge) -> None:
    fields = "".join(f"    int field{number};\n" for number in range(30))
    commit(repo, {"src/ship.h": f"#define A 1\n\ntypedef struct {{\n{fields}}} ship;\n"}, "ship")
    assert "  3 typedef struct {…} ship" in kedge("map", "--output", "-").out.splitlines()

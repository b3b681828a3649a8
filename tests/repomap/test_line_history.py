"""How often definitions changed, read from git's hunk headers."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from support import Kedge, git

from kedge.host import project
from kedge.repomap import line_history
from kedge.repomap.line_history import Changes

SHIP = """class Ship:
    length = 1

    def moor(self):
        line = 0
        knot = 0
        bell = 0
        return line, knot, bell

    def sail(self):
        return 0
"""
MANY = [f"def moor_{n}():\n    berth = {n}\n    return 0\n" for n in range(41)]


def commit(repo: Path, files: dict[str, str], subject: str = "paint") -> None:
    for name, text in files.items():
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(text)
    git(repo, "add", "-A")
    git(repo, "commit", "--quiet", "-m", subject)


def read_changes(repo: Path) -> Changes:
    found = project.find(repo).repo
    assert found is not None
    return line_history.read_changes(found)


def test_the_innermost_definition_around_a_change_is_counted(repo: Path) -> None:
    commit(repo, {"ship.py": SHIP})
    assert read_changes(repo) == {}, "a new file is not a change of its definitions"
    commit(repo, {"ship.py": SHIP.replace("return 0", "return 1")})
    assert read_changes(repo) == {"ship.py": {"sail": 1.0}}
    commit(repo, {"ship.py": SHIP.replace("length = 1", "length = 2")})
    assert set(read_changes(repo)["ship.py"]) == {"Ship", "sail"}


def test_two_hunks_of_one_commit_in_a_definition_count_once(repo: Path) -> None:
    commit(repo, {"ship.py": SHIP})
    commit(repo, {"ship.py": SHIP.replace("line = 0", "line = 1").replace("bell = 0", "bell = 1")})
    assert git(repo, "log", "-1", "-p", "-U0").count("\n@@ ") == 2
    assert read_changes(repo) == {"ship.py": {"moor": 1.0}}


def test_each_commit_counts_and_older_ones_count_less(repo: Path) -> None:
    for number in range(3):
        commit(repo, {"ship.py": SHIP.replace("line = 0", f"line = {number}")})
    assert read_changes(repo)["ship.py"]["moor"] == pytest.approx(1 + 200 / 201)


@pytest.mark.parametrize(("changed", "counted"), [(40, 40), (41, 0)])
def test_a_commit_that_changes_very_many_definitions_is_ignored(
    repo: Path, changed: int, counted: int
) -> None:
    commit(repo, {"many.py": "\n".join(MANY)})
    after = [one.replace("return 0", "return 1") for one in MANY[:changed]]
    commit(repo, {"many.py": "\n".join([*after, *MANY[changed:]])})
    assert len(read_changes(repo).get("many.py", {})) == counted


def test_a_very_large_file_is_not_compared(repo: Path) -> None:
    data = "# ballast\n" * 110_000
    commit(repo, {"ship.py": SHIP, "data.py": SHIP + data})
    sailing = SHIP.replace("return 0", "return 1")
    commit(repo, {"ship.py": sailing, "data.py": sailing + data})
    assert set(read_changes(repo)) == {"ship.py"}


def test_changes_belong_to_the_file_that_has_them(repo: Path) -> None:
    names = ["a.py", "my ship.py", 'q"uoted.py', "zürich.py"]
    commit(repo, dict.fromkeys(names, SHIP))
    changed = SHIP.replace("bell = 0", "bell = 1")
    quoted = SHIP.replace("return 0", "return 1")
    commit(repo, {**dict.fromkeys(names[1:], changed), names[2]: quoted})
    assert set(read_changes(repo)) == {"my ship.py", "zürich.py"}, "git quotes the other path"
    assert read_changes(repo)["my ship.py"] == {"moor": 1.0}


def test_nothing_of_the_repository_is_run(repo: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    commit(repo, {"ship.py": SHIP, ".gitattributes": "*.py diff=evil\n"})
    for key in ("command", "textconv"):
        git(repo, "config", f"diff.evil.{key}", f"touch {mark};")
    commit(repo, {"ship.py": SHIP.replace("return 0", "return 1")})
    read_changes(repo)
    assert not mark.exists()


@pytest.mark.parametrize("is_partial", [False, True], ids=["a full clone", "a partial clone"])
def test_a_partial_clone_reads_no_patches(
    repo: Path, kedge: Kedge, tmp_path: Path, is_partial: bool
) -> None:
    commit(repo, {"ship.py": SHIP})
    commit(repo, {"ship.py": SHIP.replace("return 0", "return 1")})
    if is_partial:
        git(repo, "config", "remote.upstream.promisor", "true")
    program, log = tmp_path / "bin" / "git", tmp_path / "git.log"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$*" >> {log}\nexec {shutil.which("git")} "$@"\n'
    )
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    assert "def sail(self)" in kedge("map", "--output", "-", env={"PATH": path}).out
    calls = log.read_text().splitlines()
    assert any(" log " in call for call in calls)
    assert any("--patch" in call for call in calls) != is_partial


def test_the_map_works_without_commits_and_without_git(
    repo: Path, kedge: Kedge, tmp_path: Path
) -> None:
    (repo / "ship.py").write_text(SHIP)
    shutil.copytree(repo, tmp_path / "plain", ignore=shutil.ignore_patterns(".git"))
    expected = "ship.py\n  1 class Ship\n    4 def moor(self)\n    10 def sail(self)\n"
    for place in (repo, tmp_path / "plain"):
        ran = kedge("map", "--output", "-", cwd=place)
        assert expected in ran.out
        assert ran.err == ""


def test_a_lost_object_is_reported_and_not_cached(repo: Path, kedge: Kedge) -> None:
    commit(repo, {"ship.py": SHIP})
    commit(repo, {"ship.py": SHIP.replace("return 0", "return 1")})
    name = git(repo, "rev-parse", "HEAD~1:ship.py").strip()
    lost = repo / ".git" / "objects" / name[:2] / name[2:]
    data = lost.read_bytes()
    lost.unlink()
    ran = kedge("map", "--output", "-")
    assert "def sail(self)" in ran.out
    assert "git's history cannot be read" in ran.err
    lost.write_bytes(data)
    ran = kedge("map", "--output", "-")
    assert ran.err == ""
    kept = kedge.json("map")["symbols"]
    assert kept == kedge.json("map", "--no-cache")["symbols"]


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("    async def moor(self, line):", "moor"),
        ("class Ship(Vessel):", "Ship"),
        ("func (s *Ship) Moor(line string) error {", "Moor"),
        ("pub fn moor<T>(line: T) -> bool {", "moor"),
        ("impl<T> Vessel for Ship<T> {", "Ship"),
        ("  def self.moor(line)", "moor"),
        ("static int moor_ship(struct ship *s, const char *line)", "moor_ship"),
        ("const struct ship *find_ship(int berth)", "find_ship"),
        ("enum class Tide : int {", "Tide"),
        ("pub(crate) const fn moor(line: &Line) -> bool {", "moor"),
        ("export const moor = async (line) => {", "moor"),
        ("typedef struct ship {", "ship"),
        ("Ship::~Ship() {", "~Ship"),
        ("void Ship::moor(int line)", "moor"),
        ("public boolean moor(Line line) {", "moor"),
        ("export function moorShip(line) {", "moorShip"),
        ("A sentence of a document", None),
        ("", None),
    ],
)
def test_the_name_in_a_hunk_header(header: str, name: str | None) -> None:
    assert line_history.find_name(header) == name

"""Related files that a map stores for hooks."""

from __future__ import annotations

import contextlib
import itertools
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from repomap.port import fill
from support import Kedge, git

from kedge.host import project
from kedge.repomap import build, neighbour_writer, neighbours
from kedge.repomap.cache import Cache
from kedge.repomap.listing import list_files
from kedge.repomap.neighbours import BOTH, MOST, NAMES, PAST, Neighbours
from kedge.repomap.tree_data import TreeData
from kedge.store import sqlite
from kedge.store.migrations import migrate

TIDE, BERTH, INVOICE = (f"src/harbour/{name}.py" for name in ("tide", "berth", "invoice"))
UNUSED = "src/harbour/aaa_unused.py"


class Seen(NamedTuple):
    near: dict[str, str]
    lacks: tuple[str, ...]
    warnings: list[str]


def look(root: Path, path: str) -> Seen:
    home = project.find(root).home()
    with contextlib.closing(sqlite.connect(home)[0]) as db:
        found = Neighbours(db, str(root))
        near = found.near(path)
        assert found.near(path) is near
        return Seen(dict(near), found.lacks, found.warnings)


def near(root: Path, path: str) -> dict[str, str]:
    """The neighbours, without warnings and without missing maps."""
    found = look(root, path)
    assert (found.lacks, found.warnings) == ((), [])
    return found.near


def commit(root: Path, files: Mapping[str, str], subject: str = "more") -> None:
    fill(root, dict(files))
    git(root, "add", "-A")
    git(root, "commit", "--quiet", "-m", subject)


def make(root: Path) -> None:
    """Make a map as `kedge map` does, in this process."""
    here = project.find(root)
    with contextlib.closing(Cache(here.home())) as cache:
        assert build.make_map(here, build.MapRequest(), cache).warnings == []


@contextlib.contextmanager
def database(root: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(root / ".git" / "kedge" / "kedge.db")) as db, db:
        yield db


LANGUAGES = {
    "python": (
        {
            "port/berth.py": "class Berth:\n    def moor_boat(self): pass\n",
            "port/tide.py": "from port.berth import Berth\n\ndef depth(): return Berth()\n",
            "port/crane.py": "def lift(): pass\n",
        },
        ("port/tide.py", "port/berth.py", "port/crane.py"),
    ),
    "typescript": (
        {
            "src/berth.ts": "export class Berth {\n  moorBoat(): void {}\n}\n",
            "src/tide.ts": "import { Berth } from './berth'\nexport const b = new Berth()\n",
            "src/crane.ts": "export function liftCargo() {}\n",
        },
        ("src/tide.ts", "src/berth.ts", "src/crane.ts"),
    ),
    "go": (
        {
            "go.mod": "module example.org/port\n",
            "berth/berth.go": "package berth\n\nfunc MoorBoat() {}\n",
            "tide/tide.go": 'package tide\n\nimport "example.org/port/berth"\n\n'
            "func Depth() { berth.MoorBoat() }\n",
            "crane/crane.go": "package crane\n\nfunc LiftCargo() {}\n",
        },
        ("tide/tide.go", "berth/berth.go", "crane/crane.go"),
    ),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_imports_and_names_relate_files_in_both_directions(
    repo: Path, kedge: Kedge, language: str
) -> None:
    files, (user, used, other) = LANGUAGES[language]
    for path, text in files.items():  # one commit each, so that no files change together
        commit(repo, {path: text})
    kedge("map")
    assert near(repo, user) == {used: NAMES}
    assert near(repo, used) == {user: NAMES}
    assert near(repo, other) == {}


def test_files_that_change_together_are_related(repo: Path, kedge: Kedge) -> None:
    for path in ("lantern.py", "bell.py", "rope.py"):
        commit(repo, {path: f"{path[:-3]}_count = 0\n"})
    for number in range(3):
        both = {path: f"{path[:-3]}_count = {number + 1}\n" for path in ("lantern.py", "bell.py")}
        commit(repo, both)
    kedge("map")
    assert near(repo, "lantern.py") == {"bell.py": PAST}
    assert near(repo, "bell.py") == {"lantern.py": PAST}
    assert near(repo, "rope.py") == {}
    (repo / "rope.py").write_text("from lantern import lantern_count\n")
    (repo / "bell.py").write_text("from lantern import lantern_count\n")
    kedge("map")
    assert near(repo, "rope.py") == {"lantern.py": NAMES}
    assert near(repo, "lantern.py") == {"bell.py": BOTH, "rope.py": NAMES}


def test_only_existing_files_that_are_not_vendored_are_partners(repo: Path, kedge: Kedge) -> None:
    others = ("deploy.conf", "gone.py", "vendor/lib.py")
    for number in range(2):
        commit(repo, dict.fromkeys(("lantern.py", *others), f"light = {number}\n"))
    git(repo, "rm", "--quiet", "gone.py")
    git(repo, "commit", "--quiet", "-m", "no more")
    kedge("map")
    assert near(repo, "lantern.py") == {"deploy.conf": PAST}
    assert near(repo, "deploy.conf") == {"lantern.py": PAST}


def test_the_number_of_neighbours_is_limited_and_the_nearest_come_first(
    repo: Path, kedge: Kedge
) -> None:
    users = {f"user_{n}.py": "from berth import Berth\n" + "Berth()\n" * (n % 3) for n in range(40)}
    commit(repo, {"berth.py": "class Berth:\n    pass\n", **users, "close.py": "Berth()\n"})
    commit(repo, {"berth.py": "class Berth:\n    name = ''\n", "close.py": "Berth().name\n"})
    kedge("map")
    found = list(near(repo, "berth.py"))
    assert len(found) == MOST
    assert found[0] == "close.py"


def test_an_unknown_path_has_no_neighbours(harbour: Path, kedge: Kedge) -> None:
    kedge("map")
    for path in ("nowhere.py", "", "/etc/passwd", "../outside.py", "vendor/tide/tide.py"):
        assert near(harbour, path) == {}


@example("\ud800\udc80")
@given(st.text(st.characters(exclude_categories=())))
def test_any_text_can_be_looked_up(path: str) -> None:
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        migrate(db)
        found = Neighbours(db, str(Path(__file__).parent))
        assert found.near(path) == {}
        assert found.warnings == []


def test_without_a_map_the_map_is_reported_as_missing(harbour: Path, kedge: Kedge) -> None:
    assert look(harbour, TIDE) == Seen({}, ("map",), [])
    kedge("map", "--for", "high water")  # only computes the neighbours of a few files
    assert look(harbour, TIDE) == Seen({}, ("map",), [])
    kedge("map")
    assert BERTH in near(harbour, TIDE)


def test_after_a_commit_the_last_map_answers_and_is_reported_as_outdated(
    harbour: Path, kedge: Kedge
) -> None:
    kedge("map")
    commit(harbour, {UNUSED: "from harbour.tide import high_water\n"})
    found = look(harbour, TIDE)
    assert found.lacks == ("map",)
    assert BERTH in found.near
    assert UNUSED not in found.near
    kedge("map")
    assert near(harbour, TIDE)[UNUSED] == NAMES
    for where in (["pack-refs", "--all"], ["checkout", "--quiet", "--detach"]):
        git(harbour, *where)
        assert UNUSED in near(harbour, TIDE)
    commit(harbour, {"README.md": "# Port\n"})
    found = look(harbour, TIDE)
    assert (UNUSED in found.near, found.lacks) == (True, ("map",))


def test_a_renamed_file(harbour: Path, kedge: Kedge) -> None:
    kedge("map")
    quay = "src/harbour/quay.py"
    git(harbour, "mv", BERTH, quay)
    for path in (harbour / "src" / "harbour").glob("*.py"):
        path.write_text(path.read_text().replace("harbour.berth", "harbour.quay"))
    kedge("map")
    assert near(harbour, TIDE)[quay] == NAMES
    assert TIDE in near(harbour, quay)
    assert BERTH not in near(harbour, TIDE)
    assert near(harbour, BERTH) == {}


def test_work_trees_share_a_commit_and_keep_their_changes_apart(
    harbour: Path, kedge: Kedge, tmp_path: Path
) -> None:
    kedge("map")
    second = tmp_path / "second"
    git(harbour, "worktree", "add", "--quiet", str(second))
    assert near(second, TIDE) == near(harbour, TIDE)
    fill(second, {"src/harbour/ferry.py": "from harbour.tide import high_water\n"})
    kedge("map", cwd=second)
    assert "src/harbour/ferry.py" in near(second, TIDE)
    assert "src/harbour/ferry.py" not in near(harbour, TIDE)
    kedge("map")
    assert "src/harbour/ferry.py" in near(second, TIDE)


def test_neighbours_of_another_branch_are_kept(harbour: Path, kedge: Kedge) -> None:
    kedge("map")
    git(harbour, "checkout", "--quiet", "-b", "other")
    commit(harbour, {UNUSED: "from harbour.tide import high_water\n"})
    kedge("map")
    assert UNUSED in near(harbour, TIDE)
    git(harbour, "checkout", "--quiet", "main")
    assert UNUSED not in near(harbour, TIDE)
    git(harbour, "checkout", "--quiet", "other")
    assert UNUSED in near(harbour, TIDE)


def test_repositories_that_share_a_home_are_kept_apart(
    harbour: Path, kedge: Kedge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEDGE_HOME", str(tmp_path / "home"))
    kedge("map")
    assert BERTH in near(harbour, TIDE)
    git(tmp_path, "clone", "--quiet", str(harbour), "clone")
    assert look(tmp_path / "clone", TIDE) == Seen({}, ("map",), [])


def test_outside_git(tmp_path: Path, kedge: Kedge) -> None:
    plain = tmp_path / "plain"
    fill(plain)
    (plain / ".kedge").mkdir()
    kedge("map", cwd=plain)
    assert near(plain, TIDE)[BERTH] == NAMES


def test_only_changed_rows_are_written(repo: Path) -> None:
    commit(repo, {f"ship_{n}.py": f"def sail_{n}(): return sail_{n - 1}\n" for n in range(60)})
    make(repo)
    with database(repo) as db:
        db.execute("CREATE TABLE written (tree, file)")
        db.execute(
            "CREATE TRIGGER noted AFTER INSERT ON map_near"
            " BEGIN INSERT INTO written VALUES (new.tree, new.file); END"
        )
    (repo / "ship_7.py").write_text("def sail_7(): return sail_30\n")
    make(repo)
    assert near(repo, "ship_7.py").keys() == {"ship_30.py", "ship_8.py"}
    with database(repo) as db:
        assert 0 < db.execute("SELECT count(*) FROM written").fetchone()[0] <= 4


def test_many_rows_are_written_in_short_transactions(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hook waits half a second for the database, and another writer may come between two."""
    monkeypatch.setattr(neighbour_writer, "_BATCH", 10)
    commit(repo, {f"ship_{n}.py": f"def sail_{n}(): return sail_{n - 1}\n" for n in range(60)})
    make(repo)
    with database(repo) as db:
        db.execute("UPDATE map_tree SET version = 'old'")
        db.execute("DELETE FROM map_near WHERE hex(file) < '8'")
        db.execute("UPDATE map_near SET file = CAST(file || 'x' AS BLOB) WHERE hex(file) > 'C'")
    here = project.find(repo)
    statements: list[str] = []
    with contextlib.closing(Cache(here.home())) as cache:
        cache.use(lambda db: db.set_trace_callback(statements.append))
        listing = list_files(here)
        ranker = TreeData(here, listing, cache).ranker
        neighbour_writer.keep_neighbours(cache, here, listing, ranker)
    sizes = [0]
    for statement in statements:
        sizes[-1] += "map_near" in statement and not statement.startswith("SELECT")
        sizes += [0] if statement == "COMMIT" else []
    assert max(sizes) == 10
    assert sum(sizes) > 40
    assert near(repo, "ship_7.py").keys() == {"ship_6.py", "ship_8.py"}


def test_only_the_newest_trees_are_kept(harbour: Path) -> None:
    for number in range(11):
        commit(harbour, {UNUSED: f"count = {number}\n"})
        make(harbour)
    with database(harbour) as db:
        rows = db.execute("SELECT number, place FROM map_tree").fetchall()
        used = {number for (number,) in db.execute("SELECT DISTINCT tree FROM map_near")}
    assert len(rows) == 16
    assert used == {number for number, _ in rows}
    assert BERTH in near(harbour, TIDE)


def test_a_cached_map_without_neighbours_is_rebuilt(harbour: Path, kedge: Kedge) -> None:
    kedge("map")
    with database(harbour) as db:
        db.execute("DELETE FROM map_tree")
    assert look(harbour, TIDE).lacks == ("map",)
    kedge("map")
    assert BERTH in near(harbour, TIDE)


def test_neighbours_are_not_stored_if_a_file_could_not_be_read(harbour: Path, kedge: Kedge) -> None:
    commit(harbour, {TIDE: "def high_water(): pass\n"})
    first = git(harbour, "rev-parse", "HEAD~1").strip()
    lost = harbour / ".git" / "objects" / first[:2] / first[2:]
    data = lost.read_bytes()
    lost.unlink()
    assert "git's history cannot be read" in kedge("map").err
    assert look(harbour, TIDE).lacks == ("map",)
    lost.write_bytes(data)
    kedge("map")
    assert near(harbour, INVOICE)[BERTH] == NAMES


DAMAGE = {
    "zeros": "UPDATE map_near SET data = zeroblob(length(data))",
    "nothing": "UPDATE map_near SET data = x''",
    "text": "UPDATE map_near SET data = 'abcd' || hex(data)",
    "a number": "UPDATE map_near SET data = 7",
    "a bit": "UPDATE map_near SET data = substr(data, 1, length(data) - 1) || x'ff'",
}


@pytest.mark.parametrize("how", DAMAGE)
def test_damaged_rows_give_one_warning_and_are_repaired(
    harbour: Path, kedge: Kedge, how: str
) -> None:
    kedge("map")
    with database(harbour) as db:
        db.execute(DAMAGE[how])
    found = look(harbour, TIDE)
    assert (found.near, found.lacks) == ({}, ("map",))
    assert len(found.warnings) == 1
    assert "was damaged; the next map rebuilds it" in found.warnings[0]
    told = list(itertools.takewhile(bool, (look(harbour, TIDE).warnings for _ in range(4))))
    assert len(told) <= 1  # tree and history may both be damaged
    kedge("map")
    assert near(harbour, TIDE)[BERTH] == NAMES


def test_a_damaged_neighbour_does_not_hide_the_others(harbour: Path, kedge: Kedge) -> None:
    kedge("map")
    with database(harbour) as db:
        for file, data in db.execute("SELECT file, data FROM map_near").fetchall():
            if BERTH.encode() in data:
                db.execute("UPDATE map_near SET data = x'00' WHERE file = ?", (file,))
    found = look(harbour, TIDE)
    assert BERTH not in found.near
    assert "tests/test_tide.py" in found.near
    assert len(found.warnings) == 1


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE map_tree SET version = '1'",
        "UPDATE map_tree SET past = 7, place = 8",
        "UPDATE map_tree SET past = x'ff00'",
    ],
)
def test_rows_of_another_version_are_replaced(harbour: Path, kedge: Kedge, change: str) -> None:
    kedge("map")
    with database(harbour) as db:
        db.execute("DELETE FROM map_tree WHERE place = ''")
        db.execute(change)
    found = look(harbour, TIDE)
    assert (found.lacks, found.warnings) == (("map",), [])
    kedge("map")
    assert BERTH in near(harbour, TIDE)


@pytest.mark.parametrize("table", ["map_near", "map_tree"])
def test_a_missing_table_is_only_a_warning(harbour: Path, kedge: Kedge, table: str) -> None:
    kedge("map")
    with database(harbour) as db:
        db.execute(f"DROP TABLE {table}")
    found = look(harbour, TIDE)
    assert found.near == {}
    assert ["cannot be read" in told for told in found.warnings] == [True]
    (harbour / UNUSED).write_text("from harbour.tide import high_water\n")
    ran = kedge("map", "--output", "-")
    assert TIDE in ran.out
    assert "the map is not cached" in ran.err


ASKING = """
import json, sys
sys.path.insert(0, sys.argv[1])
from kedge.repomap.neighbours import Neighbours
from kedge.store import sqlite
found = Neighbours(sqlite.connect(sys.argv[2])[0], sys.argv[3])
print(json.dumps([dict(found.near(sys.argv[4])), found.lacks, sorted(sys.modules)]))
"""


def test_a_lookup_imports_neither_git_nor_the_map(harbour: Path, kedge: Kedge) -> None:
    kedge("map")
    source = Path(neighbours.__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-I", "-c", ASKING, source, harbour / ".git" / "kedge", harbour, TIDE],
        env={"PATH": ""},
        capture_output=True,
        check=True,
    )
    found, lacks, modules = json.loads(done.stdout)
    assert found == near(harbour, TIDE)
    assert (BERTH in found, lacks) == (True, [])
    ours = {name for name in modules if name.startswith("kedge.repomap.")}
    assert ours == {"kedge.repomap.cache", "kedge.repomap.neighbours"}
    heavy = {"click", "msgspec", "tree_sitter", "subprocess", "sqlite3", "pathlib", "hashlib"}
    assert heavy.isdisjoint(modules)

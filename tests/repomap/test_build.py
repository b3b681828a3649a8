"""`kedge map` on real repositories, through the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from repomap.port import FILES, fill
from support import Kedge, assert_clear, git

from kedge.host import tokens


def paths(data: dict[str, list[dict[str, str]]]) -> list[str]:
    return [file["path"] for file in data["files"]]


def test_the_map_is_written_within_its_budget(harbour: Path, kedge: Kedge) -> None:
    assert kedge("map").out.startswith(".kedge/map.md: ")
    text = (harbour / ".kedge" / "map.md").read_text()
    assert tokens.count(text) <= 1500
    for words in ("Python ≥3.11", "pytest", "src/harbour/berth.py", "class Berth"):
        assert words in text
    assert "return bool(boat)" not in text
    seen = git(harbour, "status", "--porcelain", "-uall")
    assert seen == "?? .kedge/.gitignore\n"
    for budget in (200, 400):
        data = kedge.json("map", "--tokens", str(budget))
        assert data["tokens"] <= budget
        assert tokens.count(data["text"]) <= budget


def test_files_that_match_the_text_come_first(harbour: Path, kedge: Kedge) -> None:
    tide = paths(kedge.json("map", "--for", "high water is wrong at neap tide"))
    bill = paths(kedge.json("map", "--for", "the invoice total forgets a night"))
    assert tide[0] == "src/harbour/tide.py"
    assert bill[0] == "src/harbour/invoice.py"
    named = paths(kedge.json("map", "--for", "look at aaa_unused.py please"))
    assert named[0] == "src/harbour/aaa_unused.py"
    kedge("task", "add", "Invoice by the night", "--id", "t-1")
    assert paths(kedge.json("map", "--task", "t-1"))[0] == "src/harbour/invoice.py"
    assert_clear(kedge("map", "--task", "t-9", code=1), code=1, says="no task 't-9'")


def test_without_a_text_used_files_come_before_unused_ones(harbour: Path, kedge: Kedge) -> None:
    order = paths(kedge.json("map"))
    assert order.index("src/harbour/berth.py") < order.index("src/harbour/aaa_unused.py")
    assert order.index("src/harbour/berth.py") < order.index("tests/test_tide.py")


def test_symbols_have_a_file_a_line_and_a_signature(harbour: Path, kedge: Kedge) -> None:
    data = kedge.json("map", "--for", "high water at a berth")
    found = {(s["path"], s["name"]): s for s in data["symbols"]}
    symbol = found["src/harbour/tide.py", "depth_at"]
    assert symbol["line"] == 8
    assert symbol["signature"] == "def depth_at(berth: Berth, hour: int) -> float"
    assert data["languages"][0]["name"] == "Python"
    assert data["languages"][0]["failed"] == 0


def test_vendored_generated_and_minified_files_are_left_out(harbour: Path, kedge: Kedge) -> None:
    text = kedge("map", "--for", "high water tide table", "--tokens", "8000", "--output", "-").out
    for name in ("vendor/", "app.min.js", "tables_pb2", "made.py"):
        assert name not in text


def test_a_vendored_file_is_shown_if_the_text_names_it(harbour: Path, kedge: Kedge) -> None:
    data = kedge.json("map", "--for", "why does vendor/tide/tide.py say so?")
    assert paths(data)[0] == "vendor/tide/tide.py"
    assert "def high_water()" in data["text"]
    assert "app.min.js" not in data["text"]


def test_caches_clones_and_hash_seeds_do_not_change_the_map(
    harbour: Path, kedge: Kedge, tmp_path: Path
) -> None:
    ask = ["map", "--for", "high water at the berth", "--output", "-"]
    cold = kedge(*ask).out
    assert kedge(*ask).out == cold
    assert kedge(*ask, "--no-cache").out == cold
    for seed in ("0", "1", "7"):
        assert kedge(*ask, "--no-cache", env={"PYTHONHASHSEED": seed}).out == cold
    clone = tmp_path / "elsewhere" / "repo"
    git(tmp_path, "clone", "--quiet", str(harbour), str(clone))
    assert kedge(*ask, cwd=clone).out == cold
    git(harbour, "worktree", "add", "--quiet", str(tmp_path / "tree" / "repo"))
    assert kedge(*ask, cwd=tmp_path / "tree" / "repo").out == cold
    (harbour / "src" / "harbour" / "tide.py").touch()
    assert kedge(*ask).out == cold


@pytest.mark.parametrize("ask", [["--for", "high water at the berth"], []], ids=["text", "plain"])
def test_after_changes_a_cached_map_equals_a_new_one(
    harbour: Path, kedge: Kedge, ask: list[str]
) -> None:
    def check(*shown: str) -> None:
        warm = kedge("map", *ask, "--output", "-").out
        assert warm == kedge("map", *ask, "--no-cache", "--output", "-").out
        for words in shown:
            assert words in warm

    source = harbour / "src" / "harbour"
    check("src/harbour/tide.py")
    (source / "tide.py").write_text("class HighWater:\n    def berth_depth(self): pass\n")
    check("class HighWater")
    (source / "new.py").write_text("from harbour.tide import HighWater\n\ndef neap(): pass\n")
    check("src/harbour/new.py")
    (source / "berth.py").rename(source / "quay.py")
    check("src/harbour/quay.py")
    (source / "invoice.py").unlink()
    (harbour / "pyproject.toml").write_text(
        '[project]\nname = "port"\nrequires-python = ">=3.13"\n'
    )
    check("Python ≥3.13")
    git(harbour, "add", "-A")
    git(harbour, "commit", "--quiet", "-m", "tide: high water has a class")
    check("class HighWater")
    for number in range(60):
        (source / f"quay_{number}.py").write_text(f"def moor_{number}(berth): return high_water\n")
    check("quay_1")
    git(harbour, "add", "-A")
    git(harbour, "commit", "--quiet", "-m", "quays")
    git(harbour, "checkout", "--quiet", "HEAD~2")
    check("class Berth")


@pytest.mark.parametrize("ask", [["--for", "high water"], ["--for", ""], ["--task", "t-1"]])
def test_a_map_for_a_text_is_printed_and_the_map_of_all_sessions_stays(
    harbour: Path, kedge: Kedge, ask: list[str]
) -> None:
    kedge("task", "add", "High water is wrong", "--id", "t-1")
    own = harbour / ".kedge" / "map.md"
    printed = kedge("map", *ask).out
    assert printed.startswith("# Map of the code\n")
    assert not own.exists()
    kedge("map")
    general = own.read_bytes()
    assert kedge("map", *ask).out == printed
    assert own.read_bytes() == general
    assert kedge("map", *ask, "--output", "tides.md").out.startswith("tides.md: ")
    assert (harbour / "tides.md").read_text() == printed
    assert_clear(kedge("map", *ask, "--check", code=2), code=2, says="not for a text or a task")


def test_check_detects_a_stale_map(harbour: Path, kedge: Kedge) -> None:
    assert_clear(kedge("map", "--check", code=4), code=4, says="map.md is stale")
    kedge("map")
    kedge("map", "--check")
    (harbour / "src" / "harbour" / "ferry.py").write_text("def sail() -> None:\n    pass\n")
    assert kedge("map", "--check", "--json", code=4).document["data"] == {"stale": True}
    kedge("map")
    assert "src/harbour/ferry.py" in (harbour / ".kedge" / "map.md").read_text()
    kedge("map", "--check")


def test_a_damaged_cache_is_replaced_with_a_warning(harbour: Path, kedge: Kedge) -> None:
    before = kedge("map", "--output", "-").out
    database = harbour / ".git" / "kedge" / "kedge.db"
    assert database.exists()
    for tail in ("-wal", "-shm"):
        database.with_name(database.name + tail).unlink(missing_ok=True)
    database.write_bytes(b"no database at all, and long enough to be read" * 100)
    ran = kedge("map", "--output", "-")
    assert ran.out == before
    assert "was damaged" in ran.err
    assert list(database.parent.glob("kedge.db.broken-*"))
    assert kedge("map", "--output", "-").err == ""


def test_several_processes_share_the_cache(harbour: Path, kedge: Kedge) -> None:
    children = [
        subprocess.Popen(
            [sys.executable, "-m", "kedge", "map", "--for", f"tide {n % 2}", "--output", "-"],
            cwd=harbour,
            stdout=subprocess.PIPE,
        )
        for n in range(6)
    ]
    texts = [child.communicate(timeout=120)[0] for child in children]
    assert all(child.returncode == 0 for child in children)
    assert len(set(texts)) <= 2
    assert all(texts)


def test_hostile_files(repo: Path, kedge: Kedge) -> None:
    fill(repo)
    odd = repo / "odd"
    odd.mkdir()
    (odd / "broken.py").write_text("def fine():\n    pass\n\nclass (((:\n  def\n")
    (odd / "large.py").write_bytes(b"x = 1\n" * 9_000_000)
    (odd / "line.js").write_text("var a = '" + "x" * 5_000_000 + "'")
    (odd / "binary.py").write_bytes(bytes(range(256)) * 200)
    (odd / "deep.py").write_text("(" * 20_000 + ")" * 20_000 + "\n")
    (odd / "loop").symlink_to(odd)
    (odd / "self.py").symlink_to("self.py")
    (odd / "new\nline.py").write_text("def new_line(): pass\n")
    (odd / os.fsdecode(b"latin-\xe4.py")).write_text("def latin(): pass\n")
    os.mkfifo(odd / "pipe.py")
    (repo / ".gitmodules").write_text("[broken")
    ran = kedge("map", "--for", "fine new_line latin", "--tokens", "4000", "--output", "-")
    text = ran.out
    assert "2 files left out because of an unprintable name" in ran.err
    assert "odd/broken.py" in text
    assert "def fine()" in text
    assert "odd/large.py" not in text
    assert "\nline.py" not in text


def test_an_empty_repository(repo: Path, kedge: Kedge) -> None:
    assert kedge("map", "--output", "-").out.startswith("# Map of the code\n")
    assert kedge.json("map")["files"] == []
    (repo / "tide.py").write_text("def fine(): ...\n")
    assert "def fine()" in kedge("map", "--output", "-").out


def test_outside_git(tmp_path: Path, kedge: Kedge) -> None:
    fill(tmp_path / "plain")
    (tmp_path / "plain" / ".gitignore").write_text("/src/harbour/invoice.py\n*.log\n")
    (tmp_path / "plain" / "x.log").write_text("x")
    text = kedge("map", "--output", "-", cwd=tmp_path / "plain").out
    assert "src/harbour/tide.py" in text
    assert "invoice.py" not in text


def test_a_shallow_clone(harbour: Path, kedge: Kedge, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{harbour}", "shallow")
    assert "src/harbour/tide.py" in kedge("map", "--output", "-", cwd=tmp_path / "shallow").out


def test_explain_shows_the_parts_of_a_score(harbour: Path, kedge: Kedge) -> None:
    ask = ["map", "--for", "high water at neap tide", "--explain"]
    data = kedge.json(*ask, "src/harbour/tide.py")
    assert (data["place"], data["factor"]) == (1, 1.0)
    assert data["parts"]["words of the file"] == 1.0
    assert abs(sum(data["parts"].values()) - data["score"]) < 0.001
    assert "src/harbour/berth.py" in data["near"]
    assert "because it is a test or a document" in kedge(*ask, "tests/test_tide.py").out
    for path, why in {
        "vendor/tide/tide.py": "vendored",
        "src/harbour/made.py": "generated",
        "nowhere.py": "from the root",
        "src/harbour/tides.py": "did you mean src/harbour/tide.py?",
    }.items():
        ran = kedge(*ask, path, code=1)
        assert_clear(ran, code=1, says="is not in the map")
        assert why in ran.err


def test_an_automatic_budget_grows_with_the_repository(harbour: Path, kedge: Kedge) -> None:
    small = kedge.json("map", "--tokens", "auto")["budget"]
    fill(harbour, {f"src/deep/file_{n}.py": f"def berth_{n}(): pass\n" for n in range(900)})
    assert 1000 <= small < kedge.json("map", "--tokens", "auto")["budget"] < 3000


def test_the_directory_tree_shows_where_the_code_is(harbour: Path, kedge: Kedge) -> None:
    fill(harbour, {f"docs/page_{n}/text.md": "# Page\n" for n in range(30)})
    text = kedge("map", "--output", "-").out
    tree = text.split("\n\n")[0].splitlines()[2:]
    assert tree == ["src/harbour/ Berths and boats (6 files) · tests/ (1)"]


def test_the_map_counts_tasks_and_attempts(harbour: Path, kedge: Kedge) -> None:
    assert "- tasks:" not in kedge("map", "--output", "-").out
    for task in ("t-1", "t-2", "t-3"):
        kedge("task", "add", f"Moor {task}", "--id", task)
    kedge("task", "claim", "t-1")
    kedge("task", "close", "t-1")
    assert "- tasks: 2 ready, 1 done; attempts: 1 done\n" in kedge("map", "--output", "-").out
    kedge("map")
    kedge("task", "close", "t-2")
    kedge("map", "--check")
    (harbour / ".kedge" / "tasks.jsonl").write_text("{broken\n")
    ran = kedge("map", "--output", "-")
    assert "src/harbour/tide.py" in ran.out
    assert "does not cover tasks" in ran.err


def test_the_map_is_only_in_git_if_the_settings_say_so(harbour: Path, kedge: Kedge) -> None:
    ignore = harbour / ".kedge" / ".gitignore"
    kedge("map")
    assert ignore.read_text() == "context/\nhome/\nmap.md\n"
    ignore.write_text("mine\nmap.md\ncontext/\nhome/\nlast")
    kedge("config", "set", "map.commit", "true")
    (harbour / "src" / "harbour" / "tide.py").unlink()
    kedge("map")
    assert ignore.read_text() == "mine\ncontext/\nhome/\nlast"
    kedge("config", "set", "map.commit", "false")
    (harbour / "src" / "harbour" / "invoice.py").unlink()
    kedge("map")
    assert ignore.read_text() == "mine\ncontext/\nhome/\nlast\nmap.md"


def test_the_graph_is_drawn(harbour: Path, kedge: Kedge) -> None:
    kedge("map", "--graph", "graph.svg")
    root = ElementTree.fromstring((harbour / "graph.svg").read_text())
    titles = [title.text or "" for title in root.iter("{http://www.w3.org/2000/svg}title")]
    assert any("tide.py uses berth.py" in title for title in titles)
    assert not any("min.js" in title for title in titles)
    again = kedge.json("map", "--graph", "again.svg")
    assert again["graph"].endswith("again.svg")
    assert (harbour / "again.svg").read_bytes() == (harbour / "graph.svg").read_bytes()
    assert kedge("map", "--graph", "-").out.encode() == (harbour / "graph.svg").read_bytes()
    assert not (harbour / "-").exists()
    ran = kedge("map", "--graph", "README.md/graph.svg", code=1)
    assert_clear(ran, code=1, says="README.md")


def test_a_progress_bar_is_shown_on_a_terminal(harbour: Path) -> None:
    shown = _on_a_terminal(harbour, "kedge.cli.progress.PATIENCE = 0")
    assert "reading the code" in shown
    assert shown.endswith("\r\x1b[K")
    assert _on_a_terminal(harbour, "pass") == ""


def _on_a_terminal(cwd: Path, first: str) -> str:
    code = (
        f"import sys, kedge.cli.progress; {first}; from kedge.cli.edge import run;"
        " sys.exit(run(['map', '--no-cache']))"
    )
    ours, theirs = os.openpty()
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, stdout=subprocess.DEVNULL, stderr=theirs, check=True
    )
    os.close(theirs)
    assert done.returncode == 0
    try:
        return os.read(ours, 100_000).decode()
    except OSError:  # nothing was written
        return ""
    finally:
        os.close(ours)


def test_a_broken_submodule(harbour: Path, kedge: Kedge) -> None:
    module = harbour / "module"
    module.mkdir()
    git(harbour, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},module")
    (module / ".git").write_text("gitdir: ../nowhere\n")
    (module / "code.py").write_text("def inside(): pass\n")
    assert "src/harbour/tide.py" in kedge("map", "--output", "-").out


def test_failures_are_reported_each_time_and_not_cached(harbour: Path, kedge: Kedge) -> None:
    confused = "def tide_of(): pass\n" + "(" * 3000 + "\n"
    (harbour / "src" / "harbour" / "tide.py").write_text(confused)
    for _ in range(2):
        ran = kedge("map", "--for", "tide_of", "--json")
        failed = ran.document["data"]["failed"]
        assert "too many syntax errors" in failed["src/harbour/tide.py"]
        assert ran.document["warnings"] == list(failed.values())
    python = next(one for one in ran.document["data"]["languages"] if one["name"] == "Python")
    assert python["failed"] == 1
    (harbour / "src" / "harbour" / "tide.py").write_text(FILES["src/harbour/tide.py"])
    assert kedge.json("map", "--for", "tide_of")["failed"] == {}


@pytest.mark.long
def test_a_hundred_thousand_files(repo: Path) -> None:
    for number in range(500):
        folder = repo / f"pkg{number % 10}" / f"mod{number}"
        folder.mkdir(parents=True)
        for place in range(200):
            (folder / f"file_{place}.py").write_text(f"def berth_{number}_{place}(): pass\n")
    git(repo, "add", "-A")
    command = [sys.executable, "-m", "kedge", "map", "--for", "berth_499_7", "--output", "-"]
    child = subprocess.Popen(command, cwd=repo, stdout=subprocess.PIPE)
    assert child.stdout is not None
    text = child.stdout.read().decode()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    child.stdout.close()
    assert child.returncode == 0
    assert "pkg9/mod499/file_7.py" in text.split("## Then")[0]
    assert usage.ru_maxrss < 500 * 1024


def test_wrong_usage(harbour: Path, kedge: Kedge) -> None:
    assert_clear(kedge("map", "--tokens", "5", code=2), code=2, says="--tokens")
    assert_clear(kedge("map", "--tokens", "many", code=2), code=2, says="or auto, not 'many'")
    assert_clear(kedge("map", "--graph", "-", "--output", "y", code=2), code=2, says="combined")
    assert_clear(kedge("map", "--for", "x", "--task", "y", code=2), code=2, says="combined")
    assert_clear(kedge("map", "--check", "--graph", "y", code=2), code=2, says="combined")

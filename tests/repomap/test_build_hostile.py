"""Hostile repositories and damaged caches do not break the map."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest
from repomap.port import fill
from support import Kedge, assert_clear, git

TIDE = Path("src", "harbour", "tide.py")


def both(kedge: Kedge, *ask: str) -> str:
    """The map; it must be the same with and without the cache."""
    kept = kedge("map", *ask, "--output", "-")
    assert kept.out == kedge("map", *ask, "--no-cache", "--output", "-").out
    return kept.out


def test_no_path_or_link_leads_out_of_the_repository(
    harbour: Path,
    kedge: Kedge,
) -> None:
    (harbour.parent / "outside.py").write_text("class Outside: pass\n")
    (harbour / "a\t..").mkdir()
    (harbour / "a\t.." / "outside.py").write_text("x = 1\n")
    (harbour / ".gitignore").write_text("secret.py\n")
    (harbour / "secret.py").write_text("class Secret: pass\n")
    (harbour / "z\tsecret.py").write_text("x = 1\n")
    elsewhere = harbour.parent / "elsewhere"
    fill(elsewhere, {"tide.py": "class Elsewhere: pass\n"})
    for path in sorted((harbour / "src" / "harbour").iterdir()):
        path.unlink()
    (harbour / "src" / "harbour").rmdir()
    (harbour / "src" / "harbour").symlink_to(elsewhere)
    text = both(kedge, "--for", "outside secret elsewhere tide", "--tokens", "4000")
    for word in ("Outside", "class Secret", "Elsewhere", "../"):
        assert word not in text


def test_odd_content_does_not_stop_the_map(harbour: Path, kedge: Kedge) -> None:
    fill(harbour, {"a.php": "<?php\nuse \\;\n", "b.js": f'import x from "./{"İ" * 60}/zzz";\n'})
    assert "src/harbour/tide.py" in both(kedge, "--for", "zebra tide zzz")
    assert "src/harbour/tide.py" in both(kedge, "--for", "tide " + "a" * 50_000 + "/" * 50_000)


def test_no_control_characters_are_shown(harbour: Path, kedge: Kedge) -> None:
    fill(
        harbour,
        {
            "src/harbour/tide.py": 'class Tide(x, "\x1b[2J"):\n    pass\n',
            "README.md": "# Tide\x1b[31m\u202eevil\n\nTide\x07 text.\n",
        },
    )
    text = both(kedge, "--for", "readme tide", "--tokens", "3000")
    assert "class Tide" in text
    assert text.replace("\n", "").isprintable()
    assert "\\u001b" not in kedge("map", "--for", "readme tide", "--json").out


def test_a_new_task_does_not_make_the_map_stale(harbour: Path, kedge: Kedge) -> None:
    fill(harbour, {f"src/module_with_a_name_{n}.py": f"def moor_{n}(): pass\n" for n in range(300)})
    for budget in ("500", "1000", "1500", "2000"):
        kedge("map", "--tokens", budget)
        kedge("task", "add", f"hello {budget}")
        kedge("map", "--tokens", budget, "--check")
    path = harbour / ".kedge" / "map.md"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert_clear(kedge("map", "--tokens", "2000", "--check", code=4), code=4, says="stale")


def test_ignored_files_have_no_influence(harbour: Path, kedge: Kedge) -> None:
    fill(harbour, {"package.json": '{"scripts": {"test": "vitest"}}', ".gitignore": "*.yaml\n"})
    (harbour / "pnpm-lock.yaml").write_text("lockfileVersion: 9\n")
    before = both(kedge)
    (harbour / "pnpm-lock.yaml").unlink()
    assert both(kedge) == before


def test_the_same_content_at_another_path_has_its_own_symbols(harbour: Path, kedge: Kedge) -> None:
    fill(harbour, {"Alpha.vue": "<script>\nconst a = 1\n</script>\n"})
    assert "component Alpha" in both(kedge, "--for", "component Alpha.vue")
    (harbour / "Beta.vue").write_bytes((harbour / "Alpha.vue").read_bytes())
    assert "component Beta" in both(kedge, "--for", "component Beta.vue")


def test_a_change_of_an_assume_unchanged_file_is_seen(harbour: Path, kedge: Kedge) -> None:
    git(harbour, "update-index", "--assume-unchanged", str(TIDE))
    (harbour / TIDE).write_text("class Second: pass\n")
    assert "class Second" in both(kedge, "--for", "tide second")
    git(harbour, "update-index", "--no-assume-unchanged", str(TIDE))
    git(harbour, "checkout", "--quiet", str(TIDE))
    text = both(kedge, "--for", "tide second")
    assert "class Second" not in text
    assert "def high_water" in text


def test_a_deepened_clone_gets_a_new_map(
    harbour: Path,
    kedge: Kedge,
    tmp_path: Path,
) -> None:
    for number in range(3):
        (harbour / "src" / "harbour" / "invoice.py").write_text(f"def total_{number}(): pass\n")
        git(harbour, "commit", "--quiet", "-am", f"lanterns {number}")
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{harbour}", "shallow")
    kedge("map", "--for", "lanterns", "--output", "-", cwd=tmp_path / "shallow")
    git(tmp_path / "shallow", "fetch", "--quiet", "--unshallow")
    ask = ["map", "--for", "lanterns", "--json"]
    kept = kedge(*ask, cwd=tmp_path / "shallow").out
    assert kept == kedge(*ask, "--no-cache", cwd=tmp_path / "shallow").out


def test_unreadable_history_is_reported_and_not_cached(harbour: Path, kedge: Kedge) -> None:
    (harbour / TIDE).write_text("def high_water(): pass\n")
    git(harbour, "commit", "--quiet", "-am", "tide")
    first = git(harbour, "rev-parse", "HEAD~1").strip()
    lost = harbour / ".git" / "objects" / first[:2] / first[2:]
    data = lost.read_bytes()
    lost.unlink()
    ran = kedge("map", "--output", "-")
    assert "src/harbour/tide.py" in ran.out
    assert "git's history cannot be read" in ran.err
    lost.write_bytes(data)
    both(kedge)


def test_damaged_cache_rows_are_rebuilt(harbour: Path, kedge: Kedge) -> None:
    before = kedge("map", "--output", "-").out
    database = sqlite3.connect(harbour / ".git" / "kedge" / "kedge.db")
    with database:
        database.execute("UPDATE map_memo SET data = x'00ff00ff00ff'")
        database.execute("UPDATE map_symbols SET data = x''")
    database.close()
    ran = kedge("map", "--output", "-")
    assert ran.out == before
    assert "cache was damaged" in ran.err
    assert kedge("map", "--output", "-").err == ""


def test_an_unreadable_ledger_does_not_stop_the_map(harbour: Path, kedge: Kedge) -> None:
    kedge("task", "add", "Moor", "--id", "t-1")
    (harbour / ".kedge" / "ledger" / "t-1.jsonl").mkdir(parents=True)
    ran = kedge("map", "--output", "-")
    assert "src/harbour/tide.py" in ran.out
    assert "does not cover tasks" in ran.err


def test_nothing_is_written_through_a_link_in_gits_directory(
    harbour: Path, kedge: Kedge, tmp_path: Path
) -> None:
    home = harbour / ".git" / "kedge"
    home.symlink_to(tmp_path)
    assert_clear(kedge("map", code=1), code=1, says="is a link")
    assert not (tmp_path / "kedge.db").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_an_unreadable_file_is_reported_and_read_later(harbour: Path, kedge: Kedge) -> None:
    (harbour / TIDE).chmod(0)
    assert "cannot be read" in kedge("map", "--output", "-").err
    (harbour / TIDE).chmod(0o644)
    ran = kedge("map", "--output", "-")
    assert ran.err == ""
    assert "src/harbour/tide.py" in ran.out

"""Anchors: whether the code that an entry is about has changed."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from support import Kedge, assert_clear, git

CODE = """import hashlib

# Why this is slow.
def hash_password(text):
    return hashlib.scrypt(text)


class Vault:
    def open(self, key):
        return key

    def close(self):
        pass


def other():
    pass
"""


@pytest.fixture
def source(repo: Path) -> Path:
    path = repo / "src" / "auth.py"
    path.parent.mkdir()
    path.write_text(CODE)
    return path


def add(kedge: Kedge, *at: str, **more: Any) -> Any:
    args = [word for one in at for word in ("--at", one)]
    text = "A fast hash is no hash for passwords."
    name = "Slow hashes for passwords"
    return kedge("knowledge", "add", name, "--type", "heuristic", "--text", text, *args, **more)


def anchors(kedge: Kedge) -> list[tuple[str, str, str]]:
    (row,) = kedge.json("knowledge", "list")
    return [(one["path"], one["symbol"], one["state"]) for one in row["anchors"]]


def note(repo: Path) -> str:
    return (repo / "docs" / "knowledge-bank" / "heuristics.md").read_text()


def test_anchor_stores_a_hash_of_the_content(repo: Path, source: Path, kedge: Kedge) -> None:
    add(kedge, "src/auth.py", "src/auth.py#hash_password", "src")
    whole = hashlib.sha256(CODE.encode()).hexdigest()[:12]
    part = "def hash_password(text):\n    return hashlib.scrypt(text)"
    one = hashlib.sha256(part.encode()).hexdigest()[:12]
    assert f"- Anchored at: src/auth.py (sha {whole})\n" in note(repo)
    assert f"- Anchored at: src/auth.py#hash_password (sha {one})\n" in note(repo)
    assert "- Anchored at: src/\n" in note(repo)
    assert {state for *_, state in anchors(kedge)} == {"current"}


@pytest.mark.parametrize(
    ("symbol", "old", "new", "state"),
    [
        ("hash_password", "scrypt(text)", "md5(text)", "drifted"),
        ("hash_password", "def other", "def another", "current"),
        ("hash_password", "class Vault:", "@final\nclass Vault:", "current"),
        ("hash_password", "import hashlib\n", "import hashlib\nimport os\n", "current"),
        ("hash_password", "def hash_password", "def digest", "orphaned"),
        ("Vault", "return key", "return None", "drifted"),
        ("Vault", "    pass\n\n\ndef other", "    return\n\n\ndef other", "drifted"),
        ("Vault.open", "return key", "return None", "drifted"),
        ("Vault.open", "def close(self):\n        pass", "def close(self): ...", "current"),
        ("Vault.open", "def open", "def unlock", "orphaned"),
        ("Vault.open", "class Vault", "class Safe", "orphaned"),
    ],
)
def test_only_changes_of_the_anchored_code_count_as_drift(
    source: Path, kedge: Kedge, symbol: str, old: str, new: str, state: str
) -> None:
    add(kedge, f"src/auth.py#{symbol}")
    assert anchors(kedge) == [("src/auth.py", symbol, "current")]
    assert old in CODE
    source.write_text(CODE.replace(old, new))
    assert anchors(kedge) == [("src/auth.py", symbol, state)]
    found = kedge("knowledge", "check", "--json", code=0 if state == "current" else 4).document
    assert [one["kind"] for one in found["data"]] == ([] if state == "current" else [state])


def test_changed_line_endings_are_not_drift(source: Path, kedge: Kedge) -> None:
    add(kedge, "src/auth.py", "src/auth.py#Vault")
    source.write_bytes(CODE.replace("\n", "\r\n").encode())
    assert [state for *_, state in anchors(kedge)] == ["current", "current"]


def test_orphaned_lesson_is_not_offered(source: Path, kedge: Kedge) -> None:
    add(kedge, "src/auth.py#hash_password")
    ask = ["knowledge", "list", "--for", "Slow hashes for passwords"]
    assert len(kedge.json(*ask)) == 1
    source.unlink()
    ran = kedge(*ask)
    assert ran.out == ""
    assert "1 orphaned left out" in ran.err
    assert kedge.json("knowledge", "list")[0]["state"] == "orphaned"


def test_lesson_with_one_anchor_left_is_not_orphaned(
    repo: Path, source: Path, kedge: Kedge
) -> None:
    (repo / "src" / "more.py").write_text("x = 1\n")
    add(kedge, "src/auth.py", "src/more.py")
    source.unlink()
    assert len(kedge.json("knowledge", "list", "--for", "slow hashes for passwords")) == 1
    assert [state for *_, state in anchors(kedge)] == ["orphaned", "current"]


def test_confirming_renews_the_anchors(repo: Path, source: Path, kedge: Kedge) -> None:
    add(kedge, "src/auth.py#hash_password")
    source.write_text(CODE.replace("scrypt", "argon"))
    confirm = ["knowledge", "confirm", "Slow hashes for passwords", "--in", "9", "--evidence"]
    kedge(*confirm, "argon is slow, too")
    assert anchors(kedge) == [("src/auth.py", "hash_password", "current")]
    source.rename(repo / "src" / "login.py")
    kedge(*confirm, "it moved", "--at", "src/login.py#hash_password")
    assert anchors(kedge) == [("src/login.py", "hash_password", "current")]
    assert note(repo).count("Anchored at") == 1


@pytest.mark.parametrize(
    ("at", "says"),
    [
        ("src/none.py", "no file src/none.py"),
        ("src/auth.py#none", "no definition 'none' in src/auth.py"),
        ("../outside.py", "is outside the project"),
        ("/etc/passwd", "is outside the project"),
        ("link.py", "leads out of"),
        ("src#x", "is a directory"),
        ("#x", "needs a path"),
    ],
)
def test_anchor_to_something_missing_is_refused(
    repo: Path, source: Path, kedge: Kedge, tmp_path: Path, at: str, says: str
) -> None:
    (tmp_path / "outside.py").write_text("x = 1\n")
    (repo / "link.py").symlink_to(tmp_path / "outside.py")
    assert_clear(add(kedge, at, code=1), code=1, says=says)
    assert not (repo / "docs").exists()


def test_handwritten_anchor_without_a_hash_is_unknown(
    repo: Path, source: Path, kedge: Kedge
) -> None:
    folder = repo / "docs" / "knowledge-bank"
    folder.mkdir(parents=True)
    (folder / "patterns.md").write_text(
        "### Pattern: By hand\n- Observed in: Feature #001\n- Anchored at: `src/auth.py`\n"
        "- Anchored at: ../../etc/passwd (sha 0123456789ab)\n- Last observed: Feature #001\n"
        "- Observation count: 1\n"
    )
    assert [state for *_, state in anchors(kedge)] == ["unknown", "orphaned"]


def test_lessons_for_a_change_are_found_by_its_paths(
    repo: Path, source: Path, kedge: Kedge
) -> None:
    add(kedge, "src/auth.py#hash_password")
    git(repo, "add", "-A")
    git(repo, "commit", "--quiet", "-m", "all")
    assert kedge("knowledge", "list", "--diff").out == ""
    source.write_text(CODE.replace("import hashlib\n", "import hashlib, hmac\n"))
    (found,) = kedge.json("knowledge", "list", "--diff")
    assert "anchored at src/auth.py" in found["why"]
    (found,) = kedge.json("knowledge", "list", "--path", "src/auth.py")
    assert found["score"] > 0

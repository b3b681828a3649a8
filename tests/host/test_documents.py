"""Documents of the project: nothing outside it is read, and a write is all or nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kedge.errors import BrokenTasks, FileError
from kedge.host import documents


def test_a_path_is_shown_relative_and_printable(tmp_path: Path) -> None:
    assert documents.display_path(tmp_path, tmp_path / "a" / "b.md") == "a/b.md"
    assert documents.display_path(tmp_path, tmp_path / "a\nb\x1b.md") == "a\ufffdb\ufffd.md"


def test_a_regular_file_inside_the_root_is_read(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"x\xff")
    (tmp_path / "link").symlink_to("real")
    assert documents.read(tmp_path, tmp_path / "real") == b"x\xff"
    assert documents.read(tmp_path, tmp_path / "link") == b"x\xff"


def test_anything_else_is_refused_with_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside").write_bytes(b"secret")
    (root / "out").symlink_to("../outside")
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "pipe")
    (root / "large").write_bytes(b"x" * 11)
    monkeypatch.setattr(documents, "MAX_BYTES", 10)
    for name, says in (
        ("out", "out: is a link that leads out of the repository"),
        ("loop", "loop: cannot be read"),
        ("pipe", "pipe: is not a file"),
        ("large", "large: has more than"),
        ("none", "none: cannot be read: no such file or directory"),
    ):
        with pytest.raises(BrokenTasks) as caught:
            documents.read(root, root / name)
        assert caught.value.message.startswith(says)
    (root / "large").write_bytes(b"x" * 10)
    assert documents.read(root, root / "large") == b"x" * 10


@pytest.mark.parametrize(
    ("data", "line", "says"),
    [
        (b"a\nb\xff\n", 2, "it is not UTF-8"),
        (b"\xff", 1, "it is not UTF-8"),
        (b"a\n\nb\0", 3, "there is a NUL in it"),
    ],
)
def test_text_that_cannot_be_decoded_is_an_error_with_its_line(
    tmp_path: Path, data: bytes, line: int, says: str
) -> None:
    with pytest.raises(BrokenTasks) as caught:
        documents.decode(tmp_path, tmp_path / "a.md", data)
    assert caught.value.message == f"a.md:{line}: {says}"
    assert caught.value.hint == "save the file as UTF-8 text"


def test_decoded_text_is_unchanged(tmp_path: Path) -> None:
    text = "\ufeffä\r\n"
    assert documents.decode(tmp_path, tmp_path / "a.md", text.encode()) == text


def test_a_failed_write_restores_all_files(tmp_path: Path) -> None:
    old, new, bad = tmp_path / "old", tmp_path / "new", tmp_path / "directory"
    old.write_bytes(b"1")
    bad.mkdir()
    changes: list[tuple[Path, bytes | None, bytes]] = [(old, b"1", b"2"), (new, None, b"2")]
    with pytest.raises(FileError):
        documents.write_all(tmp_path, [*changes, (bad, None, b"2")])
    assert old.read_bytes() == b"1"
    assert not new.exists()
    documents.write_all(tmp_path, changes)
    assert (old.read_bytes(), new.read_bytes()) == (b"2", b"2")

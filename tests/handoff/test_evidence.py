"""Evidence: a change is detected, and stored bytes are read back."""

from __future__ import annotations

import gzip
import hashlib
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import in_time

from kedge.errors import FileError, InvalidValue, KedgeError
from kedge.handoff import evidence
from kedge.handoff.artifacts import Artifacts
from kedge.handoff.evidence import (
    Evidence,
    explain_change,
    make_excerpt_evidence,
    make_file_evidence,
)
from kedge.host.project import Project

PLAN = "# Plan\n\nFirst.\n\n## Step 1\n\nDo *this*.\n\n## Step 2\n\nDo that.\n"


@pytest.fixture
def project(repo: Path) -> Project:
    (repo / "plan.md").write_text(PLAN)
    return Project(repo, None)


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_evidence_of_a_file(project: Project) -> None:
    sha = _sha(PLAN.encode())
    found = make_file_evidence(project, "./plan.md")
    assert found == Evidence(f"ev-{sha[:8]}", "file", "plan.md", "", "", sha, len(PLAN), "# Plan")
    assert explain_change(project, found) is None
    (project.root / "plan.md").write_text(PLAN + " ")
    assert explain_change(project, found) == "plan.md has changed"
    (project.root / "plan.md").unlink()
    assert explain_change(project, found) == "plan.md is missing"
    (project.root / "plan.md").mkdir()
    assert explain_change(project, found) == "plan.md is not a file"


def test_an_excerpt_by_heading_and_by_lines_is_the_same(project: Project) -> None:
    part = b"## Step 1\n\nDo *this*.\n"
    by_heading = make_excerpt_evidence(project, "plan.md", heading="Step 1")
    by_lines = make_excerpt_evidence(project, "plan.md", lines=(5, 7))
    assert by_heading == replace(by_lines, section="step-1")
    assert by_lines == Evidence(
        f"ev-{_sha(part)[:8]}", "excerpt", "plan.md", "", "L5-L7", _sha(part), 22, "## Step 1"
    )


def test_an_excerpt_that_moved_within_the_file_is_unchanged(project: Project) -> None:
    held = [
        make_excerpt_evidence(project, "plan.md", heading="step-1"),
        make_excerpt_evidence(project, "plan.md", lines=(6, 8)),
        make_excerpt_evidence(project, "plan.md", lines=(11, 11)),
    ]
    first, second = PLAN[: PLAN.index("## Step 2")], PLAN[PLAN.index("## Step 2") :]
    (project.root / "plan.md").write_text(second + "\n\nmore\n\n" + first.rstrip())
    assert [explain_change(project, one) for one in held] == [
        None,
        "plan.md:L6-L8 has changed",
        None,
    ]
    (project.root / "plan.md").write_text("\n" * 5000 + PLAN)
    assert [explain_change(project, one) for one in held] == [None, None, None]


def test_changed_evidence_is_explained(project: Project) -> None:
    held = make_excerpt_evidence(project, "plan.md", heading="Step 1")
    for other in (PLAN.replace("this", "thus"), PLAN.replace("*.", "*. "), PLAN[:30], "", "\0"):
        (project.root / "plan.md").write_text(other)
        assert explain_change(project, held) == "plan.md#step-1 has changed"


def test_the_last_line_may_lack_its_newline(project: Project) -> None:
    (project.root / "plan.md").write_text("one\ntwo")
    held = make_excerpt_evidence(project, "plan.md", lines=(2, 2))
    assert held.sha256 == _sha(b"two\n")
    (project.root / "plan.md").write_text("one\ntwo\nthree\n")
    assert explain_change(project, held) is None


def test_evidence_of_a_binary_file(project: Project) -> None:
    (project.root / "image.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0text")
    (project.root / "latin.txt").write_bytes("né\nplain\n".encode("latin1"))
    (project.root / "empty").touch()
    assert make_file_evidence(project, "image.png").first_line == ""
    assert make_file_evidence(project, "latin.txt").first_line == ""
    assert make_file_evidence(project, "empty").bytes == 0
    assert make_excerpt_evidence(project, "latin.txt", lines=(2, 2)).first_line == "plain"
    held = make_excerpt_evidence(project, "latin.txt", lines=(1, 1))
    (project.root / "latin.txt").write_bytes("x\nné\n".encode("latin1"))
    assert explain_change(project, held) is None
    with pytest.raises(FileError, match=r"latin\.txt:2: it is not UTF-8"):
        make_excerpt_evidence(project, "latin.txt", heading="x")


def test_evidence_with_windows_line_endings_and_a_byte_order_mark(project: Project) -> None:
    data = b"\xef\xbb\xbf" + PLAN.replace("\n", "\r\n").encode()
    (project.root / "plan.md").write_bytes(data)
    assert make_file_evidence(project, "plan.md").first_line == "# Plan"
    found = make_excerpt_evidence(project, "plan.md", heading="Step 1")
    assert found.line_span == "L5-L7"
    assert found.sha256 == _sha(b"## Step 1\r\n\r\nDo *this*.\r\n")


@pytest.mark.parametrize(
    ("heading", "lines", "says"),
    [
        (None, None, "needs either a heading or lines"),
        ("Step 1", (1, 2), "needs either a heading or lines"),
        ("Step 3", None, "plan.md#Step 3: no such heading; the most similar is 'Step 2'"),
        (None, (0, 1), "no lines 0 to 1"),
        (None, (2, 1), "no lines 2 to 1"),
        (None, (1, 12), "no lines 1 to 12"),
    ],
)
def test_excerpts_that_are_refused(
    project: Project, heading: str | None, lines: tuple[int, int] | None, says: str
) -> None:
    with pytest.raises(InvalidValue) as caught:
        make_excerpt_evidence(project, "plan.md", heading=heading, lines=lines)
    assert says in caught.value.message
    assert caught.value.hint


def test_sizes_are_bounded(project: Project) -> None:
    with (project.root / "big").open("wb") as big:
        big.truncate(evidence.MAX_BYTES + 1)
    (project.root / "long").write_bytes(b"x" * (evidence.MAX_EXCERPT + 1))
    with pytest.raises(FileError, match="64 MiB"):
        make_file_evidence(project, "big")
    with pytest.raises(InvalidValue, match="256 KiB"):
        make_excerpt_evidence(project, "long", lines=(1, 1))
    held = replace(make_file_evidence(project, "long"), path="big")
    assert explain_change(project, held) == "big has more than 64 MiB"


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a\0b", "out/x", "link", ".git/HEAD", ""])
def test_files_outside_the_repository_are_refused(
    project: Project, tmp_path: Path, path: str
) -> None:
    (tmp_path / "x").write_text("secret")
    (project.root / "out").symlink_to(tmp_path)
    (project.root / "link").symlink_to(tmp_path / "x")
    held = replace(make_file_evidence(project, "plan.md"), path=path)
    for attempt in (
        lambda: make_file_evidence(project, path),
        lambda: make_excerpt_evidence(project, path, lines=(1, 1)),
        lambda: explain_change(project, held),
    ):
        with pytest.raises((InvalidValue, FileError)) as caught:
            attempt()
        assert caught.value.hint


def test_evidence_of_a_missing_file_is_refused(project: Project) -> None:
    with pytest.raises(FileError, match=r"there is no file none\.md"):
        make_file_evidence(project, "none.md")


def test_the_first_line_holds_nothing_that_a_terminal_obeys(project: Project) -> None:
    (project.root / "test.log").write_bytes(b"\n\n\x1b[31mFAILED\x1b[0m one\ntwo\n")
    found = make_file_evidence(project, "test.log")
    assert found.first_line == "\\x1b[31mFAILED\\x1b[0m one"


LINES = st.lists(
    st.sampled_from([b"", b"a", b"b", b" ", b"a\r", b"\xe9", b"# a"]), min_size=1, max_size=12
)


@given(LINES, LINES, LINES)
def test_an_excerpt_is_found_if_and_only_if_its_lines_are_there(
    project: Project, before: list[bytes], part: list[bytes], after: list[bytes]
) -> None:
    path = project.root / "x"
    path.write_bytes(b"\n".join(part) + b"\n")
    held = make_excerpt_evidence(project, "x", lines=(1, len(part)))
    path.write_bytes(b"\n".join([*before, *part, *after]) + b"\n")
    assert explain_change(project, held) is None
    path.write_bytes(b"\n".join([*before, *after]) + b"\n")
    lines = [*before, *after]
    there = any(lines[n : n + len(part)] == part for n in range(len(lines)))
    assert (explain_change(project, held) is None) == there


def test_hostile_files_take_bounded_time(project: Project) -> None:
    path = project.root / "x"
    path.write_bytes(b"".join(b"%07d\n" % n for n in range(200_000)))
    held = make_excerpt_evidence(project, "x", lines=(1, 30_000))
    path.write_bytes(b"".join(b"%07d\n" % (n % 2) for n in range(200_000)))
    with in_time(10):
        assert explain_change(project, held) == "x:L1-L30000 has changed"
        (project.root / "deep.md").write_text("# A\n" * 100_000)
        assert (
            explain_change(
                project, make_excerpt_evidence(project, "deep.md", lines=(99_000, 100_000))
            )
            is None
        )


def test_evidence_in_deep_directories(project: Project) -> None:
    name = "/".join(["d" * 20] * 40)
    (project.root / name).mkdir(parents=True)
    (project.root / name / "x").write_text("x")
    assert explain_change(project, make_file_evidence(project, f"{name}/x")) is None
    with pytest.raises(KedgeError):
        make_file_evidence(project, "/".join(["d"] * 5000))


def test_an_artifact_is_read_back(tmp_path: Path) -> None:
    store = Artifacts(tmp_path / "artifacts")
    assert not (tmp_path / "artifacts").exists()
    small, large = b"a" * (64 << 10), b"a" * (64 << 10) + b"b"
    one, two = store.put(small), store.put(large)
    assert (one, two) == (_sha(small), _sha(large))
    assert store.get(one) == small
    assert store.get(two) == large
    assert (tmp_path / "artifacts" / one).read_bytes() == small
    written = (tmp_path / "artifacts" / f"{two}.gz").read_bytes()
    assert gzip.decompress(written) == large
    assert written[3:8] == b"\0\0\0\0\0"  # no name, no time
    assert len(written) < 1000


def test_equal_bytes_share_one_file_that_is_not_written_again(tmp_path: Path) -> None:
    store = Artifacts(tmp_path)
    for data in (b"x", b"y" * 100_000):
        sha = store.put(data)
        (path,) = tmp_path.glob(f"{sha}*")
        before = path.stat()
        assert store.put(data) == sha
        after = path.stat()
        assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert len(list(tmp_path.iterdir())) == 2
    other = Artifacts(tmp_path / "other")
    name = f"{other.put(b'y' * 100_000)}.gz"
    assert (tmp_path / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


@pytest.mark.parametrize("size", [10, 100_000])
def test_a_changed_artifact_is_refused_and_can_be_put_again(tmp_path: Path, size: int) -> None:
    store = Artifacts(tmp_path)
    data = bytes(n % 251 for n in range(size))
    sha = store.put(data)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    for broken in (whole[:-1], whole[:5], b"", b"x" + whole[1:], whole[:20] + b"x" + whole[21:]):
        path.write_bytes(broken)
        if broken != whole:
            with pytest.raises(FileError, match="was changed"):
                store.get(sha)
        assert store.put(data) == sha
        assert store.get(sha) == data
    path.unlink()
    with pytest.raises(FileError, match="is missing"):
        store.get(sha)


@settings(max_examples=30)
@given(st.binary(max_size=200), st.integers(0, 2000))
def test_any_bytes_are_read_back(tmp_path: Path, data: bytes, times: int) -> None:
    store = Artifacts(tmp_path)
    assert store.get(store.put(data * times)) == data * times


def test_links_among_artifacts_are_refused(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    store = Artifacts(tmp_path / "store")
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / _sha(b"x")).symlink_to(victim)
    (tmp_path / "linked").symlink_to(tmp_path / "store")
    for attempt in (
        lambda: store.put(b"x"),
        lambda: store.get(_sha(b"x")),
        lambda: Artifacts(tmp_path / "linked").put(b"y"),
    ):
        with pytest.raises(FileError, match="is a symbolic link"):
            attempt()
    assert victim.read_bytes() == b"mine"


@pytest.mark.parametrize("sha", ["", "x", "../" + "0" * 61, "A" * 64, "0" * 63, "0" * 64 + "\n"])
def test_an_invalid_hash_is_refused(tmp_path: Path, sha: str) -> None:
    with pytest.raises(InvalidValue):
        Artifacts(tmp_path).get(sha)


def test_a_decompression_bomb_is_refused(tmp_path: Path) -> None:
    """Only a bounded part is decompressed, as the memory of the process shows."""
    sha = _sha(b"")
    with gzip.open(tmp_path / f"{sha}.gz", "wb", 1) as bomb:
        for _ in range(1024):
            bomb.write(bytes(1 << 20))
    code = (
        "import re, sys; from pathlib import Path; from kedge.errors import FileError\n"
        "from kedge.handoff.artifacts import Artifacts\n"
        "try: Artifacts(Path(sys.argv[1])).get(sys.argv[2])\n"
        "except FileError: pass\n"
        "else: raise SystemExit('it was not refused')\n"
        "status = Path('/proc/self/status').read_text()\n"
        "print(re.search('VmHWM:\\s+([0-9]+) kB', status)[1])\n"  # maxrss has its parent's too
    )
    argv = [sys.executable, "-c", code, str(tmp_path), sha]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=True)
    assert int(done.stdout) < 900 << 10

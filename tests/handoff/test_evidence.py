"""Evidence: what was attached can be told from what is there, and stored bytes come back."""

from __future__ import annotations

import gzip
import hashlib
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import in_time

from kedge.errors import FileError, InvalidValue, KedgeError
from kedge.handoff import evidence
from kedge.handoff.evidence import Artifacts, Evidence, bytes_, changed, excerpt, file
from kedge.host.project import Project

PLAN = "# Plan\n\nFirst.\n\n## Step 1\n\nDo *this*.\n\n## Step 2\n\nDo that.\n"


@pytest.fixture
def project(repo: Path) -> Project:
    (repo / "plan.md").write_text(PLAN)
    return Project(repo, None)


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_a_file(project: Project) -> None:
    sha = _sha(PLAN.encode())
    found = file(project, "./plan.md")
    assert found == Evidence(f"ev-{sha[:8]}", "file", "plan.md", "", "", sha, len(PLAN), "# Plan")
    assert changed(project, found) is None
    (project.root / "plan.md").write_text(PLAN + " ")
    assert changed(project, found) == "plan.md has changed"
    (project.root / "plan.md").unlink()
    assert changed(project, found) == "plan.md is gone"
    (project.root / "plan.md").mkdir()
    assert changed(project, found) == "plan.md is not a file"


def test_an_excerpt_by_heading_and_by_lines_is_the_same(project: Project) -> None:
    part = b"## Step 1\n\nDo *this*.\n"
    by_heading = excerpt(project, "plan.md", heading="Step 1")
    by_lines = excerpt(project, "plan.md", lines=(5, 7))
    assert by_heading == by_lines._replace(section="step-1")
    assert by_lines == Evidence(
        f"ev-{_sha(part)[:8]}", "excerpt", "plan.md", "", "L5-L7", _sha(part), 22, "## Step 1"
    )


def test_what_moved_within_the_file_is_fine(project: Project) -> None:
    held = [
        excerpt(project, "plan.md", heading="step-1"),
        excerpt(project, "plan.md", lines=(6, 8)),
        excerpt(project, "plan.md", lines=(11, 11)),
    ]
    first, second = PLAN[: PLAN.index("## Step 2")], PLAN[PLAN.index("## Step 2") :]
    (project.root / "plan.md").write_text(second + "\n\nmore\n\n" + first.rstrip())
    assert [changed(project, one) for one in held] == [None, "plan.md:L6-L8 has changed", None]
    (project.root / "plan.md").write_text("\n" * 5000 + PLAN)
    assert [changed(project, one) for one in held] == [None, None, None]


def test_what_changed_is_said(project: Project) -> None:
    held = excerpt(project, "plan.md", heading="Step 1")
    for other in (PLAN.replace("this", "thus"), PLAN.replace("*.", "*. "), PLAN[:30], "", "\0"):
        (project.root / "plan.md").write_text(other)
        assert changed(project, held) == "plan.md#step-1 has changed"


def test_the_last_line_may_lack_its_newline(project: Project) -> None:
    (project.root / "plan.md").write_text("one\ntwo")
    held = excerpt(project, "plan.md", lines=(2, 2))
    assert held.sha256 == _sha(b"two\n")
    (project.root / "plan.md").write_text("one\ntwo\nthree\n")
    assert changed(project, held) is None


def test_files_that_are_no_text(project: Project) -> None:
    (project.root / "image.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0text")
    (project.root / "latin.txt").write_bytes("né\nplain\n".encode("latin1"))
    (project.root / "empty").touch()
    assert file(project, "image.png").first_line == ""
    assert file(project, "latin.txt").first_line == ""
    assert file(project, "empty").bytes == 0
    assert excerpt(project, "latin.txt", lines=(2, 2)).first_line == "plain"
    held = excerpt(project, "latin.txt", lines=(1, 1))
    (project.root / "latin.txt").write_bytes("x\nné\n".encode("latin1"))
    assert changed(project, held) is None
    with pytest.raises(FileError, match=r"latin\.txt:2: it is not UTF-8"):
        excerpt(project, "latin.txt", heading="x")


def test_windows_line_ends_and_a_byte_order_mark(project: Project) -> None:
    data = b"\xef\xbb\xbf" + PLAN.replace("\n", "\r\n").encode()
    (project.root / "plan.md").write_bytes(data)
    assert file(project, "plan.md").first_line == "# Plan"
    found = excerpt(project, "plan.md", heading="Step 1")
    assert found.line_span == "L5-L7"
    assert found.sha256 == _sha(b"## Step 1\r\n\r\nDo *this*.\r\n")


@pytest.mark.parametrize(
    ("heading", "lines", "says"),
    [
        (None, None, "needs a heading or lines"),
        ("Step 1", (1, 2), "needs a heading or lines"),
        ("Step 3", None, "plan.md#Step 3: no such heading; the nearest is 'Step 1'"),
        (None, (0, 1), "no lines 0 to 1"),
        (None, (2, 1), "no lines 2 to 1"),
        (None, (1, 12), "no lines 1 to 12"),
    ],
)
def test_excerpts_that_are_refused(
    project: Project, heading: str | None, lines: tuple[int, int] | None, says: str
) -> None:
    with pytest.raises(InvalidValue) as caught:
        excerpt(project, "plan.md", heading=heading, lines=lines)
    assert says in caught.value.message
    assert caught.value.hint


def test_sizes_are_bounded(project: Project) -> None:
    with (project.root / "big").open("wb") as big:
        big.truncate(evidence.MAX_BYTES + 1)
    (project.root / "long").write_bytes(b"x" * (evidence.MAX_EXCERPT + 1))
    with pytest.raises(FileError, match="64 MiB"):
        file(project, "big")
    with pytest.raises(InvalidValue, match="256 KiB"):
        excerpt(project, "long", lines=(1, 1))
    held = file(project, "long")._replace(path="big")
    assert changed(project, held) == "big has more than 64 MiB"


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a\0b", "out/x", "link", ".git/HEAD", ""])
def test_nothing_outside_is_evidence(project: Project, tmp_path: Path, path: str) -> None:
    (tmp_path / "x").write_text("secret")
    (project.root / "out").symlink_to(tmp_path)
    (project.root / "link").symlink_to(tmp_path / "x")
    held = file(project, "plan.md")._replace(path=path)
    for attempt in (
        lambda: file(project, path),
        lambda: excerpt(project, path, lines=(1, 1)),
        lambda: changed(project, held),
    ):
        with pytest.raises((InvalidValue, FileError)) as caught:
            attempt()
        assert caught.value.hint


def test_what_is_not_there(project: Project) -> None:
    with pytest.raises(FileError, match=r"there is no none\.md"):
        file(project, "none.md")


def test_bytes_from_elsewhere(project: Project) -> None:
    found = bytes_("test.log", b"\n\n\x1b[31mFAILED\x1b[0m one\ntwo\n")
    assert found.kind == "bytes"
    assert found.first_line == "\\x1b[31mFAILED\\x1b[0m one"
    assert changed(project, found) is None
    for name in ("a/b", "../b", "/b", "", ".", "..", "a\nb", "a\0b", "./b", "b/"):
        with pytest.raises(InvalidValue):
            bytes_(name, b"")


LINES = st.lists(
    st.sampled_from([b"", b"a", b"b", b" ", b"a\r", b"\xe9", b"# a"]), min_size=1, max_size=12
)


@given(LINES, LINES, LINES)
def test_an_excerpt_is_found_exactly_when_its_lines_are_there(
    project: Project, before: list[bytes], part: list[bytes], after: list[bytes]
) -> None:
    path = project.root / "x"
    path.write_bytes(b"\n".join(part) + b"\n")
    held = excerpt(project, "x", lines=(1, len(part)))
    path.write_bytes(b"\n".join([*before, *part, *after]) + b"\n")
    assert changed(project, held) is None
    path.write_bytes(b"\n".join([*before, *after]) + b"\n")
    lines = [*before, *after]
    there = any(lines[n : n + len(part)] == part for n in range(len(lines)))
    assert (changed(project, held) is None) == there


def test_hostile_files_take_no_time(project: Project) -> None:
    path = project.root / "x"
    path.write_bytes(b"".join(b"%07d\n" % n for n in range(200_000)))
    held = excerpt(project, "x", lines=(1, 30_000))
    path.write_bytes(b"".join(b"%07d\n" % (n % 2) for n in range(200_000)))
    with in_time(10):
        assert changed(project, held) == "x:L1-L30000 has changed"
        (project.root / "deep.md").write_text("# A\n" * 100_000)
        assert changed(project, excerpt(project, "deep.md", lines=(99_000, 100_000))) is None


def test_deep_directories(project: Project) -> None:
    name = "/".join(["d" * 20] * 40)
    (project.root / name).mkdir(parents=True)
    (project.root / name / "x").write_text("x")
    assert changed(project, file(project, f"{name}/x")) is None
    with pytest.raises(KedgeError):
        file(project, "/".join(["d"] * 5000))


def test_artifacts_come_back(tmp_path: Path) -> None:
    store = Artifacts(tmp_path / "artifacts")
    assert not (tmp_path / "artifacts").exists()
    small, large = b"a" * (64 << 10), b"a" * (64 << 10) + b"b"
    one, two = store.put(small), store.put(large)
    assert one == (_sha(small), _sha(small), False)
    assert two == (_sha(large), f"{_sha(large)}.gz", True)
    assert store.get(one.sha256) == small
    assert store.get(two.sha256) == large
    written = (tmp_path / "artifacts" / two.name).read_bytes()
    assert gzip.decompress(written) == large
    assert written[3:10] == b"\0\0\0\0\0\x02\xff"  # no name, no time, no system
    assert len(written) < 1000


def test_the_same_bytes_are_one_file_that_is_not_written_again(tmp_path: Path) -> None:
    store = Artifacts(tmp_path)
    for data in (b"x", b"y" * 100_000):
        stored = store.put(data)
        before = (tmp_path / stored.name).stat()
        assert store.put(data) == stored
        after = (tmp_path / stored.name).stat()
        assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert len(list(tmp_path.iterdir())) == 2
    other = Artifacts(tmp_path / "other")
    name = other.put(b"y" * 100_000).name
    assert (tmp_path / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


@pytest.mark.parametrize("size", [10, 100_000])
def test_a_changed_artifact_is_refused_and_can_be_put_again(tmp_path: Path, size: int) -> None:
    store = Artifacts(tmp_path)
    data = bytes(n % 251 for n in range(size))
    stored = store.put(data)
    path = tmp_path / stored.name
    whole = path.read_bytes()
    for broken in (whole[:-1], whole[:5], b"", b"x" + whole[1:], whole[:20] + b"x" + whole[21:]):
        path.write_bytes(broken)
        if broken != whole:
            with pytest.raises(FileError, match="was changed"):
                store.get(stored.sha256)
        assert store.put(data) == stored
        assert store.get(stored.sha256) == data
    path.unlink()
    with pytest.raises(FileError, match="is gone"):
        store.get(stored.sha256)


@settings(max_examples=30)
@given(st.binary(max_size=200), st.integers(0, 2000))
def test_any_bytes_come_back(tmp_path: Path, data: bytes, times: int) -> None:
    store = Artifacts(tmp_path)
    assert store.get(store.put(data * times).sha256) == data * times


def test_no_link_among_the_artifacts_is_followed(tmp_path: Path) -> None:
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
        with pytest.raises(FileError, match="is a link"):
            attempt()
    assert victim.read_bytes() == b"mine"


@pytest.mark.parametrize("sha", ["", "x", "../" + "0" * 61, "A" * 64, "0" * 63, "0" * 64 + "\n"])
def test_what_is_no_hash(tmp_path: Path, sha: str) -> None:
    with pytest.raises(InvalidValue):
        Artifacts(tmp_path).get(sha)


def test_what_blows_up_is_not_unpacked(tmp_path: Path) -> None:
    """At most a bounded part of it: the memory of the process tells."""
    sha = _sha(b"")
    with gzip.open(tmp_path / f"{sha}.gz", "wb", 1) as bomb:
        for _ in range(1024):
            bomb.write(bytes(1 << 20))
    code = (
        "import resource, sys; from pathlib import Path; from kedge.errors import FileError\n"
        "from kedge.handoff.evidence import Artifacts\n"
        "try: Artifacts(Path(sys.argv[1])).get(sys.argv[2])\n"
        "except FileError: print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    argv = [sys.executable, "-c", code, str(tmp_path), sha]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=True)
    assert int(done.stdout) < 900 << 10

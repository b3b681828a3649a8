"""Files: a reader, or a crash, sees the old bytes or the new ones; a lock has one holder."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import Kedge, assert_clear, git

from kedge.errors import FileError, LockTimeout
from kedge.host import files

STAGED = ".file.kedge-new"


def _script(code: str, *args: object) -> list[str]:
    head = "import json, os, signal, sys, time\nfrom pathlib import Path\n"
    return [sys.executable, "-c", f"{head}from kedge.host import files\n{code}", *map(str, args)]


def _python(code: str, *args: object) -> str:
    done = subprocess.run(_script(code, *args), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def _started(code: str, *args: object) -> Iterator[subprocess.Popen[str]]:
    """Start a process, and wait until it has printed its first line."""
    child = subprocess.Popen(_script(code, *args), stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout
        assert child.stdout.readline()
        yield child
    finally:
        child.kill()
        child.communicate()


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_missing_file_is_none_and_a_directory_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\0\xff\n")
    assert files.read_bytes(tmp_path / "file") == b"\0\xff\n"
    assert files.read_bytes(tmp_path / "none") is None
    assert files.read_bytes(tmp_path / "none" / "below") is None
    with pytest.raises(FileError) as caught:
        files.read_bytes(tmp_path)
    assert caught.value.hint == "a directory has that name"
    with pytest.raises(FileError, match="cannot read"):
        files.read_bytes(tmp_path / "file" / "below")


def test_reading_leaves_no_descriptor_open(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    os.mkfifo(tmp_path / "pipe")
    before = _descriptors()
    files.read_bytes(tmp_path / "file")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(FileError):
            files.read_bytes(path)
    assert _descriptors() == before


def test_an_empty_file_can_be_written_whatever_a_killed_writer_left(tmp_path: Path) -> None:
    files.write_atomic(tmp_path / "file", b"")
    assert (tmp_path / "file").read_bytes() == b""
    (tmp_path / STAGED).write_bytes(b"left")
    files.write_atomic(tmp_path / "file", b"")
    assert (tmp_path / "file").read_bytes() == b""


@pytest.fixture
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("no_umask")
def test_new_files_may_be_read_and_written_as_the_umask_allows(tmp_path: Path) -> None:
    files.append_line(tmp_path / "lines", b"x")
    files.write_atomic(tmp_path / "file", b"x")
    with files.lock(tmp_path / "locks" / "x.lock"):
        pass
    for path in (tmp_path / "lines", tmp_path / "file", tmp_path / "locks" / "x.lock"):
        assert _mode(path) == 0o666


@pytest.mark.usefixtures("no_umask")
def test_a_file_is_closed_to_others_until_its_mode_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes, masks = [], []
    real_chmod, real_umask = os.fchmod, os.umask

    def chmod(fd: int, mode: int) -> None:
        modes.append(stat.S_IMODE(os.fstat(fd).st_mode))
        real_chmod(fd, mode)

    def umask(mask: int) -> int:
        masks.append(mask)
        return real_umask(mask)

    monkeypatch.setattr(os, "fchmod", chmod)
    monkeypatch.setattr(os, "umask", umask)
    files.write_atomic(tmp_path / "file", b"x")
    assert modes == [0o600]
    assert masks == [0o077, 0]  # the umask can only be read by setting it


@pytest.mark.parametrize("mode", [0o600, 0o755, 0o444, 0o640])
def test_an_existing_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(mode)
    files.write_atomic(path, b"new")
    assert path.read_bytes() == b"new"
    assert _mode(path) == mode
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_gets_its_mode_from_the_umask(tmp_path: Path, umask: int, mode: int) -> None:
    code = (
        "os.umask(int(sys.argv[2]))\n"
        "files.write_atomic(Path(sys.argv[1]), b'x')\n"
        "print(os.umask(0))"
    )
    after = _python(code, tmp_path / "file", umask)
    assert int(after) == umask
    assert _mode(tmp_path / "file") == mode


def test_the_mode_can_be_set(tmp_path: Path) -> None:
    path = tmp_path / "file"
    files.write_atomic(path, b"1", mode=0o600)
    assert _mode(path) == 0o600
    files.write_atomic(path, b"2", mode=0o640)
    assert _mode(path) == 0o640


def test_the_temporary_file_is_no_more_readable_than_the_target(tmp_path: Path) -> None:
    """Also if a temporary file with a wider mode exists already."""
    (tmp_path / STAGED).write_bytes(b"")
    (tmp_path / STAGED).chmod(0o666)
    code = (
        "write, path = os.write, Path(sys.argv[1])\n"
        "staged = path.with_name('.file.kedge-new')\n"
        "def spy(fd, data):\n"
        "    print(oct(staged.stat().st_mode & 0o777))\n"
        "    return write(fd, data)\n"
        "files.os.write = spy\n"
        "files.write_atomic(path, b'secret', mode=0o600)\n"
    )
    assert _python(code, tmp_path / "file").split() == ["0o600"]


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    real = tmp_path / "elsewhere" / "real"
    real.parent.mkdir()
    real.write_bytes(b"old")
    real.chmod(0o640)
    (tmp_path / "second").symlink_to("elsewhere/real")
    (tmp_path / "first").symlink_to("second")
    files.write_atomic(tmp_path / "first", b"new")
    assert (tmp_path / "first").is_symlink()
    assert (tmp_path / "second").is_symlink()
    assert not real.is_symlink()
    assert real.read_bytes() == b"new"
    assert _mode(real) == 0o640
    assert sorted(p.name for p in real.parent.iterdir()) == ["real"]


def test_the_target_of_a_dangling_link_is_created(tmp_path: Path) -> None:
    (tmp_path / "file").symlink_to("deep/down/real")
    files.write_atomic(tmp_path / "file", b"new")
    assert (tmp_path / "file").is_symlink()
    assert (tmp_path / "deep" / "down" / "real").read_bytes() == b"new"


def test_missing_directories_are_created(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "c"
    files.write_atomic(path, b"x")
    assert path.read_bytes() == b"x"


def test_a_planted_link_at_the_staged_name_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"precious")
    place = tmp_path / "place"
    place.mkdir()
    for target in (outside, tmp_path / "nothing", Path(STAGED)):
        (place / STAGED).symlink_to(target)
        files.write_atomic(place / "file", b"new")
        assert (place / "file").read_bytes() == b"new"
        assert not (place / "file").is_symlink()
        assert outside.read_bytes() == b"precious"
        assert not (tmp_path / "nothing").exists()
        assert [p.name for p in place.iterdir()] == ["file"]


def test_a_planted_link_that_another_writer_removes_first_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / STAGED).symlink_to("elsewhere")
    real = os.open

    def open_(path: str | Path, *args: int, **more: int) -> int:
        try:
            return real(path, *args, **more)
        except OSError:
            Path(path).unlink()
            raise

    monkeypatch.setattr(os, "open", open_)
    files.write_atomic(tmp_path / "file", b"new")
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("file", b"new")]


def _special(place: Path) -> dict[str, tuple[Path, str]]:
    """Paths that not even root can write, each with its hint."""
    (place / "plain").write_bytes(b"old")
    (place / "directory").mkdir()
    os.mkfifo(place / "pipe")
    (place / "loop").symlink_to("loop")
    (place / "to-pipe").symlink_to("pipe")
    return {
        "below a file": (place / "plain" / "x", "a part of the path is a file"),
        "far below a file": (place / "plain" / "x" / "y", "a part of the path is a file"),
        "a directory": (place / "directory", "a directory has that name"),
        "a pipe": (place / "pipe", "regular file"),
        "a link to a pipe": (place / "to-pipe", "regular file"),
        "a link to itself": (place / "loop", "a symbolic link"),
        "a long name": (place / ("n" * 300), "too long"),
        "the kernel's": (Path("/proc/self/none/file"), ""),
    }


@pytest.mark.parametrize(
    "name",
    [
        "below a file",
        "far below a file",
        "a directory",
        "a pipe",
        "a link to a pipe",
        "a link to itself",
        "a long name",
        "the kernel's",
    ],
)
def test_a_path_that_cannot_be_written_is_left_alone_with_a_hint(tmp_path: Path, name: str) -> None:
    path, hint = _special(tmp_path)[name]
    before = sorted(tmp_path.iterdir())
    with pytest.raises(FileError) as caught:
        files.write_atomic(path, b"new")
    assert caught.value.message.startswith(f"cannot write {path}: ")
    assert caught.value.hint
    assert hint in caught.value.hint
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "plain").read_bytes() == b"old"
    assert (tmp_path / "pipe").is_fifo()


def test_a_disk_that_fills_up_leaves_the_old_bytes(tmp_path: Path) -> None:
    """A limit on the size of files stands for the full disk: it applies to root as well."""
    path = tmp_path / "file"
    path.write_bytes(b"old")
    code = (
        "import resource\n"
        "from kedge.errors import FileError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try:\n"
        "    files.write_atomic(Path(sys.argv[1]), b'n' * 100_000)\n"
        "except FileError as error:\n"
        "    print(json.dumps([error.message, error.hint]))\n"
    )
    message, hint = json.loads(_python(code, path))
    assert message == f"cannot write {path}: file too large"
    assert hint
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("number", "hint"),
    [
        (errno.EROFS, "read-only"),
        (errno.ENOSPC, "full"),
        (errno.EDQUOT, "quota"),
        (errno.EACCES, "permissions"),
        (errno.EIO, "file system"),
    ],
)
def test_errors_of_the_file_system_have_hints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, hint: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(FileError) as caught:
        files.write_atomic(path, b"new")
    assert hint in (caught.value.hint or "")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bytes | None]]:
    """The name of each file or directory that is synced, and what `file` holds at that moment."""
    calls: list[tuple[str, bytes | None]] = []
    names: dict[int, Path] = {}
    real_open, real_sync = os.open, os.fsync

    def open_(path: str | Path, *args: int, **more: int) -> int:
        fd = real_open(path, *args, **more)
        names[fd] = Path(path)
        return fd

    def sync(fd: int) -> None:
        path = names[fd]
        file = (path if path.is_dir() else path.parent) / "file"
        calls.append((path.name, file.read_bytes() if file.exists() else None))
        real_sync(fd)

    monkeypatch.setattr(os, "open", open_)
    monkeypatch.setattr(os, "fsync", sync)
    return calls


def test_a_write_syncs_the_bytes_before_the_rename_and_the_directory_after(
    tmp_path: Path, synced: list[tuple[str, bytes | None]]
) -> None:
    place = tmp_path / "place"
    files.write_atomic(place / "file", b"first")
    files.write_atomic(place / "file", b"second")
    assert synced == [
        (STAGED, None),
        ("place", b"first"),
        (STAGED, b"first"),
        ("place", b"second"),
    ]


def test_an_append_syncs_the_line_and_the_directory_of_a_new_file(
    tmp_path: Path, synced: list[tuple[str, bytes | None]]
) -> None:
    place = tmp_path / "place"
    files.append_line(place / "file", b"1")
    files.append_line(place / "file", b"2")
    assert synced == [("file", b"1\n"), ("place", b"1\n"), ("file", b"1\n2\n")]


@pytest.mark.parametrize(("number", "fails"), [(errno.EINVAL, False), (errno.EIO, True)])
def test_syncing_a_directory_may_be_unsupported_but_must_not_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, fails: bool
) -> None:
    sync = os.fsync

    def refuse_directories(fd: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(number, os.strerror(number))
        sync(fd)

    monkeypatch.setattr(os, "fsync", refuse_directories)
    before = _descriptors()
    if fails:
        with pytest.raises(FileError, match="cannot write"):
            files.write_atomic(tmp_path / "file", b"new")
    else:
        files.write_atomic(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert _descriptors() == before


def test_a_directory_that_may_not_be_read_is_not_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def open_(path: str | Path, *args: int, **more: int) -> int:
        if Path(path) == tmp_path:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return real(path, *args, **more)

    monkeypatch.setattr(os, "open", open_)
    files.write_atomic(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"


def test_a_directory_without_permission(tmp_path: Path, repo: Path, kedge: Kedge) -> None:
    place = repo / ".kedge"
    place.mkdir()
    place.chmod(0o555)
    try:
        if os.geteuid() == 0:  # permissions do not bind root: something else must be in the way
            place.rmdir()
            place.write_text("a file")
        ran = kedge("config", "set", "tasks.prefix", "x", code=1)
        assert_clear(ran, code=1, says="cannot ")
    finally:
        place.chmod(0o755)


# Kills the process just before the line of files.py with this number, counted over the call.
_TO_THE_LINE = """
def dying_at(number, call):
    seen = 0
    def trace(frame, event, _):
        nonlocal seen
        if frame.f_code.co_filename != files.__file__:
            return None
        if event == "line":
            seen += 1
            if seen == number:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace
    pid = os.fork()
    if pid == 0:
        sys.settrace(trace)
        call()
        sys.settrace(None)
        os._exit(0)
    return os.waitpid(pid, 0)[1]

write = os.write
files.os.write = lambda fd, data: write(fd, data[:1000])  # so that there is a half-written file
path = Path(sys.argv[1])
"""


def test_a_crash_at_any_line_leaves_the_old_bytes_or_the_new(tmp_path: Path) -> None:
    code = (
        _TO_THE_LINE + "old, new = b'o' * 3000, b'n' * 4000\n"
        "path.write_bytes(old)\n"
        "kinds, number = [], 1\n"
        "while True:\n"
        "    status = dying_at(number, lambda: files.write_atomic(path, new))\n"
        "    number += 1\n"
        "    now, names = path.read_bytes(), sorted(os.listdir(path.parent))\n"
        "    kinds.append('old' if now == old else 'new' if now == new else 'torn')\n"
        "    assert names in (['file'], ['.file.kedge-new', 'file']), names\n"
        "    if status == 0:\n"
        "        break\n"
        "    files.write_atomic(path, old)\n"
        "    assert path.read_bytes() == old\n"
        "    assert os.listdir(path.parent) == ['file']\n"
        "print(json.dumps(kinds))\n"
    )
    kinds = json.loads(_python(code, tmp_path / "file"))
    assert len(kinds) > 30
    assert set(kinds) == {"old", "new"}
    first_new = kinds.index("new")
    assert set(kinds[first_new:]) == {"new"}
    assert first_new > len(kinds) / 2


def test_a_kill_at_any_moment_leaves_the_old_bytes_or_the_new(tmp_path: Path) -> None:
    code = (
        "import random\n"
        "path = Path(sys.argv[1])\n"
        "good = [bytes([n]) * (5000 + 40_000 * n) for n in range(4)]\n"
        "files.write_atomic(path, good[0])\n"
        "torn, strays = 0, set()\n"
        "for _ in range(30):\n"
        "    pid = os.fork()\n"
        "    if pid == 0:\n"
        "        while True:\n"
        "            for data in good:\n"
        "                files.write_atomic(path, data)\n"
        "    time.sleep(random.uniform(0.002, 0.03))\n"
        "    os.kill(pid, signal.SIGKILL)\n"
        "    os.waitpid(pid, 0)\n"
        "    torn += path.read_bytes() not in good\n"
        "    strays |= set(os.listdir(path.parent))\n"
        "files.write_atomic(path, good[1])\n"
        "print(json.dumps([torn, sorted(strays), os.listdir(path.parent)]))\n"
    )
    torn, strays, left = json.loads(_python(code, tmp_path / "file"))
    assert torn == 0
    assert set(strays) <= {"file", STAGED}
    assert left == ["file"]


def test_writers_never_mix_their_bytes(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0" * 10)
    sizes = {b"0": 10, b"1": 70_000, b"2": 3, b"3": 20_000, b"4": 200_000}
    code = (
        "digit, size = sys.argv[2].encode(), int(sys.argv[3])\n"
        "for _ in range(40):\n"
        "    files.write_atomic(Path(sys.argv[1]), digit * size)\n"
    )
    writers = [
        subprocess.Popen(_script(code, path, digit.decode(), size))
        for digit, size in sizes.items()
        if digit != b"0"
    ]
    seen = set()
    try:
        while any(writer.poll() is None for writer in writers):
            data = path.read_bytes()
            assert data == data[:1] * sizes[data[:1]]
            seen.add(data[:1])
    finally:
        codes = [writer.wait(60) for writer in writers]
    assert codes == [0, 0, 0, 0]
    assert len(seen) >= 2
    assert list(tmp_path.iterdir()) == [path]


def test_a_writer_that_hangs_does_not_block_others_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LOCK_TIMEOUT", 0.2)
    writes: list[tuple[Callable[[Path, bytes], None], Path, str]] = [
        (files.write_atomic, tmp_path / "file", STAGED),
        (files.append_line, tmp_path / "lines", "lines"),
    ]
    for write, path, held in writes:
        with (tmp_path / held).open("wb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            with pytest.raises(
                LockTimeout, match=f"another process has been writing {path}"
            ) as caught:
                write(path, b"x")
            assert caught.value.hint
        write(path, b"x")
    assert (tmp_path / "file").read_bytes() == b"x"
    assert (tmp_path / "lines").read_bytes() == b"x\n"


def test_lines_are_appended(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "down" / "lines"
    files.append_line(path, b"one")
    files.append_line(path, b"two")
    assert path.read_bytes() == b"one\ntwo\n"


def test_a_partial_line_is_terminated_before_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b'{"n": 1}\n{"n": ')
    files.append_line(path, b'{"n": 3}')
    assert path.read_bytes() == b'{"n": 1}\n{"n": \n{"n": 3}\n'
    path.write_bytes(b"{")
    files.append_line(path, b"{}")
    assert path.read_bytes() == b"{\n{}\n"
    path.write_bytes(b"")
    files.append_line(path, b"first")
    assert path.read_bytes() == b"first\n"


def test_a_crash_at_any_line_of_an_append_costs_only_that_line(tmp_path: Path) -> None:
    code = (
        _TO_THE_LINE + "torn, number = 0, 1\n"
        "while True:\n"
        "    path.write_bytes(b'first\\n')\n"
        "    status = dying_at(number, lambda: files.append_line(path, b'x' * 3000))\n"
        "    torn += path.read_bytes()[-1:] != b'\\n'\n"
        "    files.append_line(path, b'last')\n"
        "    lines = path.read_bytes().split(b'\\n')\n"
        "    assert lines[0] == b'first' and lines[-2:] == [b'last', b''], lines\n"
        "    assert len(lines) < 5 and b'' not in lines[:-1], lines\n"
        "    assert all(set(line) == {120} for line in lines[1:-2]), lines\n"
        "    number += 1\n"
        "    if status == 0:\n"
        "        break\n"
        "print(torn, number)\n"
    )
    torn, number = map(int, _python(code, tmp_path / "lines").split())
    assert torn >= 2
    assert number > 20


def test_lines_of_several_processes_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"torn")
    code = (
        "for number in range(40):\n"
        "    line = json.dumps([sys.argv[2], number, 'x' * (number * 977 % 30_000)])\n"
        "    files.append_line(Path(sys.argv[1]), line.encode())\n"
    )
    writers = [subprocess.Popen(_script(code, path, name)) for name in "abcd"]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0, 0]
    first, *rest = path.read_text().splitlines()
    assert first == "torn"
    lines = [json.loads(line) for line in rest]
    for name in "abcd":
        assert [n for who, n, _ in lines if who == name] == list(range(40))
    assert all(len(text) == number * 977 % 30_000 for _, number, text in lines)


def test_a_failed_append_has_a_hint(tmp_path: Path) -> None:
    with pytest.raises(FileError) as caught:
        files.append_line(tmp_path, b"x")
    assert caught.value.message == f"cannot append to {tmp_path}: is a directory"
    assert caught.value.hint == "a directory has that name"


def test_an_append_to_a_full_disk_leaves_a_usable_file(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    code = (
        "import resource\n"
        "from kedge.errors import FileError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "files.append_line(Path(sys.argv[1]), b'one')\n"
        "try:\n"
        "    files.append_line(Path(sys.argv[1]), b'x' * 100_000)\n"
        "except FileError as error:\n"
        "    print(error.message, error.hint, sep='\\n')\n"
    )
    message, hint = _python(code, path).splitlines()
    assert message == f"cannot append to {path}: file too large"
    assert hint
    files.append_line(path, b"three")
    one, two, three = path.read_bytes().splitlines()
    assert (one, set(two), three) == (b"one", {ord("x")}, b"three")


_HOLD = "with files.lock(Path(sys.argv[1])):\n    print('held', flush=True)\n    time.sleep(60)\n"


def test_a_lock_has_one_holder_at_a_time(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0")
    code = (
        "lock, counter = map(Path, sys.argv[1:])\n"
        "for _ in range(50):\n"
        "    with files.lock(lock):\n"
        "        value = int(counter.read_text())\n"
        "        time.sleep(0.001)\n"
        "        counter.write_text(str(value + 1))\n"
    )
    lock = tmp_path / "locks" / "x.lock"
    workers = [subprocess.Popen(_script(code, lock, counter)) for _ in range(4)]
    assert [worker.wait(60) for worker in workers] == [0, 0, 0, 0]
    assert counter.read_text() == "200"


def test_a_lock_that_is_taken_names_its_holder(tmp_path: Path) -> None:
    lock = tmp_path / "locks" / "tasks.lock"
    with _started(_HOLD, lock) as holder:
        begin = time.monotonic()
        with pytest.raises(LockTimeout) as caught, files.lock(lock, timeout=0.2):
            pytest.fail("two hold the lock")
        assert 0.2 <= time.monotonic() - begin < 60
        expected = f"tasks is locked by process {holder.pid} for more than 0.2 s"
        assert caught.value.message == expected
        assert caught.value.hint
        holder.kill()
        holder.wait()
        with files.lock(lock, timeout=5):  # released by the kill
            assert lock.read_text() == str(os.getpid())


def test_a_lock_file_holds_the_id_of_its_last_holder_alone(tmp_path: Path) -> None:
    lock = tmp_path / "locks" / "x.lock"
    lock.parent.mkdir()
    lock.write_text("9" * 20)
    with files.lock(lock):
        assert lock.read_text() == str(os.getpid())


def test_the_command_names_the_holder_of_the_lock(repo: Path, kedge: Kedge) -> None:
    with _started(_HOLD, repo / ".kedge" / "locks" / "tasks.lock") as holder:
        ran = kedge("task", "add", "x", code=1, env={"KEDGE_TASKS_LOCK_TIMEOUT": "0.1"})
        assert_clear(ran, code=1, says=f"tasks is locked by process {holder.pid} for")


def test_the_content_of_a_lock_file_is_not_trusted(tmp_path: Path) -> None:
    lock = tmp_path / "locks" / "x.lock"
    with files.lock(lock):
        lock.write_bytes(b"\x1b[31mnobody\n")
        with pytest.raises(LockTimeout, match="by process unknown"), files.lock(lock, timeout=0):
            pytest.fail("two hold the lock")


def test_a_waiting_thread_gets_the_lock_next(tmp_path: Path) -> None:
    lock = tmp_path / "locks" / "x.lock"
    taken = threading.Event()

    def wait() -> None:
        with files.lock(lock, timeout=30):
            taken.set()

    with files.lock(lock):
        waiter = threading.Thread(target=wait)
        waiter.start()
        assert not taken.wait(0.1)
    waiter.join(30)
    assert taken.is_set()


def test_a_lock_is_tried_often_at_first_and_at_least_twenty_times_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = tmp_path / "locks" / "x.lock"
    pauses: list[float] = []
    sleep = time.sleep

    def spy(seconds: float) -> None:
        pauses.append(seconds)
        sleep(seconds)

    with files.lock(lock):
        monkeypatch.setattr(time, "sleep", spy)
        with pytest.raises(LockTimeout), files.lock(lock, timeout=0.3):
            pytest.fail("two hold the lock")
    assert max(pauses[:3]) < 0.01
    assert max(pauses) <= 0.05
    assert sum(pauses) <= 0.3


def test_writers_that_wait_for_each_other_leave_no_descriptor_open(tmp_path: Path) -> None:
    def write() -> None:
        for _ in range(15):
            files.write_atomic(tmp_path / "file", b"x")

    before = _descriptors()
    writers = [threading.Thread(target=write) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert _descriptors() == before


def test_an_exception_releases_the_lock(tmp_path: Path) -> None:
    lock = tmp_path / "locks" / "x.lock"
    with pytest.raises(ValueError, match="boom"), files.lock(lock):
        raise ValueError("boom")
    with files.lock(lock, timeout=0):
        pass


def test_locks_of_different_resources_are_independent(tmp_path: Path) -> None:
    with (
        files.lock(tmp_path / "locks" / "a.lock"),
        files.lock(tmp_path / "locks" / "b.lock", timeout=0),
    ):
        pass


def test_a_removed_lock_file_still_has_one_holder_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`git clean` removes it; a process that waited must not share the lock with a later one."""
    lock = tmp_path / "locks" / "x.lock"
    state: dict[str, bool] = {}
    tried = threading.Event()
    flock = fcntl.flock

    def spy(fd: int, how: int) -> None:
        if threading.current_thread() is waiter:
            tried.set()
        flock(fd, how)

    def wait() -> None:
        with files.lock(lock, timeout=30):
            state["later one is kept out"] = _is_locked(lock)

    waiter = threading.Thread(target=wait)
    before = _descriptors()
    with files.lock(lock):
        monkeypatch.setattr(fcntl, "flock", spy)
        waiter.start()
        assert tried.wait(30)  # it has opened the file that is removed now
        lock.unlink()
    waiter.join(30)
    assert state == {"later one is kept out": True}
    assert _descriptors() == before


def _is_locked(lock: Path) -> bool:
    try:
        with files.lock(lock, timeout=0):
            return False
    except LockTimeout:
        return True


def test_git_ignores_the_lock_directory(repo: Path, kedge: Kedge) -> None:
    kedge("config", "set", "tasks.prefix", "x")
    assert (repo / ".kedge" / "locks" / "config.lock").exists()
    status = git(repo, "status", "--porcelain", "--untracked-files=all")
    assert status == "?? .kedge/config.toml\n"


def test_git_ignores_a_lock_directory_that_existed_before(repo: Path) -> None:
    lock = repo / ".kedge" / "locks" / "x.lock"
    lock.parent.mkdir(parents=True)
    with files.lock(lock):
        pass
    assert git(repo, "status", "--porcelain", "--untracked-files=all") == ""
    (lock.parent / ".gitignore").write_text("x.lock\n!y.lock\n")
    with files.lock(lock):
        pass
    assert (lock.parent / ".gitignore").read_text() == "x.lock\n!y.lock\n"


def test_a_lock_path_that_is_a_link_is_refused(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"precious")
    lock = tmp_path / "locks" / "x.lock"
    lock.parent.mkdir()
    for target in (outside, tmp_path / "nothing"):
        lock.symlink_to(target)
        with pytest.raises(FileError, match="cannot lock") as caught, files.lock(lock):
            pytest.fail("the link was followed")
        assert "symbolic link" in (caught.value.hint or "")
        lock.unlink()
    assert outside.read_bytes() == b"precious"
    assert not (tmp_path / "nothing").exists()


def test_a_planted_ignore_file_is_not_followed(tmp_path: Path) -> None:
    lock = tmp_path / "locks" / "x.lock"
    lock.parent.mkdir()
    (lock.parent / ".gitignore").symlink_to(tmp_path / "outside")
    with files.lock(lock):
        pass
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize("what", ["directory", "below a file"])
def test_a_lock_that_cannot_be_created_has_a_hint(tmp_path: Path, what: str) -> None:
    lock = tmp_path / "locks" / "x.lock"
    if what == "directory":
        lock.mkdir(parents=True)
    else:
        lock.parent.write_bytes(b"")
    with pytest.raises(FileError) as caught, files.lock(lock):
        pytest.fail("there is no lock")
    assert caught.value.hint


def test_a_file_system_without_locks_is_an_error_not_a_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    (tmp_path / "locks").mkdir()
    (tmp_path / "locks" / ".gitignore").touch()
    monkeypatch.setattr(fcntl, "flock", refuse)
    before = _descriptors()
    lock = files.lock(tmp_path / "locks" / "x.lock")
    with pytest.raises(FileError, match="no locks available"), lock:
        pytest.fail("there is no lock")
    with pytest.raises(FileError, match="no locks available"):
        files.write_atomic(tmp_path / "file", b"x")
    assert _descriptors() == before


def _descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def test_a_program_that_is_started_does_not_inherit_the_lock(tmp_path: Path) -> None:
    lock = tmp_path / "locks" / "x.lock"
    with files.lock(lock):
        child = subprocess.Popen(["sleep", "60"], close_fds=False)
    try:
        with files.lock(lock, timeout=0):
            pass
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()


def has_attributes(directory: Path) -> bool:
    probe = directory / "probe"
    probe.touch()
    try:
        os.setxattr(probe, "user.kedge", b"1")
    except (AttributeError, OSError):
        return False
    return True


def test_a_replaced_file_keeps_its_extended_attributes(tmp_path: Path) -> None:
    if not has_attributes(tmp_path):
        pytest.skip("no extended attributes here")
    target = tmp_path / "AGENTS.md"
    target.write_bytes(b"old")
    os.setxattr(target, "user.author", b"Tess")
    files.write_atomic(target, b"new")
    assert os.getxattr(target, "user.author") == b"Tess"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_replaced_file_keeps_its_owner(tmp_path: Path) -> None:
    target = tmp_path / "AGENTS.md"
    target.write_bytes(b"old")
    os.chown(target, 1234, 2345)
    target.chmod(0o640)
    files.write_atomic(target, b"new")
    status = target.stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (1234, 2345, 0o640)


def test_a_file_that_was_saved_meanwhile_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "AGENTS.md"
    target.write_bytes(b"old")
    real = os.fsync

    def save(fd: int) -> None:  # the user saves while kedge's bytes go to the disk
        target.write_bytes(b"saved by the user")
        real(fd)

    monkeypatch.setattr(os, "fsync", save)
    with pytest.raises(FileError, match="somebody else"):
        files.replace_atomic(target, b"old", b"new")
    assert target.read_bytes() == b"saved by the user"
    assert [path.name for path in tmp_path.iterdir()] == ["AGENTS.md"]

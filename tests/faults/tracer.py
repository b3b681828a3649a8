"""Run a program and everything it starts, and kill it before its n-th file-changing system call.

A seccomp filter stops the traced processes at the calls that may change a file, and ptrace counts
them over all processes and threads. Python's ctypes is all that this needs; it works on Linux on
x86-64 and 64-bit ARM.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import signal
import struct
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

TIME_LIMIT = 120.0  # seconds for one traced program

# The numbers of the calls that change a file, on x86-64 and on 64-bit ARM (0: not there).
_CALLS = {
    "write": (1, 64),
    "pwrite64": (18, 68),
    "writev": (20, 66),
    "pwritev": (296, 70),
    "pwritev2": (328, 287),
    "sendfile": (40, 71),
    "copy_file_range": (326, 285),
    "splice": (275, 76),
    "truncate": (76, 45),
    "ftruncate": (77, 46),
    "fallocate": (285, 47),
    "fsync": (74, 82),
    "fdatasync": (75, 83),
    "creat": (85, 0),
    "openat2": (437, 437),
    "rename": (82, 0),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "link": (86, 0),
    "linkat": (265, 37),
    "symlink": (88, 0),
    "symlinkat": (266, 36),
    "unlink": (87, 0),
    "unlinkat": (263, 35),
    "mkdir": (83, 0),
    "mkdirat": (258, 34),
    "rmdir": (84, 0),
    "mknod": (133, 0),
    "mknodat": (259, 33),
    "chmod": (90, 0),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "chown": (92, 0),
    "fchown": (93, 55),
    "lchown": (94, 0),
    "fchownat": (260, 54),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "fremovexattr": (199, 16),
    "utime": (132, 0),
    "utimes": (235, 0),
    "utimensat": (280, 88),
}
_DEVICES = (os.devnull, "/dev/tty", "/dev/pts/", "/proc/")
_OPENS = {"open": ((2, 0), 1), "openat": ((257, 56), 2)}  # numbers, and the argument with the flags
# Calls on a descriptor, which may be a pipe or a terminal, and the argument that it is.
_ON_DESCRIPTOR = {
    **dict.fromkeys(("write", "pwrite64", "writev", "pwritev", "pwritev2", "sendfile"), 0),
    "copy_file_range": 2,
    "splice": 2,
}
_BY_DESCRIPTOR = ("ftruncate", "fallocate", "fsync", "fdatasync", "fchmod", "fchown", "fsetxattr")
# The argument that is the path of the other calls, where it is not the first.
_PATH_AT: dict[str, int | None] = {
    **dict.fromkeys(("openat", "openat2", "unlinkat", "mkdirat", "mknodat", "fchmodat"), 1),
    **dict.fromkeys(("fchownat", "utimensat", "rename", "link", "symlink"), 1),
    "renameat": 3,
    "renameat2": 3,
    "linkat": 3,
    "symlinkat": 2,
    **dict.fromkeys((*_BY_DESCRIPTOR, "fremovexattr")),
}
_MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}  # AUDIT_ARCH and column

_TRACEME, _CONT, _SETOPTIONS, _SYSCALL_INFO = 0, 7, 0x4200, 0x420E
_OPTIONS = 0x2 | 0x4 | 0x8 | 0x10 | 0x80 | 0x100000  # fork, vfork, clone, exec, seccomp, exitkill
_EVENT_SECCOMP = 7
_WALL = 0x40000000
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _SUBREAPER = 38, 22, 36

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


class CannotTrace(Exception):
    """This machine has no seccomp or no ptrace; the message says which."""


@dataclass
class Traced:
    """How a traced program ended. `code` is None if it was killed."""

    code: int | None = None
    timed_out: bool = False  # killed after the time limit
    calls: list[str] = field(default_factory=list)  # the names and objects of the calls, in order


def explain_missing() -> str | None:
    """Return why nothing can be traced on this machine, or None if it can."""
    if sys.platform != "linux" or platform.machine() not in _MACHINES:
        return f"kills need Linux on x86-64 or 64-bit ARM, and this is {platform.platform()}"
    try:
        found = trace(_call_once)
    except (CannotTrace, OSError) as error:
        return f"processes cannot be traced here: {error}"
    return None if found.code == 0 and found.calls else "processes cannot be traced here"


def _call_once() -> NoReturn:
    with contextlib.suppress(OSError):
        os.mkdir("/")  # noqa: PTH102 - one call that the filter knows, and that changes nothing
    os._exit(0)


def trace(
    start: Callable[[], NoReturn],
    kill_at: int | None = None,
    *,
    alone: bool = False,
    ignore: str = os.devnull,
) -> Traced:
    """Run `start` in a new process, and count what it and all its children do to files.

    With `kill_at`, everything is killed before that call, counted from 0; with `alone` only the
    first process, and what it started goes on to its end. Files below `ignore` do not count.
    """
    first = _fork_traced(start)
    return _Tracer(first, kill_at, alone, ignore).follow()


class _Tracer:
    def __init__(self, first: int, kill_at: int | None, alone: bool, ignore: str) -> None:
        self.first = first
        self.kill_at = kill_at
        self.alone = alone
        self.ignored = (*_DEVICES, ignore)
        self.traced = Traced()
        self.alive = {first}
        self.names = {number: name for name, number in _numbers()}
        self.killed = False

    def follow(self) -> Traced:
        signal.signal(signal.SIGALRM, lambda *_: self._time_out())
        signal.setitimer(signal.ITIMER_REAL, TIME_LIMIT)
        try:
            while True:
                try:
                    pid, status = os.waitpid(-1, _WALL)
                except ChildProcessError:
                    return self.traced
                self._handle(pid, status)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _time_out(self) -> None:
        self.traced.timed_out = self.killed = True
        self.alone = False
        self._kill(set(self.alive))

    def _handle(self, pid: int, status: int) -> None:
        if not os.WIFSTOPPED(status):
            self.alive.discard(pid)
            if pid == self.first:
                self.traced.code = os.waitstatus_to_exitcode(status)
                if self.killed:
                    self.traced.code = None
            return
        new = pid not in self.alive
        self.alive.add(pid)
        number, event = os.WSTOPSIG(status), status >> 16
        if self.killed and not self.alone:
            self._kill({pid})
            return
        if event == _EVENT_SECCOMP:
            self._count(pid)
            number = 0
        elif event or (number == signal.SIGSTOP and new):
            number = 0
        _ptrace(_CONT, pid, number)

    def _count(self, pid: int) -> None:
        call = _describe_call(pid, self.names)
        if call is None or self.killed or call.partition(" ")[2].startswith(self.ignored):
            return
        if len(self.traced.calls) == self.kill_at:
            self.killed = True
            self._kill({self.first} if self.alone else self.alive)
        self.traced.calls.append(call)

    @staticmethod
    def _kill(pids: set[int]) -> None:
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


def _fork_traced(start: Callable[[], NoReturn]) -> int:
    """Fork a process that is stopped and traced, and continue it with its filter set."""
    _libc.prctl(_SUBREAPER, 1, 0, 0, 0)
    program = _build_filter()
    pid = os.fork()
    if pid == 0:
        try:
            _libc.ptrace(_TRACEME, 0, None, None)
            os.kill(os.getpid(), signal.SIGSTOP)
            _install_filter(program)
            start()
        except BaseException as error:  # noqa: BLE001 - the child must not go on in our stack
            os.write(2, f"{error!r}\n".encode())
        finally:
            os._exit(70)
    _, status = os.waitpid(pid, _WALL)
    if not os.WIFSTOPPED(status):
        raise CannotTrace("a process that asked to be traced has ended")
    _ptrace(_SETOPTIONS, pid, _OPTIONS)
    _ptrace(_CONT, pid, 0)
    return pid


def _ptrace(request: int, pid: int, data: int) -> None:
    if _libc.ptrace(request, pid, None, ctypes.c_void_p(data)) < 0:
        number = ctypes.get_errno()
        if number != 3:  # ESRCH: killed in this very moment
            raise CannotTrace(os.strerror(number))


def _describe_call(pid: int, names: dict[int, str]) -> str | None:
    """Return the name and the object of the call that a process is about to make, or None if it
    changes no file, such as a write to a pipe."""
    data = ctypes.create_string_buffer(88)
    if _libc.ptrace(_SYSCALL_INFO, pid, ctypes.c_void_p(88), data) < 0:
        return None
    number, *arguments = struct.unpack_from("=7Q", data.raw, 24)
    name = names.get(number, str(number))
    if name not in _ON_DESCRIPTOR:
        return f"{name} {_read_path(pid, name, arguments)}"
    link = Path(f"/proc/{pid}/fd/{arguments[_ON_DESCRIPTOR[name]] & 0xFFFFFFFF}")
    try:
        return f"{name} {link.readlink()}" if link.is_file() else None
    except OSError:
        return None


def _read_path(pid: int, name: str, arguments: list[int]) -> str:
    """Return the path that a call is about; of two, the one that changes."""
    at = _PATH_AT.get(name, 0)
    if at is None:
        try:
            return str(Path(f"/proc/{pid}/fd/{arguments[0]}").readlink())
        except OSError:
            return "?"
    try:
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:  # noqa: PTH123
            memory.seek(arguments[at])
            return memory.read(4096).partition(b"\0")[0].decode("utf-8", "replace")
    except (OSError, OverflowError, ValueError):
        return "?"


def _numbers() -> Iterator[tuple[str, int]]:
    column = _MACHINES[platform.machine()][1]
    for name, numbers in _CALLS.items():
        if numbers[column]:
            yield name, numbers[column]
    for name, (numbers, _) in _OPENS.items():
        if numbers[column]:
            yield name, numbers[column]


def _build_filter() -> bytes:
    """Return the filter: stop at the calls of the tables, and at opens that may write."""
    architecture, column = _MACHINES[platform.machine()]
    load, equal, any_bit, end = 0x20, 0x15, 0x45, 0x06
    allow, stop = 0x7FFF0000, 0x7FF00000
    lines = [(load, 0, 0, 4), (equal, 1, 0, architecture), (end, 0, 0, allow), (load, 0, 0, 0)]
    for name in _CALLS:
        if number := _CALLS[name][column]:
            lines += [(equal, 0, 1, number), (end, 0, 0, stop)]
    writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
    for numbers, argument in _OPENS.values():
        if numbers[column]:
            lines += [
                (equal, 0, 4, numbers[column]),
                (load, 0, 0, 16 + 8 * argument),
                (any_bit, 0, 1, writes),
                (end, 0, 0, stop),
                (end, 0, 0, allow),
            ]
    lines.append((end, 0, 0, allow))
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


def _install_filter(program: bytes) -> None:
    code = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("@HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    if _libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) < 0:
        raise CannotTrace("no_new_privs is refused")
    if _libc.prctl(_SET_SECCOMP, 2, ctypes.create_string_buffer(header), 0, 0) < 0:
        raise CannotTrace("seccomp filters are refused")

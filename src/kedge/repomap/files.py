"""Which files the map sees: what git lists, without what others wrote or machines made."""

from __future__ import annotations

import errno
import marshal
import os
import re
import stat
import time
from bisect import bisect, bisect_left
from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property
from pathlib import Path

from kedge.errors import GitError
from kedge.host.digest import blob, digest
from kedge.host.project import Project
from kedge.host.record import NamedTuple
from kedge.repomap.unchanged import ALL, LISTED, Asked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kedge.host.git import Repo
    from kedge.repomap.cache import Cache
    from kedge.repomap.languages import Language

MAX_BYTES = 1_000_000  # larger sources are data
_LONG_LINES = 300  # bytes in a line on average: minified
_SNIFF = 2048
_SUBMODULE = b"160000"
_DENIED = (errno.EACCES, errno.EPERM, errno.EIO)

# By path: the line that git would have, or None where the file may not be read.
Come = Mapping[str, bytes | None]

_VENDORED = frozenset(
    [
        *["vendor", "vendored", "_vendor", "third_party", "third-party", "thirdparty", "3rdparty"],
        *["external", "node_modules", "bower_components", "site-packages", "deps", "dist"],
        *["compiled", "Pods", "Carthage", ".yarn", ".venv", "venv", "__pycache__", ".git"],
        ".kedge",
    ]
)
_GENERATED = (
    *(".min.js", ".min.mjs", ".min.css", ".bundle.js", "-bundle.js", ".pb.go", ".pulsar.go"),
    *(".twirp.go", "_pb2.py", "_pb2.pyi", "_pb2_grpc.py", "_pb2_grpc.pyi", ".pb.cc", ".pb.h"),
    *(".g.dart", ".freezed.dart", ".designer.cs", ".g.cs", ".snap", ".lock"),
    *("/package-lock.json", "/npm-shrinkwrap.json", "/pnpm-lock.yaml", "/go.sum"),
)


class File(NamedTuple):
    """A file of the repository. `key` names its content; `language` is None for other files."""

    path: str
    key: str
    language: Language | None


class Tracked(NamedTuple):
    """What the index has: a line for each file, in the order of their paths.

    `name` names all of that; `read` gives it. `odd` are the files that git may not compare with
    what is on disk: it is told not to, or they are in conflict.
    """

    name: str
    odd: list[bytes]
    read: Callable[[], bytes]


class Listing:
    """All files, each as the line that git has for it, and the commit that they stand on.

    Two listings are compared by their lines; `files` takes them apart. Where nothing changed since
    the last map, neither is asked for.
    """

    def __init__(
        self,
        tracked: Tracked,
        changed: Iterable[bytes],
        come: Come,
        past: str | None,
        begun: int,
        asked: Asked | None = None,
    ) -> None:
        self.begun = begun  # when this was looked at
        self.asked = asked
        self._tracked = tracked
        self._changed = frozenset(changed)  # not as the index has them, or not there
        self._come = {encoded(path): line for path, line in come.items() if line}
        self.unread = [path for path, line in come.items() if line is None]  # for want of rights
        self.past = past  # names the commit, and what of its history is there
        others = (*sorted(self._changed), b"", *self._come.values())
        self.state = digest((tracked.name.encode(), (past or "").encode(), *others))

    @property
    def odd(self) -> bool:
        """Whether git may not compare all of them with what is on disk."""
        return bool(self._tracked.odd)

    @property
    def changed(self) -> frozenset[bytes]:
        """The paths of files that are not as git's index has them, if they are there at all."""
        return self._changed

    @cached_property
    def _sorted(self) -> list[bytes]:
        return self._tracked.read().split(b"\0")[:-1]

    @cached_property
    def lines(self) -> frozenset[bytes]:
        found = set(self._sorted)
        for name in self._changed:
            found.difference_update(self._own(name))
        found.update(self._come.values())
        return frozenset(found)

    def _own(self, name: bytes) -> list[bytes]:
        """The lines that the index has for a path: more than one where it is in conflict."""
        begin = bisect_left(self._sorted, name, key=_name)
        return self._sorted[begin : bisect(self._sorted, name, begin, key=_name)]

    @cached_property
    def files(self) -> tuple[File, ...]:
        """The files that count, sorted by path."""
        return tuple(sorted(file for line in self.lines if (file := file_of(line))))

    def find(self, paths: Iterable[str]) -> dict[str, File]:
        """These files, whoever made them, without taking all lines apart."""
        found = (file_of(line, foreign=True) for path in paths for line in self._at(encoded(path)))
        return {file.path: file for file in found if file}

    def _at(self, name: bytes) -> list[bytes]:
        if name in self._changed:
            return [self._come[name]] if name in self._come else []
        return self._own(name)

    @property
    def unnamed(self) -> int:
        """How many are left out because their names cannot be printed in a line of UTF-8."""
        return sum(not decoded(name).isprintable() for name in self.names)

    @cached_property
    def names(self) -> frozenset[bytes]:
        """The paths of all, whoever made them."""
        return frozenset(map(_name, self.lines))


def _name(line: bytes) -> bytes:
    return line[line.index(b"\t") + 1 :]


def file_of(line: bytes, *, foreign: bool = False) -> File | None:
    """The file of a line; None for one that is no plain file or that others or machines made."""
    from kedge.repomap.languages import language_of

    head, _, name = line.partition(b"\t")
    path = decoded(name)
    mode, key, stage = head.split()[-3:]
    if mode not in (b"100644", b"100755") or stage != b"0":
        return None
    if not path.isprintable() or (is_foreign(path) and not foreign):
        return None
    return File(path, key.decode(), language_of(path))


@cache
def _test() -> re.Pattern[str]:
    return re.compile(
        r"(?:^|/)(?:tests?|testing|spec|specs|__tests__|__mocks__|testdata|test-data|fixtures?|e2e|"
        r"playground|benchmarks?|bench|examples?|samples?|demos?|stories)/|"
        r"(?:^|/)(?:test_[^/]*|conftest)\.py$|"
        r"[._-](?:test|tests|spec|stories|bench)\.\w+$|"
        r"[a-z0-9](?:Tests?|Spec|IT)\.(?:java|kt|scala|cs|php|swift)$"
    )


@cache
def _made() -> re.Pattern[bytes]:
    return re.compile(
        rb"@generated\b|\bDO NOT EDIT\b|\bDo not edit (?:this file|manually|by hand)\b|"
        rb"\b[Aa]uto-?generated (?:file|code|by)\b|\bCode generated by\b|"
        rb"\bThis file (?:is|was) (?:auto(?:matically)?[- ])?generated\b"
    )


def is_test(path: str) -> bool:
    return _test().search(path) is not None


@cache
def _is_vendored(folder: str) -> bool:
    return not _VENDORED.isdisjoint(folder.split("/"))


_PLUGIN = ".claude/skills/kedge/"  # kedge's own, for Claude Code


def is_foreign(path: str) -> bool:
    """Whether the path alone says that the file is vendored, generated or minified."""
    if path.startswith(_PLUGIN):
        return True
    folder, _, name = path.rpartition("/")
    if _is_vendored(folder):
        return True
    name = f"/{name.lower()}"
    return name.endswith(_GENERATED) or "_generated." in name or ".generated." in name


def is_made(data: bytes) -> bool:
    """Whether the content says that a program wrote it, or that no person should read it."""
    head = data[:_SNIFF]
    if b"\0" in head or (
        (b"enerated" in head or b"EDIT" in head or b"edit" in head) and _made().search(head)
    ):
        return True
    return len(data) > 20_000 and len(data) > _LONG_LINES * (data.count(b"\n") + 1)


def decoded(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def encoded(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def listing(project: Project, cache: Cache | None = None) -> Listing:
    """The files of the project. With a cache, git need not read the directories that it knows."""
    repo, root = project.repo, os.path.realpath(project.root)
    begun = time.time_ns()
    if repo is None:
        come = _from_disk(project.root)
        return Listing(Tracked("", [], bytes), map(encoded, come), come, None, begun)
    tracked, names, asked = (cache and _noted(repo, cache)) or _asked(repo)
    changed = sorted({name for name in (*tracked.odd, *names) if name[:7] != b".kedge/"})
    lines = {decoded(name): _on_disk(root, name) for name in changed if _is_inside(root, name)}
    come = {path: line for path, line in lines.items() if line != b""}
    head = repo.head()
    return Listing(tracked, changed, come, head and f"{head} {repo.shallow()}", begun, asked)


def _asked(repo: Repo) -> tuple[Tracked, list[bytes], Asked]:
    """What the index has, the names of changed and untracked files, and what git said."""
    # Tracked files come as `H mode blob stage<tab>path`, changed ones again as `C mode …`, and
    # others as `? path`.
    raw = said = repo.quick(*ALL)
    names: list[bytes] = []
    if again := re.findall(rb"(?<![^\0])[?Cc] [^\0]*\0", raw):
        raw = re.sub(rb"(?<![^\0])[?Cc] [^\0]*\0", b"", raw)
        for line in again:
            if line[:1] == b"?":
                names.append(line[2:-1])
            elif line[2:8] != _SUBMODULE:
                names.append(_name(line[:-1]))
    return _tracked(raw), names, Asked("", said)


def _noted(repo: Repo, cache: Cache) -> tuple[Tracked, list[bytes], Asked] | None:
    """The same with the help of what was noted before; None where that does not go."""
    from kedge.repomap import shadow

    own = shadow.of(repo, cache.home) if cache.home else None
    said = own.asked(repo) if own else None
    if own is None or said is None:
        return None
    names, asked, env = shadow.changed(said), Asked(own.path.name, said), own.env
    kept = cache.memo("tracked", own.stamp, marshal.loads)
    if kept is None:
        raw = repo.quick(*LISTED, env=env)
        if not raw:  # the copy has gone
            return None
        found = _tracked(raw)
        cache.keep_memo("tracked", own.stamp, marshal.dumps((found.name, found.odd)))
        cache.keep_memo("lines", own.stamp, found.read())
        return found, names, asked
    name, odd = kept

    def read() -> bytes:
        return cache.memo("lines", own.stamp, bytes) or _reread(repo, name, env)

    return Tracked(name, odd, read), names, asked


def _reread(repo: Repo, name: str, env: Mapping[str, str]) -> bytes:
    for index in (env, None):  # the copy goes when the index changes
        raw = repo.git(*LISTED, env=index)
        if digest([raw]) == name:
            return raw
    raise GitError("git's index changed while the map was made", hint="try again")


def _tracked(raw: bytes) -> Tracked:
    odd = [_name(line) for line in re.findall(rb"\0([^H\0][^\0]*)", b"\0" + raw)]
    return Tracked(digest([raw]), odd, lambda: raw)


def _is_inside(root: str, name: bytes) -> bool:
    """Whether no directory on the way is a link: git lists what was there before."""
    folder = name.rpartition(b"/")[0]
    place = os.fsencode(root) + (b"/" + folder if folder else b"")
    return os.path.realpath(place) == place


def read(root: Path, path: str) -> bytes | None:
    """A source file's content; None when it is gone, no plain file or too large."""
    try:
        data, size = _content(root, encoded(path))
    except OSError:
        return None
    return data if size <= MAX_BYTES else None


def _from_disk(root: Path) -> Come:
    from kedge.repomap.ignore import walk

    found = {path: _on_disk(root, os.fsencode(path)) for path in walk(root)}
    return {path: line for path, line in sorted(found.items()) if line != b""}


def _on_disk(root: Path | str, path: bytes) -> bytes | None:
    """The line that git would have for the file; what is too large to be read goes by its size.

    Empty when there is no plain file, None when it may not be read.
    """
    try:
        data, size = _content(root, path)
    except OSError:
        return None
    if data is None:
        return b""
    content = data if size <= MAX_BYTES else b"%d" % size
    return b"H 100644 %s 0\t%s" % (blob(content).encode(), path)


def _content(root: Path | str, path: bytes) -> tuple[bytes | None, int]:
    """What a plain file holds, up to what is read, and how large it is. No link is followed.

    None when there is none; OSError when it may not be read.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        fd = os.open(os.fsencode(root) + b"/" + path, flags)
    except OSError as error:
        if error.errno in _DENIED:
            raise
        return None, 0
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return None, 0
        if status.st_size > MAX_BYTES:
            return b"", status.st_size
        parts = []
        while part := os.read(fd, MAX_BYTES):
            parts.append(part)
        return b"".join(parts), status.st_size
    finally:
        os.close(fd)

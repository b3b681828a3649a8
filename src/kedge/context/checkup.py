"""What a doctor looks at: each check gives findings, each finding what to do about it."""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

from kedge import config
from kedge.context import hooking, installed, managed, mapfile, session, targets
from kedge.context.setup import apply
from kedge.errors import BrokenSection, KedgeError
from kedge.host import files, git, tokens
from kedge.host.project import Project
from kedge.host.record import NamedTuple
from kedge.settings import Settings

ALWAYS = 2500  # tokens that kedge may add to every session
CHAIN = 32 * 1024  # bytes of AGENTS.md files that Codex reads; the rest it drops in silence
_OLD_STAGE = 3600  # seconds after which a half-written file is nobody's
_GIT = (2, 30)
_OLDER = {
    "guardrails.md": "nothing reads it; what it says belongs in .kedge/constitution.md",
    "fix_plan.md": "nothing reads it; make tasks of it: kedge task import fix_plan.md",
}


class Finding(NamedTuple):
    """One thing that was looked at. `state` is fine, note or problem."""

    name: str
    state: str
    text: str
    fix: str = ""
    mend: Callable[[], object] | None = None


def fine(name: str, text: str) -> Finding:
    return Finding(name, "fine", text)


def programs(project: Project) -> Iterator[Finding]:
    import sys

    from kedge import __version__

    said = git.run(project.root, ["version"]).decode("utf-8", "replace")
    numbers = tuple(int(part) for part in re.findall(r"\d+", said)[:2])
    python = ".".join(map(str, sys.version_info[:3]))
    if numbers < _GIT:
        yield Finding("versions", "problem", said.strip(), "install git 2.30 or later")
    else:
        yield fine("versions", f"kedge {__version__}, Python {python}, {said.strip()}")


def settings(project: Project) -> Iterator[Finding]:
    try:
        loaded = config.load(project)
    except KedgeError as error:
        yield Finding("settings", "problem", error.message, error.hint or "mend that line")
        return
    for warning in loaded.warnings:
        yield Finding("settings", "note", warning, "unset the variable")


def sections(project: Project, wanted: Settings) -> Iterator[Finding]:
    try:
        plan = installed.stale(project, wanted)
    except BrokenSection as error:
        yield Finding("sections", "problem", error.message, "kedge update --repair")
        return
    except KedgeError as error:
        yield Finding("sections", "problem", error.message, error.hint or "kedge update")
        return
    for change in plan.changes:
        yield Finding(
            "sections",
            "problem",
            f"{change.path} is not as it should be",
            "kedge update",
            lambda: apply(project, plan),
        )
    if not plan.changes:
        yield fine("sections", f"{len(plan.same)} files are as they should be")
    for name in _older(project):
        yield Finding("leftovers", "note", f"{name} is of an older way of working", _OLDER[name])


def _older(project: Project) -> list[str]:
    return [name for name in _OLDER if (project.root / name).is_file()]


def map_(project: Project, wanted: Settings) -> Iterator[Finding]:
    if not installed.full(project):
        return
    from kedge.repomap.progress import no_tick

    def mend() -> object:
        return installed.refreshed_map(project, wanted, no_tick, write=True)

    path = project.own(mapfile.FILE)
    if not path.exists():
        yield Finding("map", "problem", "there is no .kedge/map.md", "kedge map", mend)
        return
    plan = installed.refreshed_map(project, wanted, no_tick, write=False)
    if plan.changes:
        yield Finding("map", "problem", ".kedge/map.md is stale", "kedge map", mend)
    else:
        count = tokens.count((files.read_bytes(path) or b"").decode("utf-8", "replace"))
        yield fine("map", f".kedge/map.md is fresh, {count} tokens")


def sizes(project: Project) -> Iterator[Finding]:
    """What every session carries, and what Codex would cut off."""
    ours = 0
    one = targets.is_one_file(project)
    for path in (targets.AGENTS,) if one else (targets.AGENTS, targets.CLAUDE):
        data = files.read_bytes(project.path(path)) or b""
        try:
            found = managed.find(data)
        except BrokenSection:
            continue
        ours += _tokens(found.text) if found else 0
    for name in () if one else (mapfile.FILE, "constitution.md"):
        ours += _tokens(files.read_bytes(project.own(name)) or b"")
    if ours > ALWAYS:
        yield Finding(
            "size",
            "problem",
            f"kedge adds {ours} tokens to every session, more than {ALWAYS}",
            "shorten .kedge/constitution.md, or kedge config set map.tokens N",
        )
    else:
        yield fine("size", f"kedge adds {ours} tokens to every session, of {ALWAYS}")
    size, chain = _longest_chain(project)
    if size > CHAIN:
        yield Finding(
            "size",
            "problem",
            f"{' + '.join(chain)} have {size} bytes; Codex drops what is above {CHAIN}, in silence",
            "shorten them, or raise project_doc_max_bytes in Codex's config.toml",
        )


def _longest_chain(project: Project) -> tuple[int, list[str]]:
    """The most bytes of AGENTS.md files that hold for one directory, and which they are."""
    names = ["AGENTS.md"]
    if project.repo is not None:
        listed = project.repo.git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        names += [name for name in git.split_z(listed) if name.endswith("/AGENTS.md")]
    sizes = {}
    for name in names:
        try:
            found = project.root.joinpath(name).lstat()
        except OSError:
            continue
        sizes[name] = found.st_size if stat.S_ISREG(found.st_mode) else 0
    best: tuple[int, list[str]] = (0, [])
    for name in sizes:
        folder = name.removesuffix("AGENTS.md")
        chain = [other for other in sizes if folder.startswith(other.removesuffix("AGENTS.md"))]
        best = max(best, (sum(sizes[other] for other in chain), sorted(chain, key=len)))
    return best


def double(project: Project) -> Iterator[Finding]:
    """What an agent is told twice: it costs tokens, and is read as emphasis."""
    if targets.is_one_file(project):
        return
    claude = files.read_bytes(project.path(targets.CLAUDE)) or b""
    agents = files.read_bytes(project.path(targets.AGENTS)) or b""
    try:
        own = {
            line.strip()
            for data in (agents, claude)
            if (found := managed.find(data))
            for line in found.text.splitlines()
        }
    except BrokenSection:
        return
    mine, theirs = (
        {line.strip() for line in data.splitlines() if len(line.strip()) > 30} - own
        for data in (claude, agents)
    )
    both = mine & theirs
    if len(both) > 5 and len(both) * 2 > min(len(mine), len(theirs)):
        yield Finding(
            "double",
            "note",
            f"CLAUDE.md repeats {len(both)} lines of AGENTS.md, which it imports",
            "keep them in AGENTS.md alone",
        )


def database(project: Project) -> Iterator[Finding]:
    home = project.home()
    path = home / "kedge.db"
    for name in sorted(home.glob("kedge.db.broken-*")):
        yield Finding("database", "note", f"{name} is a damaged database", f"rm {name}")
    if not path.exists():
        return
    try:
        with closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5)
        ) as db:
            said = db.execute("PRAGMA quick_check").fetchone()[0]
    except sqlite3.Error as error:
        said = str(error)
    if said != "ok":
        yield Finding(
            "database",
            "problem",
            f"{path}: {said}",
            "kedge map --no-cache works without it; the next kedge map moves it aside",
        )
    else:
        yield fine("database", f"{path.stat().st_size / 1e6:.1f} MB, sound")


def leftovers(project: Project) -> Iterator[Finding]:
    """Files that a killed kedge left half-written."""
    for folder in (project.root, project.root / ".kedge", project.home()):
        if not folder.is_dir():
            continue
        for path in sorted(folder.glob(".*.kedge-new")):
            if time.time() - path.lstat().st_mtime > _OLD_STAGE:
                yield Finding(
                    "leftovers",
                    "note",
                    f"{path} was never finished",
                    f"rm {path}",
                    partial(path.unlink, missing_ok=True),
                )


def permissions(project: Project) -> Iterator[Finding]:
    """What kedge must be able to write, and nobody else should."""
    home = project.home()
    for path in (project.root / ".kedge", home if home.exists() else home.parent):
        if path.exists() and not os.access(path, os.W_OK):
            yield Finding(
                "permissions", "problem", f"{path} cannot be written", f"chmod u+w {path}"
            )
    for path in (hooking.HOOK_FILE, hooking.HOOK_FILE.parent):
        if path.stat().st_mode & 0o002:
            yield Finding(
                "permissions",
                "problem",
                f"anybody on this machine can write {path}, which your agents run",
                f"chmod o-w {path}",
            )


def errors(project: Project) -> Iterator[Finding]:
    found = session.errors(project)
    if found:
        last = found[-1]
        times = "once" if len(found) == 1 else f"{len(found)} times"
        log: Path = project.home() / "logs" / session.ERRORS
        yield Finding(
            "hooks",
            "note",
            f"a hook failed {times}, last at {last.get('at')}: {str(last.get('error'))[:200]}",
            f"mend it, then kedge doctor --fix sets the record aside; {log} has all",
            lambda: log.rename(log.with_suffix(".old")),
        )


def _tokens(data: bytes) -> int:
    return tokens.count(data.decode("utf-8", "replace"))

"""The doctor's checks. Each yields diagnoses, each diagnosis with what to do about it."""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kedge import config
from kedge.context import (
    agent_hooks,
    installation,
    instruction_files,
    managed_section,
    mapfile,
    session,
)
from kedge.context.setup_plan import apply
from kedge.errors import BrokenSection, KedgeError
from kedge.host import files, git, tokens
from kedge.host.project import Project
from kedge.settings import Settings
from kedge.store import sqlite

ALWAYS = 2500  # tokens that kedge may add to every session
CHAIN = 32 * 1024  # bytes of AGENTS.md files that Codex reads; it silently drops the rest
_ABANDONED = 3600  # seconds after which a half-written file is a leftover
_GIT = (2, 30)
_OLDER = {
    "guardrails.md": "nothing reads it; move its text to .kedge/constitution.md",
    "fix_plan.md": "nothing reads it; turn it into tasks: kedge task import fix_plan.md",
}


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The result of one check. `state` is fine, note or problem; `fix` is what to do."""

    name: str
    state: str
    text: str
    fix: str = ""
    repair: Callable[[], object] | None = None


def diagnose_fine(name: str, text: str) -> Diagnosis:
    return Diagnosis(name, "fine", text)


def check_programs(project: Project) -> Iterator[Diagnosis]:
    import sys

    from kedge import __version__

    version = git.run(project.root, ["version"]).decode("utf-8", "replace").strip()
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    python = ".".join(map(str, sys.version_info[:3]))
    if numbers < _GIT:
        yield Diagnosis("versions", "problem", version, "install git 2.30 or later")
    else:
        yield diagnose_fine("versions", f"kedge {__version__}, Python {python}, {version}")


def check_settings(project: Project) -> Iterator[Diagnosis]:
    try:
        loaded = config.load(project)
    except KedgeError as error:
        yield Diagnosis("settings", "problem", error.message, error.hint or "correct that line")
        return
    for warning in loaded.warnings:
        yield Diagnosis("settings", "note", warning, "remove that setting")


def check_sections(project: Project, wanted: Settings) -> Iterator[Diagnosis]:
    try:
        plan = installation.plan_refresh(project, wanted)
    except BrokenSection as error:
        yield Diagnosis("sections", "problem", error.message, "kedge update --repair")
        return
    except KedgeError as error:
        yield Diagnosis("sections", "problem", error.message, error.hint or "kedge update")
        return
    for change in plan.changes:
        yield Diagnosis(
            "sections",
            "problem",
            f"{change.path} is out of date",
            "kedge update",
            lambda: apply(project, plan),
        )
    if not plan.changes:
        yield diagnose_fine("sections", f"{len(plan.same)} files are up to date")
    for name, fix in _OLDER.items():
        if (project.root / name).is_file():
            what = f"{name} belongs to an older version of kedge"
            yield Diagnosis("leftovers", "note", what, fix)


def check_map(project: Project, wanted: Settings) -> Iterator[Diagnosis]:
    if not installation.is_full(project):
        return
    from kedge.repomap.progress import no_tick

    def repair() -> object:
        return installation.refresh_map(project, wanted, no_tick, write=True)

    path = project.own(mapfile.FILE)
    if not path.exists():
        yield Diagnosis("map", "problem", "there is no .kedge/map.md", "kedge map", repair)
        return
    plan = installation.refresh_map(project, wanted, no_tick, write=False)
    if plan.changes:
        fix = "the next session refreshes it; kedge map does so at once"
        yield Diagnosis("map", "note", ".kedge/map.md is stale", fix, repair)
    else:
        count = tokens.count((files.read_bytes(path) or b"").decode("utf-8", "replace"))
        yield diagnose_fine("map", f".kedge/map.md is fresh, {count} tokens")


def check_sizes(project: Project) -> Iterator[Diagnosis]:
    """Check what kedge adds to every session, and what Codex would cut off."""
    ours = 0
    one = instruction_files.is_one_file(project)
    paths = (instruction_files.AGENTS, instruction_files.CLAUDE)
    for path in paths[:1] if one else paths:
        data = files.read_bytes(project.path(path)) or b""
        try:
            section = managed_section.find(data)
        except BrokenSection:
            continue
        ours += _tokens(section.text) if section else 0
    for name in () if one else (mapfile.FILE, "constitution.md"):
        ours += _tokens(files.read_bytes(project.own(name)) or b"")
    if ours > ALWAYS:
        yield Diagnosis(
            "size",
            "problem",
            f"kedge adds {ours} tokens to every session, more than {ALWAYS}",
            "shorten .kedge/constitution.md, or kedge config set map.tokens N",
        )
    else:
        yield diagnose_fine("size", f"kedge adds {ours} tokens to every session, of {ALWAYS}")
    size, chain = _longest_chain(project)
    if size > CHAIN:
        yield Diagnosis(
            "size",
            "problem",
            f"{' + '.join(chain)} have {size} bytes; Codex silently drops what exceeds {CHAIN}",
            "shorten them, or raise project_doc_max_bytes in Codex's config.toml",
        )


def _longest_chain(project: Project) -> tuple[int, list[str]]:
    """Return the most bytes of AGENTS.md files that apply to one directory, and those files."""
    names = ["AGENTS.md"]
    if project.repo is not None:
        listed = project.repo.git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        names += [name for name in git.split_z(listed) if name.endswith("/AGENTS.md")]
    sizes = {}
    for name in names:
        try:
            status = project.root.joinpath(name).lstat()
        except OSError:
            continue
        sizes[name] = status.st_size if stat.S_ISREG(status.st_mode) else 0
    best: tuple[int, list[str]] = (0, [])
    for name in sizes:
        folder = name.removesuffix("AGENTS.md")
        chain = [other for other in sizes if folder.startswith(other.removesuffix("AGENTS.md"))]
        best = max(best, (sum(sizes[other] for other in chain), sorted(chain, key=len)))
    return best


def check_repeated_lines(project: Project) -> Iterator[Diagnosis]:
    """Check for lines in both files: they cost tokens, and agents read them as emphasis."""
    if instruction_files.is_one_file(project):
        return
    claude = files.read_bytes(project.path(instruction_files.CLAUDE)) or b""
    agents = files.read_bytes(project.path(instruction_files.AGENTS)) or b""
    try:
        own = {
            line.strip()
            for data in (agents, claude)
            if (section := managed_section.find(data))
            for line in section.text.splitlines()
        }
    except BrokenSection:
        return
    mine, theirs = (
        {line.strip() for line in data.splitlines() if len(line.strip()) > 30} - own
        for data in (claude, agents)
    )
    both = mine & theirs
    if len(both) > 5 and len(both) * 2 > min(len(mine), len(theirs)):
        yield Diagnosis(
            "double",
            "note",
            f"CLAUDE.md repeats {len(both)} lines of AGENTS.md, which it imports",
            "keep them in AGENTS.md only",
        )


def check_database(project: Project) -> Iterator[Diagnosis]:
    home = project.home()
    path = home / "kedge.db"
    for name in sorted(home.glob("kedge.db.broken-*Z")):
        yield Diagnosis("database", "note", f"{name} is a damaged database", f"rm {name}*")
    if not path.exists():
        return
    try:
        with sqlite.read(path) as db:
            answer = db.execute("PRAGMA quick_check").fetchone()[0]
    except sqlite3.Error as error:
        answer = str(error)
    if answer != "ok":
        yield Diagnosis(
            "database",
            "problem",
            f"{path}: {answer}",
            "kedge map --no-cache works without it; the next kedge map moves it aside",
        )
    else:
        yield diagnose_fine("database", f"{path.stat().st_size / 1e6:.1f} MB, intact")


def check_leftovers(project: Project) -> Iterator[Diagnosis]:
    """Check for files that a killed kedge left half-written."""
    for folder in (project.root, project.root / ".kedge", project.home()):
        if not folder.is_dir():
            continue
        for path in sorted(folder.glob(".*.kedge-new")):
            if time.time() - path.lstat().st_mtime > _ABANDONED:
                yield Diagnosis(
                    "leftovers",
                    "note",
                    f"{path} is half-written, by a kedge that was killed",
                    f"rm {path}",
                    partial(path.unlink, missing_ok=True),
                )


def check_permissions(project: Project) -> Iterator[Diagnosis]:
    """Check that kedge can write its files, and that nobody else can write its hooks."""
    home = project.home()
    for path in (project.root / ".kedge", home if home.exists() else home.parent):
        if path.exists() and not os.access(path, os.W_OK):
            yield Diagnosis(
                "permissions", "problem", f"{path} cannot be written", f"chmod u+w {path}"
            )
    for path in (agent_hooks.HOOK_FILE, agent_hooks.HOOK_FILE.parent):
        if path.stat().st_mode & 0o002:
            yield Diagnosis(
                "permissions",
                "problem",
                f"anybody on this machine can write {path}, which your agents run",
                f"chmod o-w {path}",
            )


def check_hook_errors(project: Project) -> Iterator[Diagnosis]:
    everything = session.read_errors(project)
    log: Path = project.home() / "logs" / session.ERRORS
    of_proxy = [one for one in everything if one.get("event") == session.PROXY]
    of_hooks = [one for one in everything if one.get("event") != session.PROXY]
    for name, what, entries in (("hooks", "a hook", of_hooks), ("serve", "the proxy", of_proxy)):
        if not entries:
            continue
        last = entries[-1]
        times = "once" if len(entries) == 1 else f"{len(entries)} times"
        yield Diagnosis(
            name,
            "note",
            f"{what} failed {times}, last at {last.get('at')}: {str(last.get('error'))[:200]}",
            f"fix the cause, then kedge doctor --fix moves the record aside; {log} has every error",
            lambda: log.rename(log.with_suffix(".old")),
        )


def _tokens(data: bytes) -> int:
    return tokens.count(data.decode("utf-8", "replace"))


CHECKS = (check_sizes, check_repeated_lines, check_database, check_permissions, check_leftovers)

"""What an agent must not change in a repository: what git runs, and what tells kedge what to do.

A run notes it at its start. After each turn of an agent, and after the checks that run the agent's
code, it is compared: git's settings, hooks and attributes, kedge's own files and the settings of
agents are put back, and a change outside is refused, because it may be the user's.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from kedge.errors import InvalidValue
from kedge.host import clock, files, guarded_files
from kedge.host.git import Repo, split_z
from kedge.host.guarded_files import Entry, Places
from kedge.host.project import Project

VARIABLE = "KEDGE_RUN_BASELINE"  # gives a run in a work tree what its parent noted
_IN_KEDGE = ("config.toml", "constitution.md", "runloop.md")
# With these a repository tells the next call of an agent what it may do and which programs to run.
_AGENT_FILES = (
    *(".claude/settings.json", ".claude/settings.local.json", ".mcp.json", ".github/mcp.json"),
    *(".codex/config.toml", ".codex/hooks.json", ".gemini/settings.json"),
    *("opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"),
    ".kedge/opencode.js",  # kedge's plugin, which opencode loads
)
_AGENT_FOLDERS = (
    *(".github/hooks", ".codex/rules", ".opencode/plugin", ".opencode/plugins"),
    *(".opencode/tool", ".opencode/tools"),
)
_AGENT_FRAMES = (".claude", ".codex", ".gemini", ".github", ".opencode")
_FRAMES = ("info", "objects", "objects/info", "hooks", "modules", "kedge")
_FILES = (
    *("config", "config.worktree", "info/attributes", "info/exclude", "info/grafts"),
    *("info/sparse-checkout", "objects/info/alternates", "objects/info/http-alternates"),
)
_MODULE_FILES = ("config", "config.worktree", "info/attributes")
_SKIPPED = frozenset(("objects", "refs", "logs", "hooks", "info"))  # in a submodule's directory
_POINTERS = ("commondir", "gitdir")  # of a linked work tree


@dataclass(frozen=True, slots=True)
class Baseline:
    """What was there when the run started.

    `settings` are the values of git's settings from outside of the repository, each with its file.
    `outside` are files there that settings name. `identity` tells the repository from another one
    in its place.
    """

    places: Places
    entries: Mapping[str, Entry]
    settings: tuple[str, ...]
    outside: Places
    outside_entries: Mapping[str, Entry]
    identity: tuple[str, ...]

    def encode(self) -> bytes:
        data = {
            "places": asdict(self.places),
            "entries": guarded_files.encode(self.entries),
            "settings": self.settings,
            "outside": asdict(self.outside),
            "outside_entries": guarded_files.encode(self.outside_entries),
            "identity": self.identity,
        }
        return json.dumps(data, sort_keys=True).encode()


@dataclass(frozen=True, slots=True)
class GuardReport:
    """The paths that had changed, to show. `aside` is where changed versions are kept."""

    put_back: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    aside: str = ""

    def __bool__(self) -> bool:
        return bool(self.put_back or self.refused)


def capture(project: Project) -> Baseline:
    """Note what is there."""
    repo = project.repo
    root = project.root
    own = Places(
        files=(
            *(str(project.own(name)) for name in _IN_KEDGE),
            *(str(root / name) for name in _AGENT_FILES),
        ),
        folders=tuple(str(root / name) for name in _AGENT_FOLDERS),
        frames=(str(project.own()), *(str(root / name) for name in _AGENT_FRAMES)),
    )
    if repo is None:
        return Baseline(own, own.read(), (), Places(), {}, ())
    settings = _read_settings(repo)
    inside = tuple(one for one in settings.named if _is_inside(repo, one))
    outside = Places(files=tuple(one for one in settings.named if one not in inside))
    places = own | _list_places(repo) | Places(files=inside)
    if settings.hooks and not _is_work(repo, settings.hooks):
        hooks = Places(folders=(settings.hooks,))
        if _is_inside(repo, settings.hooks):
            places |= hooks
        else:
            outside |= hooks
    identity = tuple(_identify(repo))
    return Baseline(places, places.read(), settings.outside, outside, outside.read(), identity)


def decode(data: bytes) -> Baseline:
    value = json.loads(data)
    return Baseline(
        _decode_places(value["places"]),
        guarded_files.decode(value["entries"]),
        tuple(value["settings"]),
        _decode_places(value["outside"]),
        guarded_files.decode(value["outside_entries"]),
        tuple(value["identity"]),
    )


def check(project: Project, baseline: Baseline) -> GuardReport:
    """Put back what an agent has changed in the repository, and say what else has changed."""
    repo = project.repo
    if repo is not None and tuple(_identify(repo)) != baseline.identity:
        return GuardReport(refused=("the repository itself: .git is not what it was",))
    aside = (repo.git_dir if repo else project.own()) / "kedge" / "put-back" / _stamp()
    moved = guarded_files.put_back(baseline.places, baseline.entries, aside)
    refused = guarded_files.find_changes(baseline.outside_entries, baseline.outside.read())
    if repo is not None:
        changed = {*_read_settings(repo).outside} ^ {*baseline.settings}
        refused += sorted({one.split("\n")[0] for one in changed})
    shown = str(aside) if moved and aside.exists() else ""
    return GuardReport(
        tuple(show(project, one) for one in moved),
        tuple(show(project, one) for one in dict.fromkeys(refused)),
        shown,
    )


def find_changes(project: Project, baseline: Baseline) -> list[str]:
    """Return what is not as it was, to show, and change nothing."""
    changed = guarded_files.find_changes(baseline.entries, baseline.places.read())
    changed += guarded_files.find_changes(baseline.outside_entries, baseline.outside.read())
    return [show(project, one) for one in changed]


def store(path: Path, baseline: Baseline) -> str:
    """Store a baseline, and return the hash that it is loaded with."""
    data = baseline.encode()
    files.write_atomic(path, data, mode=0o600)
    return hashlib.sha256(data).hexdigest()


def load(path: Path, digest: str) -> Baseline:
    """Load a stored baseline; InvalidValue if it is not the one with this hash."""
    data = files.read_bytes(path) or b""
    if hashlib.sha256(data).hexdigest() != digest:
        raise InvalidValue(
            "what the run noted about the repository at its start is gone, or was changed",
            hint="look at .git/config and .git/hooks, then start a new run: kedge run",
        )
    return decode(data)


def capture_for_run(project: Project) -> Baseline:
    """Note what is there for a run; what a parent noted before any agent of it counts more."""
    baseline = capture(project)
    given = os.environ.pop(VARIABLE, "")
    if not given:
        return baseline
    digest, _, path = given.partition(":")
    parent = load(Path(path), digest)
    own = {one: entry for one, entry in baseline.entries.items() if one not in parent.entries}
    shared = set(parent.places.read()) - parent.entries.keys()
    entries = {**{one: entry for one, entry in own.items() if one not in shared}, **parent.entries}
    return replace(
        baseline,
        places=baseline.places | parent.places,
        entries=entries,
        settings=parent.settings,
        outside=parent.outside,
        outside_entries=parent.outside_entries,
    )


def leave_scope(baseline: Baseline, project: Project, scope: Iterable[str]) -> Baseline:
    """Return the baseline without the files that a task names as its scope.

    A guarded directory is left whole if the task names it, or a file in it.
    """
    named = _find_named(baseline, project, scope)
    names = set(named.files + named.folders)
    places = replace(
        baseline.places,
        files=tuple(one for one in baseline.places.files if one not in names),
        folders=tuple(one for one in baseline.places.folders if one not in names),
    )
    entries = {one: entry for one, entry in baseline.entries.items() if not _is_in(one, named)}
    return replace(baseline, places=places, entries=entries)


def accept_scope(baseline: Baseline, project: Project, scope: Iterable[str]) -> Baseline:
    """Return the baseline with the files that a finished task names as its scope as they are."""
    named = _find_named(baseline, project, scope)
    left = leave_scope(baseline, project, scope)
    return replace(baseline, entries={**left.entries, **named.read()})


def _find_named(baseline: Baseline, project: Project, scope: Iterable[str]) -> Places:
    """Return the guarded places that a scope names; the frames stay."""
    named = {str(project.root / one) for one in scope}
    return Places(
        files=tuple(one for one in baseline.places.files if one in named),
        folders=tuple(
            one
            for one in baseline.places.folders
            if any(path == one or path.startswith(f"{one}/") for path in named)
        ),
    )


def _is_in(path: str, places: Places) -> bool:
    return path in places.files or any(
        path == one or path.startswith(f"{one}/") for one in places.folders
    )


def show(project: Project, path: str) -> str:
    root = f"{project.root}/"
    return path.removeprefix(root) if path.startswith(root) else path


def _list_places(repo: Repo) -> Places:
    """Return the places in git's own directories, those of submodules included."""
    names = [str(repo.root / ".git")] if repo.linked else []
    frames, folders = [], [str(repo.common_dir / "hooks")]
    for top in dict.fromkeys((repo.common_dir, repo.git_dir)):
        names += [str(top / one) for one in _FILES]
        frames += [str(top / one) for one in _FRAMES if one != "hooks"]
        for here, inner, found in os.walk(top / "modules"):
            inner[:] = sorted(one for one in inner if one not in _SKIPPED)
            if "HEAD" in found:
                names += [str(Path(here, one)) for one in _MODULE_FILES]
                folders.append(str(Path(here, "hooks")))
    if repo.linked:
        names += [str(repo.git_dir / one) for one in _POINTERS]
    return Places(tuple(names), tuple(folders), tuple(frames))


@dataclass(frozen=True, slots=True)
class _Settings:
    """Git's settings: values from outside of git's directories, and the files that they name."""

    outside: tuple[str, ...]  # the file and the name, and after a line break the value
    named: tuple[str, ...]
    hooks: str | None


def _read_settings(repo: Repo) -> _Settings:
    out = split_z(repo.git("config", "--list", "--includes", "--show-scope", "--show-origin", "-z"))
    outside, named, hooks = [], [], None
    for scope, origin, item in zip(out[::3], out[1::3], out[2::3], strict=False):
        if scope == "command":  # kedge's own
            continue
        key, _, value = item.partition("\n")
        file = _locate(repo, origin.removeprefix("file:"))
        if scope in ("local", "worktree"):
            named.append(file)
        if not _is_inside(repo, file):
            outside.append(f"{file} ({key})\n{value}")
        if key in ("core.attributesfile", "core.excludesfile"):
            named.append(_locate(repo, value))
        if key == "core.hookspath":
            hooks = _locate(repo, value) if value else None
    given = os.environ.get("XDG_CONFIG_HOME")
    home = Path(given) if given else Path.home() / ".config"
    named += [str(home / "git" / name) for name in ("attributes", "ignore")]
    return _Settings(tuple(outside), tuple(dict.fromkeys(named)), hooks)


def find_hooks(repo: Repo) -> Path | None:
    """Return the directory in the work tree that core.hooksPath names: a part of the work."""
    hooks = _read_settings(repo).hooks
    return Path(hooks) if hooks and _is_work(repo, hooks) else None


def _locate(repo: Repo, name: str) -> str:
    path = Path(name).expanduser() if name.startswith("~") else repo.root / name
    return os.path.abspath(path)  # noqa: PTH100 - no link is followed


def _is_inside(repo: Repo, path: str) -> bool:
    """True if a file is in a directory of git's own."""
    return any(Path(path).is_relative_to(one) for one in (repo.common_dir, repo.git_dir))


def _is_work(repo: Repo, path: str) -> bool:
    return Path(path).is_relative_to(repo.root) and not _is_inside(repo, path)


def _identify(repo: Repo) -> Iterator[str]:
    """Yield what tells the repository from another one in the same place."""
    for path in dict.fromkeys((repo.root / ".git", repo.git_dir, repo.common_dir)):
        try:
            status = path.lstat()
        except OSError:
            yield f"{path} is gone"
        else:
            yield f"{path} {status.st_mode >> 12}" + (
                f" {status.st_dev} {status.st_ino}" if path != repo.root / ".git" else ""
            )


def _stamp() -> str:
    return clock.now()[:23].translate({ord(sign): None for sign in "-:T."})


def _decode_places(data: Mapping[str, Any]) -> Places:
    return Places(tuple(data["files"]), tuple(data["folders"]), tuple(data["frames"]))

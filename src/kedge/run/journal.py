"""The state of a run on disk, so that it can be gone on with whatever ended it."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path

from kedge.errors import InvalidValue, KedgeError, LockTimeout
from kedge.host import clock, files, group
from kedge.host.digest import digest
from kedge.host.project import Project
from kedge.model.ids import is_id
from kedge.run import wanted as wanting
from kedge.run.spent import Spent
from kedge.run.wanted import Wanted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RUNNING, ENDED = "running", "ended"
LEFT = "left"  # what became of a task that a limit or an interruption ended
_KEPT = 50  # runs


@dataclass(frozen=True, slots=True)
class At:
    """Where a run is: at which task, on which tree that began, in which call of which role."""

    task: str
    start: str  # the tree before the first attempt
    role: str = ""
    session: str = ""
    began_at: str = ""
    tree: str = ""  # before this call
    proven: str = ""  # why it is done, once it is committed


@dataclass(frozen=True, slots=True)
class State:
    id: str
    root: str
    wanted: dict[str, Any]
    started_at: str
    pid: int
    mark: str = ""  # what all that the run starts bears
    status: str = RUNNING
    why: str = ""
    spent: dict[str, Any] = field(default_factory=dict)
    at: At | None = None
    results: tuple[dict[str, Any], ...] = ()
    checks: dict[str, list[str]] = field(default_factory=dict)  # of tasks, as the run found them


class Journal:
    """The one run that this process makes. Each change is on disk before the next step."""

    def __init__(self, project: Project, state: State) -> None:
        self._project = project
        self.state = state

    @classmethod
    def begin(cls, project: Project, wanted: Wanted) -> Journal:
        now = clock.now()
        name = f"r{now[2:19].translate({ord(sign): None for sign in '-:T'})}-{os.getpid()}"
        made = State(name, str(project.root), wanted.data(), now, os.getpid(), _marked())
        journal = cls(project, made)
        journal._write()
        _prune(project)
        return journal

    @classmethod
    def resume(cls, project: Project, name: str | None) -> Journal:
        """Go on with a run that did not come to its end, the last one unless it is named."""
        found = _find(project, name)
        if _alive(project, found.id):
            raise InvalidValue(
                f"{found.id} is still running, as process {found.pid}",
                hint=f"end it with kill -INT {found.pid}",
            )
        if found.mark:  # what a killed run has left behind
            group.end_marked(found.mark)
        done = tuple(one for one in found.results if one.get("state") != LEFT)
        changed = replace(
            found, pid=os.getpid(), mark=_marked(), status=RUNNING, why="", results=done
        )
        journal = cls(project, changed)
        journal._write()
        return journal

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """While this is held, others see that the run is alive; however it ends, it is let go.

        A run that works in the user's own tree has that to itself.
        """
        with contextlib.ExitStack() as locks:
            locks.enter_context(files.lock(_lock(self._project, self.state.id), timeout=1.0))
            if not self.wanted.worktree:
                name = f"tree-{digest([self.state.root.encode()])[:16]}"
                try:
                    locks.enter_context(files.lock(_lock(self._project, name), timeout=0.0))
                except LockTimeout as error:
                    raise InvalidValue(
                        "another run is at work in this tree",
                        hint="wait for it, or kedge run --worktree",
                    ) from error
            yield

    @property
    def wanted(self) -> Wanted:
        return wanting.parse(self.state.wanted)

    @property
    def spent(self) -> Spent:
        known = {one.name for one in fields(Spent)}
        return Spent(**{key: value for key, value in self.state.spent.items() if key in known})

    def change(self, **values: Any) -> None:
        if isinstance(values.get("spent"), Spent):
            values["spent"] = asdict(values["spent"])
        self.state = replace(self.state, **values)
        self._write()

    def _write(self) -> None:
        path = _folder(self._project) / f"{self.state.id}.json"
        files.write_atomic(path, json.dumps(asdict(self.state), indent=1).encode(), mode=0o600)


def between_calls(at: At) -> At:
    """Where a run that is gone on with begins: on the same tree, in no call."""
    return replace(at, role="", session="", began_at="")


def _marked() -> str:
    """A mark for this process, which all that it starts from here on inherits."""
    mark = os.urandom(12).hex()
    os.environ.update(group.marked(os.environ, mark))
    return mark


def unfinished(project: Project) -> list[State]:
    """Runs that ended without saying so: their process is gone."""
    runs = [one for one in _all(project) if one.status == RUNNING]
    return [one for one in runs if not _alive(project, one.id)]


def _folder(project: Project) -> Path:
    return project.home() / "runs"


def _find(project: Project, name: str | None) -> State:
    if name is not None and not is_id(name):
        raise InvalidValue(f"{name!r} is no run", hint="kedge run --resume takes the last one")
    runs = [one for one in _all(project) if name in (None, one.id)]
    if not runs:
        said = f"there is no run {name!r}" if name else "there is no run to go on with"
        raise InvalidValue(said, hint="kedge run begins one")
    return runs[-1]


def _all(project: Project) -> list[State]:
    """The runs of this work tree, the latest last; what is none is passed over."""
    found = []
    for path in sorted(_folder(project).glob("r*.json")):
        try:
            state = _parse(json.loads(files.read_bytes(path) or b""))
        except (ValueError, TypeError, AttributeError, KedgeError):
            continue
        if state.root == str(project.root):
            found.append(state)
    return sorted(found, key=lambda one: one.started_at)


def _parse(data: dict[str, Any]) -> State:
    at = data.get("at")
    values = {**data, "at": At(**at) if at else None, "results": tuple(data.get("results", ()))}
    return State(**values)


def _alive(project: Project, name: str) -> bool:
    try:
        with files.lock(_lock(project, name), timeout=0.0):
            return False
    except LockTimeout:
        return True


def _lock(project: Project, name: str) -> Path:
    return _folder(project) / f"{name}.lock"


def _prune(project: Project) -> None:
    for path in sorted(_folder(project).glob("r*.json"))[:-_KEPT]:
        if not _alive(project, path.stem):
            path.unlink(missing_ok=True)
            path.with_suffix(".lock").unlink(missing_ok=True)

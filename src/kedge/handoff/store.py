"""Where contexts are kept: `.kedge/context/<task>/`, one writer at a time, old bytes or new.

`context.json` carries a seal over all of it, so that an edit by anything but kedge is seen.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path

from kedge.errors import (
    BrokenContext,
    ContextExists,
    ContextNotFound,
    FileError,
    NewerContext,
)
from kedge.handoff.context import Context, parse
from kedge.handoff.normalise import SEAL, canonical, is_sealed, sealed
from kedge.host import clock, files
from kedge.host.project import Project
from kedge.host.record import NamedTuple
from kedge.host.secrets import refuse
from kedge.model.ids import task_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FOLDER = "context"
_LOGGED = 200  # entries of the audit
_MANY = 64 * 1024 * 1024  # bytes of a context that is read


class Loaded(NamedTuple):
    """A context, and whether something other than kedge has written it."""

    context: Context
    edited: bool


class Store:
    def __init__(self, project: Project, *, lock_timeout: float = files.LOCK_TIMEOUT) -> None:
        self.project = project
        self._timeout = lock_timeout

    def folder(self, task: str) -> Path:
        """The directory of a task's context. No id leads out of it, and no link is followed."""
        return self.project.own(_FOLDER, task_id(task))

    def exists(self, task: str) -> bool:
        return (self.folder(task) / "context.json").exists()

    def tasks(self) -> list[str]:
        """The tasks that have a context."""
        folder = self.project.own(_FOLDER)
        try:
            names = sorted(path.name for path in folder.iterdir() if path.is_dir())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise files.file_error("read", folder, error) from error
        return [name for name in names if (folder / name / "context.json").exists()]

    def read(self, task: str) -> Loaded:
        path = self.folder(task) / "context.json"
        data = files.read_bytes(path)
        if data is None:
            raise ContextNotFound(f"{task} has no context", hint=f"kedge context init {task}")
        try:
            value = json.loads(data.decode())
            context = parse({key: item for key, item in value.items() if key != SEAL})
        except (ValueError, RecursionError, AttributeError) as error:
            raise BrokenContext(
                f"the context of {task} is not JSON ({error})", hint=f"kedge context rebuild {task}"
            ) from error
        except NewerContext as error:
            raise NewerContext(f"the context of {task} cannot be used: {error.message}") from error
        except BrokenContext as error:
            raise BrokenContext(
                f"the context of {task} cannot be used: {error.message}",
                hint=f"kedge context rebuild {task}",
            ) from error
        if context.task_id != task:
            raise BrokenContext(
                f"the context of {task} is that of {context.task_id!r}",
                hint=f"kedge context rebuild {task}",
            )
        return Loaded(context, not is_sealed(value))

    def create(
        self, task: str, make: Callable[[], Context], *, actor: str, allow: Collection[str]
    ) -> Context:
        """Keep a new context; of several that try, one does, and the others make nothing."""
        with self.lock():
            if self.exists(task):
                raise ContextExists(
                    f"{task} has a context already",
                    hint=f"kedge context show {task}; rebuild re-reads its sources",
                )
            context = make()
            refuse("the task", dict(context.immutable), allow)
            return self._write(context, actor, "init", allow)

    def change(
        self,
        task: str,
        act: Callable[[Context], Context],
        *,
        actor: str,
        what: str,
        allow: Collection[str] = (),
        mend: bool = False,
    ) -> Context:
        """Replace a context by what `act` makes of it. One that was edited is refused."""
        with self.lock():
            loaded = self.read(task)
            if loaded.edited and not mend:
                raise BrokenContext(
                    f"the context of {task} was edited by something other than kedge",
                    hint=f"kedge context rebuild {task} makes it right from its sources",
                )
            before = loaded.context
            after = act(before)
            if after == before:
                return before
            known = {*allow, *before.audit.get("allowed_secrets", ())}
            old = before.data()
            for name, value in after.data().items():
                if value != old[name]:
                    refuse(f"{name} of the context", value, known)
            return self._write(after, actor, what, allow)

    def set_aside(self, task: str) -> str:
        """Move a file that cannot be read out of the way; its new name."""
        path = self.folder(task) / "context.json"
        aside = path.with_name(f"context.json.broken-{clock.now().replace(':', '')}")
        try:
            path.rename(aside)
        except OSError as error:
            raise files.file_error("move", path, error) from error
        return aside.name

    def lock(self) -> Any:
        return files.lock(self.project.own("locks", "context.lock"), timeout=self._timeout)

    def write_beside(self, task: str, name: str, value: Mapping[str, Any]) -> str:
        """Write a sealed file next to the context; its seal."""
        whole = sealed(dict(value))
        files.write_atomic(self.folder(task) / name, canonical(whole))
        return str(whole[SEAL])

    def remove(self, task: str) -> bool:
        """Delete the context; False when there was none."""
        folder = self.folder(task)
        if not folder.exists():
            return False
        try:
            shutil.rmtree(folder)
        except OSError as error:
            raise files.file_error("remove", folder, error) from error
        return True

    def _write(self, context: Context, actor: str, what: str, allow: Collection[str]) -> Context:
        now, repo = clock.now(), self.project.repo
        head = repo.head() if repo else None
        before = context.audit
        entry = {"at": now, "actor": actor, "what": what, "head": head}
        allowed = sorted({*before.get("allowed_secrets", ()), *allow})
        context = replace(
            context,
            audit={
                "updated_at": now,
                "updated_by": actor,
                "head": head,
                "count": int(before.get("count", 0)) + 1,
                "allowed_secrets": allowed,
                "log": [*before.get("log", ())[-(_LOGGED - 1) :], entry],
            },
        )
        self._keep_out_of_git()
        data = canonical(sealed(_plain(context.data())))
        if len(data) > _MANY:
            raise FileError(
                f"the context of {context.task_id} would have {len(data)} bytes",
                hint="attach less to it",
            )
        files.write_atomic(self.folder(context.task_id) / "context.json", data)
        return parse(json.loads(data))

    def _keep_out_of_git(self) -> None:
        ignore = self.project.own(_FOLDER, ".gitignore")
        if files.read_bytes(ignore) is None:
            files.write_atomic(ignore, b"*\n")


def _plain(value: Any) -> Any:
    """Plain JSON values: lists for tuples, dicts for mappings."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value

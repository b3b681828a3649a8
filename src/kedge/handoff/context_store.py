"""The store of contexts, `.kedge/context/<task>/`: one writer at a time, atomic writes.

A seal in `context.json` shows an edit by anything but kedge.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kedge.errors import (
    BrokenContext,
    ContextExists,
    ContextNotFound,
    FileError,
    NewerContext,
)
from kedge.handoff.canonical_form import SEAL, encode_canonical, is_sealed, seal
from kedge.handoff.task_context import TaskContext, parse_context
from kedge.host import clock, files
from kedge.host.project import Project
from kedge.host.secrets import refuse
from kedge.model.ids import task_id

_FOLDER = "context"
_AUDIT_ENTRIES = 200
_MAX_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class LoadedContext:
    """A context, and whether something other than kedge edited it."""

    context: TaskContext
    edited: bool


class ContextStore:
    def __init__(self, project: Project, *, lock_timeout: float = files.LOCK_TIMEOUT) -> None:
        self.project = project
        self._timeout = lock_timeout

    def folder(self, task: str) -> Path:
        """Return the directory of a task's context; no id or link can lead outside `.kedge`."""
        return self.project.own(_FOLDER, task_id(task))

    def exists(self, task: str) -> bool:
        return (self.folder(task) / "context.json").exists()

    def tasks(self) -> list[str]:
        """List the tasks that have a context."""
        folder = self.project.own(_FOLDER)
        try:
            names = sorted(path.name for path in folder.iterdir() if path.is_dir())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise files.file_error("read", folder, error) from error
        return [name for name in names if (folder / name / "context.json").exists()]

    def read(self, task: str) -> LoadedContext:
        path = self.folder(task) / "context.json"
        data = files.read_bytes(path)
        if data is None:
            raise ContextNotFound(f"{task} has no context", hint=f"kedge context init {task}")
        try:
            value = json.loads(data.decode())
            context = parse_context({key: item for key, item in value.items() if key != SEAL})
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
                f"the context of {task} belongs to {context.task_id!r}",
                hint=f"kedge context rebuild {task}",
            )
        return LoadedContext(context, not is_sealed(value))

    def create(
        self,
        task: str,
        make: Callable[[], TaskContext],
        before: Callable[[TaskContext], None],
        *,
        actor: str,
        allow: Collection[str],
    ) -> TaskContext:
        """Store a new context. Of several concurrent calls one calls `make`; the others raise.

        `before` does what else belongs to the creation. The context is written last: a creation
        that was interrupted can be done again.
        """
        with self.lock():
            if self.exists(task):
                raise ContextExists(
                    f"{task} already has a context",
                    hint=f"kedge context show {task} prints it, rebuild reads its sources again",
                )
            context = make()
            refuse("the task", dict(context.immutable), allow)
            self._keep_out_of_git()
            before(context)
            return self._write(context, actor, "init", allow)

    def change(
        self,
        task: str,
        act: Callable[[TaskContext], TaskContext],
        *,
        actor: str,
        what: str,
        allow: Collection[str] = (),
    ) -> TaskContext:
        """Replace a context by the one that `act` returns. An edited one is refused."""
        with self.lock():
            loaded = self.read(task)
            if loaded.edited:
                raise BrokenContext(
                    f"the context of {task} was edited by something other than kedge",
                    hint=f"kedge context rebuild {task} restores it from its sources",
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
        """Move an unusable file out of the way and return its new name."""
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
        """Write a sealed file next to the context and return its seal."""
        whole = seal(dict(value))
        files.write_atomic(self.folder(task) / name, encode_canonical(whole))
        return str(whole[SEAL])

    def remove(self, task: str) -> bool:
        """Delete the context; return False if there was none."""
        folder = self.folder(task)
        if not folder.exists():
            return False
        try:
            shutil.rmtree(folder)
        except OSError as error:
            raise files.file_error("remove", folder, error) from error
        return True

    def _write(
        self, context: TaskContext, actor: str, what: str, allow: Collection[str]
    ) -> TaskContext:
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
                "log": [*before.get("log", ())[-(_AUDIT_ENTRIES - 1) :], entry],
            },
        )
        self._keep_out_of_git()
        data = encode_canonical(seal(context.data()))
        if len(data) > _MAX_BYTES:
            raise FileError(
                f"the context of {context.task_id} would have {len(data)} bytes",
                hint="attach less to it",
            )
        files.write_atomic(self.folder(context.task_id) / "context.json", data)
        return parse_context(json.loads(data))

    def _keep_out_of_git(self) -> None:
        ignore = self.project.own(_FOLDER, ".gitignore")
        if files.read_bytes(ignore) is None:
            files.write_atomic(ignore, b"*\n")

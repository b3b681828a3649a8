"""The errors that kedge reports.

    KedgeError                  exit 1: refused or failed
    ├── UsageError              exit 2: wrong usage
    ├── CheckFound              exit 4: a check found something
    ├── Interrupted             exit 130: the user ended it
    ├── InvalidValue            a value that is not accepted
    ├── ConfigError             a setting or a settings file that cannot be used
    ├── FileError               a file that cannot be read or written
    │   ├── LockTimeout         another process holds the lock
    │   └── BrokenSection       markers that do not form one managed section
    ├── SecretFound             text to be written seems to contain a secret
    ├── NotApproved             a command of the repository that the user has not approved
    ├── ProgramError            a program is missing, failed or took too long
    ├── GitError                git refused or failed
    │   ├── NoRepository        not in a git work tree
    │   └── BareRepository      a repository without a work tree
    ├── HandoffRefused          a handoff step that is not allowed
    │   ├── ContextNotFound
    │   ├── ContextExists
    │   └── BrokenContext       a context file that cannot be parsed
    │       └── NewerContext    a context file written by a newer kedge
    └── TaskError               an operation on tasks that is not allowed
        ├── TaskNotFound
        ├── TaskExists
        ├── DependencyCycle
        ├── WrongState          the task's status does not allow it
        │   └── NotProven       a check of the task is not green
        ├── ReadOnly            the backend cannot be written here
        └── BrokenTasks         a task file that cannot be parsed

Any other exception is a bug in kedge (exit 3).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


class KedgeError(Exception):
    """A failure that the user can act on, with a one-line message and a hint."""

    code: ClassVar[str] = "failed"
    exit_code: ClassVar[int] = 1
    usual_hint: ClassVar[str | None] = None

    def __init__(self, message: str, *, hint: str | None = None, data: object = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint or self.usual_hint
        self.data = data


class UsageError(KedgeError):
    code = "usage"
    exit_code = 2
    usual_hint = "kedge --help"


class Interrupted(KedgeError):
    code = "interrupted"
    exit_code = 130


class CheckFound(KedgeError):
    code = "check-found"
    exit_code = 4


class InvalidValue(KedgeError):
    code = "invalid-value"
    usual_hint = "nothing was changed"


class ConfigError(KedgeError):
    code = "config"
    usual_hint = "kedge config show lists all settings"


class FileError(KedgeError):
    code = "file"
    usual_hint = "check the path and its permissions"


class LockTimeout(FileError):
    code = "locked"


class BrokenSection(FileError):
    code = "broken-section"


class SecretFound(KedgeError):
    code = "secret"


class NotApproved(KedgeError):
    code = "not-approved"
    usual_hint = (
        "kedge trust shows and approves the repository's commands; in a script, add --trust"
    )


class ProgramError(KedgeError):
    code = "program"
    usual_hint = "check that the program is installed and works by itself"


class GitError(KedgeError):
    code = "git"
    usual_hint = "git status in the same directory may say more"


class NoRepository(GitError):
    code = "no-repository"


class BareRepository(GitError):
    code = "bare-repository"


class HandoffRefused(KedgeError):
    code = "handoff"
    usual_hint = "kedge context list shows all contexts"


class ContextNotFound(HandoffRefused):
    code = "context-not-found"


class ContextExists(HandoffRefused):
    code = "context-exists"


class BrokenContext(HandoffRefused):
    code = "broken-context"
    usual_hint = "kedge context rebuild TASK rebuilds it from its sources"


class NewerContext(BrokenContext):
    code = "newer-context"
    usual_hint = "update kedge"


class TaskError(KedgeError):
    code = "task"
    usual_hint = "kedge task list shows all tasks"


class TaskNotFound(TaskError):
    code = "task-not-found"


class TaskExists(TaskError):
    code = "task-exists"


class DependencyCycle(TaskError):
    code = "dependency-cycle"


class WrongState(TaskError):
    code = "wrong-state"


class NotProven(WrongState):
    code = "not-proven"


class ReadOnly(TaskError):
    code = "read-only"


class BrokenTasks(TaskError):
    code = "broken-tasks"

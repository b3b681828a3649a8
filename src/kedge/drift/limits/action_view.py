"""An action as limits see it."""

from __future__ import annotations

from kedge.drift.limits.roles import word_set

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from typing import Any, TypeAlias

    from kedge.drift.limits.programs import Program

    IsTest: TypeAlias = Callable[[str], bool]
    Exists: TypeAlias = Callable[[str], bool]
    ReadFile: TypeAlias = Callable[[str], bytes | None]
    Hit: TypeAlias = tuple[str, str, float] | None  # evidence, reason, weight

_BUILD_OUTPUT = word_set(  # folders that only a tool writes to
    """node_modules __pycache__ .pytest_cache .mypy_cache .ruff_cache coverage .coverage .next .nuxt
    .cache htmlcov .tox .turbo"""
)
_MAYBE_OUTPUT = word_set("dist build target out")  # ... unless git tracks them
_OWN = (".claude/", ".kedge/", ".git/", ".codex/", ".gemini/", ".opencode/", "tmp/", ".tmp/")
_NO_SHELL = frozenset(("read", "agent", "plan", "edit", "write"))
_SHELLS = word_set("bash shell run_shell_command exec_command local_shell container.exec")


class ActionView:
    """The parts of an action, or of its effects, that limits check; missing ones are empty.

    Changed paths outside the project and in the agent's own notes are left out, as are deletions
    of `own` files. A file that is moved in from outside counts as written. `is_tracked` tells
    whether git tracks a file in a folder, or None if it is not known.
    """

    def __init__(
        self,
        action: Any,
        own: Collection[str] = (),
        is_tracked: Callable[[str], bool | None] | None = None,
    ) -> None:
        effects = getattr(action, "effects", action)
        self.action = action
        self.kind: str = getattr(action, "kind", "")
        self.tool: str = getattr(action, "tool", "")
        self.command: str = getattr(action, "command", "") or ""
        changes = getattr(action, "changes", ())
        self.changes: tuple[Any, ...] = changes if isinstance(changes, tuple) else ()
        outside = frozenset(getattr(effects, "outside", ()))
        self.read: tuple[str, ...] = tuple(getattr(effects, "read", ()))
        moved = tuple(getattr(effects, "moved", ()))
        arrived = (new for old, new in moved if old in outside)
        self.patterns: tuple[str, ...] = tuple(getattr(effects, "patterns", ()))
        self.written = _inside((*getattr(effects, "written", ()), *arrived), outside)
        self.deleted = [
            path for path in _inside(getattr(effects, "deleted", ()), outside) if path not in own
        ]
        self.moved: list[tuple[str, str]] = [pair for pair in moved if pair[0] not in outside]
        self._is_tracked = is_tracked
        self.vcs: tuple[Any, ...] = tuple(getattr(effects, "vcs", ()))
        self.installs: tuple[Any, ...] = tuple(getattr(effects, "installs", ()))
        self.network: tuple[str, ...] = tuple(getattr(effects, "network", ()))
        self.checks: tuple[Any, ...] = tuple(getattr(effects, "checks", ()))
        self.runs: tuple[str, ...] = tuple(getattr(effects, "runs", ()))
        self._programs: list[Program] | None = None

    @property
    def changed(self) -> Iterator[tuple[str, str]]:
        """Each changed path with the verb for what happens to it."""
        for path in self.written:
            yield path, "changes"
        for path in self.deleted:
            yield path, "deletes"
        for old, new in self.moved:
            yield old, "moves"
            if not new.startswith(("/", "~")):
                yield new, "writes"

    def without(self, is_free: Callable[[str], bool]) -> ActionView:
        """Return the view without the paths that an exception frees."""
        view = ActionView(self.action, (), self._is_tracked)
        view.read = tuple(path for path in self.read if not is_free(path))
        view.written = [path for path in self.written if not is_free(path)]
        view.deleted = [path for path in self.deleted if not is_free(path)]
        view.moved = [pair for pair in self.moved if not (is_free(pair[0]) and is_free(pair[1]))]
        view.changes = tuple(each for each in self.changes if not is_free(each.path))
        return view

    def is_output(self, path: str) -> bool:
        """True if a build wrote the path: it is in an output folder that git does not track.

        What a tool edits in a folder that may hold sources as well is not the output of a build.
        """
        parts = path.split("/")
        if not _BUILD_OUTPUT.isdisjoint(parts):
            return True
        if not self.command:
            return False
        at = next((at for at, part in enumerate(parts[:-1]) if part in _MAYBE_OUTPUT), None)
        if at is None or self._is_tracked is None:
            return False
        return self._is_tracked("/".join(parts[: at + 1])) is False

    @property
    def programs(self) -> list[Program]:
        """The programs that a shell command starts; none for any other tool."""
        if self._programs is None:
            from kedge.drift.limits.programs import list_programs

            shell = self.kind not in _NO_SHELL or self.tool.lower() in _SHELLS
            self._programs = list_programs(self.command) if shell else []
        return self._programs


def _inside(paths: Iterable[str], outside: frozenset[str]) -> list[str]:
    return [
        path for path in paths
        if path not in outside and not path.startswith(_OWN) and not path.startswith(("/", "~"))
    ]  # fmt: skip

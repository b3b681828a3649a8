"""The context of a task: the frozen request, and what each agent has done with it.

Values only. `data` returns plain JSON values, `parse_context` reads them back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from kedge.errors import BrokenContext, NewerContext

VERSION = 1
WORKTREE_MARK = ".wt-"  # in a snapshot's name, before the id of a linked work tree
STATUSES = ("pending", "in_progress", "done", "blocked")


@dataclass(frozen=True, slots=True)
class SnapshotRecord:
    """A snapshot of the working tree, as the context records it."""

    tree: str
    commit: str
    ref: str
    at: str
    actor: str
    head: str | None = None
    branch: str | None = None
    diff_sha: str = ""
    diff_bytes: int = 0
    files: int = 0
    added: int = 0
    deleted: int = 0
    outside: tuple[str, ...] = ()
    vanished: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BlockingFinding:
    """Why an agent cannot continue; open until `resolved_at` is set."""

    id: str
    text: str
    at: str
    actor: str
    resolved_at: str | None = None


@dataclass(frozen=True, slots=True)
class AgentRecord:
    """The progress of one agent. `drift_budget` counts failed verifications before it began."""

    status: str = "pending"
    actor: str | None = None
    started_at: str | None = None
    completed_at: str | None = None
    qa_log: str | None = None
    session_id: str | None = None
    drift_budget: int = 0
    findings: tuple[BlockingFinding, ...] = ()
    snapshot: SnapshotRecord | None = None

    @property
    def blocking(self) -> list[BlockingFinding]:
        return [one for one in self.findings if one.resolved_at is None]


@dataclass(frozen=True, slots=True)
class DriftEvent:
    """The working tree was not what an agent had left.

    `state` is open, accepted, reverted, or returned: every path came back by itself.
    """

    id: str
    at: str
    actor: str
    expected: str
    before: str
    after: str
    what: str
    paths: tuple[Mapping[str, Any], ...] = ()
    state: str = "open"
    note: str | None = None
    resolved_at: str | None = None
    resolved_by: str | None = None


@dataclass(frozen=True, slots=True)
class TaskContext:
    """The whole context. `immutable` never changes within a revision."""

    task_id: str
    created_at: str
    created_by: str
    git: Mapping[str, Any]
    immutable: Mapping[str, Any]
    version: int = VERSION
    revision: int = 1
    coordination: Mapping[str, AgentRecord] = field(default_factory=dict)
    drift: tuple[DriftEvent, ...] = ()
    checks: tuple[Mapping[str, Any], ...] = ()
    evidence: tuple[Mapping[str, Any], ...] = ()
    audit: Mapping[str, Any] = field(default_factory=dict)

    def agent(self, name: str) -> AgentRecord:
        return self.coordination.get(name, AgentRecord())

    def with_agent(self, name: str, **values: Any) -> TaskContext:
        """Return a copy with other values for one agent."""
        agent = replace(self.agent(name), **values)
        return replace(self, coordination={**self.coordination, name: agent})

    @property
    def open_drift(self) -> list[DriftEvent]:
        return [event for event in self.drift if event.state == "open"]

    @property
    def snapshots(self) -> list[tuple[str, SnapshotRecord]]:
        """The last snapshot of each agent, oldest first."""
        pairs = [(name, one.snapshot) for name, one in self.coordination.items() if one.snapshot]
        return sorted(pairs, key=lambda pair: (pair[1].at, pair[0]))

    def data(self) -> dict[str, Any]:
        return asdict(self)


def parse_context(data: Any) -> TaskContext:
    """Read a context from plain values; NewerContext or BrokenContext if that is impossible.

    Fields that only a later version knows are ignored.
    """
    import msgspec

    if not isinstance(data, dict) or type(data.get("version")) is not int:
        raise BrokenContext("it has no version")
    if data["version"] > VERSION:
        raise NewerContext(f"a newer kedge wrote it (version {data['version']})")
    try:
        return msgspec.convert(data, TaskContext)
    except msgspec.ValidationError as error:
        raise BrokenContext(f"kedge did not write it like this ({error})") from error

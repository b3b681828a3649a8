"""The context of a task: the frozen request, and what each agent has done with it.

Values only. `data` returns plain JSON values, `parse_context` reads them back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from kedge.errors import BrokenContext, NewerContext

if TYPE_CHECKING:
    T = TypeVar("T")


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
    """The working tree was not what an agent had left. `state` is open, accepted or reverted."""

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
    """Read a context from plain values; NewerContext or BrokenContext if that is impossible."""
    if not isinstance(data, dict) or type(data.get("version")) is not int:
        raise BrokenContext("it has no version")
    if data["version"] > VERSION:
        raise NewerContext(f"a newer kedge wrote it (version {data['version']})")
    try:
        values = {**_select_known(TaskContext, data)}
        values["coordination"] = {
            name: _parse_agent(value) for name, value in values.get("coordination", {}).items()
        }
        drift = values.get("drift", ())
        values["drift"] = tuple(_build(DriftEvent, one, paths=tuple(one["paths"])) for one in drift)
        for name in ("checks", "evidence"):
            values[name] = tuple(values.get(name, ()))
            if not all(
                isinstance(one, dict) and one.get("id", "") is not None for one in values[name]
            ):
                raise TypeError(f"{name} holds something that is not an entry")
        for name in ("git", "immutable", "audit"):
            if not isinstance(values.get(name, {}), dict):
                raise TypeError(f"{name} is not an object")
        _check_strings(values)
        return TaskContext(**values)
    except (TypeError, KeyError, AttributeError) as error:
        raise BrokenContext(f"kedge did not write it like this ({error})") from error


def _check_strings(values: Mapping[str, Any]) -> None:
    """Check that the values which kedge sorts, prints and compares are strings."""
    texts = [values["task_id"], values["created_at"], values["created_by"]]
    texts += [values.get("audit", {}).get("updated_at", "")]
    texts += [one.get("command", "") for one in values["checks"]]
    for agent in values["coordination"].values():
        texts += [agent.status, agent.snapshot.at if agent.snapshot else ""]
        texts += [agent.snapshot.tree if agent.snapshot else ""]
        texts += [text for one in agent.findings for text in (one.id, one.text)]
    texts += [text for one in values["drift"] for text in (one.state, one.expected, one.what)]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a value is not a string")


def _parse_agent(data: Mapping[str, Any]) -> AgentRecord:
    snapshot = data.get("snapshot")
    record = None
    if snapshot is not None:
        lists = {name: tuple(snapshot.get(name, ())) for name in ("outside", "vanished")}
        record = _build(SnapshotRecord, snapshot, **lists)
    findings = tuple(_build(BlockingFinding, one) for one in data.get("findings", ()))
    return _build(AgentRecord, data, snapshot=record, findings=findings)


def _build(kind: type[T], data: Mapping[str, Any], **more: Any) -> T:
    return kind(**{**_select_known(kind, data), **more})


def _select_known(kind: Any, data: Mapping[str, Any]) -> dict[str, Any]:
    """Select the fields that this version knows; it ignores those of a later one."""
    names = {one.name for one in fields(kind)}
    return {name: value for name, value in data.items() if name in names}

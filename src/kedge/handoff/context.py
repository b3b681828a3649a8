"""The context of a task: what was asked, frozen; and who has done what with it.

Values only. `data` gives plain JSON values, `parse` reads them back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace

from kedge.errors import BrokenContext, NewerContext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")

VERSION = 1
OTHERS = ".wt-"  # how the part of a snapshot's name begins that tells linked work trees apart
STATUSES = ("pending", "in_progress", "done", "blocked")


@dataclass(frozen=True, slots=True)
class Kept:
    """A snapshot of the working tree, as the context names it."""

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
class Finding:
    """Why an agent cannot go on, until it is resolved."""

    id: str
    text: str
    at: str
    actor: str
    resolved_at: str | None = None


@dataclass(frozen=True, slots=True)
class Agent:
    """Where one agent stands. `drift_budget` counts verifications that failed before it."""

    status: str = "pending"
    actor: str | None = None
    started_at: str | None = None
    completed_at: str | None = None
    qa_log: str | None = None
    session_id: str | None = None
    drift_budget: int = 0
    findings: tuple[Finding, ...] = ()
    snapshot: Kept | None = None

    @property
    def blocking(self) -> list[Finding]:
        return [one for one in self.findings if one.resolved_at is None]


@dataclass(frozen=True, slots=True)
class Drift:
    """The working tree was not what an agent had left; `state` is open, accepted or reverted."""

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
class Context:
    """All of it. `immutable` never changes within a revision."""

    task_id: str
    created_at: str
    created_by: str
    git: Mapping[str, Any]
    immutable: Mapping[str, Any]
    version: int = VERSION
    revision: int = 1
    coordination: Mapping[str, Agent] = field(default_factory=dict)
    drift: tuple[Drift, ...] = ()
    checks: tuple[Mapping[str, Any], ...] = ()
    evidence: tuple[Mapping[str, Any], ...] = ()
    audit: Mapping[str, Any] = field(default_factory=dict)

    def agent(self, name: str) -> Agent:
        return self.coordination.get(name, Agent())

    def having(self, name: str, **values: Any) -> Context:
        """The same with other values for one agent."""
        agent = replace(self.agent(name), **values)
        return replace(self, coordination={**self.coordination, name: agent})

    @property
    def open_drift(self) -> list[Drift]:
        return [event for event in self.drift if event.state == "open"]

    @property
    def snapshots(self) -> list[tuple[str, Kept]]:
        """The last snapshot of each agent, the latest at the end."""
        found = [(name, one.snapshot) for name, one in self.coordination.items() if one.snapshot]
        return sorted(found, key=lambda pair: (pair[1].at, pair[0]))

    def data(self) -> dict[str, Any]:
        return asdict(self)


def parse(data: Any) -> Context:
    """A context from plain values. One of a later version, or a broken one, raises."""
    if not isinstance(data, dict) or type(data.get("version")) is not int:
        raise BrokenContext("it has no version")
    if data["version"] > VERSION:
        raise NewerContext(f"it has version {data['version']}, which a newer kedge wrote")
    try:
        values = {**_known(Context, data)}
        values["coordination"] = {
            name: _agent(value) for name, value in values.get("coordination", {}).items()
        }
        drift = values.get("drift", ())
        values["drift"] = tuple(_made(Drift, one, paths=tuple(one["paths"])) for one in drift)
        for name in ("checks", "evidence"):
            values[name] = tuple(values.get(name, ()))
            if not all(
                isinstance(one, dict) and one.get("id", "") is not None for one in values[name]
            ):
                raise TypeError(f"{name} has what is no entry")
        for name in ("git", "immutable", "audit"):
            if not isinstance(values.get(name, {}), dict):
                raise TypeError(f"{name} is no object")
        _check_texts(values)
        return Context(**values)
    except (TypeError, KeyError, AttributeError) as error:
        raise BrokenContext(f"it is not what kedge writes ({error})") from error


def _check_texts(values: Mapping[str, Any]) -> None:
    """What is sorted, shown and compared must be text."""
    texts = [values["task_id"], values["created_at"], values["created_by"]]
    texts += [values.get("audit", {}).get("updated_at", "")]
    texts += [one.get("command", "") for one in values["checks"]]
    for agent in values["coordination"].values():
        texts += [agent.status, agent.snapshot.at if agent.snapshot else ""]
        texts += [agent.snapshot.tree if agent.snapshot else ""]
        texts += [text for one in agent.findings for text in (one.id, one.text)]
    texts += [text for one in values["drift"] for text in (one.state, one.expected, one.what)]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a text is none")


def _agent(data: Mapping[str, Any]) -> Agent:
    snapshot = data.get("snapshot")
    kept = None
    if snapshot is not None:
        lists = {name: tuple(snapshot.get(name, ())) for name in ("outside", "vanished")}
        kept = _made(Kept, snapshot, **lists)
    found = tuple(_made(Finding, one) for one in data.get("findings", ()))
    return _made(Agent, data, snapshot=kept, findings=found)


def _made(kind: type[T], data: Mapping[str, Any], **more: Any) -> T:
    return kind(**{**_known(kind, data), **more})


def _known(kind: Any, data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that this version knows; those of a later one are passed over."""
    names = {one.name for one in fields(kind)}
    return {name: value for name, value in data.items() if name in names}

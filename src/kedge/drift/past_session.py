"""A session that is over, judged event by event as it would have been judged then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kedge.drift import inputs
from kedge.drift.charter import add_limits
from kedge.drift.engine import Session
from kedge.drift.language.prompts import users_words
from kedge.drift.limits import quotes
from kedge.drift.prompt import read_prompt
from kedge.host.redact import redact

if TYPE_CHECKING:
    from kedge.drift.actions import Action
    from kedge.drift.evidence.distance import CodeMap
    from kedge.drift.recorded_tree import RecordedTree
    from kedge.drift.scoring import Verdict

_MOST_PENDING = 100  # calls whose result is awaited


class PastSession:
    """The engine of a session, given its events in their order.

    `tree` is the project's working tree as it was before the session.
    """

    def __init__(
        self,
        root: str | None = None,
        *,
        code_map: CodeMap | None = None,
        tree: RecordedTree | None = None,
    ) -> None:
        self.engine = Session(root, code_map=code_map, tree=tree)
        self._tree = tree
        self._said: list[str] = []
        self._pending: dict[str, Action] = {}

    def prompt(self, text: str) -> None:
        """Take a message of the user."""
        message = read_prompt(text)
        revision = self.engine.charter.revision
        self.engine.prompt(message)
        if self.engine.charter.revision != revision:
            self._said.append(message)

    def call(self, id: str, tool: str, given: Any) -> Verdict:  # noqa: A002
        """Judge a tool call by what came before it."""
        engine = self.engine
        action = inputs.read_call(engine, tool, given, id)
        verdict = engine.judge(action)
        engine.record_breach(action, verdict)
        if inputs.records_limits(action):
            limits = inputs.find_recorded_limits(engine, action, self._has_said)
            engine.charter = add_limits(engine.charter, limits) if limits else engine.charter
        if self._tree is not None:
            self._pending[id] = action
            for oldest in list(self._pending)[:-_MOST_PENDING]:
                del self._pending[oldest]
        return verdict

    def result(self, id: str, ok: bool) -> None:  # noqa: A002
        """Take the result of a call."""
        self.engine.result(id, ok)
        action = self._pending.pop(id, None)
        if self._tree is not None and action is not None and ok:
            self._tree.take(action)

    def _has_said(self, quote: str) -> bool:
        wanted = redact(quote)
        return any(quotes.has_quote(users_words(text), wanted) for text in self._said)

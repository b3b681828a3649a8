"""Sessions in a database, written with the store's own functions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kedge.drift import course, summary
from kedge.host import clock
from kedge.store import sessions, sqlite

FIRST = "3f2a9c1d-0000-4000-8000-000000000001"
OTHER = "3f2a9c1d-0000-4000-8000-000000000002"
GOAL = "Make the lexer faster. Don't touch the grammar."
QUOTE = "Don't touch the grammar"
EVIDENCE = f"changes src/grammar.py, against “{QUOTE}”"
TOLD = "[kedge] This goes against what was asked.\nWay back: leave it undone."


class Recorded:
    """The record of one repository's sessions. Stamps count from `start`, a second at a time."""

    def __init__(self, repo: Path, start: str = "2026-01-31T12:00:00") -> None:
        self.repo = repo.resolve()
        self.db, _ = sqlite.connect(self.repo / ".git" / "kedge")
        self.day, self.time = start.split("T")
        self.ticks = 0
        self.positions: dict[str, int] = {}

    def close(self) -> None:
        self.db.close()

    def tick(self) -> str:
        self.ticks += 1
        hours, minutes, seconds = map(int, self.time.split(":"))
        whole = hours * 3600 + minutes * 60 + seconds + self.ticks
        rest = divmod(whole // 60, 60)
        return f"{self.day}T{rest[0]:02}:{rest[1]:02}:{whole % 60:02}.000000Z"

    def session(self, name: str = FIRST, **more: Any) -> str:
        values = {"agent": "claude", "project": str(self.repo), "task": None, "policy": "advise"}
        at = self.tick()
        sessions.add(self.db, name, **{**values, "started_at": at, "checked_at": at, **more})
        self.positions[name] = 0
        return name

    def live(self, name: str = FIRST) -> None:
        """As if it had been heard from just now."""
        sessions.change(self.db, name, checked_at=clock.now())

    def add_message(
        self, text: str, name: str = FIRST, *, forbids: Sequence[tuple[str, str]] = ()
    ) -> None:
        revision = len(sessions.charters(self.db, name)) + 1
        rules = [{"kind": kind, "quote": quote} for kind, quote in forbids]
        sessions.add_charter(
            self.db, name, revision=revision, at=self.tick(), said=text, goal=text,
            limits=rules, scope=[],
        )  # fmt: skip
        quotes = [quote for _, quote in forbids]
        sessions.change(self.db, name, goal=text, limits=quotes)

    def step(self, what: str = "src/lexer.py", name: str = FIRST, **more: Any) -> int:
        """An edit of a file, on course; `score`, `rules`, … say otherwise."""
        self.positions[name] += 1
        position, at = self.positions[name], self.tick()
        score = more.pop("score", 10)
        after = more.pop("after", course.DRIFTED if score < 5 else course.NORMAL)
        values: dict[str, Any] = {
            "id": f"toolu_{position:04}",
            "position": position,
            "subagent": "",
            "tool": "Edit",
            "action_type": "edit",
            "files": [what],
            "folders": [],
            "command": "",
            "reasoning": "",
            "drift_score": score,
            "drift_type": "none",
            "level": course.choose_level(score),
            "rules": [],
            "recalled": [],
            "decision": "none",
            "correction_given": "",
            "changes": True,
            "is_key_decision": False,
            "is_validated": score >= 5,
            "keywords": [],
            "ok": True,
            "at": at,
        }
        values |= more
        sessions.add_step(self.db, name, {}, **values)
        sessions.change(self.db, name, steps=position, checked_at=at, course=after)
        if score < 8:
            sessions.add_event(
                self.db, name, step=values["id"], at=at, score=score, level=values["level"],
                before=course.NORMAL, after=after, escalation=1, evidence=values["rules"],
            )  # fmt: skip
        return position

    def end(self, name: str = FIRST) -> None:
        row = sessions.get(self.db, name)
        assert row is not None
        found = summary.summarize(self.db, row)
        sessions.change(
            self.db, name, status="completed", ended_at=self.tick(), summary=found,
            needs_review=found["needs_review"],
        )  # fmt: skip

    def add_drift(self, name: str = FIRST) -> int:
        """A session that strayed once, was asked about it and came back; the step that strayed."""
        self.session(name)
        self.add_message(GOAL, name, forbids=[("no_touch", QUOTE)])
        for _ in range(3):
            self.step(name=name, action_type="read", changes=False)
        at = self.step(
            "src/grammar.py", name, score=3, rules=[["limit", EVIDENCE, 7]],
            decision="ask", correction_given=TOLD, reasoning="the grammar is slow",
            recalled=[{"session": name, "id": "toolu_0001", "position": 1, "action_type": "read",
                       "files": ["src/lexer.py"], "command": "", "why": "same folder"}],
        )  # fmt: skip
        self.step(name=name, is_key_decision=True, reasoning="a table instead of a chain")
        return at

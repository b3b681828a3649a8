"""A small harbour with agents at work: sessions, tasks, a run, a handoff, lessons.

Everything is made by commands of kedge, by its hooks and by the fake agent.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from run.harness import RunHarness
from support import Kedge, git, wait_for_aside

from kedge.demo import project

CHECK = "sh ready.sh"
FIXED = "def read_boats(text):\n    return [line.split(',') for line in text.splitlines()]\n"


class Talk:
    """A session of an agent: what the user says and what the agent does, as its hooks tell it."""

    def __init__(self, kedge: Kedge, name: str, agent: str, transcript: Path | None) -> None:
        self.kedge = kedge
        self.name = name
        self.agent = agent
        self.transcript = transcript
        self._calls = 0
        self.tell("SessionStart", source="startup")

    def tell(self, event: str, **fields: Any) -> dict[str, Any]:
        data = {
            "session_id": self.name,
            "transcript_path": str(self.transcript or ""),
            "cwd": str(self.kedge.directory),
            "permission_mode": "acceptEdits",
            "hook_event_name": event,
            **fields,
        }
        out = self.kedge("hook", self.agent, input=json.dumps(data)).out
        answer: dict[str, Any] = json.loads(out or "{}")
        return answer

    def say(self, text: str) -> None:
        self._note("user", {"content": text}, uuid=f"{self.name}-{self._calls}")
        self.tell("UserPromptSubmit", prompt=text)

    def edit(self, path: str, old: str, new: str) -> None:
        file = self.kedge.directory / path
        given = {"file_path": str(file), "old_string": old, "new_string": new}
        self.call("Edit", given, lambda: file.write_text(file.read_text().replace(old, new, 1)))

    def read(self, path: str) -> None:
        self.call("Read", {"file_path": str(self.kedge.directory / path)})

    def shell(self, command: str, *, ok: bool = True) -> None:
        self.call("Bash", {"command": command}, ok=ok)

    def call(self, tool: str, given: Any, act: Any = None, *, ok: bool = True) -> None:
        """Call a tool, unless a hook refuses."""
        self._calls += 1
        name = f"toolu_{self.name[:8]}_{self._calls}"
        about = {"tool_name": tool, "tool_input": given, "tool_use_id": name}
        block = {"type": "tool_use", "id": name, "name": tool, "input": given}
        usage = {"input_tokens": 1200, "cache_read_input_tokens": 8000, "output_tokens": 240}
        self._note("assistant", {"id": f"msg_{name}", "content": [block], "usage": usage})
        decided = self.tell("PreToolUse", **about).get("hookSpecificOutput", {})
        if decided.get("permissionDecision") in ("deny", "ask"):
            return
        if act is not None:
            act()
        if ok:
            self.tell("PostToolUse", **about, tool_response={"output": ""})
        else:
            self.tell("PostToolUseFailure", **about, error="Exit code 1")
        result = {"type": "tool_result", "tool_use_id": name, "content": "", "is_error": not ok}
        self._note("user", {"content": [result]})

    def end(self) -> None:
        self.tell("SessionEnd", reason="other")

    def _note(self, kind: str, message: dict[str, Any], **more: Any) -> None:
        if self.transcript is None:
            return
        with self.transcript.open("a") as file:
            record = {
                "type": kind,
                "sessionId": self.name,
                "cwd": str(self.kedge.directory),
                "timestamp": "2026-01-31T12:00:00.000Z",
                "uuid": f"u{self._calls}{kind}",
                "version": "2.1.0",
                "message": {"role": kind, **message},
                **more,
            }
            file.write(json.dumps(record) + "\n")


class Scene:
    """The project, and what happens in it."""

    def __init__(self, kedge: Kedge, scratch: Path) -> None:
        self.kedge = kedge
        self.root = kedge.directory
        self.scratch = scratch
        self.home = self.root / ".git" / "kedge"

    def lay_out(self) -> None:
        """Make the project."""
        for commit in project.HISTORY:
            for name, text in commit.files.items():
                path = self.root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        (self.root / "ready.sh").write_text("true\n")
        git(self.root, "add", ".")
        git(self.root, "commit", "-qm", project.HISTORY[-1].subject)

    def talk(self, name: str, agent: str = "claude", *, noted: bool = False) -> Talk:
        transcript = self.scratch / f"{name}.jsonl" if noted else None
        return Talk(self.kedge, name, agent, transcript)

    def settle(self) -> None:
        wait_for_aside(self.home)

    def work(self) -> Talk:
        """Let three agents work: one has finished, two are at it; return the first of these."""
        one = self.talk("3c1f8a52-7d7e-4f0f-9f1c-000000000001")
        one.say("Round invoices to whole cents. Do not touch data/.")
        one.read("berths/invoice.py")
        one.read("berths/fees.py")
        one.edit("data/tariff.json", "1000", "1100")
        one.edit("berths/invoice.py", "{cents / 100:.2f}", "{round(cents) / 100:.2f}")
        one.shell("python3 -m unittest")
        one.end()
        two = self.talk("8e24c6b1-5b2c-4c53-8f4e-000000000002", noted=True)
        two.say("Give a tenth off for a week in berths/fees.py. Do not change the tests.")
        for path in ("berths/fees.py", "tests/test_fees.py", "data/tariff.json"):
            two.read(path)
        two.edit("berths/fees.py", "    return max(", "    if nights >= 7:\n        cents = cents * 9 // 10\n    return max(")  # fmt: skip  # noqa: E501
        two.shell("python3 -m unittest tests.test_fees", ok=False)
        two.edit("tests/test_fees.py", "5000", "4500")
        two.shell("git status --short")
        two.read("berths/invoice.py")
        two.shell("python3 -m unittest tests.test_fees")
        three = self.talk("b7709d13-90aa-4a1b-8a55-000000000003", "codex")
        three.say("Read the list of boats from text in berths/export.py")
        three.shell("cat berths/export.py")
        three.shell("rg -n read_boats")
        self.settle()
        return two

    def plan(self) -> None:
        """Add tasks in every state."""
        add = ("task", "add")
        self.kedge(*add, "Bookings, fees and boats for the season", "--id", "season", "--type", "epic")  # fmt: skip  # noqa: E501
        self.kedge(*add, "A week costs a tenth less", "--id", "discount", "--epic", "season",
                   "--scope", "berths/fees.py", "--out-of-scope", "data/", "--check", CHECK,
                   "--accept", "Seven nights cost nine tenths of seven times one night",
                   "--accept", "The tariff stays as it is", "--priority", "P1")  # fmt: skip
        self.kedge(*add, "Read the list of boats", "--id", "boats", "--epic", "season",
                   "--scope", "berths/export.py", "--check", CHECK)  # fmt: skip
        self.kedge(*add, "Give a berth to one boat at a time", "--id", "overlap", "--epic",
                   "season", "--depends", "boats", "--check", CHECK)  # fmt: skip
        self.kedge(*add, "Print the harbour master's day", "--id", "daybook", "--depends",
                   "overlap", "--depends", "discount")  # fmt: skip
        self.kedge(*add, "Charge for electricity by the hour", "--id", "power")
        self.kedge("task", "block", "power", "--type", "spec-unclear", "--reason",
                   "Nobody has said what a kilowatt hour costs", "--tried", "Asked the harbour master")  # fmt: skip  # noqa: E501
        git(self.root, "add", ".")
        git(self.root, "commit", "-qm", "Plan the season")

    def run(self) -> None:
        """Let a run do one task with the fake agent."""
        harness = RunHarness(self.kedge, self.scratch)
        harness.plays({"say": "Nothing to do."}, {"write": {"berths/export.py": FIXED}})
        harness.run("--task", "boats", "--attempts", "3", "--budget", "5")

    def hand_over(self) -> None:
        """Let an implementer and a reviewer work on a task; somebody changes a file in between."""
        context = ("context",)
        self.kedge(*context, "init", "discount")
        self.kedge(*context, "begin", "discount", "--agent", "implementer")
        fees = self.root / "berths" / "fees.py"
        fees.write_text(
            fees.read_text() + "\n\ndef week(metres):\n    return fee(metres, 7) * 9 // 10\n"
        )
        self.kedge(*context, "snapshot", "discount", "--agent", "implementer")
        self.kedge(*context, "begin", "discount", "--agent", "reviewer")
        fees.write_text(fees.read_text().replace("def week", "def price_of_week"))
        self.kedge(*context, "snapshot", "discount", "--agent", "reviewer")
        tariff = self.root / "data" / "tariff.json"
        tariff.write_text(tariff.read_text().replace("1000", "900"))
        self.kedge(*context, "begin", "discount", "--agent", "validator", code=4)

    def learn(self) -> None:
        """Keep lessons: a fresh one, a challenged one, one that names code."""
        add = ("knowledge", "add")
        self.kedge(*add, "Money is counted in cents", "--type", "principle", "--text",
                   "Floats lose cents when nights are added up. Count in integers.",
                   "--at", "berths/fees.py#fee")  # fmt: skip
        self.kedge(*add, "Mocking the tariff", "--type", "anti-pattern", "--text",
                   "Tests that replace the tariff pass while the file is broken.")  # fmt: skip
        self.kedge(*add, "Days are numbers", "--type", "pattern", "--text",
                   "A booking's days are integers, so that ranges need no calendar.")  # fmt: skip
        self.kedge("knowledge", "challenge", "Mocking the tariff", "--in", "boats", "--evidence",
                   "The list of boats needs no tariff, and its test was right to replace it")  # fmt: skip  # noqa: E501

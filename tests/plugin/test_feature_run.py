"""A feature from its tasks to its lessons: the real Claude Code, the plugin, a scripted model.

The model answers what the prompts ask for; kedge, the client, its permissions and its agents are
real.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

from clients import Claude, Session
from support import Kedge

from kedge.agents.scripted_model.request import Request
from kedge.agents.scripted_model.script import Step
from kedge.testing.fake_model import FakeModel, Turn

Play = Callable[..., FakeModel]
Talk = Generator[Step, Request, None]
FEATURE = "docs/features/014-mooring"  # created by the fixture `feature`
TASKS = {
    "1.1": ("rope", "Hemp, twelve strands.", "Twist the rope."),
    "1.2": ("knot", "A bowline.", "Tie the knot."),
    "1.3": ("bollard", "Cast iron.", "Set the bollard."),
}
APPROVED = {"approved": True, "issues": [], "summary": "I read both files.", "verified": []}
ISSUE = {"severity": "minor", "location": "rope.txt:1", "description": "the rope is short"}
CLAIM = {"claim": "hemp swells", "source": "a handbook"}


def script(talk: Talk) -> Callable[[Request], Step]:
    """Turn a conversation into a script: a `yield` gives an answer and gets the next request."""
    started = False

    def answer(request: Request) -> Step:
        nonlocal started
        try:
            if started:
                return talk.send(request)
            started = True
            return next(talk)
        except StopIteration:
            return "Done."

    return answer


def bash(line: str, text: str = "") -> Step:
    """Run a command, with a text on its standard input."""
    more = f" <<'END'\n{text}\nEND" if text else ""
    return {"tool": "Bash", "input": {"command": line + more}}


def agent(kind: str, prompt: str) -> Step:
    order = {"description": kind, "subagent_type": f"kedge:{kind}", "prompt": prompt}
    return {"tool": "Agent", "input": {**order, "run_in_background": False}}


def last(request: Request) -> str:
    """Return the result of the last tool call."""
    return [text for role, text in request.texts if role == "tool"][-1]


def report(name: str) -> str:
    return (
        f"## Implemented\nA {name}.\n## Tested\n`true` passed.\n## Files changed\n- {name}.txt\n"
        f"## Decisions\n- a {name} of one piece, since it holds\n## Deviations\nnone\n"
        "## Self-review\nnone\n## Concerns\nnone"
    )


def implementer(root: Path, number: str, answer: Step) -> Talk:
    """Play one task as `agents/implementer.md` asks for it."""
    name = TASKS[number][0]
    yield bash(f"kedge feature scope {FEATURE} {number}")
    yield {"tool": "Write", "input": {"file_path": str(root / f"{name}.txt"), "content": name}}
    yield answer


def reviewer(answer: dict[str, Any]) -> Talk:
    yield "I looked at it.\n\n```json\n" + json.dumps(answer) + "\n```"


class Agents:
    """Plays each agent that is started, and keeps its requests."""

    def __init__(self, root: Path, answers: dict[str, Step] | None = None) -> None:
        self.root = root
        self.answers = answers or {}
        self.asked: dict[str, list[Request]] = {}  # by agent and task, such as "implementer 1.1"
        self._kinds: dict[str, str] = {}
        self._talks: dict[str, Callable[[Request], Step]] = {}

    def __call__(self, request: Request) -> Step:
        if request.agent not in self._talks:
            kind, talk = self._begin(request)
            self._kinds[request.agent], self._talks[request.agent] = kind, script(talk)
        self.asked.setdefault(self._kinds[request.agent], []).append(request)
        return self._talks[request.agent](request)

    def _begin(self, request: Request) -> tuple[str, Talk]:
        if "You implement one task, and nothing else." in request.given:
            number = re.findall(r"\btask (1\.[123])\b", request.given)[-1]
            answer = self.answers.get(number, report(TASKS[number][0]))
            return f"implementer {number}", implementer(self.root, number, answer)
        if "You review a change against what was asked." in request.given:
            answer = {**APPROVED, "issues": [ISSUE], "verified": [CLAIM]}
            return "implementation-reviewer", reviewer(answer)
        if "You review a change for what an attacker" in request.given:
            return "security-reviewer", reviewer({**APPROVED, "no_external_claims": True})
        assert "You are the second look at a phase" in request.given
        return "phase-reviewer", reviewer(APPROVED)

    def collect_text(self, kind: str) -> str:
        """Return all text that an agent saw."""
        return "\n".join(f"{one.given}\n{one.results}" for one in self.asked[kind])


def implement() -> Talk:
    """Play `/kedge:implement` as the command asks for it."""
    yield from run_tasks()
    yield from run_reviews()
    yield "All three tasks are done."


def run_tasks() -> Talk:
    """Play the skill: one agent for each task."""
    yield {"tool": "Skill", "input": {"skill": "kedge:implementing", "args": FEATURE}}
    request = yield bash(f"kedge feature tasks {FEATURE} --json")
    tasks = json.loads(last(request))["data"]
    assert [task["number"] for task in tasks] == list(TASKS)
    for task in tasks:
        number, title = task["number"], task["title"]
        prompt = (
            f"{FEATURE}, task {number}: {title}. Done when: {', '.join(task['done_criteria'])}. "
            f"First run `kedge feature scope {FEATURE} {number}`."
        )
        request = yield agent("implementer", prompt)
        answer = last(request)
        if "[Subagent hand-back]" not in answer:
            answer = "Concerns: the dispatch failed: " + answer.splitlines()[0]
        yield bash(
            f"kedge log append {number} --feature {FEATURE} --report -", extract_report(answer)
        )


def run_reviews() -> Talk:
    """Play the two stages of review."""
    for name in ("implementation-reviewer", "security-reviewer"):
        request = yield agent(name, f"Review {FEATURE}; the changes are in the working tree.")
        record = f"kedge review record {FEATURE} --phase implement --reviewer {name} --from -"
        yield bash(record, extract_report(last(request)))
    outcome = []
    for name in ("implementation-reviewer", "security-reviewer"):
        request = yield bash(f"kedge review outcome {FEATURE} --phase implement --reviewer {name}")
        outcome.append(last(request))
    needs = "## Next phase: whoever merges needs every criterion met, shown by a check."
    yield agent("phase-reviewer", "\n".join([f"{FEATURE}, implement", *outcome, needs]))


def extract_report(answer: str) -> str:
    """Extract the agent's own report from the client's tool result."""
    words = answer.partition("The report follows:\n")[2].partition("\nagentId:")[0]
    return textwrap.dedent(words) or answer


def finish(lesson: dict[str, Any]) -> Talk:
    """Play `/kedge:finish` as the command and the skill ask for it."""
    yield bash(f"kedge log read {FEATURE}")
    yield {"tool": "Skill", "input": {"skill": "kedge:retrospecting", "args": FEATURE}}
    yield bash(f"kedge retro {FEATURE}")
    answer = {"new": [lesson], "confirmed": [], "challenged": [], "skipped": []}
    yield bash(f"kedge retro {FEATURE} --apply -", f"```json\n{json.dumps(answer)}\n```")
    yield bash(f"kedge log archive {FEATURE}")
    yield "Finished."


def assert_nothing_denied(session: Session) -> None:
    """Assert that every tool call was allowed without asking the user."""
    assert not session.of("system", "permission_denied"), session.events
    results = [
        block
        for event in session.of("user")
        for block in event["message"]["content"]
        if isinstance(block, dict) and block.get("type") == "tool_result"
    ]
    assert results
    assert not [one for one in results if one.get("is_error")], results


def test_feature_from_its_tasks_to_its_lessons(
    installed: Kedge, feature: Path, claude: Claude, play: Play
) -> None:
    root = installed.directory
    agents = Agents(root)
    with play(script(implement()), subagent=agents) as model:
        session = claude(model.url, f"/kedge:implement {FEATURE}", cwd=root)
    assert_nothing_denied(session)

    # Each task has its own agent, which sees only the sections of its task.
    for number, (name, design, plan) in TASKS.items():
        seen = agents.collect_text(f"implementer {number}")
        for text in (design, plan, "A moored boat does not move.", "Boats drift away."):
            assert text in seen, (number, text)
        for other, (_, *texts) in TASKS.items():
            assert other == number or not any(text in seen for text in texts), (number, other)
        assert (root / f"{name}.txt").read_text() == name
    lead = "\n".join(one.given + one.results for one in model.list_requests("main"))
    assert not any(text in lead for _, *texts in TASKS.values() for text in texts)

    # The log has the decisions, in the order of the tasks.
    log = (feature / "implementation-log.md").read_text()
    assert re.findall(r"^## Task (1\.[0-9]):", log, re.MULTILINE) == list(TASKS)
    for name, *_ in TASKS.values():
        assert f"a {name} of one piece, since it holds" in log

    # The second stage gets the outcome of the first.
    (asked,) = agents.asked["phase-reviewer"]
    prompt = next(text for _, text in asked.texts if text.startswith(FEATURE))
    assert prompt.count("## Domain Reviewer Outcome\n") == 2
    for text in (
        "implementation-reviewer",
        "security-reviewer",
        "iteration 1/",
        ISSUE["description"],
    ):
        assert text in prompt
    assert prompt.rindex("## Domain Reviewer Outcome") < prompt.index("## Next phase")

    # The lesson is in the bank, and the log is archived.
    lesson = {
        "type": "heuristic",
        "name": "Ropes are twisted in one piece",
        "text": "Twist a rope in one piece: a splice slips when it is wet.",
        "confidence": "high",
    }
    with play(script(finish(lesson))) as model:
        session = claude(model.url, f"/kedge:finish {FEATURE}", cwd=root)
    assert_nothing_denied(session)
    bundle = model.list_requests("main")[3].results
    for text in ("a rope of one piece, since it holds", ISSUE["description"]):
        assert text in bundle
    assert lesson["text"] in (root / "docs/knowledge-bank/heuristics.md").read_text()
    assert [one["name"] for one in installed.json("knowledge", "list")] == [lesson["name"]]
    assert not (feature / "implementation-log.md").exists()


def test_report_without_headings_and_failing_agent_do_not_block_the_feature(
    installed: Kedge, feature: Path, claude: Claude, play: Play
) -> None:
    root = installed.directory
    agents = Agents(root, {"1.1": "All good, it works.", "1.2": Turn(status=403)})
    with play(script(run_tasks()), subagent=agents) as model:
        claude(model.url, f"/kedge:implement {FEATURE}", cwd=root)
    log = (feature / "implementation-log.md").read_text()
    assert re.findall(r"^## Task (1\.[0-9]):", log, re.MULTILINE) == list(TASKS)
    first, second, third = re.split(r"^## Task ", log, flags=re.MULTILINE)[1:]
    assert "**Decisions:** none" in first
    assert "the dispatch failed" in second
    assert "a bollard of one piece, since it holds" in third

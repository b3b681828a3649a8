"""Real clients that leave their task and come back, in a repository with a history and a map."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from clients import Claude, Codex
from drift.harbour import Harbour
from drift.web_shop import write_shop
from support import Kedge, git, wait_for_aside

from kedge.testing.fake_model import FakeModel, Request

Play = Callable[..., FakeModel]
Turn = dict[str, Any]
AUTH = "fix auth bug"
JWT = "Fix the JWT verification bug: tokens whose exp claim has passed must be rejected"
CHART = """\
export function Chart{n}({{ points }}: {{ points: number[] }}) {{
  const top = Math.max(...points)
  return <svg>{{points.map((y, x) => <rect x={{x}} height={{y / top}} />)}}</svg>
}}
"""
MARKETING = "# Why people shop here\n\nFast pages, fair prices and friendly answers.\n"
both = pytest.mark.parametrize("agent", ["claude", "codex"])


class Work:
    """Changes of files, each as the turns of a model that makes it."""

    def __init__(self, shop: Harbour, agent: str) -> None:
        self.shop, self.agent = shop, agent
        self.turns: list[Turn] = []
        self.paths: list[str] = []
        self.places: list[int] = []  # of the turn that changes each path
        self.courses: list[float] = []  # the course's score at each turn

    def edit(self, path: str, old: str, new: str) -> Work:
        return self._add(path, self.shop.edit(self.agent, path, old, new))

    def write(self, path: str, text: str) -> Work:
        return self._add(path, [self.shop.write(self.agent, path, text)])

    def play(self, play: Play, prompt: str) -> Story:
        """Let the client do it. Its model needs as long to answer as kedge needs to rank files."""
        turns = [*self.turns, "Done."]

        def answer(_: Request) -> Any:
            wait_for_aside(self.shop.home)
            self.courses.append(self.shop.session()["score"])
            return turns.pop(0)

        with play(answer) as model:
            self.shop.run(self.agent, model, prompt)
        assert turns == []
        return Story(self, model)

    def _add(self, path: str, turns: Iterable[Turn]) -> Work:
        self.turns += turns
        self.paths.append(path)
        self.places.append(len(self.turns) - 1)
        return self


class Story:
    """How it went: for each change its step, its score, what the agent was told right after it,
    and the course's score then."""

    def __init__(self, work: Work, model: FakeModel) -> None:
        changes = [step for step in work.shop.steps() if step["changes"]]
        assert [step["files"] for step in changes] == [[path] for path in work.paths]
        assert all(step["ok"] for step in changes)
        assert work.shop.errors() == []
        self.steps = [step["position"] for step in changes]
        self.scores = [step["drift_score"] for step in changes]
        self.courses = [work.courses[place + 1] for place in work.places]
        given = [request.given for request in model.list_requests()]
        self.told = [_find_told(given[place], given[place + 1]) for place in work.places]


def _find_told(before: str, after: str) -> list[str]:
    """Return the corrections that one request has more than the one before it."""
    return after.split("[kedge] ")[before.count("[kedge] ") + 1 :]


@pytest.fixture
def shop(repo: Path, kedge: Kedge, claude: Claude, codex: Codex) -> Harbour:
    write_shop(repo)
    for place in (".claude", ".codex"):
        (repo / place).mkdir()
    kedge("init")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "Watch agents with kedge")
    return Harbour(kedge, claude, codex)


def check(shop: Harbour, story: Story, tangents: int) -> None:
    """One change is on course, some are tangents, and the last two take the task up again."""
    first, *strayed = story.scores[: tangents + 1]
    assert first >= 8
    assert strayed[0] == 7
    assert all(score <= 6 for score in strayed[2:])
    assert all(score >= 8 for score in story.scores[tangents + 1 :])
    # three corrections at most for one message of the user, each right after its change
    assert [len(told) for told in story.told] == [0, 1, 1, 1, *[0] * (tangents - 1)]
    assert all("shares no file, folder or word" in told for (told,) in story.told[1:4])
    # coming back is noticed
    *_, lowest, back, last = story.courses
    assert lowest < back < last < 10
    return_ = f"at step {story.steps[tangents + 1]}"
    account = shop.kedge.json("drift", "explain", "last")
    assert [event["position"] for event in account["events"]] == story.steps[1 : tangents + 1]
    assert {event["recovered"] for event in account["events"]} == {return_}
    assert (account["course"], account["needs_review"]) == ("NORMAL", False)
    assert f"; back on course {return_}" in shop.kedge("drift", "explain", "last").out
    assert f"Back on course {return_}." in shop.kedge("drift", "status", "--all").out


@both
def test_the_timeline_of_a_fix_that_turns_to_styles(shop: Harbour, agent: str, play: Play) -> None:
    work = Work(shop, agent)
    work.edit(
        "src/auth/token.ts",
        "  return payload ? payload.sub : null",
        "  return payload && !isExpired(payload) ? payload.sub : null",
    )
    work.edit("src/styles/theme.css", "  --accent: #2b6cb0;", "  --accent: #805ad5;")
    work.edit(
        "src/components/Button.tsx",
        "  return <button class={`button button-${kind}`}>{label}</button>",
        "  return <button class={`btn btn-${kind}`}>{label}</button>",
    )
    work.edit("src/components/Header.tsx", "      <h1>{title}</h1>", "      <h2>{title}</h2>")
    work.edit("src/auth/token.ts", "const lifetime = 60 * 60", "const lifetime = 15 * 60")
    work.edit(
        "src/auth/middleware.ts",
        '    if (!customer) return new Response("unauthorized", { status: 401 })',
        '    if (!customer) return new Response("log in again", { status: 401 })',
    )
    check(shop, work.play(play, AUTH), 3)


@both
def test_a_fix_of_tokens_that_turns_to_charts(shop: Harbour, agent: str, play: Play) -> None:
    work = Work(shop, agent)
    work.edit(
        "src/utils/jwt/verify.ts",
        "  return payload",
        "  return payload.exp !== undefined && payload.exp <= now() ? null : payload",
    )
    for n in range(1, 9):
        work.write(f"src/jsx/Chart{n}.tsx", CHART.format(n=n))
    work.write("docs/MARKETING.md", MARKETING)
    work.edit("src/styles/theme.css", "  --accent: #2b6cb0;", "  --accent: #805ad5;")
    work.edit("src/utils/jwt/types.ts", "  exp?: number", "  exp: number")
    work.edit(
        "src/utils/jwt/verify.test.ts",
        'test("another secret is refused", async () => {',
        'test("a wrong secret is refused", async () => {',
    )
    check(shop, work.play(play, JWT), 10)

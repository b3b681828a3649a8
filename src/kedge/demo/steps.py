"""The story of the demo: commands, and the lines of their output that matter.

A command that ends otherwise than told, or whose output lacks a line that is told, fails the demo.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kedge.demo.agent import SCRIPT


class Line(NamedTuple):
    """A line of output to show, by a pattern in it, and what it means.

    `times` is how many such lines there must be. Lines come in the order of the story.
    """

    pattern: str
    note: str = ""
    times: int = 1


@dataclass(frozen=True)
class Command:
    """A shell command, the exit code that it must have, and the lines to show.

    `{NAME}` in the command is replaced by what a group of that name matched in an earlier output.
    """

    text: str
    lines: Sequence[Line] = ()
    code: int = 0


@dataclass(frozen=True)
class Chapter:
    title: str
    why: str
    commands: Sequence[Command]


def make_story(client: str) -> list[Chapter]:
    """Return the story, with the agent that plays in it."""
    return [_PLAN, _describe_run(client), _STRAYED, _LEFT, _HANDOFF, _REPORT]


_PLAN = Chapter(
    "A small project, and three things to do",
    "A harbour's prices and bookings, in Python. Each task says which files may change, and which"
    " command proves that it is done.",
    [
        Command("git log --oneline", [Line("", times=3)]),
        Command(
            "kedge init --no-hooks",
            [
                Line("AGENTS.md", "what agents read, beside your own text"),
                Line(r"\.kedge/map\.md", "a ranked map of the code"),
            ],
        ),
        Command(
            'kedge task add "A week costs a tenth less" --id discount'
            ' --scope berths/fees.py --scope tests/ --out-of-scope data/ --check "./check discount"'
        ),
        Command(
            'kedge task add "Read the list of boats" --id boats'
            ' --scope berths/export.py --check "./check boats"'
        ),
        Command(
            'kedge task add "Give a berth to one boat at a time" --id overlap'
            ' --scope berths/bookings.py --check "./check overlap"'
        ),
        Command("git add . && git commit --quiet -m 'Plan three tasks'"),
    ],
)
_AGENTS = {
    SCRIPT: (
        "claude",
        "It plays a script, so that you need no key. The hooks that kedge gives it are real.",
    ),
    "claude": ("claude", "It is Claude Code, with a model that plays a script: you need no key."),
    "codex": ("codex", "It is Codex, with a model that plays a script: you need no key."),
}
_CLAIMED = "The agent said it was done, but"


def _describe_run(client: str) -> Chapter:
    agent, about = _AGENTS[client]
    return Chapter(
        "An agent works on them, and kedge does not take its word",
        about,
        [
            Command(
                f"kedge run --agent {agent} --command ../agent --attempts 2",
                [
                    Line("^discount: "),
                    Line("not allowed: ", "the task rules out data/: the call was stopped"),
                    Line(
                        "drifted: .*weakened check",
                        "it skipped a failing test: refused, and told why",
                    ),
                    Line(
                        "done: .*green on tree",
                        "proven: kedge ran the check itself, on exactly these files",
                    ),
                    Line("committed as"),
                    Line("^boats: "),
                    Line(f"no-change: {_CLAIMED}", "it claims to be done, and has done nothing"),
                    Line(f"failed-checks: {_CLAIMED}", "it claims it again, and the check fails"),
                    Line(
                        "failed",
                        "two attempts and no proof: the task has failed, and kedge says so",
                    ),
                    Line("unfinished work is saved"),
                    Line("^overlap: "),
                    Line(
                        f"failed-checks: {_CLAIMED}",
                        "a false claim again; the next prompt holds the log",
                    ),
                    Line(
                        "done: .*green on tree",
                        "with that log, the second attempt is right: proven",
                    ),
                    Line("committed as"),
                    Line("2 done, 1 failed"),
                ],
                code=1,
            )
        ],
    )


_STRAYED = Chapter(
    "How it strayed in the first attempt, and what kedge told it at once",
    "kedge compares each call of a tool with the task, before and after it runs.",
    [
        Command(
            "kedge drift status --all",
            [Line(r"^(?P<session>[\w-]+)\t.*discount.*\breview\b", "flagged for you to look at")],
        ),
        Command(
            "kedge drift explain {session}",
            [
                Line(r"edit data/tariff\.json"),
                Line("limit .*data/", "what the task says, against what it did"),
                Line(
                    "the user was asked|the call was denied",
                    "it needed your Yes, and nobody was there to give it",
                ),
                Line("told: "),
                Line(r"edit berths/bookings\.py"),
                Line("scope .*bookings", "a file of another task"),
                Line("recovered: at step", "corrected at once, and back on course by that step"),
                Line("told: "),
                Line(r"edit tests/test_fees\.py"),
                Line(
                    "weakened check .*test skipped",
                    "on record; this is what the proof above refused",
                ),
            ],
        ),
    ],
)
_LEFT = Chapter(
    "What is left: two tasks with proof, one that failed",
    "Commits hold what was proven. Every attempt is on record, and the next one reads it.",
    [
        Command(
            "kedge task list",
            [Line("^discount.*done"), Line("^boats.*failed"), Line("^overlap.*done")],
        ),
        Command("git log --oneline --grep 'task('", [Line("overlap"), Line("discount")]),
        Command(
            "kedge log show boats",
            [
                Line("#1  no-change"),
                Line("nothing was changed"),
                Line("#2  failed-checks"),
                Line(
                    "check: ./check boats .*exit 1", "the next prompt for this task holds all that"
                ),
            ],
        ),
    ],
)
_HANDOFF = Chapter(
    "Work is handed to a reviewer, and one byte changes on the way",
    "This time you are the implementer, and somebody else reviews.",
    [
        Command(
            "kedge task add 'Explain the prices' --id prices --scope README.md"
            " --description 'Name the discount.' --accept 'it says 10 %'"
            " --check 'grep nights README.md'"
        ),
        Command("kedge context init prices"),
        Command("kedge context begin prices --agent implementer"),
        Command("echo 'From 7 nights on, a berth costs 10 % less.' >>README.md"),
        Command(
            "kedge context snapshot prices --agent implementer",
            [Line("recorded what implementer left", "kept byte for byte, without a commit")],
        ),
        Command("sed -i.bak 's/10 %/50 %/' README.md && rm README.md.bak"),
        Command(
            "kedge context begin prices --agent reviewer",
            [
                Line(
                    "README.md", "found: the reviewer may only start from what the implementer left"
                )
            ],
            code=4,
        ),
        Command(
            "kedge context resolve prices --revert --note 'nobody agreed to 50 %'",
            [Line("reverted", "the file is as it was, and the note is on record")],
        ),
        Command("kedge context begin prices --agent reviewer", [Line("reviewer has started")]),
        Command("kedge context record-qa prices --agent reviewer", [Line("grep")]),
        Command("kedge task close prices", [Line("prices is done")]),
    ],
)
_REPORT = Chapter(
    "All of it on one page",
    "Each session, step by step. The page needs no network, and is kept outside of git.",
    [Command("kedge drift report", [Line(r"^(?P<report>.*drift\.html): \d+ sessions")])],
)


class Teller:
    """Follows the output of one command: which of its lines to show, and what is missing."""

    def __init__(self, command: Command, known: dict[str, str]) -> None:
        self.text = command.text.format(**known) if "{session}" in command.text else command.text
        self._known = known
        self._code = command.code
        self._expected = [line for line in command.lines for _ in range(line.times)]

    def find(self, text: str) -> Line | None:
        """Return how to show a line of output; None if it does not matter."""
        if not self._expected or not text.strip():
            return None
        match = re.search(self._expected[0].pattern, text)
        if match is None:
            return None
        self._known |= match.groupdict()
        return self._expected.pop(0)

    def list_missing(self, code: int) -> list[str]:
        """Return what the command should have said and did not."""
        missing = [f"a line with {line.pattern!r}" for line in self._expected[:1]]
        if code != self._code:
            missing.append(f"exit code {self._code}, but {code}")
        return missing

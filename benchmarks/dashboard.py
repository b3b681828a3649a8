"""Measure the dashboard of `kedge serve` on a repository with a long history.

    benchmarks/dashboard.py [--sessions N] [--steps N] [--rounds N]

Each page is asked for in turn; its time is that of the whole request on loopback. Where Chromium
and playwright are there, first paint and the time from an event to its sight are measured, too.
The yardstick tells how fast the machine is at the moment; the budgets are those of an idle machine,
and grow with it.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _measure import KEDGE, YARDSTICK, clean_environment, seconds

from kedge.host import clock
from kedge.store import sessions, sqlite

PAGE, PAINT, SIGHT = (
    200.0,
    500.0,
    1000.0,
)  # milliseconds: at p95; first paint; an event to its sight
MEMORY = 200  # MB
IDLE = 20.0  # milliseconds that the yardstick takes on an idle machine
FILES = [f"src/{part}/{name}.py" for part in ("auth", "store", "web") for name in "abcdefghij"]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_LEVELS = (("none", 10), ("none", 9), ("none", 8), ("nudge", 7), ("correct", 5), ("intervene", 3))
_QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync",
          "--no-first-run", "--disable-component-update", "--disable-quic"]  # fmt: skip

_PAINT = """() => new Promise((done) => new PerformanceObserver((list) => {
  const found = list.getEntriesByName("first-contentful-paint")[0];
  if (found) done(found.startTime);
}).observe({ type: "paint", buffered: true }))"""


def make_repository(top: Path, env: dict[str, str], count: int, steps: int) -> Path:
    """Make a repository with tasks, handoffs and this many sessions and steps."""
    root = top / "repo"
    for path in FILES:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"def {Path(path).stem}():\n    return 1\n")
    plan = "".join(f"- [ ] Task number {n} of the plan\n" for n in range(200))
    (root / "plan.md").write_text(plan)
    for args in (("init", "-q"), ("add", "."), ("commit", "-qm", "first")):
        subprocess.run(["git", *args], cwd=root, env=env, check=True)

    def kedge(*args: str) -> str:
        done = subprocess.run(
            [*KEDGE, *args], cwd=root, env=env, check=True, capture_output=True, text=True
        )
        return done.stdout

    kedge("task", "import", "plan.md")
    tasks = [one["id"] for one in json.loads(kedge("--json", "task", "list"))["data"]]
    for name in tasks[:3]:
        kedge("task", "update", name, "--description", "As the plan says.", "--accept", "It works")
        kedge("context", "init", name)
        kedge("context", "begin", name, "--agent", "implementer")
        (root / FILES[0]).write_text((root / FILES[0]).read_text() + f"# {name}\n")
        kedge("context", "snapshot", name, "--agent", "implementer")
    for number in range(30):
        kedge("knowledge", "add", f"Lesson {number} of part {number * 7}", "--type", "pattern",
              "--text", f"Part {number} has its own rule.", "--force")  # fmt: skip
    fill(root, tasks, count, steps)
    return root


def fill(root: Path, tasks: Sequence[str], count: int, steps: int) -> None:
    """Record sessions through the store, as hooks do; a tenth of the steps stray."""
    chance = random.Random(7)
    db, _ = sqlite.connect(root / ".git" / "kedge")
    with closing(db), sessions.transaction(db):
        for number in range(count):
            name = f"{chance.getrandbits(64):016x}-{number}"
            now = clock.now()
            active = number >= count - 5
            sessions.add(
                db, name, agent="claude", project=str(root), task=chance.choice(tasks),
                policy="advise", goal=f"Mend part {number} and its tests", steps=steps,
                score=chance.randint(5, 10), status="active" if active else "completed",
                started_at=now, checked_at=now, ended_at=None if active else now,
            )  # fmt: skip
            said = f"Mend part {number}. Do not touch the docs."
            sessions.add_charter(
                db, name, revision=1, at=now, said=said, goal=said, limits=[], scope=[]
            )
            for position in range(1, steps + 1):
                add_step(db, name, position, chance)


def add_step(db: Any, session: str, position: int, chance: random.Random) -> None:
    level, score = chance.choice(_LEVELS) if chance.random() < 0.2 else _LEVELS[0]
    path, now, id_ = chance.choice(FILES), clock.now(), f"{session}:{position}"
    rules = [] if level == "none" else [["scope", f"not in the task's scope: {path}", 10 - score]]
    sessions.add_step(
        db, session, {"file": [path], "folder": [path.rpartition("/")[0]]}, id=id_,
        position=position, subagent="", tool="Edit", action_type="edit", files=[path],
        folders=[path.rpartition("/")[0]], command="", reasoning="It is the next part of the work.",
        drift_score=score, drift_type="none", level=level, rules=rules, recalled=[],
        decision="none", correction_given="[kedge] This leaves the scope." if rules else "",
        changes=True, is_key_decision=False, is_validated=True, keywords=["part"], ok=True, at=now,
    )  # fmt: skip
    if rules:
        sessions.add_event(
            db, session, step=id_, at=now, score=score, level=level, before="NORMAL",
            after="DRIFTED", escalation=0, evidence=rules,
        )  # fmt: skip


@dataclass
class Server:
    process: subprocess.Popen[str]
    url: str
    link: str
    cookie: str

    def get(self, path: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=60)
        with closing(connection):
            connection.request("GET", path, headers={"Cookie": self.cookie})
            answer = connection.getresponse()
            return answer.status, answer.read()

    def most_memory(self) -> float:
        """Return the most MB of memory that the process had."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmHWM:\s+(\d+)", status)
        assert found is not None
        return int(found[1]) / 1024


@contextmanager
def serve(root: Path, env: dict[str, str]) -> Iterator[Server]:
    process = subprocess.Popen(
        [*KEDGE, "--json", "serve"], cwd=root, env=env, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        state = json.loads(process.stdout.readline())
        server = Server(process, state["url"], state["dashboard"], "")
        connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=60)
        with closing(connection):
            connection.request("GET", server.link.removeprefix(server.url))
            answer = connection.getresponse()
            server.cookie = str(answer.getheader("Set-Cookie")).partition(";")[0]
        yield server
    finally:
        process.terminate()
        process.wait(60)


def measure_slowness(root: Path, env: dict[str, str]) -> float:
    """Return how much slower than an idle machine this one is at the moment, at least 1."""
    yardstick = statistics.median(seconds(YARDSTICK, root, env) for _ in range(15)) * 1000
    slow = max(1.0, yardstick / IDLE)
    print(f"yardstick, python3 -I -c pass: {yardstick:.0f} ms; budgets times {slow:.1f}")
    return slow


def list_pages(root: Path) -> dict[str, str]:
    with closing(sqlite.connect(root / ".git" / "kedge")[0]) as db:
        (session,) = db.execute("SELECT id FROM session ORDER BY rowid DESC LIMIT 1").fetchone()
    folders = sorted((root / ".kedge" / "context").iterdir())
    task = next(one.name for one in folders if (one / "context.json").exists())
    return {
        "now": "/",
        "now, filtered": "/?q=part&show=strayed&skip=100",
        "session": f"/kedge/sessions/{session}",
        "session, its first steps": f"/kedge/sessions/{session}?step=1",
        "tasks": "/kedge/tasks",
        "task": f"/kedge/tasks/{task}",
        "handoffs": "/kedge/handoffs",
        "handoff": f"/kedge/handoffs/{task}",
        "map": "/kedge/map",
        "map, for a text": "/kedge/map?q=mend+the+store",
        "map, a file": f"/kedge/map?file={FILES[0]}",
        "knowledge": "/kedge/knowledge",
        "runs": "/kedge/runs",
    }


def measure(server: Server, pages: dict[str, str], rounds: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in pages}
    for number in range(rounds + 1):
        for name, path in pages.items():
            begin = time.perf_counter()
            status, _ = server.get(path)
            assert status == 200, (name, status)
            if number:
                times[name].append((time.perf_counter() - begin) * 1000)
    return times


def measure_browser(
    server: Server, pages: dict[str, str], root: Path, rounds: int
) -> tuple[dict[str, float], list[float]]:
    """Return each page's first paint, and the times from a recorded step to its sight."""
    from playwright.sync_api import sync_playwright

    paints: dict[str, float] = {}
    sights = []
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=_QUIET)
        page = chromium.new_context(viewport={"width": 1440, "height": 900}).new_page()
        page.goto(server.link)
        for name, path in pages.items():
            times = []
            for _ in range(3):
                page.goto(f"{server.url}{path}", wait_until="load")
                times.append(page.evaluate(_PAINT))
            paints[name] = statistics.median(times)
        session = pages["session"].rpartition("/")[2]
        page.goto(f"{server.url}{pages['session']}")
        page.locator('[data-state="live"]').wait_for()
        chance = random.Random(3)
        with closing(sqlite.connect(root / ".git" / "kedge")[0]) as db:
            row = sessions.get(db, session)
            assert row is not None
            for position in range(row["steps"] + 1, row["steps"] + 1 + rounds):
                with sessions.transaction(db):
                    add_step(db, session, position, chance)
                begin = time.perf_counter()
                page.locator(f"#s-{position}").wait_for()
                sights.append((time.perf_counter() - begin) * 1000)
        chromium.close()
    return paints, sights


def report(title: str, times: dict[str, float], budget: float) -> bool:
    print(f"\n{title}, budget {budget:.0f} ms")
    for name, value in times.items():
        print(f"  {name:28}{value:8.0f} ms{'  over' if value > budget else ''}")
    return all(value <= budget for value in times.values())


def find_p95(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=20, method="inclusive")[-1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sessions", type=int, default=500)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=30)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kedge-dashboard-") as scratch:
        top = Path(scratch).resolve()
        for name in ("home", "state"):
            (top / name).mkdir()
        env = clean_environment(top / "home") | {"XDG_STATE_HOME": str(top / "state")}
        for who in ("AUTHOR", "COMMITTER"):
            env |= {f"GIT_{who}_NAME": "Tess", f"GIT_{who}_EMAIL": "tess@example.org"}
        os.environ.pop("KEDGE_HOME", None)
        begin = time.perf_counter()
        root = make_repository(top, env, args.sessions, args.steps)
        count = args.sessions * args.steps
        took = time.perf_counter() - begin
        print(f"{args.sessions} sessions, {count:,} steps, made in {took:.0f} s")
        slow = measure_slowness(root, env)
        pages = list_pages(root)
        page, paint, sight = (slow * budget for budget in (PAGE, PAINT, SIGHT))
        with serve(root, env) as server:
            times = measure(server, pages, args.rounds)
            kept = report("server time, p95", {k: find_p95(v) for k, v in times.items()}, page)
            report("server time, median", {k: statistics.median(v) for k, v in times.items()}, page)
            if CHROMIUM is not None:
                paints, sights = measure_browser(server, pages, root, args.rounds)
                kept = report("first paint", paints, paint) and kept
                seen = {"a step of a session": find_p95(sights)}
                kept = report("from an event to its sight, p95", seen, sight) and kept
            memory = server.most_memory()
            print(f"\nmost memory of kedge serve: {memory:.0f} MB, budget {MEMORY} MB")
    return 0 if kept and memory <= MEMORY else 1


if __name__ == "__main__":
    sys.exit(main())

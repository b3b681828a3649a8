"""What the pages make of what was read: functions of values, without a server."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from kedge.run.limits import Limits, RunUsage
from kedge.web.pages.runs import list_meters
from kedge.web.pages.session import WINDOW, choose_window
from kedge.web.pages.usage import UsedTokens, find_usage
from kedge.web.patches import MOST_BYTES, read_patch
from kedge.web.rendering import describe_age, show_text, write_compact
from kedge.web.task_graph import place_tasks

PATCH = b"""diff --git a/a b/x.py b/a b/x.py
index 1..2 100644
--- a/a b/x.py
+++ b/a b/x.py
@@ -1,2 +1,2 @@
 same
-old
+diff --git is only text here
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
--- a
"""


def test_a_patch_is_read_line_by_line() -> None:
    (changed, gone), cut = read_patch(PATCH)
    assert not cut
    assert (changed.path, changed.added, changed.removed) == ("a b/x.py", 1, 1)
    assert changed.lines[-1] == ("added", "+diff --git is only text here")
    assert (gone.path, gone.removed) == ("gone", 1)
    assert gone.lines[0] == ("note", "deleted file mode 100644")


def test_a_long_patch_is_cut() -> None:
    files, cut = read_patch(PATCH + b"+" + b"a" * MOST_BYTES)
    assert cut
    assert max(len(line) for file in files for _, line in file.lines) < 1000


@pytest.mark.parametrize(
    ("total", "wanted", "first", "last"),
    [
        (0, 0, 1, 0),
        (5, 0, 1, 5),
        (500, 0, 500 - WINDOW + 1, 500),
        (500, 1, 1, WINDOW),
        (500, WINDOW, 1, WINDOW),
        (500, WINDOW + 1, WINDOW + 1, 2 * WINDOW),
        (500, 9999, 4 * WINDOW + 1, 500),
    ],
)
def test_a_session_shows_the_steps_around_the_wanted_one(
    total: int, wanted: int, first: int, last: int
) -> None:
    window = choose_window(total, wanted)
    assert (window.first, window.last, window.total) == (first, last, total)


def test_a_task_stands_right_of_what_it_waits_for_and_a_circle_ends() -> None:
    places = place_tasks(["c", "b", "a"], [("a", "b"), ("b", "c")])
    assert places["a"][0] < places["b"][0] < places["c"][0]
    assert len(place_tasks(["a", "b"], [("a", "b"), ("b", "a")])) == 2


def test_meters_show_what_is_left_of_a_limit() -> None:
    limits = Limits(money=2.0, tokens=None, seconds=60)
    money, tokens, time, calls, failures = list_meters(limits, RunUsage(cost=0.5, seconds=90))
    assert (money.used, money.limit, money.share) == ("$0.50", "$2.00", 0.25)
    assert (tokens.limit, tokens.share, calls.share) == ("", None, None)
    assert (time.used, time.share) == ("1m 30s", 1.0)
    assert failures.share == 0


def _row(path: Path) -> dict[str, Any]:
    return {"transcript": str(path)}


def _answer(name: str, out: int) -> str:
    usage = {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": out}
    return json.dumps({"type": "assistant", "message": {"id": name, "usage": usage}}) + "\n"


def test_tokens_are_counted_once_for_each_answer_while_the_transcript_grows(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(_answer("m1", 1) + _answer("m1", 5) + "{broken\n" + _answer("m2", 7)[:20])
    assert find_usage(_row(path)) == UsedTokens(100, 5)
    path.write_text(path.read_text()[:-20] + _answer("m2", 7))
    assert find_usage(_row(path)) == UsedTokens(200, 12)
    assert find_usage(_row(path)) == UsedTokens(200, 12)


def test_codex_sums_up_itself(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    for total in (100, 250):
        usage = {"total_token_usage": {"input_tokens": total, "output_tokens": 5}}
        with path.open("a") as file:
            file.write(json.dumps({"payload": {"type": "token_count", "info": usage}}) + "\n")
    assert find_usage(_row(path)) == UsedTokens(250, 5)


def test_a_pipe_in_place_of_a_transcript_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert find_usage(_row(tmp_path / "pipe")) is None
    assert find_usage(_row(tmp_path / "none")) is None
    assert find_usage({"transcript": ""}) is None


def test_texts_that_hide_or_turn_others_are_visible() -> None:
    assert show_text("a\u202eb\x1b[2J\ud800") == "a\\u202eb\\x1b[2J\ufffd"
    assert describe_age("2026-01-01T00:00:00Z", "2026-01-01T02:30:00Z") == "2h"
    assert describe_age("yesterday", "2026-01-01T02:30:00Z") == "–"
    assert [write_compact(one) for one in (0, 999, 12_345, 1_200_000)] == [
        "0",
        "999",
        "12.3k",
        "1.2M",
    ]

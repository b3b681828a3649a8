"""The knowledge bank through its commands: add, confirm, challenge, age, retire, check."""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support import Kedge, assert_clear, git

BANK = "docs/knowledge-bank"
SLEEP = """# Anti-Patterns

### Anti-Pattern: Sleeping in tests
Poll a condition with a deadline.
- Observed in: Feature #002
- Confidence: high
- Last observed: Feature #002
- Observation count: 1

### Anti-Pattern: Global fixtures
State leaks from one test to the next.
- Observed in: Feature #003
- Confidence: low
- Last observed: Feature #003
- Observation count: 1
"""


@pytest.fixture
def bank(repo: Path) -> Path:
    folder = repo / BANK
    folder.mkdir(parents=True)
    (folder / "anti-patterns.md").write_text(SLEEP)
    return folder


def feature(repo: Path, name: str, **meta: Any) -> Path:
    folder = repo / "docs" / "features" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".meta.json").write_text(json.dumps(meta))
    return folder


def features(repo: Path, first: int, last: int) -> None:
    for number in range(first, last + 1):
        feature(repo, f"{number:03}-x{number}", status="completed", completed=day(number))


def day(number: int) -> str:
    return f"2025-{1 + number // 28:02}-{1 + number % 28:02}T10:00:00Z"


def lines(path: Path) -> list[str]:
    return path.read_text().split("\n")


def states(kedge: Kedge, *options: str) -> dict[str, str]:
    return {row["name"]: row["state"] for row in kedge.json("knowledge", "stale", *options)}


# Adding


def test_first_lesson_creates_the_file_in_the_documented_form(repo: Path, kedge: Kedge) -> None:
    feature(repo, "012-queue", status="active")
    result = kedge.json(
        *("knowledge", "add", "Retry with backoff", "--type", "heuristic"),
        *("--text", "Immediate retries took the queue down.", "--in", "12"),
        *("--confidence", "high"),
    )
    assert result["name"] == "Retry with backoff"
    assert (repo / BANK / "heuristics.md").read_text() == (
        "# Heuristics\n"
        "\n"
        "### Heuristic: Retry with backoff\n"
        "Immediate retries took the queue down.\n"
        "- Source: Feature #012\n"
        "- Confidence: high\n"
        "- Last observed: Feature #012\n"
        "- Observation count: 1\n"
    )


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_new_lesson_follows_the_style_of_the_file(repo: Path, kedge: Kedge, ending: str) -> None:
    path = repo / ".kedge" / "knowledge" / "patterns.md"
    path.parent.mkdir(parents=True)
    before = (
        "# Our patterns\n\n## P-01: Outbox\n\nEvents are rows.\n\n* **Used in:** Feature #001\n"
        "* **Last seen:** Feature #001\n\n## P-02: Read model\n\nOne for each screen.\n\n"
        "* **Used in:** Feature #002\n* **Last seen:** Feature #002\n\n## References\n\nA book\n"
    ).replace("\n", ending)
    path.write_bytes(before.encode())
    text = "Route by route."
    kedge("knowledge", "add", "Strangler", "--type", "pattern", "--text", text, "--in", "7")
    head, _, tail = before.partition(f"{ending}## References")
    added = (
        "\n## P-03: Strangler\nRoute by route.\n* **Used in:** Feature #7\n"
        "* **Confidence:** medium\n* **Last seen:** Feature #7\n* **Observation count:** 1\n"
    ).replace("\n", ending)
    assert path.read_bytes().decode() == f"{head}{added}{ending}## References{tail}"


def test_similar_lesson_is_refused_unless_forced(bank: Path, kedge: Kedge) -> None:
    add = ["knowledge", "add", "Sleeping in a test", "--type", "heuristic", "--text"]
    ran = kedge(*add, "Poll the condition with a deadline instead.", code=1)
    assert_clear(ran, code=1, says="'Sleeping in tests'")
    assert not (bank / "heuristics.md").exists()
    near = kedge(*add, "Poll the condition with a deadline.", "--json", code=1).document["data"]
    assert near[0]["name"] == "Sleeping in tests"
    result = kedge(*add, "Poll the condition with a deadline instead.", "--force")
    assert "similar to" in result.err
    assert "### Heuristic: Sleeping in a test" in (bank / "heuristics.md").read_text()


def test_different_lesson_is_added(bank: Path, kedge: Kedge) -> None:
    text = "Rows that arrive late correct the aggregate."
    kedge("knowledge", "add", "Late data is normal", "--type", "pattern", "--text", text)
    assert "Last observed: 20" in (bank / "patterns.md").read_text()  # a date: no feature was named


@pytest.mark.parametrize(
    "text",
    ["# A heading\nmore", "```\nnever closed", "fine\n- Last observed: Feature #9", "<!-- open"],
)
def test_text_that_would_not_parse_back_is_refused(bank: Path, kedge: Kedge, text: str) -> None:
    before = (bank / "anti-patterns.md").read_bytes()
    add = ["knowledge", "add", "New", "--type", "anti-pattern", "--text", text]
    assert_clear(kedge(*add, code=1), code=1, says="not parse back unchanged")
    assert (bank / "anti-patterns.md").read_bytes() == before


SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


@pytest.mark.parametrize("command", ["add", "confirm", "challenge", "retire", "keep"])
def test_secrets_are_refused_before_anything_is_written(
    bank: Path, kedge: Kedge, command: str
) -> None:
    text = f"the token {SECRET} was in the log"
    args = {
        "add": ["add", "New", "--type", "anti-pattern", "--text", text],
        "confirm": ["confirm", "Sleeping in tests", "--in", "9", "--evidence", text],
        "challenge": ["challenge", "Sleeping in tests", "--in", "9", "--evidence", text],
        "retire": ["retire", "Sleeping in tests", "--reason", text],
        "keep": ["stale", "--keep", "Sleeping in tests", "--in", "9", "--reason", text],
    }[command]
    ran = kedge("knowledge", *args, "--json", code=1)
    assert ran.document["code"] == "secret"
    assert SECRET not in ran.out + ran.err
    assert (bank / "anti-patterns.md").read_text() == SLEEP
    assert [path.name for path in bank.iterdir()] == ["anti-patterns.md"]
    kedge("knowledge", *args, "--allow-secret", ran.document["data"]["finding"])
    assert any(SECRET in path.read_text() for path in bank.iterdir())


# Observations


def test_confirmation_raises_the_count_and_records_the_evidence(
    repo: Path, bank: Path, kedge: Kedge
) -> None:
    feature(repo, "012-queue", status="active")
    done = kedge.json(
        *("knowledge", "confirm", "sleeping in TESTS", "--in", "012-queue"),
        *("--evidence", "the export test failed\nevery tenth run"),
    )
    assert (done["count"], done["last_observed"]["refs"]) == (2, ["012"])
    assert (bank / "anti-patterns.md").read_text() == SLEEP.replace(
        "- Last observed: Feature #002\n- Observation count: 1\n",
        "- Last observed: Feature #012\n- Observation count: 2\n"
        "- Confirmed: Feature #012 — the export test failed every tenth run\n",
    )


def test_same_observation_counts_once(repo: Path, bank: Path, kedge: Kedge) -> None:
    confirm = ["knowledge", "confirm", "Sleeping in tests", "--in", "9", "--evidence", "seen"]
    kedge(*confirm)
    once = (bank / "anti-patterns.md").read_bytes()
    assert "already" in kedge(*confirm).err
    assert (bank / "anti-patterns.md").read_bytes() == once
    kedge(*confirm[:-1], "seen elsewhere")  # in the same feature
    assert "- Observation count: 2\n" in (bank / "anti-patterns.md").read_text()


def test_observation_can_be_made_in_a_task(bank: Path, kedge: Kedge) -> None:
    task = kedge("task", "add", "Speed up the suite").out.strip()
    kedge("knowledge", "confirm", "Sleeping in tests", "--in", task, "--evidence", "seen")
    assert f"- Last observed: Task {task}\n" in (bank / "anti-patterns.md").read_text()


def test_challenge_is_recorded_without_changing_the_text(
    repo: Path, bank: Path, kedge: Kedge
) -> None:
    feature(repo, "021-launcher", status="active")
    challenge = ["knowledge", "challenge", "Global fixtures", "--in", "21", "--evidence"]
    kedge(*challenge, "the pool is shared on purpose")
    text = "- Challenged: Feature #021 — the pool is shared on purpose\n"
    assert (bank / "anti-patterns.md").read_text() == SLEEP + text


@pytest.mark.parametrize("command", ["confirm", "challenge"])
def test_observation_needs_a_feature_and_evidence(
    repo: Path, bank: Path, kedge: Kedge, command: str
) -> None:
    feature(repo, "002-a", status="active")
    name = ["knowledge", command, "Sleeping in tests"]
    assert_clear(kedge(*name, "--evidence", "x", code=2), code=2, says="--in")
    assert_clear(kedge(*name, "--in", "2", code=2), code=2, says="--evidence")
    blank = kedge(*name, "--in", "2", "--evidence", " ", code=1)
    assert_clear(blank, code=1, says="evidence is empty")
    nowhere = kedge(*name, "--in", "77", "--evidence", "x", code=1)
    assert_clear(nowhere, code=1, says="no feature or task '77'")
    other = kedge("knowledge", command, "Sleping", "--in", "2", "--evidence", "x", code=1)
    assert_clear(other, code=1, says="no entry 'Sleping'")
    assert "Sleeping in tests" in other.err
    assert (bank / "anti-patterns.md").read_text() == SLEEP


def test_observation_in_an_old_feature_keeps_the_later_date(
    repo: Path, bank: Path, kedge: Kedge
) -> None:
    features(repo, 1, 5)
    confirm = ["knowledge", "confirm", "Global fixtures", "--evidence", "seen", "--in"]
    kedge(*confirm, "1")
    text = (bank / "anti-patterns.md").read_text()
    assert (
        "- Last observed: Feature #003\n- Observation count: 2\n- Confirmed: Feature #001" in text
    )


def test_count_that_is_not_a_number_stays_unchanged(bank: Path, kedge: Kedge) -> None:
    path = bank / "anti-patterns.md"
    path.write_text(SLEEP.replace("count: 1", "count: several", 1))
    ran = kedge("knowledge", "confirm", "Sleeping in tests", "--in", "9", "--evidence", "x")
    assert "is not a number" in ran.err
    assert "count: several" in path.read_text()
    assert "- Last observed: Feature #9" in path.read_text()


def test_entries_with_the_same_name_are_selected_by_place(bank: Path, kedge: Kedge) -> None:
    path = bank / "anti-patterns.md"
    path.write_text(SLEEP.replace("Global fixtures", "Sleeping in tests"))
    args = ["--in", "9", "--evidence", "x"]
    ran = kedge("knowledge", "confirm", "Sleeping in tests", *args, code=1)
    assert_clear(ran, code=1, says=f"{BANK}/anti-patterns.md:3, {BANK}/anti-patterns.md:10")
    kedge("knowledge", "confirm", "anti-patterns.md:10", *args)
    assert lines(path)[14:16] == ["- Observation count: 2", "- Confirmed: Feature #9 — x"]


def test_concurrent_writers_wait_for_each_other(bank: Path, kedge: Kedge) -> None:
    def confirm(number: int) -> None:
        kedge("knowledge", "confirm", "Sleeping in tests", "--in", "9", "--evidence", f"n{number}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(confirm, range(8)))
    text = (bank / "anti-patterns.md").read_text()
    assert "- Observation count: 2\n" in text  # all in one feature
    assert text.count("- Confirmed: ") == 8


# Staleness


def test_ten_finished_features_make_an_entry_stale(repo: Path, bank: Path, kedge: Kedge) -> None:
    features(repo, 1, 12)
    assert states(kedge) == {"Sleeping in tests": "stale"}
    features(repo, 13, 13)
    assert states(kedge) == {"Sleeping in tests": "stale", "Global fixtures": "stale"}
    assert states(kedge, "--after", "12") == {}
    rows = kedge.json("knowledge", "stale")
    assert [row["age"] for row in rows] == [11, 10]


def test_unfinished_features_do_not_count(repo: Path, bank: Path, kedge: Kedge) -> None:
    features(repo, 1, 5)
    for number in range(6, 20):
        status = "abandoned" if number % 2 else "in progress"
        feature(repo, f"{number:03}-x{number}", status=status, lastUpdated=day(number))
    assert states(kedge) == {}


def test_age_follows_the_order_of_completion(repo: Path, bank: Path, kedge: Kedge) -> None:
    """Features 3 to 13 have larger numbers than 2, but were finished before it."""
    features(repo, 3, 13)
    feature(repo, "002-late", status="done", completedAt="2025-12-24")
    assert states(kedge, "--after", "10") == {"Global fixtures": "stale"}
    assert states(kedge, "--after", "11") == {"Global fixtures": "stale"}
    assert states(kedge, "--after", "12") == {}


def test_renumbered_features_keep_their_age(repo: Path, bank: Path, kedge: Kedge) -> None:
    features(repo, 1, 12)
    git(repo, "add", "-A")
    git(repo, "commit", "--quiet", "-m", "features")
    before = kedge.json("knowledge", "stale", "--after", "1")
    for folder in sorted((repo / "docs" / "features").iterdir()):
        number, _, slug = folder.name.partition("-")
        git(repo, "mv", f"docs/features/{folder.name}", f"docs/features/{900 - int(number)}-{slug}")
    git(repo, "commit", "--quiet", "-m", "new numbers")
    after = kedge.json("knowledge", "stale", "--after", "1")
    assert [row["age"] for row in before] == [row["age"] for row in after] == [10, 9]


def test_completion_date_is_taken_from_git(
    repo: Path, bank: Path, kedge: Kedge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Feature 2 was the last one marked done, by a commit after all others."""
    for number in [3, 4, 5, 2]:
        for status in ("active", "completed"):
            feature(repo, f"{number:03}-x", status=status)
            when = f"2025-01-{10 - number if number > 2 else 20:02}T12:00:00Z"
            monkeypatch.setenv("GIT_COMMITTER_DATE", when)
            git(repo, "add", "-A")
            git(repo, "commit", "--quiet", "-m", f"{number} {status}")
    ages = {row["name"]: row["age"] for row in kedge.json("knowledge", "stale", "--after", "1")}
    assert ages == {"Global fixtures": 1}  # only 2 was finished after 3: 5 and 4 were before


def test_without_dates_the_number_gives_the_order(
    tmp_path: Path, repo: Path, bank: Path, kedge: Kedge
) -> None:
    for number in range(2, 14):
        feature(repo, f"{number:03}-x", status="completed")
    assert states(kedge, "--after", "11") == {"Sleeping in tests": "stale"}


def test_feature_without_metadata_is_finished_when_its_tasks_are_done(
    repo: Path, bank: Path, kedge: Kedge
) -> None:
    for number in range(2, 15):
        folder = repo / "docs" / "features" / f"{number:03}-x"
        folder.mkdir(parents=True)
        done = "done" if number < 14 else "open"
        (folder / "tasks.md").write_text(f"# X\n\n### Task 1: A\n**Status:** {done}\n")
    ages = {row["name"]: row["age"] for row in kedge.json("knowledge", "stale")}
    assert ages == {"Sleeping in tests": 11, "Global fixtures": 10}


def test_age_of_a_date_counts_features_finished_after_it(
    repo: Path, bank: Path, kedge: Kedge
) -> None:
    path = bank / "anti-patterns.md"
    path.write_text(SLEEP.replace("observed: Feature #002", f"observed: {day(4)[:10]}"))
    features(repo, 1, 12)
    ages = {r["name"]: r["age"] for r in kedge.json("knowledge", "stale", "--after", "1")}
    assert ages["Sleeping in tests"] == 8


def test_last_observed_in_free_text_is_unknown_and_never_stale(
    repo: Path, bank: Path, kedge: Kedge
) -> None:
    path = bank / "anti-patterns.md"
    path.write_text(SLEEP.replace("observed: Feature #002", "observed: last spring"))
    features(repo, 3, 20)
    assert states(kedge) == {"Global fixtures": "stale"}
    assert states(kedge, "--all") == {"Sleeping in tests": "unknown", "Global fixtures": "stale"}
    ran = kedge("knowledge", "check", code=4)
    assert "Sleeping in tests" not in ran.out
    assert "warning: the age of 1 entry is unknown: Sleeping in tests\n" in ran.err
    (row,) = [row for row in kedge.json("knowledge", "stale", "--all") if row["state"] == "unknown"]
    assert row["why"] == "last spring: no feature, task or date"


@pytest.mark.parametrize(
    "ids", [["k-a1", "k-b2", "k-c3", "k-d4"], ["k-aa", "k-bb", "k-cc", "k-dd"]]
)
def test_finished_tasks_age_an_entry_observed_in_a_task(
    bank: Path, kedge: Kedge, ids: list[str]
) -> None:
    for one in ids:
        kedge("task", "add", "Some work", "--id", one)
    kedge("task", "close", ids[0], "--reason", "done")
    kedge("knowledge", "confirm", "Global fixtures", "--in", ids[0], "--evidence", "x")
    for one in ids[1:]:
        kedge("task", "close", one, "--reason", "done")
    rows = kedge.json("knowledge", "stale", "--after", "3")
    stale = [(row["name"], row["age"]) for row in rows if row["state"] == "stale"]
    assert stale == [("Global fixtures", 3)]


def test_keeping_an_entry_is_not_an_observation(repo: Path, bank: Path, kedge: Kedge) -> None:
    features(repo, 1, 13)
    feature(repo, "014-now", status="active")
    keep = ["knowledge", "stale", "--keep", "Sleeping in tests", "--in", "14"]
    kedge(*keep, "--reason", "the suite grows again")
    text = (bank / "anti-patterns.md").read_text()
    assert "- Last observed: Feature #002\n- Observation count: 1\n- Kept: Feature #014" in text
    assert states(kedge) == {"Global fixtures": "stale"}
    feature(repo, "014-now", status="completed", completed=day(14))
    features(repo, 15, 24)
    assert states(kedge)["Sleeping in tests"] == "stale"
    assert_clear(kedge(*keep[:4], code=2), code=2, says="--in")


# Retiring


def test_retired_entry_is_moved_verbatim(bank: Path, kedge: Kedge) -> None:
    kedge("knowledge", "retire", "Sleeping in tests", "--reason", "the linter\nfinds it")
    path, retired = bank / "anti-patterns.md", bank / "retired.md"
    first, _, rest = SLEEP.partition("### Anti-Pattern: Global")
    assert path.read_text() == "# Anti-Patterns\n\n### Anti-Pattern: Global" + rest
    marks = [line for line in lines(retired) if line.startswith("- Retired: 20")]
    assert len(marks) == 1
    assert marks[0].endswith(" from anti-patterns.md — the linter finds it")
    kept = retired.read_text().replace(marks[0] + "\n", "")
    assert kept == "# Retired\n\n" + first.partition("\n\n")[2].rstrip("\n") + "\n"
    kedge("knowledge", "retire", "Global fixtures", "--reason", "x")
    assert path.read_text() == "# Anti-Patterns\n"
    assert "### Anti-Pattern: Global fixtures\nState leaks" in retired.read_text()
    assert kedge.json("knowledge", "list") == []


# Checking


def kinds(kedge: Kedge, *options: str) -> list[tuple[str, str]]:
    found = kedge("knowledge", "check", *options, "--json", code=4).document
    assert found["code"] == "check-found"
    return [(one["kind"], one["name"]) for one in found["data"]]


def test_check_of_a_sound_bank_finds_nothing(repo: Path, bank: Path, kedge: Kedge) -> None:
    features(repo, 1, 4)
    assert kedge("knowledge", "check").out == "2 entries checked, no problems\n"
    assert kedge.json("knowledge", "check") == []


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("Global fixtures", "sleeping in tests!", "duplicate"),
        ("Global fixtures\nState leaks from one test to the next.",
         "Sleep in tests\nPoll some condition with a deadline.", "near-duplicate"),
        ("- Last observed: Feature #003\n", "", "no-metadata"),
        ("- Observation count: 1\n\n", "\n", "no-metadata"),
        ("- Last observed: Feature #003", "- Last observed:", "no-metadata"),
    ],
)  # fmt: skip
def test_check_reports_each_defect(
    repo: Path, bank: Path, kedge: Kedge, old: str, new: str, kind: str
) -> None:
    features(repo, 1, 4)
    assert old in SLEEP
    (bank / "anti-patterns.md").write_text(SLEEP.replace(old, new))
    assert [found for found, _ in kinds(kedge)] == [kind]


def test_check_reports_stale_entries(repo: Path, bank: Path, kedge: Kedge) -> None:
    features(repo, 1, 12)
    assert kinds(kedge) == [("stale", "Sleeping in tests")]
    assert kedge("knowledge", "check", "--after", "11").out.startswith("2 entries")
    ran = kedge("knowledge", "check", code=4)
    assert ran.out.startswith(f"{BANK}/anti-patterns.md:3: Sleeping in tests: stale: ")


# Backfilling


def test_backfill_prints_a_patch_and_writes_with_yes(repo: Path, bank: Path, kedge: Kedge) -> None:
    features(repo, 1, 8)
    path = bank / "heuristics.md"
    path.write_text(
        "### Heuristic: One\nText.\n- Source: Feature #003\n- Confidence: high\n\n"
        "### Heuristic: Two\n- Source: Plugin cache staleness bug\n\n"
        "### Heuristic: Three\n- Source: Features #002, #005\n- Last observed: Feature #006\n\n"
        "### Heuristic: Four\nNo provenance."
    )
    before = path.read_bytes()
    ran = kedge("knowledge", "backfill")
    assert path.read_bytes() == before
    subprocess.run(["git", "apply", "-"], cwd=repo, input=ran.out.encode(), check=True)
    patched = path.read_bytes()
    path.write_bytes(before)
    kedge("knowledge", "backfill", "--yes")
    assert path.read_bytes() == patched
    assert path.read_text() == (
        "### Heuristic: One\nText.\n- Source: Feature #003\n- Confidence: high\n"
        "- Last observed: Feature #003\n- Observation count: 1\n\n"
        "### Heuristic: Two\n- Source: Plugin cache staleness bug\n"
        "- Last observed: Feature #008 (approximate — original provenance was non-numeric)\n"
        "- Observation count: 1\n\n"
        "### Heuristic: Three\n- Source: Features #002, #005\n- Last observed: Feature #006\n"
        "- Observation count: 2\n\n"
        "### Heuristic: Four\nNo provenance.\n"
        "- Last observed: Feature #008 (approximate — no provenance was given)\n"
        "- Observation count: 1"
    )
    assert (bank / "anti-patterns.md").read_text() == SLEEP
    assert kedge("knowledge", "backfill").out == "no metadata is missing\n"


# Location


def test_bank_in_the_kedge_folder_is_read(repo: Path, bank: Path, kedge: Kedge) -> None:
    own = repo / ".kedge" / "knowledge"
    own.mkdir(parents=True)
    (own / "heuristics.md").write_text("### Heuristic: Mine\n- Source: Feature #001\n")
    rows = kedge.json("knowledge", "list")
    assert [(row["file"], row["name"]) for row in rows] == [
        (f"{BANK}/anti-patterns.md", "Sleeping in tests"),
        (f"{BANK}/anti-patterns.md", "Global fixtures"),
        (".kedge/knowledge/heuristics.md", "Mine"),
    ]
    assert [r["name"] for r in kedge.json("knowledge", "list", "--type", "heuristic")] == ["Mine"]
    kedge("knowledge", "confirm", "Mine", "--in", "4", "--evidence", "x")
    assert "- Last observed: Feature #4" in (own / "heuristics.md").read_text()


def test_symlink_out_of_the_project_is_refused(
    repo: Path, bank: Path, kedge: Kedge, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("### Heuristic: Theirs\n- Source: Feature #001\n")
    (bank / "heuristics.md").symlink_to(outside)
    ran = kedge("knowledge", "list")
    assert "Theirs" not in ran.out
    assert "leads out" in ran.err
    add = ["knowledge", "add", "X", "--type", "heuristic", "--text", "Some words."]
    assert_clear(kedge(*add, code=1), code=1, says="leads out")
    assert outside.read_text().count("###") == 1


def test_bytes_that_are_not_utf8_survive_an_edit(bank: Path, kedge: Kedge) -> None:
    path = bank / "anti-patterns.md"
    path.write_bytes(SLEEP.encode().replace(b"Poll a", b"Poll \xff\xe9 a"))
    kedge("knowledge", "confirm", "Sleeping in tests", "--in", "9", "--evidence", "x")
    assert b"Poll \xff\xe9 a condition" in path.read_bytes()
    assert "\ufffd" in kedge.json("knowledge", "list")[0]["text"]
    assert "Poll" in kedge("knowledge", "list", "--for", "sleeping in tests").out


def test_reading_commands_write_nothing(repo: Path, bank: Path, kedge: Kedge) -> None:
    for command in ("list", "stale", "backfill"):
        kedge("knowledge", command)
    assert sorted(path.name for path in repo.iterdir()) == [".git", "docs"]

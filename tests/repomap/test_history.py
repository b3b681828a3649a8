"""Git's history: churn, subjects and files that change together."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import git

from kedge.host import project
from kedge.repomap import history
from kedge.repomap.history import History, build_history
from kedge.text.bm25 import score_documents

LATIN = os.fsdecode(b"docs/latin-\xe4.py")
COMMITS = [
    ("tide: read the gauge twice", ["tide.py", "gauge.py"]),
    ("berth: free the moorings", ["berth.py"]),
    ("tide tables for the north", ["tide.py", "a_table.py", "gauge.py"]),
    ("größe: Zürich", [LATIN, "tide.py"]),
    ("", ["berth.py"]),
]
NUMBER = {"tide.py": 0, "gauge.py": 1, "berth.py": 2, "a_table.py": 3, LATIN: 4, "fresh.py": 5}
WIDE = [f"wide{n}.py" for n in range(30)]

paths = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)
raw_paths = st.binary(min_size=1).filter(lambda raw: b"\0" not in raw).map(os.fsdecode)
any_commits = st.lists(st.tuples(st.text(), st.lists(paths | raw_paths, unique=True)), max_size=8)


def _churn(past: History) -> dict[str, float]:
    return dict(zip(past.paths, past.changes, strict=True))


def _scores(
    past: History, query: dict[str, float], b: float, number: dict[str, int]
) -> dict[int, float]:
    own = [number.get(path, -1) for path in past.paths]
    return past.score_subjects(query, b, own, number.values())


def _about(past: History, *terms: str) -> list[str]:
    """The files whose commits match the terms, best first."""
    scores = _scores(past, dict.fromkeys(terms, 1.0), 0.5, NUMBER)
    names = {number: path for path, number in NUMBER.items()}
    return [names[n] for n in sorted(scores, key=lambda n: (-scores[n], n))]


def test_a_file_that_changes_more_often_has_more_churn() -> None:
    churn = _churn(build_history(COMMITS))
    assert list(churn) == ["tide.py", "gauge.py", "berth.py", "a_table.py", LATIN]
    assert churn["tide.py"] > churn["gauge.py"] > churn["a_table.py"] > 0


def test_old_changes_and_wide_commits_count_less() -> None:
    past = [("new", ["new.py"]), *[("x", ["x.py"])] * 399, ("old", ["old.py"])]
    churn = _churn(build_history(past))
    assert churn["new.py"] == 1
    assert churn["old.py"] == pytest.approx(0.5), "a change counts half after 400 commits"
    wide = _churn(build_history([("all", WIDE), ("one", ["one.py"])]))
    assert 0 < wide["wide0.py"] < 0.5 * wide["one.py"]


def test_each_file_of_a_commit_of_up_to_ten_counts_in_full() -> None:
    assert set(_churn(build_history([("ten", WIDE[:10])])).values()) == {1.0}
    assert max(_churn(build_history([("eleven", WIDE[:11])])).values()) < 1


def test_the_words_of_all_subjects_of_a_file_are_counted() -> None:
    past = build_history(
        [
            ("tide", ["tide.py"]),
            ("read the gauge", ["tide.py", "gauge.py"]),
            ("four words for twenty", WIDE[:20]),
            ("a commit of many files says nothing of each", [*WIDE[9:30], "gauge.py"]),
        ]
    )
    counted = dict(zip(past.paths, past.words, strict=True))
    assert (counted["tide.py"], counted["gauge.py"]) == (4, 3)
    assert (counted["wide0.py"], counted["wide19.py"], counted["wide20.py"]) == (4, 4, 0)


def test_files_are_found_by_the_subjects_of_their_commits() -> None:
    past = build_history(COMMITS)
    assert set(_about(past, "gauge")) == {"tide.py", "gauge.py"}
    assert _about(past, "mooring") == ["berth.py"]
    assert _about(past, "table", "north")[0] == "a_table.py"
    assert _about(past, "nothing") == []
    assert _about(past) == []


def test_the_first_and_the_last_subject_are_found() -> None:
    past = build_history([("alpha", ["tide.py"]), ("beta", ["gauge.py"]), ("gamma", ["berth.py"])])
    assert _about(past, "alpha") == ["tide.py"]
    assert _about(past, "gamma") == ["berth.py"]


def test_only_files_with_a_number_have_a_score() -> None:
    scores = _scores(build_history(COMMITS), {"tide": 1.0}, 0.5, {"gauge.py": 7})
    alone = [
        (subject, [path for path in paths if path == "gauge.py"]) for subject, paths in COMMITS
    ]
    assert set(scores) == {7}
    assert scores == _scores(build_history(alone), {"tide": 1.0}, 0.5, {"gauge.py": 7})


def test_a_short_subject_scores_higher_than_a_long_one() -> None:
    past = build_history([("tide and a lot of other things", ["tide.py"]), ("tide", ["gauge.py"])])
    assert _about(past, "tide") == ["gauge.py", "tide.py"]


def test_scores_are_those_of_bm25_over_the_subjects() -> None:
    past = build_history(
        [("tide", ["tide.py", "gauge.py"]), ("tide tables", ["tide.py"]), ("berths", ["berth.py"])]
    )
    counts = {"tide": {NUMBER["tide.py"]: 2, NUMBER["gauge.py"]: 1}}
    lengths = {**dict.fromkeys(NUMBER.values(), 0), NUMBER["berth.py"]: 1}
    lengths |= {NUMBER["tide.py"]: 3, NUMBER["gauge.py"]: 1}
    expected = score_documents(counts, {"tide": 1.0}, lengths, b=0.5)
    assert _scores(past, {"tide": 1.0}, 0.5, NUMBER) == expected


def test_a_subject_is_found_after_one_that_is_longer_in_lower_case() -> None:
    past = build_history([("İ" * 9, ["tide.py"]), ("tides", ["gauge.py"]), ("x", ["berth.py"])])
    assert _about(past, "tide") == ["gauge.py"]


def test_a_wide_commit_is_ignored() -> None:
    past = build_history([("tide", [*WIDE, "tide.py"]), ("tide", ["gauge.py"])])
    assert _about(past, "tide") == ["gauge.py"]
    assert past.find_partners(["tide.py"]) == {"tide.py": []}


def test_a_commit_of_twenty_files_is_searched_and_one_of_21_is_not() -> None:
    twenty, more = [*WIDE[:19], "tide.py"], [*WIDE[:20], "tide.py"]
    assert _about(build_history([("tide", twenty)]), "tide") == ["tide.py"]
    assert _about(build_history([("tide", more)]), "tide") == []


def test_files_of_a_commit_of_twelve_are_partners_and_of_13_are_not() -> None:
    twelve, more = build_history([("x", WIDE[:12])]), build_history([("x", WIDE[:13])])
    assert len(twelve.find_partners(["wide0.py"], most=99)["wide0.py"]) == 11
    assert more.find_partners(["wide0.py"]) == {"wide0.py": []}


def test_the_share_of_a_partner_grows_with_each_common_change() -> None:
    for times, share in [(1, 1 / 3), (2, 1 / 2), (6, 3 / 4)]:
        past = build_history([("pair", ["tide.py", "gauge.py"])] * times)
        ((path, found),) = past.find_partners(["tide.py"])["tide.py"]
        assert path == "gauge.py"
        assert found == pytest.approx(share)


def test_a_commit_of_more_files_says_less_of_each_partner() -> None:
    past = build_history([("x", ["tide.py", "gauge.py"]), ("x", ["tide.py", "a.py", "b.py"])])
    shares = dict(past.find_partners(["tide.py"])["tide.py"])
    assert shares["a.py"] == shares["b.py"] == pytest.approx(0.5 * shares["gauge.py"])


def test_the_count_of_a_word_is_capped() -> None:
    few, many = (build_history([("tide", ["tide.py"]), *[("x", ["x.py"])]] * n) for n in (8, 100))
    scores = [_scores(past, {"tide": 1.0}, 0.0, NUMBER) for past in (few, many)]
    assert scores[0] == scores[1]


def test_partners_are_sorted_by_their_share() -> None:
    together = build_history(COMMITS).find_partners(["tide.py", "berth.py", "nowhere.py"])
    assert [path for path, _ in together["tide.py"]] == ["gauge.py", LATIN, "a_table.py"]
    shares = [share for _, share in together["tide.py"]]
    assert shares == sorted(shares, reverse=True)
    assert 0 < sum(shares) < 0.7, "a few changes prove little"
    assert together["berth.py"] == []
    assert "nowhere.py" not in together


def test_only_the_closest_partners_are_kept() -> None:
    past = [("pair", ["hub.py", f"{n}.py"]) for n in range(20) for _ in range(n + 1)]
    partners = build_history(past).find_partners(["hub.py"])["hub.py"]
    assert [path for path, _ in partners] == [f"{n}.py" for n in range(19, 11, -1)]


def test_recent_subjects() -> None:
    past = build_history([("one\ntwo", ["a"]), ("three", ["b"]), ("four", [])])
    assert past.recent_subjects(2) == ["one two", "three"]
    assert past.recent_subjects(9)[:3] == ["one two", "three", "four"]


def test_a_history_survives_serialisation() -> None:
    past = build_history(COMMITS)
    again = History.load(past.dump())
    assert again == past
    assert LATIN in again.paths
    assert _churn(again) == _churn(past)
    assert _scores(again, {"tide": 1.0}, 0.5, NUMBER) == _scores(past, {"tide": 1.0}, 0.5, NUMBER)


def test_an_empty_history() -> None:
    for past in (build_history([]), History.load(build_history([]).dump())):
        assert past.paths == []
        assert _churn(past) == {}
        assert _scores(past, {"tide": 1.0}, 0.5, NUMBER) == {}
        assert _scores(past, {"tide": 1.0}, 0.5, {}) == {}
        assert past.find_partners(["tide.py"]) == {}


@given(any_commits)
def test_any_history_survives_serialisation_and_is_searchable(
    commits: list[tuple[str, list[str]]],
) -> None:
    past = build_history(commits)
    assert History.load(past.dump()) == past
    assert set(_churn(past)) == {path for _, paths in commits for path in paths}
    number = {path: n for n, path in enumerate(past.paths)}
    for term in ("tide", "the"):
        scores = _scores(past, {term: 1.0}, 0.5, number)
        said = [paths for subject, paths in commits if term in subject.lower()]
        assert set(scores) <= {number[path] for paths in said for path in paths}


def test_the_log_has_subjects_and_paths_newest_first(repo: Path) -> None:
    (repo / "docs").mkdir()
    for subject, names in reversed(COMMITS[:4]):
        for name in names:
            with (repo / name).open("a") as file:
                file.write(f"{subject}\n")
        git(repo, "add", "-A")
        git(repo, "commit", "--quiet", "-m", subject)
    found = project.find(repo).repo
    assert found is not None
    assert [(s, sorted(p)) for s, p in history.read_log(found)][:4] == [
        (subject, sorted(names)) for subject, names in COMMITS[:4]
    ]


def test_the_log_has_the_last_2500_commits(repo: Path) -> None:
    who = "committer Tess <tess@example.org> 1700000000 +0000"
    commits = [f"commit refs/heads/main\n{who}\ndata 4\n{n:04}\n" for n in range(2501)]
    command = ["git", "fast-import", "--quiet"]
    subprocess.run(command, cwd=repo, input="".join(commits).encode(), check=True)
    found = project.find(repo).repo
    assert found is not None
    subjects = [subject for subject, _ in history.read_log(found)]
    assert (len(subjects), subjects[0], subjects[-1]) == (2500, "2500", "0001")

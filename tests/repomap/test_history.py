"""What git's past says of files."""

from __future__ import annotations

from kedge.repomap import history
from kedge.repomap.history import History

ODD = "port/gr\udcfc\u00df.py"
COMMITS = [
    ("tide: high water is later", ["port/tide.py", "port/table.py"]),
    ("Mooring: claim a berth once", ["port/berth.py"]),
    ("move everything", [f"port/{n}.py" for n in range(30)] + ["port/berth.py"]),
    ("tides again", ["port/tide.py", "port/table.py", ODD]),
]


def test_what_changed_last_and_alone_changed_most() -> None:
    churn = history.build(COMMITS).churn()
    assert churn["port/tide.py"] > churn["port/berth.py"] > churn["port/3.py"] > 0
    assert churn[ODD] > churn["port/3.py"]


def test_the_subjects_tell_what_files_are_about() -> None:
    past = history.build(COMMITS)
    number = {"port/tide.py": 0, "port/berth.py": 1, "port/3.py": 2}
    about = past.about({"tide": 1.0, "claim": 1.0, "everything": 1.0}, 0.5, number)
    assert set(about) == {0, 1}


def test_files_that_change_together() -> None:
    past = history.build(COMMITS)
    (first, *_), *_ = past.together(["port/tide.py"]).values()
    assert first[0] == "port/table.py"
    assert past.together(["port/5.py"]) == {"port/5.py": []}
    assert past.together(["gone.py"]) == {}


def test_it_survives_the_cache() -> None:
    for commits in (COMMITS, []):
        past = history.build(commits)
        assert History.load(past.dump()) == past
    assert history.build(COMMITS).recent(2) == [subject for subject, _ in COMMITS[:2]]
    assert history.build([]).churn() == {}

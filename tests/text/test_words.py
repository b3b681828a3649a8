"""Search terms of names and texts."""

from __future__ import annotations

import pytest

from kedge.text.words import find_mentions, find_paths, split_name, split_text, stem, weigh_terms


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        *(("claims", "claim"), ("claimed", "claim"), ("claiming", "claim"), ("mapped", "map")),
        *(("policies", "policy"), ("classes", "class"), ("boxes", "box"), ("pushes", "push")),
        *(("status", "status"), ("analysis", "analysis"), ("ring", "ring"), ("fed", "fed")),
        *(("called", "call"), ("passing", "pass"), ("bus", "bus"), ("", "")),
    ],
)
def test_endings_are_taken_off(word: str, expected: str) -> None:
    assert stem(word) == expected


@pytest.mark.parametrize(
    ("name", "terms"),
    [
        ("claimTask", ("claim", "task", "claimtask")),
        ("HTTPServer", ("http", "server", "httpserver")),
        ("read_all_files", ("read", "all", "file", "read_all_file")),
        ("v2", ()),
        ("größe_prüfen", ("größe", "prüfen", "größe_prüfen")),
    ],
)
def test_a_name_has_the_terms_of_its_parts_and_the_whole(name: str, terms: tuple[str, ...]) -> None:
    assert split_name(name) == terms


def test_a_text_has_the_terms_of_its_words_in_any_language() -> None:
    assert list(split_text("Prüfe claimTask(x), 2 mal")) == [
        *("prüfe", "claim", "task", "claimtask"),
        "mal",
    ]


def test_common_words_weigh_nothing_and_repeated_ones_a_little_more() -> None:
    weights = weigh_terms("Fix the tides of the tide table")
    assert set(weights) == {"tide", "table"}
    assert 1.0 == weights["table"] < weights["tide"] < 2.0


def test_paths_in_a_text() -> None:
    text = "See src/app.py, ./docs/ and config.toml. Nothing else."
    assert find_paths(text) == ["config.toml", "src/app.py"]


def test_a_path_is_mentioned_by_an_end_that_few_paths_have() -> None:
    paths = ["src/tide/app.py", "src/berth/app.py", "src/main.py", *(f"{n}/x.py" for n in "abcd")]
    assert find_mentions("tide/app.py fails", paths) == {"src/tide/app.py"}
    assert find_mentions("app.py fails", paths) == {"src/tide/app.py", "src/berth/app.py"}
    assert find_mentions("x.py fails", paths) == set()
    assert find_mentions("ain.py fails", paths) == set()

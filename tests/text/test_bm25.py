"""BM25 scores, and what they must do for a ranking."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.text.bm25 import gain, rarity, score_documents

_LENGTHS = {0: 10, 1: 10, 2: 40, 3: 20}


def test_the_score_is_the_sum_over_the_terms_of_the_query() -> None:
    counts = {"tide": {0: 2, 2: 1}, "berth": {0: 1}}
    scores = score_documents(counts, {"tide": 1.0, "berth": 3.0}, _LENGTHS, b=0.75, k1=1.2)
    tide = math.log(1 + 2.5 / 2.5) * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 10 / 20))
    berth = 3 * math.log(1 + 3.5 / 1.5) * 1 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 10 / 20))
    assert scores[0] == pytest.approx(tide + berth)
    assert set(scores) == {0, 2}


def test_documents_without_words_do_not_divide_by_zero() -> None:
    assert score_documents({"tide": {}}, {"tide": 1.0}, {0: 0, 1: 0}, b=0.75) == {}
    assert score_documents({}, {}, {}, b=0.75) == {}


@given(st.integers(2, 1000), st.integers(1, 999))
def test_a_rarer_term_weighs_more_and_none_counts_against(documents: int, holders: int) -> None:
    holders = min(holders, documents - 1)
    assert rarity(documents, holders) > rarity(documents, holders + 1) > 0


@given(st.floats(1, 50), st.floats(1, 500), st.floats(0, 1))
def test_more_occurrences_add_more_up_to_a_limit(count: float, length: float, b: float) -> None:
    less = gain(1.0, count, length, 100, b=b)
    more = gain(1.0, count + 1, length, 100, b=b)
    assert less < more < 2.2


def test_long_documents_are_held_back_as_far_as_b_says() -> None:
    assert gain(1.0, 2, 400, 100, b=0.75) < gain(1.0, 2, 100, 100, b=0.75)
    assert gain(1.0, 2, 400, 100, b=0.0) == gain(1.0, 2, 100, 100, b=0.0)

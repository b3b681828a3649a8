"""At least 95 of 100 secrets are caught, over a table of formats with samples made at run time."""

from __future__ import annotations

import statistics
from collections import defaultdict

import pytest
from secret_formats import FORMATS, is_caught, make_sample

from kedge.host.redact import redact

SAMPLES = 12
FAMILIES = sorted({one.family for one in FORMATS})


def measure_share(family: str) -> dict[str, float]:
    """Return the share of the samples that are caught, for each format of a family."""
    caught: dict[str, list[bool]] = defaultdict(list)
    for one in FORMATS:
        if one.family == family:
            for seed in range(SAMPLES):
                sample = make_sample(one, seed)
                caught[one.name].append(is_caught(sample, redact(sample.text)))
    return {name: statistics.fmean(hits) for name, hits in caught.items()}


def test_the_table_has_many_formats_with_different_names() -> None:
    assert len(FORMATS) == len({one.name for one in FORMATS}) >= 300


@pytest.mark.parametrize("family", FAMILIES)
def test_most_secrets_of_a_family_are_caught(family: str) -> None:
    shares = measure_share(family)
    missed = {name: share for name, share in shares.items() if share < 1}
    assert statistics.fmean(shares.values()) >= 0.95, missed


def test_a_sample_counts_as_caught_only_if_nothing_of_it_is_left() -> None:
    for one in FORMATS:
        sample = make_sample(one, 1)
        assert sample.secret in sample.text
        assert not is_caught(sample, sample.text)
        half = sample.secret[: len(sample.secret) // 2 + 4]
        assert not is_caught(sample, f"[redacted:x]{half}")

"""Messages that may set a limit though the rules read none."""

from __future__ import annotations

import pytest
from support import in_time

from kedge.drift.language.cues import has_limit_cue
from kedge.drift.language.wording import read

HARD = [
    "Please don't remove the old endpoint file, just stop using it.",
    "Nobody should touch src/compat right now. Fix the tokenizer bug.",
    "Bitte nur die Tests anpassen.",
    "Ne modifie rien sans me demander.",
    "Do not go near the Terraform state in infra/prod.",
]
ORDINARY = [
    "Add a --json flag to the list command",
    "why is the cache invalidated only once?",
    "it only works if the user has access, right?",
    "don't forget to push",
    "yes, continue",
    "<system-reminder>Do not edit any files.</system-reminder>",
]


@pytest.mark.parametrize("text", HARD)
def test_hard_wordings_have_a_cue(text: str) -> None:
    assert read(text).forbidden == ()
    assert has_limit_cue(text)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_messages_have_none(text: str) -> None:
    assert not has_limit_cue(text)


@pytest.mark.parametrize("piece", ["don't ", "i ", "keep ", "only i ", "a"])
def test_long_messages_are_searched_quickly(piece: str) -> None:
    with in_time(1):
        has_limit_cue(piece * (1_000_000 // len(piece)))
        has_limit_cue((piece * 800)[:800])

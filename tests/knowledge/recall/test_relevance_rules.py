"""The rules of relevance one by one: places, words, rarity, thresholds, budget."""

from __future__ import annotations

import re

import pytest

from kedge.knowledge.bank import entries
from kedge.knowledge.bank.entries import Entry
from kedge.knowledge.recall.relevance import (
    Match,
    Query,
    query_from_diff,
    query_from_text,
    rank_entries,
)


def make_entries(*notes: tuple[str, str] | tuple[str, str, str]) -> tuple[Entry, ...]:
    """Create entries from names, texts and anchors."""
    parts = []
    for name, text, *anchor in notes:
        metadata = [f"- Anchored at: {one}" for one in anchor] + ["- Observed in: Feature #001"]
        parts.append("\n".join([f"### Pattern: {name}", text, *metadata]))
    return entries.parse_page("\n\n".join(parts), "patterns.md").entries


def rank(notes: tuple[Entry, ...], query: Query) -> list[Match]:
    return rank_entries(notes, query)


def score(notes: tuple[Entry, ...], query: Query) -> float:
    """Return the score of the first note; 0 if it is not relevant."""
    return next((one.score for one in rank(notes, query) if one.entry == notes[0]), 0.0)


FILLER = tuple((f"Filler {word}", f"Some {word}s rest.") for word in ("otter", "badger", "heron"))


# Places


@pytest.mark.parametrize(
    ("anchor", "path", "why"),
    [
        ("pier/rope.py", "pier/rope.py", "anchored at pier/rope.py"),
        ("pier/rope.py", "rope.py", "anchored at pier/rope.py"),  # the end of the path
        ("pier/rope.py", "ope.py", ""),
        ("pier/rope", "rope", ""),  # a word, and not a file name
        ("pier/", "pier/deep/knot.py", "anchored at pier/"),
        ("pier/", "piers/knot.py", ""),
        ("rope.py", "knot.py", ""),  # the root is no neighbourhood
        ("pier/rope.py", "quay/knot.py", ""),
    ],
)
def test_anchor_at_a_path_of_the_query(anchor: str, path: str, why: str) -> None:
    found = rank(make_entries(("Zz", "Qq ww.", anchor), *FILLER), Query((path,)))
    by_place = [one.why.partition(";")[0] for one in found if one.score >= 8.0]
    assert by_place == ([why] if why else [])


def test_anchor_beside_a_path_adds_less_than_one_at_the_path() -> None:
    query = Query(("pier/knot.py",), text="moorings")
    at, beside, far = (
        score(make_entries(("Moorings", "Tie them.", anchor), *FILLER), query)
        for anchor in ("pier/knot.py", "pier/oar.py", "quay/oar.py")
    )
    assert far < beside < at
    (found,) = rank(make_entries(("Moorings", "Tie them.", "pier/oar.py"), *FILLER), query)
    assert found.why.startswith("anchored near, at pier/oar.py; words: ")


@pytest.mark.parametrize(
    ("symbol", "identifiers", "paths", "place"),
    [
        ("", (), ("pier/rope.py",), 8.0),
        ("splice", ("splice",), ("pier/rope.py",), 12.0),
        ("Rope.splice", ("splice",), ("pier/rope.py",), 12.0),
        ("Rope::splice", ("splice",), ("pier/rope.py",), 12.0),
        ("splice", ("splicer",), ("pier/rope.py",), 8.0),
        ("Rope.splice", ("Rope",), ("pier/rope.py",), 8.0),
        ("splice", ("splice",), (), 4.0),
    ],
)
def test_anchored_definition_counts_if_the_query_names_it(
    symbol: str, identifiers: tuple[str, ...], paths: tuple[str, ...], place: float
) -> None:
    anchor = f"pier/rope.py#{symbol}" if symbol else "pier/rope.py"
    query = Query(paths, identifiers)
    anchored = score(make_entries(("Zz", "Qq ww.", anchor), *FILLER), query)
    # An anchor at a file of another name has the same words, and no place in common.
    words = make_entries(("Zz", "Qq ww.", re.sub(r"[/.#:]", " ", anchor)), *FILLER)
    assert anchored - score(words, query) == pytest.approx(place, abs=0.01)


def test_best_of_several_anchors_counts() -> None:
    query = Query(("pier/rope.py",))
    both = entries.parse_page(
        "### Pattern: Zz\nQq ww.\n- Anchored at: quay/oar.py\n- Anchored at: pier/rope.py\n"
        "- Anchored at: pier/oar.py\n",
        "patterns.md",
    ).entries
    (found,) = rank(both, query)
    assert found.why.startswith("anchored at pier/rope.py")


@pytest.mark.parametrize(
    ("text", "path", "matches"),
    [
        ("See `pier/*.py`.", "pier/rope.py", True),
        ("See pier/*.py here.", "pier/rope.py", True),
        ("See `*.sql`.", "db/moor.sql", True),
        ("See *.sql here.", "db/moor.sql", True),
        ("See `pier/`.", "old/pier/rope.py", True),
        ("See `pier/`.", "piers/rope.py", False),
        ("See `./pier/rope.py`.", "old/pier/rope.py", True),
        ("See `/pier/rope.py`.", "pier/rope.py", True),
        ("See `.github/workflows/*.yml`.", ".github/workflows/ci.yml", True),
        ("See `rope.py`.", "pier/rope.py", True),
        ("See `ope.py`.", "pier/rope.py", False),
        ("See `rope`.", "pier/rope", False),  # a word, and not a file name
        ("See `pier/rope`.", "old/pier/rope", True),
        ("See `*a*b*d`.", "xaxbxd", True),
    ],
)
def test_path_or_glob_in_the_text_counts(text: str, path: str, matches: bool) -> None:
    found = rank(make_entries(("Zz", text), *FILLER), Query((path,)))
    assert [one.why.startswith("names ") for one in found if one.score >= 4.0] == [True] * matches


def test_glob_in_the_text_adds_nothing_to_an_anchor_at_the_path() -> None:
    query = Query(("pier/rope.py",))
    anchored = make_entries(("Zz", "See `*.py`.", "pier/rope.py"), *FILLER)
    assert rank(anchored, query)[0].why.startswith("anchored at")
    beside = make_entries(("Zz", "See `*.py`.", "pier/oar.py"), *FILLER)
    assert rank(beside, query)[0].why.startswith("names *.py")


# Words


def test_word_of_one_entry_weighs_the_same_in_small_and_large_banks() -> None:
    note = ("Moorings", "Tie them well.")
    fillers = [(f"Aa{n:02}", "Tie them well.") for n in range(60)]
    small = score(make_entries(note, *fillers[:3]), Query(text="moorings"))
    large = score(make_entries(note, *fillers), Query(text="moorings"))
    assert small == pytest.approx(large, abs=0.02)
    assert 2.2 <= small <= 6.0


def test_rare_words_count_more_than_common_ones() -> None:
    notes = make_entries(
        ("Anchors", "The windlass hauls."), *((f"Aa{n}", "The windlass hauls.") for n in range(5))
    )
    assert score(notes, Query(text="anchors")) > 2.2
    assert rank(notes, Query(text="windlass")) == []


def test_words_of_the_name_count_more_than_those_of_the_text() -> None:
    named = make_entries(("Windlass", "Haul slowly."), *FILLER)
    told = make_entries(("Hauling", "Windlass slowly."), *FILLER)
    assert score(named, Query(text="windlass")) > score(told, Query(text="windlass"))


def test_section_counts_less_than_the_text() -> None:
    def score_in(section: str, text: str) -> float:
        page = entries.parse_page(
            f"# Notes\n## {section}\n### Pattern: Haul\n{text}\n- Observed in: Feature #001\n"
            "## Galley\n### Pattern: Cook\nSlowly.\n- Observed in: Feature #001\n"
            "### Pattern: Wash\nDishes.\n- Observed in: Feature #001\n",
            "patterns.md",
        )
        return score(page.entries, Query(text="windlass haul"))

    nowhere, section, text = (
        score_in(*where)
        for where in (("Deck", "Chain."), ("Windlass", "Chain."), ("Deck", "Windlass."))
    )
    assert nowhere + 0.5 < section < text - 0.5


def test_long_entries_gain_less_from_a_word_than_short_ones() -> None:
    short = ("Short", "The windlass hauls.")
    long = ("Other", "The windlass hauls. " + " ".join(f"Ab{n:02}" for n in range(40)))
    notes = make_entries(short, long, *FILLER)
    found = rank(notes, Query(text="windlass hauls"))
    assert found[0].entry.name == "Short"
    scores = {one.entry.name: one.score for one in found}
    assert scores.get("Other", 0.0) < scores["Short"]


def test_identifiers_count_more_than_words_and_words_more_than_paths() -> None:
    notes = make_entries(("Windlass brake", "Haul slowly."), *FILLER)
    by_name = score(notes, Query(identifiers=("windlass_brake",)))
    by_word = score(notes, Query(text="windlass brake"))
    by_path = score(notes, Query(paths=("windlass/brake",)))
    assert by_name > by_word > by_path > 0


def test_words_that_only_name_the_kind_of_a_file_do_not_count_in_paths() -> None:
    notes = make_entries(("Models and views", "Keep the admin controller thin."), *FILLER)
    assert rank(notes, Query(paths=("models/views", "admin/controller"))) == []
    assert rank(notes, Query(text="models and views of the admin controller")) != []


def test_words_without_meaning_do_not_count() -> None:
    notes = make_entries(("Nothing within the whole", "Something old and wrong."), *FILLER)
    assert rank(notes, Query(text="nothing within the whole, something old and wrong")) == []


def test_repeated_words_of_a_query_count_more_but_with_a_limit() -> None:
    notes = make_entries(("Windlass", "Haul slowly."), *FILLER)
    once, twice, often = (
        score(notes, Query(text=" ".join(["windlass"] * times))) for times in (1, 2, 50)
    )
    assert once < twice <= often <= 1.7 * once + 0.01


def test_single_matching_word_is_worth_less_than_its_share_of_several() -> None:
    notes = make_entries(("Windlass brake chain", "Haul slowly."), *FILLER)
    one = score(notes, Query(text="windlass"))
    three = score(notes, Query(text="windlass brake chain"))
    assert three > 3.05 * one


@pytest.mark.parametrize("word", ["timeout", "jwt"])
def test_related_terms_find_a_lesson_but_count_less(word: str) -> None:
    lesson = {"timeout": ("Retry with backoff", "Idempotent calls."), "jwt": ("Login", "Password.")}
    notes = make_entries(lesson[word], *FILLER)
    related = score(notes, Query(text=word))
    direct = score(notes, Query(text=" ".join(lesson[word])))
    assert 0 < related < direct
    assert rank(make_entries(*FILLER), Query(text=word)) == []


def test_at_most_two_related_terms_count_for_one_term() -> None:
    notes = make_entries(("Retry, backoff, idempotent, circuit", "Resilience."), *FILLER)
    (found,) = rank(notes, Query(text="timeout"))
    assert found.why.count(",") == 1
    again = rank(notes, Query(text="timeout retry"))[0]
    assert "retry" in again.why


def test_file_suffix_finds_lessons_of_its_language() -> None:
    notes = make_entries(("Migrations lock the database", "Queries wait."), *FILLER)
    assert score(notes, Query(paths=("x/aa.sql",))) > 0
    assert score(notes, Query(paths=("x/aa.txt",))) == 0


def test_reason_names_the_four_best_words() -> None:
    notes = make_entries(("Windlass brake chain pawl drum", "Haul slowly."), *FILLER)
    (found,) = rank(notes, Query(text="windlass brake chain pawl drum"))
    assert found.why.startswith("words: ")
    assert len(found.why.split(", ")) == 4


# Thresholds


def test_entry_far_less_relevant_than_the_best_is_left_out() -> None:
    notes = make_entries(
        ("Windlass brake chain pawl", "Haul it slowly."), ("Chain locker", "Dry it."), *FILLER
    )
    assert [one.entry.name for one in rank(notes, Query(text="chain locker"))] == ["Chain locker"]
    found = rank(notes, Query(text="windlass brake chain pawl"))
    assert [one.entry.name for one in found] == ["Windlass brake chain pawl"]
    assert score(make_entries(("Chain locker", "Dry it."), *FILLER), Query(text="chain")) > 0


def test_anchored_entry_makes_no_other_less_relevant() -> None:
    notes = make_entries(
        ("Zz", "Windlass brake chain pawl drum gear.", "pier/rope.py"),
        ("Chain locker", "Dry it."),
        *FILLER,
    )
    query = Query(("pier/rope.py",), text="windlass brake chain pawl drum gear locker")
    names = [one.entry.name for one in rank(notes, query)]
    assert names == ["Zz", "Chain locker"]


def test_entry_about_a_path_is_offered_whatever_its_words() -> None:
    notes = make_entries(
        ("Windlass brake chain pawl", "Haul it slowly."), ("Zz", "See `pier/*.py`."), *FILLER
    )
    query = Query(("pier/rope.py",), text="windlass brake chain pawl")
    assert [one.entry.name for one in rank(notes, query)][1:] == ["Zz"]


def test_scores_have_three_digits() -> None:
    (found,) = rank(make_entries(("Windlass", "Haul slowly."), *FILLER), Query(text="windlass"))
    assert found.score == round(found.score, 3)


def test_at_most_twelve_entries_are_returned_best_first() -> None:
    notes = make_entries(*((f"Aa{n:02}", f"Qq{n:02}.", "pier/") for n in range(15)))
    found = rank(notes, Query(("pier/rope.py",)))
    assert [one.entry.name for one in found] == [f"Aa{n:02}" for n in range(12)]


# Queries


def test_query_from_text_has_its_paths_and_identifiers() -> None:
    text = "Fix tie_knot in pier/rope.py; call splice() and RopeEnd, rope3, not the words or 1/2."
    query = query_from_text(text, ["quay/a.py"])
    assert query.paths == ("quay/a.py", "pier/rope.py")
    assert set(query.identifiers) >= {"tie_knot", "splice", "RopeEnd"}
    assert not set(query.identifiers) & {"Fix", "words", "call", "rope3", "the"}
    assert query.text == text
    assert query_from_text("_private __init ab_ x").identifiers == ()


def test_query_from_a_diff_has_the_most_frequent_names_of_changed_lines() -> None:
    names = [f"name{n:03}" for n in range(80)]
    lines = [f"+{name}" for name in names] + [
        "-often often often",
        "  context_only",
        "@@ hunk_only",
    ]
    query = query_from_diff("\n".join(["--- a/x.py\t2025", '+++ "b/x.py"', *lines]))
    assert query.paths == ("x.py",)
    assert len(query.identifiers) == 60
    assert query.identifiers[:3] == ("often", "name000", "name001")
    assert "context_only" not in query.identifiers
    assert query_from_diff("--- /dev/null\n+++ new.py\n").paths == ("new.py",)

"""Parts of a text share a budget of tokens."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kedge.context.budget import Part, share
from kedge.host import tokens
from kedge.host.text import clean

WEIGHTS = {"much": 10, "some": 3, "little": 1}


def words(count: int) -> str:
    return "\n".join("a line of several words" for _ in range(count))


_texts = st.one_of(
    st.text(max_size=300),
    st.integers(0, 3000).map(lambda n: "word " * n),
    st.integers(0, 400).map(words),
    st.integers(0, 40).map(lambda n: "```\n" + "x = 1\n" * n),
)


@given(
    st.lists(st.tuples(st.sampled_from(sorted(WEIGHTS)), _texts), max_size=6),
    st.integers(100, 3000),
)
def test_the_budget_holds_for_any_texts(rows: list[tuple[str, str]], budget: int) -> None:
    parts = [Part(source, f"### {source}", clean(text), more="kedge x") for source, text in rows]
    made = share(parts, budget, WEIGHTS, "## Head\n\n", "kedge all")
    assert tokens.count("## Head\n\n" + made.text) <= budget
    assert [one.part for one in made.given] == parts
    for one in made.given:
        whole = one.part.text.strip("\n")
        assert one.cut or whole in one.text or not whole.strip()
        if one.cut and one.text:
            assert f"about {one.cut:,} tokens left out; `kedge x` prints all" in one.text
        elif one.cut:
            assert f"{one.part.source} (about {one.cut:,} tokens)" in made.tail


def test_what_fits_is_given_whole() -> None:
    parts = [Part("much", "### Much", words(10)), Part("little", "### Little", words(3))]
    made = share(parts, 500, WEIGHTS, "", "kedge all")
    assert made.text == f"### Much\n{words(10)}\n\n### Little\n{words(3)}\n\n"


def test_who_weighs_more_keeps_more() -> None:
    parts = [Part(name, f"### {name}", words(400)) for name in ("little", "much", "some")]
    little, much, some = (one.tokens for one in share(parts, 900, WEIGHTS, "", "x").given)
    assert much > 2 * some > 2 * little > 0
    assert little + much + some > 780


def test_who_weighs_little_goes_first() -> None:
    parts = [Part(name, f"### {name}", words(400)) for name in ("little", "much", "some")]
    made = share(parts, 100, WEIGHTS, "", "kedge all")
    assert [bool(one.text) for one in made.given] == [False, True, False]
    assert "[No room for little (about " in made.text
    assert "`kedge all` prints all]" in made.text


def test_what_is_kept_is_kept_whatever_it_costs() -> None:
    kept = "\n".join(f"- [ ] criterion {number}" for number in range(200))
    parts = [Part("some", "### Other", words(50)), Part("much", "### Task", words(50), kept)]
    made = share(parts, 100, WEIGHTS, "", "kedge all")
    assert kept in made.text
    assert made.given[0].text == ""


def test_a_long_line_is_cut_at_a_word_and_a_fence_is_closed() -> None:
    made = share([Part("much", "### T", "word " * 900)], 200, WEIGHTS, "", "x")
    assert made.given[0].tokens > 150
    assert "word …\n[… about" in made.text
    made = share([Part("much", "### T", "```py\n" + "x = 1\n" * 500)], 200, WEIGHTS, "", "x")
    assert "x = 1\n```\n[… about" in made.text

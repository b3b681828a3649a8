"""Parts of a text are fitted into a token budget."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import in_time

from kedge.context.budget import TextPart, fit_parts, suggest_budget
from kedge.host import tokens
from kedge.host.text import clean

WEIGHTS = {"much": 10, "some": 3, "little": 1}


def words(count: int) -> str:
    return "\n".join("a line of several words" for _ in range(count))


def test_parts_that_fit_are_not_cut() -> None:
    parts = [TextPart("much", "### Much", words(10)), TextPart("little", "### Little", words(3))]
    made = fit_parts(parts, 500, WEIGHTS, "", "kedge all")
    assert made.text == f"### Much\n{words(10)}\n\n### Little\n{words(3)}\n\n"


def test_a_heavier_part_keeps_more() -> None:
    parts = [TextPart(name, f"### {name}", words(400)) for name in ("little", "much", "some")]
    little, much, some = (one.tokens for one in fit_parts(parts, 900, WEIGHTS, "", "x").parts)
    assert much > 2 * some > 2 * little > 0
    assert little + much + some > 780


def test_a_source_without_a_weight_weighs_one() -> None:
    parts = [TextPart(name, "### T", words(400)) for name in ("unknown", "little", "much")]
    unknown, little, much = (one.tokens for one in fit_parts(parts, 900, WEIGHTS, "", "x").parts)
    assert abs(unknown - little) < 10
    assert much > 3 * unknown


@pytest.mark.parametrize(("lines", "budget"), [(4, 400), (20, 500)])
def test_a_part_that_needs_little_leaves_its_share_to_the_others(lines: int, budget: int) -> None:
    parts = [
        TextPart("much", "### Much", words(lines)),
        TextPart("little", "### Little", words(400)),
    ]
    much, little = fit_parts(parts, budget, WEIGHTS, "", "x").parts
    assert (much.cut, much.why) == (0, "")
    assert little.tokens > 300
    assert little.why == "longer than its share"
    assert little.data() == {"source": "little", "tokens": little.tokens, "cut": little.cut}
    assert little.cut > tokens.count(words(400)) - 370


def test_the_lightest_part_is_dropped_first() -> None:
    parts = [TextPart(name, f"### {name}", words(400)) for name in ("little", "much", "some")]
    made = fit_parts(parts, 100, WEIGHTS, "", "kedge all")
    assert [bool(one.text) for one in made.parts] == [False, True, False]
    assert "[No room for little (about " in made.text
    assert "`kedge all` prints all]" in made.text
    assert [one.why for one in made.parts] == [
        "no room for it",
        "longer than its share",
        "no room for it",
    ]
    assert made.parts[0].data() == {
        "source": "little",
        "tokens": 0,
        "cut": tokens.count(words(400)),
    }


def test_of_equal_parts_the_last_is_dropped_first() -> None:
    parts = [TextPart("some", f"### {name}", words(400)) for name in "abc"]
    made = fit_parts(parts, 105, WEIGHTS, "", "kedge all")
    assert [bool(one.text) for one in made.parts] == [True, True, False]


@pytest.mark.parametrize("counts", [[1], [40], [97, 3], [400, 400], [600, 5, 70], [13_910]])
def test_the_suggested_budget_is_round_and_has_room_for_all_in_full(counts: list[int]) -> None:
    parts = [TextPart("some", "### Part", words(count), "kept\n" * 3) for count in counts]
    budget = suggest_budget(parts)
    made = fit_parts(parts, budget, WEIGHTS, "## Head of the text\n\n", "kedge all")
    assert [one.cut for one in made.parts] == [0] * len(parts)
    assert budget % 500 == 0
    assert budget - 500 <= (tokens.count(made.text) + 80 * len(parts)) / 0.97


def test_the_suggested_budget_has_a_limit() -> None:
    assert suggest_budget([TextPart("some", "### Part", words(40_000))]) == 100_000


def test_kept_text_stands_apart_from_the_text_above_it() -> None:
    both = TextPart("some", "### T", "text", "- [ ] kept")
    alone = TextPart("some", "### T", "", "- [ ] kept")
    made = fit_parts([both, alone], 200, WEIGHTS, "", "x")
    assert made.text == "### T\ntext\n\n- [ ] kept\n\n### T\n- [ ] kept\n\n"


def test_kept_text_is_never_cut() -> None:
    kept = "\n".join(f"- [ ] criterion {number}" for number in range(200))
    parts = [
        TextPart("some", "### Other", words(50)),
        TextPart("much", "### Task", words(50), kept),
    ]
    made = fit_parts(parts, 100, WEIGHTS, "", "kedge all")
    assert kept in made.text
    assert made.parts[0].text == ""


def test_kept_text_that_is_barely_too_long_is_fitted_at_once() -> None:
    kept = "\n".join(f"- [ ] criterion {number}" for number in range(900))
    most = tokens.count(f"### Task\n{kept}\n\n")
    part = TextPart("much", "### Task", "", kept)
    for budget in range(int(most / 0.97) - 3, int(most / 0.97) + 3):
        with in_time(1):
            assert fit_parts([part], budget, WEIGHTS, "", "x").text == f"### Task\n{kept}\n\n"


def test_a_long_line_is_cut_at_a_word_and_a_fence_is_closed() -> None:
    made = fit_parts([TextPart("much", "### T", "word " * 900)], 200, WEIGHTS, "", "x")
    assert made.parts[0].tokens > 150
    assert "word …\n[… about" in made.text
    made = fit_parts(
        [TextPart("much", "### T", "```py\n" + "x = 1\n" * 500)], 200, WEIGHTS, "", "x"
    )
    assert "x = 1\n```\n[… about" in made.text


HEAD = "## The head of the text\n\n"


def cut(text: str, budget: int, kept: str = "") -> str:
    """Return what is left of a text that is cut, without the note."""
    parts = [TextPart("some", "### T", text, kept)]
    made = fit_parts(parts, budget, WEIGHTS, HEAD, "kedge all")
    return made.text.removeprefix("### T").partition("[… about")[0].strip("\n")


@pytest.mark.parametrize("head", ["", HEAD])
def test_a_text_without_lines_fills_its_budget_and_the_rest_is_counted(head: str) -> None:
    text = "word " * 900
    for budget in range(60, 160, 2):
        made = fit_parts([TextPart("some", "### T", text)], budget, WEIGHTS, head, "x")
        assert 0 <= int(budget * 0.97) - tokens.count(head + made.text) <= 3
        shown = made.text.count("word")
        assert abs(tokens.count(text) - shown - made.parts[0].cut) <= 1


@pytest.mark.parametrize("ticks", [3, 6, 30])
def test_a_closed_fence_leaves_no_room_for_another_line(ticks: int) -> None:
    line = "x = 1\n"
    part = TextPart("some", "### T", "`" * ticks + "\n" + line * 500)
    for budget in range(100, 125):
        made = fit_parts([part], budget, WEIGHTS, "", "x")
        assert 0 <= int(budget * 0.97) - tokens.count(made.text) < tokens.count(line)


def test_a_beginning_of_fewer_than_22_tokens_is_not_shown() -> None:
    beginnings = [cut("word " * 900, budget, "kept") for budget in range(30, 80)]
    sizes = [tokens.count(text.removesuffix(" …")) for text in beginnings]
    assert sizes == sorted(sizes)
    assert sizes[0] == 0
    assert min(size for size in sizes if size) == 22


def test_lines_stay_whole_unless_a_quarter_of_the_room_would_be_empty() -> None:
    long = "word " * 900
    seconds = [
        cut(f"{'word ' * size}\n{long}", 600).partition("\n")[2] for size in range(350, 550, 2)
    ]
    sizes = [tokens.count(second.removesuffix(" …")) for second in seconds]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 0
    least = min(size for size in sizes if size)
    assert 0.24 <= least / 560 <= 0.26


def test_a_torn_line_fills_the_budget() -> None:
    for size in range(10, 30):
        part = TextPart("some", "### T", f"{'word ' * size}\n{'word ' * 900}")
        made = fit_parts([part], 200, WEIGHTS, "", "x")
        assert 0 <= int(200 * 0.97) - tokens.count(made.text) <= 3


def test_a_part_without_text_is_not_cut() -> None:
    parts = [TextPart("much", "### T", "", "kept " * 90), TextPart("some", "### U")]
    much, some = fit_parts(parts, 60, WEIGHTS, "", "x").parts
    assert (much.cut, some.cut) == (0, 0)
    assert "left out" not in much.text
    assert some.text == ""


def test_an_ellipsis_follows_only_a_line_that_is_torn() -> None:
    ends = set()
    for size in range(60, 80):
        line = ("word " * size).strip()
        left = cut(f"short\n{line}\n{words(50)}", 100)
        ends.add(left[-1])
        assert left.endswith(" …") is (line not in left)
        assert f"{line} …" not in left
    assert ends == {"d", "s", "…"}


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("~~~\nx", "x\n~~~"),
        ("````\n```\nx\n```", "x\n```\n````"),
        ("```\nx\n```", "x\n```"),
        ("``` is no ` fence", "``` is no ` fence"),
    ],
)
def test_only_a_fence_that_is_open_gets_closed_with_its_own_mark(text: str, end: str) -> None:
    shared = fit_parts([TextPart("some", "### T", text)], 200, WEIGHTS, "", "x")
    assert shared.text.rstrip().endswith(end)


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
    parts = [
        TextPart(source, f"### {source}", clean(text), more="kedge x") for source, text in rows
    ]
    made = fit_parts(parts, budget, WEIGHTS, "## Head\n\n", "kedge all")
    spare = int(budget * 0.97)  # token counts are estimates
    assert tokens.count("## Head\n\n" + made.text) <= spare
    assert [one.part for one in made.parts] == parts
    for one in made.parts:
        whole = one.part.text.strip("\n")
        assert one.cut or whole in one.text or not whole.strip()
        if one.cut and one.text:
            assert f"about {one.cut:,} tokens left out; `kedge x` prints all" in one.text
        elif one.cut:
            assert f"{one.part.source} (about {one.cut:,} tokens)" in made.tail

"""The token count compared with the real counts of o200k_base, and on hostile text."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from random import Random
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import in_time

from kedge.host import tokens

SAMPLES = Path(__file__).parents[1] / "data" / "tokens"
COUNTS = json.loads((SAMPLES / "counts.json").read_text(encoding="utf-8"))
TEXTS = {name: (SAMPLES / name).read_bytes().decode() for name in COUNTS}
PROSE = json.loads((SAMPLES / "prose.json").read_text(encoding="utf-8"))
AWKWARD = json.loads((SAMPLES / "awkward.json").read_text(encoding="utf-8"))

# Text as in repositories, with characters that are hard to split at.
anything = st.text(max_size=300) | st.text(
    st.sampled_from("aaaabcE  \n\n\t\r.,;(){}_-=/*#0123é’—→├─│世界の🚀\u0301\u200d\ud83d\x00\x85"),
    max_size=300,
)
sample = st.sampled_from(sorted(TEXTS))


@pytest.mark.parametrize("name", sorted(COUNTS))
def test_a_calibration_sample_is_counted_exactly_or_one_percent_above(name: str) -> None:
    ratio = tokens.count(TEXTS[name]) / COUNTS[name]["o200k_base"]
    assert 0.999 <= ratio <= 1.01


def test_the_calibration_samples_are_counted_exactly_on_average() -> None:
    ratios = [tokens.count(TEXTS[name]) / COUNTS[name]["o200k_base"] for name in COUNTS]
    assert 1 <= mean(ratios) <= 1.002


@pytest.mark.parametrize("language", sorted(PROSE))
def test_prose_in_any_script_is_counted_exactly_or_two_percent_above(language: str) -> None:
    real = PROSE[language]["o200k_base"]
    assert real <= tokens.count(PROSE[language]["text"]) <= 1.02 * real


@pytest.mark.parametrize("name", sorted(AWKWARD))
def test_a_difficult_text_is_not_undercounted(name: str) -> None:
    entry = AWKWARD[name]
    real, count = entry["o200k_base"], tokens.count(entry["unit"] * entry["times"])
    assert real <= 1.03 * count + 3
    assert count <= 1.6 * real + 3


def test_the_difficult_texts_are_of_many_kinds() -> None:
    assert len(PROSE) >= 12
    assert len(AWKWARD) >= 60
    assert {"lower case", "punctuation", "Greek", "Tibetan", "CJK", "cuneiform"} < set(AWKWARD)
    assert sum(entry["o200k_base"] > 200 for entry in AWKWARD.values()) >= 30


def test_the_real_counts_belong_to_these_samples() -> None:
    on_disk = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in SAMPLES.glob("*.txt")
    }
    assert on_disk == {name: entry["sha256"] for name, entry in COUNTS.items()}
    assert len(on_disk) >= 16
    assert all(2_000 <= len(text.encode()) <= 6_000 for text in TEXTS.values())


@pytest.mark.parametrize(
    ("text", "real"),
    [
        ("", 0),
        ("hello world", 2),
        ("def main() -> None:\n    return None\n", 10),
        ("1234567", 3),
        (" " * 40 + "x", 2),
        ("a\r\nb\r\n\r\nc", 5),
        ("-" * 64, 1),
        ("für die Größe", 3),
        ("— it’s “fine” … →", 8),
        ("👍", 1),
    ],
)
def test_a_short_text_of_common_pieces_is_counted_exactly(text: str, real: int) -> None:
    assert tokens.count(text) == real


@pytest.mark.parametrize(
    ("text", "real"),
    [
        ("─" * 80, 5),
        ("┌────┬────┐\n│ ab │ cd │\n└────┴────┘\n" * 10, 240),
        ("e\u0301" * 100, 200),
        ("结果会自动保存到磁盘，下次启动时直接读取。" * 20, 280),
        ("Тесты проходят быстро. " * 20, 121),
        (Random(1).randbytes(3000).hex(), 3384),
        (base64.b64encode(Random(2).randbytes(3000)).decode(), 2720),
        ("x" * 1000, 125),
    ],
)
def test_a_text_of_unusual_characters_is_close_to_its_real_count(text: str, real: int) -> None:
    assert real / 1.03 <= tokens.count(text) <= 1.1 * real


def test_a_lone_surrogate_is_counted() -> None:
    assert tokens.count("\ud83d") > 0
    assert tokens.count("ok \udc00\udc00 ok") > tokens.count("ok ok")


@given(anything)
def test_every_character_belongs_to_exactly_one_piece(text: str) -> None:
    assert "".join(tokens.pieces().findall(text)) == text


@given(anything, anything)
def test_joining_two_texts_costs_little_more_than_both(first: str, second: str) -> None:
    apart, joined = tokens.count(first) + tokens.count(second), tokens.count(first + second)
    assert 0.8 * tokens.count(first) - 8 <= joined <= 1.2 * apart + 8
    assert (joined > 0) == (first + second != "")


@given(sample, st.integers(min_value=0, max_value=6_000))
def test_the_counts_of_two_halves_add_up_within_a_dozen(name: str, at: int) -> None:
    text = TEXTS[name]
    apart = tokens.count(text[:at]) + tokens.count(text[at:])
    assert abs(apart - tokens.count(text)) <= 12
    assert apart > 0.9 * COUNTS[name]["o200k_base"]


@given(anything, st.integers(min_value=-2, max_value=400))
def test_a_text_fits_if_its_count_is_within_the_budget(text: str, budget: int) -> None:
    assert tokens.fits(text, tokens.count(text))
    assert not tokens.fits(text, tokens.count(text) - 1)
    assert tokens.fits(text, budget) == (tokens.count(text) <= budget)


@given(anything, st.integers(min_value=-2, max_value=200))
def test_a_cut_text_ends_at_a_line_or_word_within_the_budget(text: str, budget: int) -> None:
    head = tokens.cut(text, budget)
    assert text.startswith(head)
    assert head == "" or tokens.fits(head, budget)
    first_line = text[: text.find("\n") + 1]
    if tokens.fits(text, budget):
        assert head == text
    elif first_line and tokens.fits(first_line, budget):
        assert head.endswith("\n")
    elif len(head.split()) > 1:
        assert head[-1].isspace() or text[len(head)].isspace()


@given(sample, st.integers(min_value=1, max_value=1_500))
def test_one_more_line_would_not_fit(name: str, budget: int) -> None:
    text = TEXTS[name]
    head = tokens.cut(text, budget)
    assert tokens.fits(head, budget)
    if head != text:
        assert not tokens.fits(text[: text.find("\n", len(head)) + 1] or text, budget)


def test_a_single_long_word_is_cut_inside() -> None:
    text = base64.b64encode(Random(3).randbytes(150_000)).decode()
    head = tokens.cut(text, 1_000)
    assert text.startswith(head)
    assert 950 <= tokens.count(head) <= 1_000


def test_the_last_line_that_fits_is_included() -> None:
    text = "".join(TEXTS.values()) * 3
    head = tokens.cut(text, 20_000)
    assert head.endswith("\n")
    assert 19_800 <= tokens.count(head) <= 20_000


@pytest.mark.parametrize(
    "unit",
    ["a", "A", "aA", "Ab", "0", " ", " \t", "\n", "\r\n", " \n", "-", "-=", "é", "─", "├─", "世",
     "🚀", "\u0301", "\ud800", "a\u0301", "’s", "\x00"],
)  # fmt: skip
def test_a_million_characters_of_one_kind_take_linear_time(unit: str) -> None:
    text = (unit * 1_000_000)[:1_000_000]
    with in_time(5):
        assert tokens.count(text) > 1_000
        assert tokens.fits(tokens.cut(text, 500), 500)


def test_a_megabyte_of_code_is_counted_in_time() -> None:
    text = ("".join(TEXTS.values()) * 12)[:1_000_000]
    tokens.count("")
    with in_time(1):
        found = tokens.count(text)
    assert 200_000 < found < 400_000


def test_the_cache_is_bounded() -> None:
    words = (chr(0x4E00 + number % 300) + chr(0x5000 + number // 300) for number in range(70_000))
    assert tokens.count(" ".join(words)) > 70_000
    assert 0 < len(tokens._prices()) <= 1 << 15
    assert len(tokens._prices().levels) <= (1 << 15) + 1_000


def test_importing_reads_no_table_and_loads_no_slow_module() -> None:
    code = """if True:
        import sys
        sys.path.insert(0, sys.argv[1])
        from kedge.host import tokens
        heavy = {"pathlib", "json", "typing", "subprocess", "importlib.resources"}
        assert not heavy & set(sys.modules), heavy & set(sys.modules)
        assert tokens._prices.cache_info().currsize == 0
        print(tokens.count("hello world"))
    """
    source = str(Path(tokens.__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, source], capture_output=True, text=True, check=True
    )
    assert done.stdout == "2\n"

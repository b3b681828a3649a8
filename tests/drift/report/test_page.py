"""The report: a page that needs nothing but itself, and that no text can break."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.drift.course import LEVELS, choose_level
from kedge.drift.report import account, chart, page, timeline
from kedge.drift.report.account import (
    Account,
    CharterRevision,
    DriftEpisode,
    RecalledStep,
    RecordedStep,
    SessionStatus,
)
from kedge.drift.scoring import Penalty

VOID = ("meta", "input")
STAMP = "2026-01-31T12:{:02}:{:02}.{:06}Z"
HOSTILE = (
    "</title></script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>\x1b[31m\u202e&lt;"
)


def stamp(number: int) -> str:
    return STAMP.format(number // 60 % 60, number % 60, number)


def step(position: int, score: int = 10, **more: Any) -> RecordedStep:
    base = RecordedStep(
        position, f"toolu_{position}", stamp(position), "Edit", "edit", "edit src/lexer.py",
        ("src/lexer.py",), "", "", "", score, choose_level(score), "none", (), (), (), "none", "",
        False, True, True, True,
    )  # fmt: skip
    return replace(base, **more)


def event(at: RecordedStep, **more: Any) -> DriftEpisode:
    base = DriftEpisode(
        at.position, at.at, at.what, at.score, at.level, "NORMAL", "DRIFTED", 1, at.rules,
        at.decision, at.correction, "",
    )  # fmt: skip
    return replace(base, **more)


def session(
    steps: list[RecordedStep], said: tuple[str, ...] = ("Make it faster.",), **more: Any
) -> Account:
    head = SessionStatus(
        "3f2a9c1d-01", "3f2a9c1d", "claude", "k-1", "", "advise", said[-1] if said else "",
        "active", 8.5, "NORMAL", 0, len(steps), False, (), stamp(0), stamp(len(steps)), None,
    )  # fmt: skip
    revisions = tuple(CharterRevision(n, stamp(0), text, text) for n, text in enumerate(said, 1))
    events = tuple(event(each) for each in steps if each.score < 8)
    return Account(replace(head, **more), revisions, (), tuple(steps), events)


def full(text: str) -> Account:
    """A session in which every text is this one."""
    rules = (Penalty(text, text, 7),)
    strayed = step(
        2, 3, id=text, tool=text, kind=text, what=text, files=(text,), command=text,
        reasoning=text, subagent=text, rules=rules, lacks=(text,), correction=text, decision="ask",
        recalled=(RecalledStep(text, 1, text, text),), is_key_decision=True,
    )  # fmt: skip
    quiet = [step(n, what=text, kind=text, files=(text,)) for n in (1, 3, 4)]
    made = session(
        [quiet[0], strayed, *quiet[1:]], (text, text), id=text, short=text, agent=text, task=text,
        policy=text, needs_review=True, why=(text,),
    )  # fmt: skip
    return replace(made, limits=(account.LimitInForce(text, text, 1),))


class Page(HTMLParser):
    """A page as a browser takes it: its elements with their attributes, and its text."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.within: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(data.decode())
        self.close()
        assert self.within == [], "an element is left open"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.within.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.within.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.within[-1] if self.within else "", data))

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def text(self) -> str:
        return "".join(data for where, data in self.texts if where not in ("script", "style"))

    def inside(self, tag: str) -> list[str]:
        return [data for where, data in self.texts if where == tag]


def make_page(*accounts: Account) -> Page:
    return Page(page.render_page(accounts, "harbour"))


def test_the_page_loads_nothing_and_blocks_injected_code() -> None:
    made = make_page(full("x"))
    (policy,) = [str(each["content"]) for each in made.named("meta") if "http-equiv" in each]
    rules = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert rules["default-src"] == "'none'"
    for kind in ("script", "style"):
        (inline,) = made.inside(kind)
        digest = b64encode(hashlib.sha256(inline.encode()).digest()).decode()
        assert rules[f"{kind}-src"] == f"'sha256-{digest}'"
    for name, attributes in made.tags:
        assert not any(key.startswith("on") or key in ("style", "src") for key in attributes), name
        assert (attributes.get("href") or "#").startswith("#")
    assert not re.search(r"https?:|url\(|@import|fetch|XMLHttp", " ".join(t for _, t in made.texts))


def test_the_page_works_without_its_script() -> None:
    """Only what filters is hidden, and that by the page itself."""
    made = make_page(full("x"))
    assert [name for name, attributes in made.tags if "hidden" in attributes] == ["form"]


def test_hostile_text_is_escaped() -> None:
    made = make_page(full(HOSTILE))
    plain = make_page(full("x"))
    assert [name for name, _ in made.tags] == [name for name, _ in plain.tags]
    assert "</title></script><script>alert(1)</script>\"'><img src=x" in made.text
    assert "\x1b" not in made.text
    assert "\u202e" not in made.text
    assert "\\x1b[31m\\u202e&lt;" in made.text


@settings(max_examples=60)
@given(st.text(st.characters(), min_size=1).filter(lambda text: text.split()))
def test_no_text_changes_the_structure_of_the_page(text: str) -> None:
    made, plain = make_page(full(text)), make_page(full("x"))
    assert [(n, sorted(a)) for n, a in made.tags] == [(n, sorted(a)) for n, a in plain.tags]


def test_the_same_sessions_give_the_same_bytes() -> None:
    one = page.render_page([full("a"), full("b")], "harbour")
    assert one == page.render_page([full("a"), full("b")], "harbour")
    assert one != page.render_page([full("b"), full("a")], "harbour")


def test_the_page_shows_all_details_of_an_event() -> None:
    evidence = "changes src/grammar.py, against “Don't touch it”"
    strayed = step(
        2, 3, what="edit src/grammar.py", rules=(Penalty("limit", evidence, 7),),
        correction="[kedge] This goes against what was asked.", decision="deny", ok=None,
        lacks=("map",),
        recalled=(RecalledStep("3f2a9c1d-01", 1, "read src/lexer.py", "same folder"),),
    )  # fmt: skip
    text = make_page(session([step(1), strayed, step(3)])).text
    for part in (
        "edit src/grammar.py", evidence, "−7", "[kedge] This goes against what was asked.",
        "the call was denied", "NORMAL → DRIFTED", "read src/lexer.py", "same folder", "map",
        "Make it faster.", "k-1", "intervene",
    ):  # fmt: skip
        assert part in text, part


def test_a_level_has_a_shape_and_a_name_besides_its_colour() -> None:
    steps = [step(n, score) for n, score in enumerate((10, 7, 5, 3, 1), 1)]
    made = make_page(session(steps))
    forms = {each["class"]: each["d"] for each in made.named("path") if each.get("class") in LEVELS}
    assert list(forms) and len(set(forms.values())) == len(LEVELS) == len(forms)
    rows = "".join(made.inside("span"))
    assert all(name in rows for name in LEVELS)
    drawing = [each for each in made.named("svg") if each.get("role") == "img"]
    assert all("table below says the same" in str(each["aria-label"]) for each in drawing)


def test_every_mark_links_to_its_row() -> None:
    steps = [step(n, 4 if n % 9 == 0 else 10) for n in range(1, 80)]
    made = make_page(session(steps, ("one", "two")), session(steps))
    ids = [attributes["id"] for _, attributes in made.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [str(each["href"])[1:] for each in made.named("a")]
    assert len(links) > 20
    assert set(links) <= set(ids)


def test_headings_have_an_order_and_tables_have_names() -> None:
    made = make_page(full("x"), full("y"))
    heads = [int(name[1]) for name, _ in made.tags if re.fullmatch(r"h\d", name)]
    assert heads[0] == 1 and heads.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(heads))
    assert len(made.named("caption")) == 3
    assert all("scope" in each for each in made.named("th"))
    assert made.named("html")[0]["lang"] == "en"


def test_ten_thousand_steps_make_a_page_of_a_few_megabytes() -> None:
    def one(n: int, every: int) -> RecordedStep:
        strays = n % every == 0
        return step(
            n, 1 + n % 7 if strays else 10, command=f"pytest -q tests/test_{n}.py",
            rules=(Penalty("topic", "words " * 30, 3),) if strays else (),
            correction="[kedge] " + "go back to what was asked " * 20 if strays else "",
            reasoning="because " * 60,
        )  # fmt: skip

    for every in (50, 2):
        made = session([one(n, every) for n in range(1, 10_001)], tuple(map(str, range(500))))
        data = page.render_page([made], "harbour")
        assert len(data) < 3_000_000
        marks = timeline.build_marks(made, page.STRAYS, page.MESSAGES)
        shown = [mark.step.position for mark in marks if isinstance(mark, timeline.StrayMark)]
        grouped = [s.position for m in marks if isinstance(m, timeline.StepGroup) for s in m.steps]
        assert sorted(shown + grouped) == list(range(1, 10_001))
        assert len(shown) == min(page.STRAYS, 10_000 // every)
        said = [mark.revision.revision for mark in marks if isinstance(mark, timeline.MessageMark)]
        assert len(said) == page.MESSAGES
        assert (said[0], said[-1]) == (1, 500)
        assert b"100 messages left out" in data
        assert (b"grouped with others" in data) == (every < 25)


def test_the_gravest_steps_get_marks() -> None:
    steps = [step(n, 7) for n in range(1, 100)]
    steps[10] = step(11, 1)
    marks = timeline.build_marks(session(steps), 5, 5)
    shown = [mark.step.position for mark in marks if isinstance(mark, timeline.StrayMark)]
    assert shown == [11, 96, 97, 98, 99]


def test_marks_show_the_course_of_the_events() -> None:
    steps = [step(1), step(2, 3), step(3, 10, changes=False), step(4), step(5, 2), step(6, 2)]
    made = session(steps, course="FORCED")
    events = tuple(
        replace(each, before=before, after=after)
        for each, (before, after) in zip(
            made.events,
            [("NORMAL", "DRIFTED"), ("NORMAL", "DRIFTED"), ("DRIFTED", "FORCED")],
            strict=True,
        )
    )
    marks = timeline.build_marks(replace(made, events=events), 10, 10)
    states = [(type(mark).__name__, mark.state) for mark in marks]
    assert states == [
        ("MessageMark", "NORMAL"),
        ("StepGroup", "NORMAL"),
        ("StrayMark", "DRIFTED"),
        ("StepGroup", "NORMAL"),
        ("StrayMark", "DRIFTED"),
        ("StrayMark", "FORCED"),
    ]


def test_the_chart_is_as_wide_as_its_marks() -> None:
    made = session([step(n, 3) for n in range(1, 301)])
    marks = timeline.build_marks(made, 300, 5)
    drawn = Page(chart.render_chart(marks, "s1", "a label").encode())
    width = float(str(drawn.named("svg")[0]["width"]))
    places = [
        float(str(each["transform"]).removeprefix("translate(").split()[0])
        for each in drawn.named("path")
    ]
    assert len(places) == 300
    assert places == sorted(places)
    assert max(places) < width


def test_text_has_contrast_in_light_dark_and_print() -> None:
    (style,) = make_page(full("x")).inside("style")
    themes = [
        dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", block))
        for block in re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    ]
    assert len(themes) == 3
    for theme in themes:
        for ground in ("back", "raised"):
            for name in ("text", "faint", "link", "asked", *LEVELS[1:]):
                assert _contrast(theme[name], theme[ground]) >= 4.5, (name, ground, theme)


def _contrast(one: str, other: str) -> float:
    """As WCAG has it."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

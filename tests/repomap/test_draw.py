"""The SVG drawing of the map."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import unicodedata
import xml.etree.ElementTree as ET
from itertools import combinations, pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.repomap.draw import Node, draw

SVG = "{http://www.w3.org/2000/svg}"
Edges = list[tuple[int, int, float]]
Graph = tuple[list[Node], Edges]


def mesh(count: int) -> Edges:
    """Edges in both directions, loops and duplicates."""
    pairs = [(i, (i * i + 3) % count, 1.0 + i % 7) for i in range(count)]
    return [*pairs, *((i, (i * 7 + 1) % count, 2.0) for i in range(count)), *pairs[:2]]


def project(count: int) -> Graph:
    places = ["", "src/cli/", "src/store/", "src/store/engine/", "tests/store/", "web/ui/views/"]
    nodes = [
        Node(f"{places[i % 6]}{'long_' * (i % 5)}name_{i}.py", 9 - i / 10, i % 6 == 4)
        for i in range(count)
    ]
    return nodes, mesh(count) if count else []


GRAPHS: dict[str, Graph] = {
    "none": ([], []),
    "one": ([Node("main.go", 1.0)], [(0, 0, 1.0)]),
    "three": ([Node("a.py", 3.0), Node("b.py", 2.0), Node("t/a.py", 1.0, True)], [(2, 0, 1.0)]),
    "unranked": ([Node(f"d/{i}.py", 0.0) for i in range(4)], mesh(4)),
    "unjoined": (project(20)[0], []),
    "forty": project(40),
    "sixty in one": ([Node(f"pkg/{'page_' * 7}{i}.py", 60.0 - i) for i in range(60)], mesh(60)),
    "forty places": ([Node(f"p{i}/src/main_{i}.rs", 40.0 - i) for i in range(40)], mesh(40)),
    "long": ([Node("deep/" * 30 + f"{i}_" + "n" * 200, 9.0 - i) for i in range(5)], mesh(5)),
    "wide": ([Node(f"源代码/{i}/" + "数据库连接" * (i + 1), 5.0 - i) for i in range(5)], mesh(5)),
}


class Area(NamedTuple):
    what: str
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Area) -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )

    def holds(self, other: Area) -> bool:
        return (
            self.left <= other.left
            and self.top <= other.top
            and self.right >= other.right
            and self.bottom >= other.bottom
        )


def parse(svg: str) -> ET.Element:
    return ET.fromstring(svg.encode("utf-8"))


def classes(element: ET.Element) -> list[str]:
    return element.get("class", "").split()


def find_classed(root: ET.Element, name: str) -> list[ET.Element]:
    return [element for element in root.iter() if name in classes(element)]


def visible_text(element: ET.Element) -> str:
    """The visible text of an element, without its tooltip."""
    return ((element.text or "") + "".join(child.tail or "" for child in element)).strip()


def hover(element: ET.Element) -> str:
    return element.findtext(f"{SVG}title") or ""


def number(element: ET.Element, name: str) -> float:
    return float(element.attrib[name])


def text_area(text: ET.Element) -> Area:
    kinds = classes(text)
    size = 20 if "title" in kinds else 12 if "small" in kinds else 13
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in visible_text(text))
    usual = 0.5 if "quiet" in kinds else 0.6  # prose has many narrow letters
    width = size * (usual * (len(visible_text(text)) - wide) + wide)
    x, y = number(text, "x"), number(text, "y")
    left = x - width if "place" in kinds else x
    return Area(visible_text(text), left, y - 0.75 * size, left + width, y + 0.25 * size)


def rect_area(rect: ET.Element) -> Area:
    x, y = number(rect, "x"), number(rect, "y")
    return Area("box", x, y, x + number(rect, "width"), y + number(rect, "height"))


def arc(path: ET.Element) -> tuple[float, float, float, float]:
    """The start of an arc, its extent to the side, and its length."""
    found = re.fullmatch(r"M(\S+) (\S+)c(\S+) 0 (\S+) (\S+) (\S+) (\S+)", path.attrib["d"])
    assert found
    x, y, far, _, _, _, drop = map(float, found.groups())
    return x, y, 0.75 * far, drop


@pytest.mark.parametrize("name", GRAPHS)
def test_every_file_is_drawn_once(name: str) -> None:
    nodes, edges = GRAPHS[name]
    root = parse(draw("harbour", nodes, edges))
    files = find_classed(root, "file")
    assert sorted(hover(file).split("\n")[0] for file in files) == sorted(n.path for n in nodes)
    assert len(find_classed(root, "name")) == len(nodes)
    assert len(find_classed(root, "edge")) == len({(a, b) for a, b, _ in edges if a != b})


@pytest.mark.parametrize("name", GRAPHS)
def test_nothing_overlaps(name: str) -> None:
    root = parse(draw("harbour", *GRAPHS[name]))
    texts = [text_area(text) for text in root.iter(f"{SVG}text")]
    boxes = [rect_area(rect) for rect in find_classed(root, "box")]
    bars = [rect_area(rect) for rect in find_classed(root, "bar")]
    places = [text_area(text) for text in find_classed(root, "place")]
    assert all(text.what for text in texts)
    for one, other in [*combinations(texts, 2), *combinations(boxes, 2)]:
        assert not one.meets(other), (one, other)
    for box in boxes:
        for text in texts:
            assert box.holds(text) or not box.meets(text), (box, text)
    for bar in bars:
        assert not any(bar.meets(place) for place in places)
        assert any(box.holds(bar) for box in boxes)
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    page = Area("page", 0, 0, width, height)
    assert all(page.holds(area) for area in [*texts, *boxes])


@pytest.mark.parametrize("name", GRAPHS)
def test_no_line_crosses_the_column(name: str) -> None:
    root = parse(draw("harbour", *GRAPHS[name]))
    boxes = [rect_area(rect) for rect in find_classed(root, "box")]
    width = float(root.attrib["viewBox"].split()[2])
    for path in find_classed(root, "edge"):
        x, _, side, drop = arc(path)
        assert x == (boxes[0].right if side > 0 else boxes[0].left)
        assert 0 < x + side < width
        assert (drop > 0) == (side > 0)  # down on the right, up on the left


def test_edges_lead_from_a_file_to_its_dependency() -> None:
    nodes = [Node("low.py", 2.0), Node("high.py", 1.0)]
    root = parse(draw("harbour", nodes, [(1, 0, 5.0), (0, 1, 1.0)]))
    rows = {visible_text(text): number(text, "y") for text in find_classed(root, "name")}
    assert rows["high.py"] < rows["low.py"]  # most edges lead down
    weak, strong = find_classed(root, "edge")
    assert (hover(strong), hover(weak)) == ("high.py uses low.py", "low.py uses high.py")
    for path, user, used in [(strong, "high.py", "low.py"), (weak, "low.py", "high.py")]:
        _, y, _, drop = arc(path)
        assert abs(y - rows[user]) < 10
        assert abs(y + drop - rows[used]) < 10
    assert classes(strong)[1] > classes(weak)[1]
    assert len(find_classed(root, "tip")) == 2


def test_the_tooltip_lists_the_users_of_a_file() -> None:
    nodes = [Node("a/core.py", 2.5), Node("b/one.py", 1.0), Node("tests/two.py", 0.5, True)]
    root = parse(draw("harbour", nodes, [(1, 0, 1.0), (2, 0, 3.0)]))
    core, two = (
        next(f for f in find_classed(root, "file") if f.get("id") == i) for i in ("f0", "f2")
    )
    assert hover(core) == "a/core.py\nscore 2.50\nused by:\ntests/two.py\nb/one.py"
    assert hover(two) == "tests/two.py\nscore 0.50, a test"


def test_a_higher_score_has_a_longer_bar() -> None:
    root = parse(draw("harbour", [Node(f"{i}.py", 4.0 - i) for i in range(4)], []))
    bars = [number(bar, "width") for bar in find_classed(root, "bar")]
    assert bars[0] > 150
    assert bars == pytest.approx([bars[0] * share for share in (1, 0.75, 0.5, 0.25)], abs=0.1)


def test_files_of_a_directory_share_a_box_and_a_colour() -> None:
    nodes = [Node(f"{'abc'[i % 3]}/{i}.py", 9.0 - i) for i in range(9)]
    root = parse(draw("harbour", nodes, mesh(9)))
    groups = [g for g in root if find_classed(g, "box")]
    assert sorted(visible_text(find_classed(g, "head")[0]) for g in groups) == ["a/", "b/", "c/"]
    for group in groups:
        home = visible_text(find_classed(group, "head")[0])
        assert [hover(file)[:2] for file in find_classed(group, "file")] == [home] * 3
    assert len({group.get("class") for group in groups}) == 3


def test_long_names_are_shortened_in_the_middle() -> None:
    name = "Abstract" + "Singleton" * 20 + "Factory.java"
    (label,) = find_classed(parse(draw("harbour", [Node(f"src/{name}", 1.0)], [])), "name")
    start, end = visible_text(label).split("…")
    assert 10 < len(start + end) < 60
    assert name.startswith(start)
    assert name.endswith(end)
    assert "Factory.java" in end


HOSTILE = [
    "<script>alert(1)<",
    "a\"b'c&d]]>e",
    "&amp;<!--",
    "bell\x07null\x00esc\x1b[31m",
    "lone\ud800surrogate\udfff",
    "\ufffe\uffff\x85",
    "turn\u202edoow",
    "new\nline\ttab",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_escaped(name: str) -> None:
    svg = draw(name, [Node(f"{name}/{name}", 1.0), Node(f"{name}/b", 0.5)], [(1, 0, 1.0)])
    root = parse(svg)
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags == {"svg", "style", "rect", "text", "title", "path", "g"}
    shown = re.sub("[\x00-\x1f\x85\u202e\ud800-\udfff\ufffe\uffff]", "", name)
    assert [visible_text(text) for text in find_classed(root, "name")][-1] == (shown or "?")
    assert root.attrib["aria-label"] == f"Map of {shown or '?'}"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(), max_size=8), st.lists(st.integers(0, 7), max_size=20), st.text())
def test_any_names_and_edges_can_be_drawn(paths: list[str], ends: list[int], title: str) -> None:
    nodes = [Node(path, float(len(path))) for path in paths]
    edges = [(a, b, 1.0) for a, b in pairwise(ends) if max(a, b) < len(paths)]
    root = parse(draw(title, nodes, edges))
    assert len(find_classed(root, "file")) == len(paths)


def test_the_drawing_needs_no_other_files() -> None:
    svg = draw("harbour", *project(40))
    assert "prefers-color-scheme:dark" in svg
    assert "system-ui" in svg
    assert parse(svg).attrib["role"] == "img"
    assert not re.search(r"href|url\(|@import|<script|\bon\w+=", svg)
    assert svg.count("http") == svg.count("http://www.w3.org/2000/svg") == 1
    assert len(svg.encode()) < 60_000


def test_the_same_input_gives_the_same_bytes() -> None:
    code = "import sys, test_draw as t; sys.stdout.write(t.draw('harbour', *t.project(40)))"
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    made = [
        subprocess.run(
            [sys.executable, "-X", "utf8", "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    ]
    nodes, edges = project(40)
    assert made[0] == made[1] == draw("harbour", nodes, edges[::-1]).encode()

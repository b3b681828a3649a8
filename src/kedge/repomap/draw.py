"""The map as a drawing: the most important files, by directory, and their dependencies."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

_ROW, _HEAD, _FOOT, _GAP = 20, 22, 5, 10
_MARGIN, _TOP = 28, 92
_TITLE, _NAME, _HEADING, _SMALL = 22.0, 14.3, 13.2, 12.0  # font sizes; larger for bold
_MOST_WIDTH, _MOST_PLACE = 300, 170  # widths of a name, and of the directory beside it
_BAR = 160  # least width of the bar of the highest score
_MOST_USERS = 8  # in the tooltip
_STRENGTHS = 5

# What XML 1.0 forbids, other control characters, and changes of text direction.
_DROPPED = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)
_NARROW, _USUAL, _WIDE = 32, 66, 110  # hundredths of an em in a wide sans-serif
_WIDTHS = {
    **dict.fromkeys("ijl'", _NARROW),
    **dict.fromkeys(" .,:;!/\\I()[]-ft|", 42),
    **dict.fromkeys('rs_*zcJ?"', 56),
    **dict.fromkeys("ABCEFKLPRSTVXYZ", 74),
    **dict.fromkeys("DGHNOQU&+=<>~#^", 86),
    **dict.fromkeys("mwMW%@…", 102),
}
_LIGHT = ["#2f6fb3", "#8a6d10", "#8655b8", "#2e8550", "#b83b5e", "#0f8291", "#c2611f", "#5f7a1f"]
_DARK = ["#6cb0f5", "#d9b640", "#bd93f0", "#62c98a", "#f27e9d", "#4cc3d3", "#f29a5b", "#a8c94f"]
_STYLE = """\
text{font:13px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
text{fill:#1f2328}
.page{fill:#fff}
.quiet{fill:#656d76}
.box{fill:currentColor;fill-opacity:.07}
.bar{fill:currentColor;fill-opacity:.2}
.tip{fill:currentColor}
.head{fill:currentColor;font-weight:600}
.place{fill:currentColor;text-anchor:end}
.title{font-size:20px;font-weight:600}
.small{font-size:12px}
.top{font-weight:600}
.test{font-style:italic}
.edge{fill:none;stroke:currentColor}
.edge:hover{stroke-opacity:1}
.file:hover .bar{fill-opacity:.45}
svg:has(.file:hover) .edge{stroke-opacity:.06}"""
_STYLE_DARK = """\
text{fill:#e6edf3}.page{fill:#0d1117}.quiet{fill:#9198a1}.head,.place{fill:currentColor}"""

_Weights = dict[tuple[int, int], float]


@dataclass(frozen=True, slots=True)
class Node:
    """A file."""

    path: str
    score: float
    test: bool = False


@dataclass(frozen=True, slots=True)
class _Box:
    """A box: a directory, and its files from top to bottom."""

    name: str
    colour: int
    top: int
    files: list[int]

    @property
    def headed(self) -> bool:
        """True if the name is above the files; a short name is beside a single file."""
        return len(self.files) > 1 or _width(self.name, _SMALL) > _MOST_PLACE - 10

    @property
    def start(self) -> int:
        return self.top + (_HEAD if self.headed else _FOOT)

    @property
    def end(self) -> int:
        return self.start + _ROW * len(self.files) + _FOOT


@dataclass(frozen=True, slots=True)
class _Column:
    """The position of the boxes, and the length of the longest bar."""

    left: int
    width: int
    bar: float

    @property
    def right(self) -> int:
        return self.left + self.width


def draw(title: str, nodes: Sequence[Node], edges: Sequence[tuple[int, int, float]]) -> str:
    """Draw files and their dependencies as SVG.

    `edges` are (user, used, weight), by index of `nodes`. Directories are boxes in one column and
    edges are arcs beside it, so that no line crosses a name.
    """
    weights = _merge(edges)
    boxes = _boxes(nodes, weights)
    middle = {
        file: box.start + _ROW * place + _ROW // 2
        for box in boxes
        for place, file in enumerate(box.files)
    }
    spans = [middle[used] - middle[user] for user, used in weights]
    up = max((_bulge(span) for span in spans if span < 0), default=0.0)
    down = max((_bulge(span) for span in spans if span > 0), default=0.0)
    column = _column(_MARGIN + math.ceil(up), boxes, nodes)
    title, caption = _shorten(title, 2 * _MOST_WIDTH, _TITLE), _caption(nodes, weights)
    texts = _MARGIN + max(_width(title, _TITLE), _width(caption, _SMALL))
    width = math.ceil(max(column.right + down, texts)) + _MARGIN
    height = (boxes[-1].end if boxes else _TOP) + _MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"',
        f' width="{width}" height="{height}" aria-label={quoteattr(f"Map of {title}")}>',
        f"<style>{_style(len(nodes))}</style>",
        f'<rect class="page" width="{width}" height="{height}" rx="10"/>',
        f'<text class="title" x="{_MARGIN}" y="46">{escape(title)}</text>',
        f'<text class="small quiet" x="{_MARGIN}" y="68">{escape(caption)}</text>',
    ]
    lines += _arcs(nodes, weights, boxes, middle, column)
    for box in boxes:
        lines += _box(box, nodes, weights, column)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _merge(edges: Iterable[tuple[int, int, float]]) -> _Weights:
    weights: _Weights = {}
    for user, used, weight in sorted(edges):
        if user != used:
            weights[user, used] = weights.get((user, used), 0) + weight
    return weights


def _boxes(nodes: Sequence[Node], weights: _Weights) -> list[_Box]:
    homes = [_home(node.path) for node in nodes]
    boxes: list[_Box] = []
    top = _TOP
    for place, area in enumerate(_flow(range(len(nodes)), _areas(homes), weights)):
        files: list[int] = []
        for home in _flow(area, homes, weights):
            files += [file for (file,) in _flow(home, range(len(nodes)), weights)]
        name = _find_common_folder([homes[file] for file in files])
        boxes.append(_Box(name, place % len(_LIGHT), top, files))
        top = boxes[-1].end + _GAP
    return boxes


def _home(path: str) -> str:
    return path.rpartition("/")[0]


def _find_common_folder(homes: Sequence[str]) -> str:
    """The innermost directory that contains all of these."""
    name = homes[0]
    while name and not all(f"{home}/".startswith(f"{name}/") for home in homes):
        name = _home(name)
    return name


def _areas(homes: Sequence[str]) -> list[str]:
    """Shorten directories to as few parts as possible, while none has more than half the files."""
    parts = [home.split("/") for home in homes]
    areas: list[str] = []
    for depth in range(1, max(map(len, parts), default=0) + 1):
        areas = ["/".join(part[:depth]) for part in parts]
        if max(areas.count(area) for area in areas) <= len(areas) / 2:
            break
    return areas


def _flow(files: Iterable[int], keys: Sequence[Hashable], weights: _Weights) -> list[list[int]]:
    """Group the files by key, ordered so that most weight points down."""
    groups: dict[Hashable, list[int]] = {}
    for file in files:
        groups.setdefault(keys[file], []).append(file)
    between: dict[tuple[Hashable, Hashable], float] = {}
    for (user, used), weight in weights.items():
        pair = keys[user], keys[used]
        between[pair] = between.get(pair, 0) + weight
    order = sorted(groups, key=lambda one: not any(one in pair for pair in between))
    for _ in range(10):
        for one in list(order):
            at = order.index(one)
            best, most = at, 0.0
            for way in (range(at - 1, -1, -1), range(at + 1, len(order))):
                gain = 0.0
                for place in way:
                    other = order[place]
                    above = between.get((one, other), 0) - between.get((other, one), 0)
                    gain += above if place < at else -above
                    if gain > most:
                        best, most = place, gain
            order.insert(best, order.pop(at))
    return [groups[one] for one in order]


def _column(left: int, boxes: Sequence[_Box], nodes: Sequence[Node]) -> _Column:
    shares = _shares(nodes)
    width, rows = 0.0, []
    for box in boxes:
        width = max(width, _width(_head(box), _HEADING) if box.headed else 0)
        for file in box.files:
            place = _width(_place(box, nodes[file]), _SMALL)
            name = _width(_label(nodes[file]), _NAME)
            width = max(width, max(name, _BAR * shares[file]) + _ROW + place)
            rows.append((place, shares[file]))
    bar = min(((width - place) / share for place, share in rows if share), default=0.0)
    return _Column(left, math.ceil(width) + 24, bar)


def _shares(nodes: Sequence[Node]) -> list[float]:
    """The scores relative to the highest."""
    most = max((node.score for node in nodes), default=0)
    return [max(node.score, 0) / most if most > 0 else 0 for node in nodes]


def _bulge(span: float) -> float:
    """How far an arc extends from the column."""
    return min(abs(span), 7.5 * math.sqrt(abs(span)))


def _arcs(
    nodes: Sequence[Node],
    weights: _Weights,
    boxes: Sequence[_Box],
    middle: dict[int, int],
    column: _Column,
) -> list[str]:
    """Draw the edges, strong ones on top: down on the right, up on the left."""
    colour = {file: box.colour for box in boxes for file in box.files}
    strongest = max(weights.values(), default=0) or 1
    lines, tips = [], set()
    for (user, used), weight in sorted(weights.items(), key=lambda edge: (edge[1], edge[0])):
        span = middle[used] - middle[user]
        x, side = (column.right, 1) if span > 0 else (column.left, -1)
        far = side * _bulge(span) / 0.75  # a cubic curve covers three quarters of the distance
        drop = span - 6 * side
        strength = min(int(_STRENGTHS * weight / strongest), _STRENGTHS - 1)
        title = f"{_label(nodes[user])} uses {_label(nodes[used])}"
        lines.append(
            f'<path class="edge s{strength} c{colour[user]} u{user} d{used}"'
            f' d="M{x} {middle[user] + 3 * side}c{far:.1f} 0 {far:.1f} {drop}'
            f' {5 * side} {drop}"><title>{escape(title)}</title></path>'
        )
        tips.add((middle[used] - 3 * side, side, colour[used]))
    for y, side, own in sorted(tips):
        x = column.right if side > 0 else column.left
        lines.append(f'<path class="tip c{own}" d="M{x} {y}l{7 * side} -3.5v7z"/>')
    return lines


def _box(box: _Box, nodes: Sequence[Node], weights: _Weights, column: _Column) -> list[str]:
    shares = _shares(nodes)
    central = sorted(shares, reverse=True)[len(shares) // 6]
    text, end = column.left + 12, column.right - 12
    lines = [
        f'<g class="c{box.colour}">',
        f'<rect class="box" x="{column.left}" y="{box.top}"',
        f' width="{column.width}" height="{box.end - box.top}" rx="6"/>',
    ]
    if box.headed:
        lines += [
            f'<text class="small head" x="{text}" y="{box.top + 16}">',
            f"<title>{escape(_clean(box.name or '.'))}/</title>{escape(_head(box))}</text>",
        ]
    for row, file in enumerate(box.files):
        node, y = nodes[file], box.start + _ROW * row
        kind = ("name top" if shares[file] > central else "name") + " test" * node.test
        title = escape(_describe(file, nodes, weights))
        lines += [
            f'<g class="file" id="f{file}"><title>{title}</title>',
            f'<rect class="bar" x="{column.left + 6}" y="{y + 1}" rx="3"',
            f' width="{shares[file] * column.bar:.1f}" height="{_ROW - 2}"/>',
            f'<text class="{kind}" x="{text}" y="{y + 14}">{escape(_label(node))}</text>',
        ]
        if place := _place(box, node):
            lines.append(f'<text class="small place" x="{end}" y="{y + 14}">{escape(place)}</text>')
        lines.append("</g>")
    return [*lines, "</g>"]


def _describe(file: int, nodes: Sequence[Node], weights: _Weights) -> str:
    """The tooltip of a file."""
    node = nodes[file]
    ties = sorted((-weight, user) for (user, used), weight in weights.items() if used == file)
    users = [_clean(nodes[user].path) for _, user in ties]
    lines = [_clean(node.path), f"score {node.score:.2f}" + (", a test" if node.test else "")]
    if users:
        lines += ["used by:", *users[:_MOST_USERS]]
    if len(users) > _MOST_USERS:
        lines.append(f"and {len(users) - _MOST_USERS} more")
    return "\n".join(lines)


def _caption(nodes: Sequence[Node], weights: _Weights) -> str:
    if not nodes:
        return "There are no files to show."
    lines = "Lines lead from a file to what it uses: down on the right, up on the left."
    sentences = [lines, "Thicker: used more."] if weights else []
    sentences.append("Longer bar: matters more.")
    if any(node.test for node in nodes):
        sentences.append("Italic: a test.")
    return " ".join(sentences)


def _style(files: int) -> str:
    lines = [_STYLE, _colours(_LIGHT)]
    for i in range(_STRENGTHS):
        share = (i + 1) / _STRENGTHS
        lines.append(f".s{i}{{stroke-width:{0.5 + 3 * share:.1f};stroke-opacity:{share:.1f}}}")
    lines += [f"svg:has(#f{i}:hover) :is(.u{i},.d{i}){{stroke-opacity:1}}" for i in range(files)]
    dark = _STYLE_DARK + _colours(_DARK)
    return "\n".join([*lines, f"@media(prefers-color-scheme:dark){{{dark}}}"])


def _colours(colours: Sequence[str]) -> str:
    return "".join(f".c{i}{{color:{colour}}}" for i, colour in enumerate(colours))


def _label(node: Node) -> str:
    return _shorten(node.path.rpartition("/")[2], _MOST_WIDTH, _NAME)


def _head(box: _Box) -> str:
    return _shorten((box.name or ".") + "/", _MOST_WIDTH, _HEADING)


def _place(box: _Box, node: Node) -> str:
    """The file's directory, relative to the heading of the box."""
    home = _home(node.path)
    home = home.removeprefix(box.name).lstrip("/") if box.headed else home or "."
    return _shorten(home + "/", _MOST_PLACE, _SMALL) if home else ""


def _shorten(text: str, most: float, size: float) -> str:
    """Leave out the middle of a text that is too wide."""
    text = _clean(text)
    if _width(text, size) <= most:
        return text
    keep = min(len(text), int(100 * most / (_NARROW * size)))
    while _width(short := f"{text[: keep - keep // 2]}…{text[-(keep // 2) :]}", size) > most:
        keep -= 1
    return short


def _width(text: str, size: float) -> float:
    """The greatest width of a text in a font of this size."""
    return (
        size * sum(_WIDTHS.get(char, _USUAL if char < "\u2e80" else _WIDE) for char in text) / 100
    )


def _clean(text: str) -> str:
    return _DROPPED.sub("", text) or "?"

"""A patched or loaded index gives the same answers as a new one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kedge.repomap import history
from kedge.repomap.index import DEFINED, IMPORTED, Document, Index
from kedge.repomap.rank import Ranker
from kedge.repomap.search import relevance

NAMES = ("berth", "Berth", "tide_table", "high_water", "moor", "quay/berth", "anchorage", "depth")
PATHS = (*(f"port/{name}.py" for name in "abcde"), "tests/test_a.py")
bytes_ = st.builds(
    lambda count, flag: count | flag,
    st.integers(1, 8),
    st.sampled_from((0, 0, DEFINED, IMPORTED)),
)
documents_ = st.dictionaries(
    st.sampled_from(PATHS), st.dictionaries(st.sampled_from(NAMES), bytes_, min_size=1)
)
PAST = history.build_history(
    [("berth: moor deeper", ["port/a.py", "port/b.py"]), ("tide", ["port/c.py"])]
)


def answers(index: Index) -> object:
    known = Ranker(index, PAST)
    query = {"berth": 1.0, "water": 2.0, "tide": 1.0}
    scores = relevance(index, query, b=0.75)
    with_text = known.rank("moor at the berth at high water")
    plain = Ranker(index, PAST).rank("")
    return (
        {known.path(number): score for number, score in scores.items()},
        [(known.path(number), with_text.scores[number]) for number in with_text.order],
        [(known.path(number), plain.scores[number]) for number in plain.order],
        {
            path: [(known.path(other), weight) for other, weight in known.graph.neighbours(number)]
            for path, number in known.number.items()
        },
        {path: sorted(known.definitions(path).items()) for path in known.number},
    )


@given(documents_, documents_)
def test_a_patched_index_equals_a_new_one(
    before: dict[str, Document], after: dict[str, Document]
) -> None:
    index = Index.load(Index.build([b"line"], dict(sorted(before.items()))).dump())
    changed = {path: new for path, new in after.items() if before.get(path) != new}
    gone = [path for path in before if path not in after or path in changed]
    for path in gone:  # one by one, and the rest at once
        index.patch([path], {path: changed.pop(path)} if path in changed else {})
    index.patch([], changed)
    fresh = Index.build([], dict(sorted(after.items())))
    assert answers(index) == answers(fresh)


@given(documents_)
def test_an_index_returns_its_documents(documents: dict[str, Document]) -> None:
    index = Index.load(Index.build([b"one", b"two"], documents).dump())
    assert index.documents(set(PATHS)) == documents
    assert index.lines == {b"one", b"two"}


def test_edges_computed_at_once_equal_edges_computed_one_by_one() -> None:
    documents = {
        f"port/{n}.py": {
            f"name_{n}": 5 | DEFINED,
            f"name_{(n * 7 + 1) % 30}": 1 + n % 8,
            "berth": 2,
        }
        for n in range(30)
    }
    index = Index.build([], documents)
    all_, each = Ranker(index, PAST).graph, Ranker(index, PAST).graph
    all_.rank()
    for number in range(30):
        assert all_.neighbours(number) == each.neighbours(number)
        assert each.neighbours(number)

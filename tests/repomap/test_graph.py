"""The edges between files, and the weight that spreads along them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kedge.repomap.graph import Graph
from kedge.repomap.index import DEFINED, IMPORTED, Index

Edges = dict[str, int]


class Files:
    """The graph of some documents, by path instead of number."""

    def __init__(self, documents: Mapping[str, Mapping[str, int]]) -> None:
        index = Index.build([], {path: dict(documents[path]) for path in sorted(documents)})
        self.graph = Graph(index)
        self.paths = [path or "" for path in index.paths]

    def dependencies(self, path: str) -> Edges:
        return self._name(self.graph.dependencies(self.paths.index(path)))

    def dependents(self, path: str) -> Edges:
        return self._name(self.graph.dependents(self.paths.index(path)))

    def neighbours(self, path: str) -> Edges:
        return self._name(self.graph.neighbours(self.paths.index(path)))

    def near(self, *seeds: str, rounds: int = 1, width: int = 9) -> dict[str, float]:
        weights = {self.paths.index(path): 1 / len(seeds) for path in seeds}
        found = self.graph.near(weights, rounds, width)
        return {self.paths[number]: mass for number, mass in found.items()}

    def rank(self) -> dict[str, float]:
        return {self.paths[number]: mass for number, mass in self.graph.rank().items()}

    def _name(self, edges: list[tuple[int, int]]) -> Edges:
        return {self.paths[number]: weight for number, weight in edges}


def define(*names: str) -> dict[str, int]:
    return dict.fromkeys(names, DEFINED | 1)


def use(*names: str, times: int = 1) -> dict[str, int]:
    return dict.fromkeys(names, times)


def test_a_file_depends_on_those_whose_names_it_uses() -> None:
    files = Files({"tide.py": define("Gauge"), "user.py": use("Gauge"), "quay.py": define("Quay")})
    assert list(files.dependencies("user.py")) == ["tide.py"]
    assert list(files.dependents("tide.py")) == ["user.py"]
    assert files.dependencies("tide.py") == files.dependents("user.py") == {}
    assert files.neighbours("quay.py") == {}


def test_an_import_weighs_as_much_as_three_names() -> None:
    files = Files(
        {
            "quay.py": {"port/quay": DEFINED},
            "tide.py": define("Gauge", "Neap", "Spring"),
            "user.py": use("Gauge", "Neap", "Spring") | {"port/quay": IMPORTED},
        }
    )
    edges = files.dependencies("user.py")
    assert edges["quay.py"] == edges["tide.py"] > 0


def test_a_name_that_is_used_more_often_weighs_more_but_less_each_time() -> None:
    names = {count: f"Name{count}" for count in (1, 2, 3)}
    documents = {f"{count}.py": define(name) for count, name in names.items()}
    documents["user.py"] = {name: count for count, name in names.items()}
    weights = Files(documents).dependencies("user.py")
    once, twice, thrice = (weights[f"{count}.py"] for count in names)
    assert twice == pytest.approx(1.7 * once, rel=0.01)
    assert once < twice < thrice < 2 * twice - once


@pytest.mark.parametrize("count", range(1, 7))
def test_files_that_define_the_same_name_share_its_weight(count: int) -> None:
    documents = {f"tide{n}.py": define("Gauge") for n in range(count)}
    edges = Files({**documents, "user.py": use("Gauge")}).dependencies("user.py")
    assert edges == dict.fromkeys(documents, 1000 // count)


def test_a_name_that_seven_files_define_joins_none() -> None:
    documents = {f"tide{n}.py": define("Gauge") for n in range(7)}
    files = Files({**documents, "user.py": use("Gauge")})
    assert files.neighbours("user.py") == files.neighbours("tide0.py") == {}


def test_use_by_a_test_counts_three_tenths_of_use_by_code() -> None:
    files = Files(
        {"tide.py": define("Gauge"), "tests/test_tide.py": use("Gauge"), "user.py": use("Gauge")}
    )
    dependents = files.dependents("tide.py")
    assert 10 * dependents["tests/test_tide.py"] == 3 * dependents["user.py"] > 0
    assert files.dependencies("tests/test_tide.py") == files.dependencies("user.py")


@pytest.mark.parametrize(("users", "joined"), [(99, True), (100, False)])
def test_a_name_that_very_many_files_use_says_little_about_each(users: int, joined: bool) -> None:
    documents = {f"user{n}.py": use("Gauge") for n in range(users)}
    files = Files({"tide.py": define("Gauge"), **documents})
    assert list(files.dependencies("user0.py")) == ["tide.py"]
    assert bool(files.dependents("tide.py")) == joined


def test_edges_in_both_directions_add_up() -> None:
    files = Files(
        {"quay.py": define("Quay") | use("Gauge"), "tide.py": define("Gauge") | use("Quay")}
    )
    assert files.dependents("tide.py") == files.dependencies("tide.py")
    both = files.dependencies("tide.py")["quay.py"] + files.dependents("tide.py")["quay.py"]
    assert files.neighbours("tide.py") == {"quay.py": both}


def test_several_names_between_two_files_add_up() -> None:
    files = Files({"tide.py": define("Gauge", "Neap"), "user.py": use("Gauge", "Neap")})
    one = Files({"tide.py": define("Gauge"), "user.py": use("Gauge")})
    assert files.dependencies("user.py")["tide.py"] == 2 * one.dependencies("user.py")["tide.py"]
    assert files.dependents("tide.py")["user.py"] == 2 * one.dependents("tide.py")["user.py"]


@pytest.mark.parametrize("count", [23, 24, 25, 26, 40])
def test_the_24_strongest_edges_of_a_file_are_kept(count: int) -> None:
    # The last file is the strongest: it defines the most of the names that the hub uses.
    names = {n: [f"Name{n}x{k}" for k in range(n + 1)] for n in range(count)}
    documents = {f"part{n:02}.py": define(*names[n]) for n in range(count)}
    hub = use(*(name for some in names.values() for name in some))
    edges = Files({**documents, "hub.py": hub}).dependencies("hub.py")
    assert list(edges) == sorted(documents, reverse=True)[:24]


def test_of_equally_strong_edges_the_first_by_path_are_kept() -> None:
    documents = {f"part{n:02}.py": define(f"Name{n}") for n in range(30)}
    hub = use(*(f"Name{n}" for n in reversed(range(30))))
    edges = Files({**documents, "hub.py": hub}).dependencies("hub.py")
    assert list(edges) == sorted(documents)[:24]


def chain() -> Files:
    """Four files, each of which uses the one before it."""
    return Files(
        {
            "a.py": define("Alpha"),
            "b.py": define("Bravo") | use("Alpha"),
            "c.py": define("Charlie") | use("Bravo"),
            "d.py": use("Charlie"),
        }
    )


def test_weight_spreads_in_proportion_to_the_edges() -> None:
    files = Files(
        {
            "hub.py": use("Gauge", "Neap", "Spring", "Quay"),
            "quay.py": define("Quay"),
            "tide.py": define("Gauge", "Neap", "Spring"),
        }
    )
    assert files.near("hub.py") == pytest.approx({"tide.py": 0.75, "quay.py": 0.25})


def test_weight_from_several_seeds_adds_up() -> None:
    assert chain().near("a.py", "c.py") == pytest.approx({"b.py": 0.75, "d.py": 0.25})


def test_weight_spreads_one_step_each_round_and_fades() -> None:
    one, two = chain().near("a.py"), chain().near("a.py", rounds=2)
    assert set(one) == {"b.py"}
    assert set(two) == {"a.py", "b.py", "c.py"}
    assert two["b.py"] == one["b.py"]
    assert two["a.py"] == two["c.py"]
    assert 0.5 < two["a.py"] + two["c.py"] < 1


def test_weight_that_comes_back_adds_up_and_fades_with_each_step() -> None:
    files = Files({"a.py": define("Alpha"), "b.py": use("Alpha")})
    assert files.near("a.py", rounds=3)["b.py"] == pytest.approx(
        1 + files.near("a.py", rounds=2)["a.py"] ** 2
    )


def test_only_the_heaviest_seeds_spread() -> None:
    files = chain()
    number = files.paths.index
    found = files.graph.near({number("a.py"): 0.4, number("d.py"): 0.6}, rounds=1, width=1)
    assert list(found) == [number("c.py")]
    assert set(files.near("d.py", "a.py", width=1)) == {"b.py"}, "equal weights by path"


def test_a_file_without_edges_spreads_nothing() -> None:
    assert Files({"a.py": define("Alpha"), "b.py": {}}).near("a.py", rounds=2) == {}


def test_the_ranks_of_joined_files_sum_to_one() -> None:
    ranks = chain().rank()
    assert sum(ranks.values()) == pytest.approx(1)
    assert ranks["a.py"] == pytest.approx(ranks["d.py"])
    assert ranks["b.py"] > 1.5 * ranks["a.py"], "the middle of the chain has more neighbours"


def test_a_file_without_edges_keeps_a_small_rank() -> None:
    ranks = Files({"a.py": define("Alpha"), "b.py": use("Alpha"), "lone.py": {"xyz": 1}}).rank()
    assert 0 < ranks["lone.py"] < 0.25 * ranks["a.py"]


def test_an_index_without_files_has_no_ranks() -> None:
    assert Files({}).rank() == {}


def test_edges_computed_at_once_are_the_same_as_one_at_a_time() -> None:
    wide = {f"wide{n}.py": use("Common", "Usual", times=n % 8 + 1) for n in range(99)}
    documents = {
        **wide,
        "common.py": define("Common"),  # 101 files have it
        "usual.py": define("Usual"),  # 100 files have it
        "tide.py": define("Gauge", "Neap") | use("Quay", times=3) | {"port/tide": DEFINED},
        "quay.py": define("Quay", "Neap") | use("Gauge") | {"port/tide": IMPORTED},
        "user.py": use("Common", "Gauge", "Neap", times=2) | {"port/tide": IMPORTED},
        "tests/test_tide.py": use("Gauge", "Quay", times=4) | {"port/tide": IMPORTED},
        "lone.py": define("Alone"),
    }
    at_once = Files(documents)
    assert len(at_once.rank()) == len(documents)
    one_at_a_time = Files(documents)
    for path in documents:
        assert at_once.neighbours(path) == one_at_a_time.neighbours(path), path
    assert at_once.neighbours("common.py") == {}
    assert len(at_once.neighbours("usual.py")) == 24

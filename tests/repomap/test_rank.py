"""Each part of the ranking decides an order of its own: without that part, its test fails.

The files of a test are alike but for one thing. Equal scores are ordered by path, so the file that
should win has the path that comes last.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.repomap import documents, history
from kedge.repomap.files import File
from kedge.repomap.index import Index
from kedge.repomap.languages import language_of
from kedge.repomap.rank import Ranker, Ranking

TIDE = "class GaugeReader:\n    def neap_range(self): return 1\n"
ALPHA = "class Quay:\n    def fender_width(self): return 1\n"
ZULU = "class Crane:\n    def jib_length(self): return 1\n"

Commits = Sequence[tuple[str, list[str]]]


class Corpus:
    """Source files on disk, read as a map reads them."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def make_ranker(self, sources: dict[str, str], commits: Commits = ()) -> Ranker:
        for path, text in sources.items():
            place = self.root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        files = [File(path, "", language_of(path)) for path in sorted(sources)]
        read = zip(files, documents.read_documents(files, self.root), strict=True)
        index = Index.build([], {file.path: one for file, one in read if one is not None})
        return Ranker(index, history.build_history(list(commits)))

    def order(self, text: str, sources: dict[str, str], commits: Commits = ()) -> list[str]:
        """The paths, the best first."""
        ranker = self.make_ranker(sources, commits)
        return [ranker.path(number) for number in ranker.rank(text).order]


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return Corpus(tmp_path)


def test_words_of_a_file(corpus: Corpus) -> None:
    sources = {"alpha.py": ALPHA, "bravo.py": ALPHA.replace("Quay", "Wharf"), "zulu.py": ZULU}
    assert corpus.order("the length of a jib", sources) == ["zulu.py", "alpha.py", "bravo.py"]


def test_words_of_a_path(corpus: Corpus) -> None:
    sources = {"alpha.py": ALPHA, "zone/lighthouse.py": ALPHA}
    assert corpus.order("the lighthouses", sources)[0] == "zone/lighthouse.py"


def test_subjects_of_commits(corpus: Corpus) -> None:
    sources = {"alpha.py": ALPHA, "zulu.py": ZULU}
    commits = [("moorings", ["alpha.py"]), ("lighthouse: dim the lamp", ["zulu.py"])]
    assert corpus.order("dim lighthouse", sources, commits) == ["zulu.py", "alpha.py"]


def test_a_path_named_in_the_text(corpus: Corpus) -> None:
    sources = {"one/gauge.py": TIDE, "two/gauge.py": TIDE}
    assert corpus.order("the gauge", sources) == ["one/gauge.py", "two/gauge.py"]
    assert corpus.order("look at two/gauge.py", sources) == ["two/gauge.py", "one/gauge.py"]


def test_files_that_use_a_name_of_the_best_file(corpus: Corpus) -> None:
    user = ZULU + "\nreader = GaugeReader()\n"
    sources = {"alpha.py": ALPHA, "port/tide.py": TIDE, "zulu.py": user}
    assert corpus.order("neap", sources) == ["port/tide.py", "zulu.py", "alpha.py"]


def test_files_whose_names_the_best_file_uses(corpus: Corpus) -> None:
    user = TIDE + "\ncrane = Crane()\n"
    sources = {"alpha.py": ALPHA, "port/tide.py": user, "zulu.py": ZULU}
    assert corpus.order("neap", sources) == ["port/tide.py", "zulu.py", "alpha.py"]


def test_files_that_import_the_best_file(corpus: Corpus) -> None:
    sources = {"alpha.py": ALPHA, "port/tide.py": TIDE, "zulu.py": f"import port.tide\n{ZULU}"}
    assert corpus.order("neap", sources) == ["port/tide.py", "zulu.py", "alpha.py"]


def test_files_two_steps_from_the_best_file(corpus: Corpus) -> None:
    sources = {
        "alpha.py": ALPHA,
        "port/mole.py": "import port.tide\nclass Mole: pass\n",
        "port/tide.py": TIDE,
        "zulu.py": f"import port.mole\n{ZULU}",
    }
    order = corpus.order("neap", sources)
    assert order == ["port/tide.py", "port/mole.py", "zulu.py", "alpha.py"]


def test_files_that_change_together_with_the_best_file(corpus: Corpus) -> None:
    sources = {"alpha.py": ALPHA, "bravo.py": "x = 1\n", "tide.py": TIDE, "zulu.py": ZULU}
    # Alpha changed a little later, so that without its partner zulu comes after it.
    commits = [("paint", ["alpha.py", "bravo.py"]), ("dredge", ["tide.py", "zulu.py"])]
    order = corpus.order("neap", sources, commits)
    assert order.index("tide.py") == 0
    assert order.index("zulu.py") < order.index("alpha.py")


@pytest.mark.parametrize("text", ["neap", ""], ids=["with a text", "without a text"])
def test_files_that_change_often(corpus: Corpus, text: str) -> None:
    sources = {"alpha.py": ALPHA, "tide.py": TIDE, "zulu.py": ZULU}
    commits = [("paint", ["zulu.py"])] * 3 + [("paint", ["alpha.py"])]
    order = corpus.order(text, sources, commits)
    assert order.index("zulu.py") < order.index("alpha.py")


@pytest.mark.parametrize("use", ["import zulu\n", "crane = Crane()\n"], ids=["imports", "names"])
def test_without_a_text_files_that_others_use(corpus: Corpus, use: str) -> None:
    users = {f"user{n}.py": f"{use}class User{n}: pass\n" for n in range(3)}
    assert corpus.order("", {"alpha.py": ALPHA, **users, "zulu.py": ZULU})[0] == "zulu.py"


def test_use_by_a_test_counts_less_than_use_by_code(corpus: Corpus) -> None:
    sources = {
        "alpha.py": ALPHA,
        "tests/test_quay.py": "quay = Quay()\n",
        "user.py": "crane = Crane()\n",
        "zulu.py": ZULU,
    }
    ranker = corpus.make_ranker(sources)
    (alpha,) = ranker.graph.dependents(ranker.number["alpha.py"])
    (zulu,) = ranker.graph.dependents(ranker.number["zulu.py"])
    assert alpha[1] < 0.5 * zulu[1]


def test_a_name_that_many_files_define_joins_none(corpus: Corpus) -> None:
    many = {f"many{n}.py": TIDE for n in range(7)}
    sources = {**many, "zulu.py": ZULU + "\nreader = GaugeReader()\n"}
    ranker = corpus.make_ranker(sources)
    assert ranker.graph.neighbours(ranker.number["zulu.py"]) == []


@pytest.mark.parametrize("text", ["neap", ""], ids=["with a text", "without a text"])
def test_tests_come_after_the_code(corpus: Corpus, text: str) -> None:
    sources = {"a/test_tide.py": TIDE, "z/tide.py": TIDE}
    commits = [("paint", ["a/test_tide.py", "z/tide.py"])]
    assert corpus.order(text, sources, commits) == ["z/tide.py", "a/test_tide.py"]


def test_tests_come_first_if_the_text_is_about_tests(corpus: Corpus) -> None:
    sources = {"a/test_tide.py": TIDE, "z/tide.py": TIDE}
    assert corpus.order("the spec of neap", sources)[0] == "a/test_tide.py"


@pytest.mark.parametrize("text", ["tide", ""], ids=["with a text", "without a text"])
def test_documents_come_after_the_code(corpus: Corpus, text: str) -> None:
    sources = {"a/tide.md": "Tides\n", "z/tide.py": "tide = 1\n"}
    commits = [("paint", ["a/tide.md", "z/tide.py"])]
    assert corpus.order(text, sources, commits) == ["z/tide.py", "a/tide.md"]


def test_documents_come_first_if_the_text_is_about_them(corpus: Corpus) -> None:
    sources = {"a/tide.md": "Tides\n", "z/tide.py": "tide = 1\n"}
    assert corpus.order("documentation of the tide", sources)[0] == "a/tide.md"


def test_a_text_with_unknown_words_ranks_as_no_text(corpus: Corpus) -> None:
    sources = {"alpha.py": ALPHA, "zulu.py": ZULU}
    commits = [("paint", ["zulu.py"])]
    assert corpus.order("xylophone", sources, commits) == corpus.order("", sources, commits)


def check_sum(ranker: Ranker, ranking: Ranking) -> None:
    for number, score in ranking.scores.items():
        parts = sum(part.get(number, 0.0) for part in ranking.parts.values())
        assert score == pytest.approx(parts * ranking.factor.get(number, 1.0))
    assert sorted(ranker.path(number) for number in ranking.order) == sorted(ranker.number)


@settings(max_examples=30)
@given(st.lists(st.sampled_from(["neap", "quay", "crane", "test", "xyz"]), max_size=4))
def test_a_score_is_the_sum_of_its_parts(
    tmp_path_factory: pytest.TempPathFactory, words: list[str]
) -> None:
    corpus = Corpus(tmp_path_factory.mktemp("corpus"))
    sources = {"alpha.py": ALPHA, "port/tide.py": TIDE, "tests/test_zulu.py": ZULU}
    ranker = corpus.make_ranker(sources, [("neap and quay", ["alpha.py", "port/tide.py"])])
    check_sum(ranker, ranker.rank(" ".join(words)))

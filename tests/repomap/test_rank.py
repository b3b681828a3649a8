"""Each part of the ranking decides an order of its own: without that part, its test fails.

The files of a test are alike but for one thing. Equal scores are ordered by path, so the file that
should win has the path that comes last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.repomap import documents, history, rank
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


def test_words_of_a_path_outrank_many_uses_of_the_word(corpus: Corpus) -> None:
    often = "lighthouse = " * 30 + "1\n"
    sources = {"alpha.py": f"{often}{ALPHA}", "zone/lighthouse.py": ALPHA}
    assert corpus.order("the lighthouses", sources)[0] == "zone/lighthouse.py"


def test_words_of_a_files_name_outrank_those_of_its_directory(corpus: Corpus) -> None:
    sources = {"lighthouse/zone.py": ALPHA, "zone/lighthouse.py": ALPHA}
    assert corpus.order("the lighthouses", sources)[0] == "zone/lighthouse.py"


def test_subjects_of_commits(corpus: Corpus) -> None:
    sources = {"alpha.py": ALPHA, "zulu.py": ZULU}
    commits = [("moorings", ["alpha.py"]), ("lighthouse: dim the lamp", ["zulu.py"])]
    assert corpus.order("dim lighthouse", sources, commits) == ["zulu.py", "alpha.py"]


def test_many_commits_about_the_word_outrank_a_short_subject(corpus: Corpus) -> None:
    sources = {"alpha.py": ALPHA, "zulu.py": ZULU}
    often = [("set the tide tables right for the north and south", ["zulu.py"])] * 8
    assert corpus.order("tide", sources, [("tide", ["alpha.py"]), *often])[0] == "zulu.py"


@pytest.mark.parametrize(
    ("apart", "together"),
    [("jib_stow + mast_hoist", "jib_hoist + mast_stow"), ("JibStow + Hoist", "JibHoist + Stow")],
)
def test_words_that_stand_together_in_the_title(corpus: Corpus, apart: str, together: str) -> None:
    sources = {"alpha.py": f"quay = {apart}\n", "zulu.py": f"quay = {together}\n"}
    assert corpus.order("a new jib hoist", sources)[0] == "zulu.py"
    assert corpus.order("a hoist for the jib\n\njib hoist", sources)[0] == "alpha.py"


def test_a_hidden_comment_of_the_text_does_not_count(corpus: Corpus) -> None:
    sources = {"alpha.py": ALPHA, "zulu.py": ZULU}
    assert corpus.order("the jib", sources)[0] == "zulu.py"
    assert corpus.order("<!-- see the quay\nin alpha.py -->\nthe jib", sources)[0] == "zulu.py"


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


def number_names(word: str, count: int) -> str:
    """Source text that defines so many names, to make a file longer."""
    return "".join(f"{word}{n} = 1\n" for n in range(count))


def test_words_of_a_file_outrank_subjects_of_commits(corpus: Corpus) -> None:
    sources = {"alpha.py": ALPHA, "zulu.py": f"lamp = 1\n{ZULU}"}
    commits = [("dim the lamp", ["alpha.py"])]
    assert corpus.order("lamp", sources, commits) == ["zulu.py", "alpha.py"]


def test_words_and_subjects_together_outrank_words_alone(corpus: Corpus) -> None:
    sources = {"alpha.py": "lamp = 1\nlamps = 2\n", "zulu.py": f"lamp = 1\n{ZULU}{ALPHA}"}
    assert corpus.order("lamp", sources) == ["alpha.py", "zulu.py"]
    commits = [("dim the lamp", ["zulu.py"])]
    assert corpus.order("lamp", sources, commits) == ["zulu.py", "alpha.py"]


def test_words_of_a_file_outrank_all_that_joins_another_to_the_best_file(corpus: Corpus) -> None:
    sources = {
        "alpha.py": f"{ALPHA}\nreader = GaugeReader()\n",  # near, changes often, changes with it
        "tide.py": TIDE,
        "zulu.py": "class Quay:\n    def neap(self): return 1\n",
    }
    commits = [("paint", ["alpha.py", "tide.py"]), ("paint", ["alpha.py"])]
    assert corpus.order("neap", sources, commits) == ["tide.py", "zulu.py", "alpha.py"]


def test_a_long_file_full_of_the_word_outranks_a_short_one_with_a_single_use(
    corpus: Corpus,
) -> None:
    sources = {
        "alpha.py": "tide = 1\n" + number_names("quay", 5),
        "zulu.py": "tide = " * 8 + "1\n" + number_names("crane", 30),
    }
    assert corpus.order("tide", sources) == ["zulu.py", "alpha.py"]


def test_the_history_of_a_deleted_file_gives_nothing_to_others(corpus: Corpus) -> None:
    sources = {"alpha.py": ALPHA, "bravo.py": ALPHA, "zulu.py": f"lamp = 1\n{ZULU}"}
    ranker = corpus.make_ranker(sources, [("dim the lamp", ["gone.py"])])
    assert ranker.churn() == {}
    assert ranker.rank("lamp").scores == corpus.make_ranker(sources).rank("lamp").scores


def test_the_partners_of_the_ten_best_files_count(corpus: Corpus) -> None:
    # Each file is longer, and so worse, than the one before it, and changes with one partner.
    best = {f"best{n:02}.py": "tide = 1\n" + number_names(f"own{n}x", n) for n in range(11)}
    partners = {f"part{n:02}.py": f"class Part{n}: pass\n" for n in range(11)}
    commits = [("paint", [f"best{n:02}.py", f"part{n:02}.py"]) for n in range(11)]
    ranker = corpus.make_ranker({**best, **partners}, commits)
    found = ranker.rank("tide").parts["changes with such files"]
    assert {ranker.path(number) for number in found} == {f"part{n:02}.py" for n in range(10)}


def test_the_neighbours_of_the_twelve_best_files_count(corpus: Corpus) -> None:
    best = {
        f"best{n:02}.py": f"class Best{n}: pass\ntide = 1\n" + number_names(f"own{n}x", n)
        for n in range(13)
    }
    users = {f"user{n:02}.py": f"x = Best{n}()\n" for n in range(13)}
    ranker = corpus.make_ranker({**best, **users})
    found = {ranker.path(number) for number in ranker.rank("tide").parts["near such files"]}
    assert found & set(users) == {f"user{n:02}.py" for n in range(12)}


def test_a_neighbour_of_the_best_file_outranks_one_of_two_lesser_files(corpus: Corpus) -> None:
    sources = {
        "alpha.py": "class Alpha: pass\n",
        "best.py": "tide = Zulu()\n",
        "lesser.py": "tide = Alpha()\n" + number_names("quay", 7),
        "little.py": "tide = Alpha()\n" + number_names("crane", 7),
        "zulu.py": "class Zulu: pass\n",
    }
    order = corpus.order("tide", sources)
    assert order == ["best.py", "lesser.py", "little.py", "zulu.py", "alpha.py"]


def test_files_three_steps_from_the_best_file_are_not_near(corpus: Corpus) -> None:
    sources = {
        "port/mole.py": "import port.tide\nclass Mole: pass\n",
        "port/quay.py": "import port.mole\nclass Quay: pass\n",
        "port/tide.py": TIDE,
        "zulu.py": f"import port.quay\n{ZULU}",
    }
    ranker = corpus.make_ranker(sources)
    near = {ranker.path(number) for number in ranker.rank("neap").parts["near such files"]}
    assert near == {"port/mole.py", "port/quay.py", "port/tide.py"}


def test_a_strong_link_outweighs_a_weak_one_to_a_file_that_changes_more(corpus: Corpus) -> None:
    links = "Quay()\nimport zulu\nCrane()\nCrane()\nCrane()\n"
    sources = {"alpha.py": ALPHA, "tide.py": f"{TIDE}\n{links}", "zulu.py": ZULU}
    commits = [("paint", ["alpha.py"])] + [("paint", ["tide.py"])] * 400
    assert corpus.order("neap", sources, commits) == ["tide.py", "zulu.py", "alpha.py"]


def test_a_closer_partner_outranks_one_that_changes_more_often(corpus: Corpus) -> None:
    sources = {"alpha.py": ALPHA, "tide.py": TIDE, "zulu.py": ZULU}
    commits = [("dredge", ["tide.py", "zulu.py"])] * 3 + [("dredge", ["tide.py", "alpha.py"])] * 2
    commits += [("paint", ["alpha.py"])] * 2 + [("paint", ["tide.py"])] * 40
    assert corpus.order("neap", sources, commits) == ["tide.py", "zulu.py", "alpha.py"]


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


def test_without_a_text_recent_changes_outweigh_use_by_others(corpus: Corpus) -> None:
    users = {f"user{n}.py": f"import mole\nclass User{n}: pass\n" for n in range(6)}
    sources = {"mole.py": ALPHA, **users, "zulu.py": ZULU}
    assert corpus.order("", sources, [("paint", ["zulu.py"])] * 2)[0] == "zulu.py"
    everything = [("paint", ["zulu.py", *(f"gone{n}.py" for n in range(99))])]
    assert corpus.order("", sources, everything)[0] == "mole.py", "a change of all says little"


def test_without_a_text_code_outranks_a_test_that_changes_often(corpus: Corpus) -> None:
    sources = {"a/test_tide.py": ALPHA, "z/tide.py": ZULU}
    commits = [("paint", ["a/test_tide.py"])] * 20
    assert corpus.order("", sources, commits) == ["z/tide.py", "a/test_tide.py"]


@pytest.mark.parametrize("folder", ["tide-tests", "Tide.Tests", "TideTests", "tests/sea"])
def test_without_a_text_code_outranks_what_is_in_a_directory_of_tests(
    corpus: Corpus, folder: str
) -> None:
    sources = {f"{folder}/gauge.py": ALPHA, "zone/tide.py": ZULU}
    commits = [("paint", [f"{folder}/gauge.py"])] * 20
    assert corpus.order("", sources, commits)[0] == "zone/tide.py"


def test_nothing_uses_a_build_script(corpus: Corpus) -> None:
    users = {f"user{n}.kt": "val quay = dredgeHarbour()\n" for n in range(4)}
    script = "fun dredgeHarbour() = 1\n"
    for path, is_used in (("build.gradle.kts", False), ("port.kt", True)):
        ranker = corpus.make_ranker({path: script, **users})
        assert bool(ranker.graph.neighbours(ranker.number[path])) == is_used


@pytest.mark.parametrize("path", ["alpha.py", "bravo.py", "zulu.py"])
def test_churn_belongs_to_the_file_that_changed(corpus: Corpus, path: str) -> None:
    ranker = corpus.make_ranker(
        {"alpha.py": ALPHA, "bravo.py": TIDE, "zulu.py": ZULU}, [("paint", [path])]
    )
    assert [ranker.path(number) for number in ranker.churn()] == [path]


def test_a_rare_term_weighs_more_than_a_common_one(corpus: Corpus) -> None:
    sources = {"alpha.py": f"{ALPHA}neap = 1\n", "tide.py": TIDE, "zulu.py": ZULU}
    found = corpus.make_ranker(sources).weigh_terms("the widths of a neap, of a neap")
    assert found.keys() == {"width", "neap"}
    once = corpus.make_ranker(sources).weigh_terms("width neap xylophone")
    assert once["xylophone"] > once["width"] > once["neap"] > 0
    assert found["neap"] > once["neap"], "the text has it twice"
    assert corpus.make_ranker(sources).weigh_terms("") == {}


def test_definitions_say_how_many_files_have_each_name(corpus: Corpus) -> None:
    ranker = corpus.make_ranker({"tide.py": TIDE, "user.py": "reader = GaugeReader()\n"})
    definitions = ranker.definitions("tide.py")
    assert (definitions["GaugeReader"], definitions["neap_range"]) == (2, 1)
    assert ranker.definitions("nowhere.py") == {}


def test_partners_are_files_that_still_exist(corpus: Corpus) -> None:
    commits = [("dredge", ["gone.py", "tide.py", "zulu.py"])]
    ranker = corpus.make_ranker({"tide.py": TIDE, "zulu.py": ZULU}, commits)
    assert [path for path, _ in ranker.partners("tide.py")] == ["zulu.py"]
    assert ranker.partners("nowhere.py") == []


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


def weigh(ranking: Ranking, weights: Mapping[str, float]) -> dict[int, float]:
    """The weighted sum of the parts of each file, times the factor of its kind."""
    return {
        number: ranking.factor.get(number, 1.0)
        * sum(
            weights.get(name, 0.0) * part.get(number, 0.0) for name, part in ranking.parts.items()
        )
        for number in ranking.order
    }


def check_sum(ranker: Ranker, ranking: Ranking) -> None:
    for number, score in ranking.scores.items():
        assert score == pytest.approx(weigh(ranking, ranking.weights)[number])
    assert sorted(ranker.path(number) for number in ranking.order) == sorted(ranker.number)


def test_the_best_file_of_a_part_gets_the_weight_of_that_part(corpus: Corpus) -> None:
    sources = {
        "alpha.py": f"{ALPHA}\nreader = GaugeReader()\n",
        "bravo.py": f"{ZULU}\nreader = GaugeReader()\n",
        "tide.py": TIDE,
    }
    commits = [("neap", ["alpha.py", "tide.py"])] * 2 + [("neap", ["bravo.py", "tide.py"])]
    ranking = corpus.make_ranker(sources, commits).rank("neap range in tide.py")
    assert ranking.parts.keys() == ranking.weights.keys()
    for name, part in ranking.parts.items():
        assert max(part.values()) == pytest.approx(1.0), name
    assert all(weight > 0 for weight in ranking.weights.values())


@settings(max_examples=30)
@given(st.lists(st.sampled_from(["neap", "quay", "crane", "test", "xyz"]), max_size=4))
def test_a_score_is_the_sum_of_its_parts(
    tmp_path_factory: pytest.TempPathFactory, words: list[str]
) -> None:
    corpus = Corpus(tmp_path_factory.mktemp("corpus"))
    sources = {"alpha.py": ALPHA, "port/tide.py": TIDE, "tests/test_zulu.py": ZULU}
    ranker = corpus.make_ranker(sources, [("neap and quay", ["alpha.py", "port/tide.py"])])
    check_sum(ranker, ranker.rank(" ".join(words)))


# Relevance: a ranking without what any text would get


BUSY = [("paint", ["busy.py"])] * 30


def test_a_file_about_the_text_is_more_relevant_than_one_that_merely_changes_often(
    corpus: Corpus,
) -> None:
    sources = {"busy.py": ALPHA, "other.py": ZULU, "tide.py": TIDE}
    found = corpus.make_ranker(sources, BUSY).find_relevance("neap")
    assert found["tide.py"] > 0.5
    assert found["busy.py"] < found["other.py"] < found["tide.py"]


@pytest.mark.parametrize(
    ("source", "commits"),
    [
        (ZULU, [("paint", ["alpha.py"]), ("neap", ["zulu.py"])]),
        (ZULU + "\nreader = GaugeReader()\n", []),
        (ZULU, [("paint", ["alpha.py", "bravo.py"]), ("paint", ["zulu.py", "tide.py"])]),
        (ZULU, [("paint", ["zulu.py"])]),
    ],
    ids=["subjects", "graph", "changes together", "changes often"],
)
def test_what_else_makes_a_file_relevant(corpus: Corpus, source: str, commits: Commits) -> None:
    sources = {"alpha.py": ALPHA, "bravo.py": "x = 1\n", "tide.py": TIDE, "zulu.py": source}
    ranker = corpus.make_ranker(sources, commits)
    found, general = ranker.find_relevance("neap"), ranker.rank("").scores
    whole = {
        path: found[path] + general[number] / max(general.values()) / 2
        for path, number in ranker.number.items()
    }
    assert whole["tide.py"] > whole["zulu.py"] > whole["alpha.py"]


def test_half_of_the_general_importance_is_taken_off(corpus: Corpus) -> None:
    sources = {"busy.py": TIDE, "tide.py": TIDE, "zulu.py": ZULU}
    ranker = corpus.make_ranker(sources, BUSY)
    scores, general = weigh(ranker.rank("neap"), rank.RELEVANCE), ranker.rank("").scores
    found = ranker.find_relevance("neap")
    assert max(scores, key=scores.__getitem__) == max(general, key=general.__getitem__)
    assert found["busy.py"] == pytest.approx(0.5), "the best file, but also for any other text"
    for path, number in ranker.number.items():
        own, any_ = scores[number] / max(scores.values()), general[number] / max(general.values())
        assert found[path] == pytest.approx(own - any_ / 2)
    assert found["tide.py"] > found["busy.py"]


@pytest.mark.parametrize("path", ["one/gauge.py", "tests/test_gauge.py", "gauge.md"])
def test_that_the_text_names_a_file_does_not_count(corpus: Corpus, path: str) -> None:
    sources = {path: "mole = 1\n", "tide.py": TIDE, "zulu.py": ZULU}
    ranker = corpus.make_ranker(sources)
    text = f"the range of the neap, as in {path}"
    ranking, general = ranker.rank(text), ranker.rank("").scores
    assert ranker.path(ranking.order[0]) == path
    assert rank.NAMED not in rank.RELEVANCE
    scores = weigh(ranking, rank.RELEVANCE)
    found = ranker.find_relevance(text)
    for each, number in ranker.number.items():
        part = general[number] / max(general.values()) / 2
        assert found[each] == pytest.approx(scores[number] / max(scores.values()) - part), each


def test_relevance_without_known_words(corpus: Corpus) -> None:
    sources = {"alpha.py": ALPHA, "zulu.py": ZULU}
    found = corpus.make_ranker(sources, [("paint", ["zulu.py"])]).find_relevance("xylophone")
    assert found["zulu.py"] == pytest.approx(0.5), "ranked as without a text, less a half"
    assert corpus.make_ranker({"a.py": "x"}).find_relevance("a.py") == {"a.py": -0.5}
    assert corpus.make_ranker({}).find_relevance("neap") == {}


@settings(max_examples=30)
@given(
    st.lists(st.sampled_from(["neap", "quay", "crane", "test", "tide.py", "xyz"]), max_size=4),
    st.lists(st.sampled_from(["alpha.py", "port/tide.py", "tests/test_zulu.py"]), max_size=6),
)
def test_relevance_is_between_minus_a_half_and_one(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], changed: list[str]
) -> None:
    corpus = Corpus(tmp_path_factory.mktemp("corpus"))
    sources = {"alpha.py": ALPHA, "port/tide.py": TIDE, "tests/test_zulu.py": ZULU}
    ranker = corpus.make_ranker(sources, [("neap and quay", [path]) for path in changed])
    found = ranker.find_relevance(" ".join(words))
    assert found.keys() == sources.keys()
    assert all(-0.5 <= value <= 1.0 for value in found.values())

"""Matching of terms with names, and BM25 scores."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.repomap.index import DEFINED, IMPORTED, Index
from kedge.repomap.search import find_matches, relevance
from kedge.text import words


def _match(term: str, *names: str) -> list[str]:
    lines = "\n".join(("", *names, ""))
    places = find_matches(lines, lines.lower(), term)
    return [names[lines.count("\n", 0, place) - 1] for place in places]


def _scores(
    documents: Mapping[str, Mapping[str, int]], query: Mapping[str, float], b: float = 0.75
) -> dict[str, float]:
    index = Index.build([], {path: dict(names) for path, names in documents.items()})
    return {str(index.paths[n]): score for n, score in relevance(index, query, b).items()}


def _best(documents: Mapping[str, Mapping[str, int]], query: Mapping[str, float]) -> str:
    scores = _scores(documents, query)
    return max(scores, key=scores.__getitem__)


@pytest.mark.parametrize(
    ("term", "names"),
    [
        ("claim", ["claim", "Claim", "CLAIM", "claimTask", "taskClaim", "TaskClaim", "ClaimTask"]),
        ("claim", ["claim_task", "task_claim", "a_claim_b", "TASK_CLAIM", "_claim", "claim_"]),
        ("claim", ["claims", "claiming", "claimed", "taskClaims", "claimedBy", "CLAIMED_BY"]),
        ("claim", ["claim2", "v2claim", "dir/claim", "claim.py"]),
        ("http", ["HTTPServer", "HttpServer", "parseHTTP", "parseHTTPHeader", "HTTP2Server"]),
        ("server", ["HTTPServer", "HTTPServers", "server_side", "XMLServer"]),
        ("policy", ["policy", "policies", "Policies", "retryPolicies", "POLICY_NAME"]),
        ("claimtask", ["claimTask", "ClaimTasks", "claimtask", "CLAIMTASK"]),
        ("map", ["map", "maps", "mapped", "mapping", "MappingProxy"]),
        ("class", ["class", "classes", "subClasses"]),
        ("mapping", ["mapping", "mappings", "MappingProxy", "key_mapping"]),
        ("try", ["try", "tries", "maxTries", "TRY_AGAIN"]),
        ("http", ["HTTPOk", "isHTTPOk"]),
        ("idmap", ["idMap", "HTTPIdMap", "IdMaps"]),
        ("readme", ["readMe", "readMeURL", "ReadMeFile"]),
    ],
)
def test_a_term_is_found_as_a_part_of_a_name(term: str, names: list[str]) -> None:
    assert _match(term, *names) == names


@pytest.mark.parametrize(
    ("term", "names"),
    [
        ("age", ["page", "Page", "package", "agent", "agenda", "PAGE", "imageAgent"]),
        ("port", ["import", "report", "portable", "Portal", "exports", "PORTABLE"]),
        ("port", ["portability", "Portabilities", "PORTABILITY"]),
        ("try", ["tr", "trail", "entry", "country", "tray", "TrIes"]),
        ("http", ["xhttp", "shttps", "httpd", "HTTPDServer"]),
        ("policy", ["police", "policing", "polic"]),
        ("claim", ["clai", "claimant", "disclaim", "claimsome", "disclaims2x"]),
    ],
)
def test_a_term_is_not_found_inside_a_word(term: str, names: list[str]) -> None:
    assert _match(term, *names) == []


def test_a_line_counts_once() -> None:
    assert _match("claim", "claim_claim claims", "other", "claim") == [
        "claim_claim claims",
        "claim",
    ]


@given(st.from_regex(r"[A-Z]?[a-z]{3,8}(?:_[a-z]{3,8}|[A-Z][a-z]{2,8}|[A-Z]{3})*", fullmatch=True))
def test_every_term_of_a_name_finds_the_name(name: str) -> None:
    for term in words.split_name(name):
        assert _match(term, "before", name, "after").count(name) == 1, term


def test_documents_without_the_terms_have_no_score() -> None:
    documents = {"a.py": {"claimTask": 1}, "b.py": {"other": 1}}
    assert list(_scores(documents, {"claim": 1.0})) == ["a.py"]
    assert _scores(documents, {"nowhere": 1.0}) == {}
    assert _scores({}, {"claim": 1.0}) == {}


def test_a_rarer_term_weighs_more() -> None:
    documents = {f"{n}.py": {"common": 1, f"x{n}": 1} for n in range(8)}
    documents["rare.py"] = {"rare": 1, "xyz": 1}
    assert _best(documents, {"common": 1.0, "rare": 1.0}) == "rare.py"
    assert _best(documents, {"common": 20.0, "rare": 1.0}) != "rare.py"


def test_shorter_documents_score_higher_depending_on_b() -> None:
    filler = {f"filler{n}": 1 for n in range(50)}
    documents = {"long.py": {"claim": 2, **filler}, "short.py": {"claim": 2, "xyz": 1}}
    scores = _scores(documents, {"claim": 1.0})
    assert scores["short.py"] > 1.5 * scores["long.py"]
    flat = _scores(documents, {"claim": 1.0}, b=0.0)
    assert flat["short.py"] == flat["long.py"]


def test_repetitions_count_less_each_time() -> None:
    documents = {f"{n}.py": {"claim": n, "xyz": 1} for n in (1, 2, 3, 8)} | {"z.py": {"xyz": 1}}
    one, two, three, eight = _scores(documents, {"claim": 1.0}).values()
    assert one < two < three < eight
    assert two - one > three - two
    assert eight < 3 * one


def test_several_names_with_the_term_add_up() -> None:
    documents = {"a.py": {"claimTask": 1, "xyz": 1}, "b.py": {"claimTask": 1, "Claims": 1}}
    assert _best(documents, {"claim": 1.0}) == "b.py"


def test_import_keys_do_not_count_as_words() -> None:
    documents = {"a.py": {"tasks/claim": IMPORTED}, "b.py": {"tasks/claim": DEFINED}}
    assert _scores(documents, {"claim": 1.0}) == {}
    assert list(_scores({"a.py": {"claim": 3 | DEFINED}}, {"claim": 1.0})) == ["a.py"]


def test_the_order_of_documents_and_terms_does_not_matter() -> None:
    documents = {
        "a.py": {"claimTask": 1, "berth": 3, "shipPort": 2},
        "b.py": {"claims": 2, "tide": 1, "tides": 4, "port": 5},
        "c.py": {"tide": 7, "ship": 1, "berthTide": 1},
        "d.py": {"berth": 1 | DEFINED, "claim": 1, "ships": 3, "ports": 1, "tide": 2},
    }
    query = {"claim": 1.3, "tide": 0.7, "berth": 1.1, "ship": 0.1, "port": 0.3}
    expected = _scores(documents, query)
    assert len(expected) == 4
    for order in itertools.permutations(documents):
        assert _scores({path: documents[path] for path in order}, query) == expected
    for order in itertools.permutations(query):
        assert _scores(documents, {term: query[term] for term in order}) == expected


def test_a_patched_index_gives_the_same_scores_as_a_fresh_one() -> None:
    old = {"a.py": {"claim": 1}, "b.py": {"claims": 2, "tide": 1}}
    new = {"b.py": {"claimed": 5, "berth": 1}, "c.py": {"claim": 1, "tide": 2}}
    query = {"claim": 1.0, "tide": 1.0}
    index = Index.build([], {path: dict(names) for path, names in old.items()})
    index.patch(["b.py"], {path: dict(names) for path, names in new.items()})
    scores = {str(index.paths[n]): s for n, s in relevance(index, query, 0.75).items()}
    assert scores == _scores({"a.py": old["a.py"], **new}, query)

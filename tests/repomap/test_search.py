"""Text relevance: parts of names, whatever their ending."""

from __future__ import annotations

import pytest

from kedge.repomap.index import Document, Index
from kedge.repomap.search import matching, relevance


def found(names: list[str], term: str) -> list[str]:
    text = "\n".join(("", *names, ""))
    places = matching(text, text.lower(), term)
    return [text[text.rfind("\n", 0, place) + 1 : text.find("\n", place)] for place in places]


@pytest.mark.parametrize(
    ("term", "names"),
    [
        ("page", ["page", "getPage", "page_count", "PAGE_SIZE", "Pages", "paging2page"]),
        ("http", ["HTTPServer", "http2", "parseHTTP", "http_get"]),
        ("policy", ["policy", "Policies", "accessPolicy"]),
        ("claim", ["claims", "claimed", "claiming", "claim_task"]),
        ("getpage", ["getPage", "GetPage", "getpage"]),
    ],
)
def test_a_term_is_a_part_of_a_name(term: str, names: list[str]) -> None:
    assert found(names, term) == names


@pytest.mark.parametrize(
    ("term", "name"),
    [
        ("age", "page"),
        ("page", "homepages2x"),
        ("art", "start"),
        ("http", "httpd"),
        ("cat", "catch"),
    ],
)
def test_and_not_any_run_of_letters(term: str, name: str) -> None:
    assert found([name], term) == []


def test_a_line_is_found_once() -> None:
    assert found(["page_of_page", "other", "page"], "page") == ["page_of_page", "page"]


def scores(documents: dict[str, Document], query: dict[str, float]) -> dict[str, float]:
    index = Index.build([], documents)
    result = relevance(index, query, b=0.75)
    return {str(index.paths[number]): score for number, score in result.items()}


def test_rare_terms_and_short_documents_weigh_more() -> None:
    documents: dict[str, Document] = {f"{n}.py": {"common": 1, f"own_{n}": 1} for n in range(9)}
    documents["rare.py"] = {"common": 1, "unusual": 1}
    documents["long.py"] = {"unusual": 1, **{f"filler{n}": 1 for n in range(50)}}
    got = scores(documents, {"common": 1.0, "unusual": 1.0})
    assert got["rare.py"] > got["long.py"] > got["1.py"]
    shuffled = dict(sorted(documents.items(), reverse=True))
    assert scores(shuffled, {"common": 1.0, "unusual": 1.0}) == got
    assert scores(documents, {"nothing": 1.0}) == {}

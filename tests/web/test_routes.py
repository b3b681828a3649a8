"""Paths and queries of the dashboard, without a server."""

from __future__ import annotations

import pytest

from kedge.web.access import is_own_origin, make_headers
from kedge.web.routes import LONGEST, Refused, find_target, is_own, is_safe_return, write_path


@pytest.mark.parametrize(
    ("path", "page", "item"),
    [
        ("/", "now", ""),
        ("/kedge/tasks", "tasks", ""),
        ("/kedge/sessions/a-1", "session", "a-1"),
        ("/kedge/sessions/a%2F..%2Fb", "session", "a/../b"),
        ("/kedge/sessions/a/transcript", "transcript", "a"),
        ("/kedge/handoffs/t1", "handoff", "t1"),
    ],
)
def test_a_path_names_a_page(path: str, page: str, item: str) -> None:
    assert is_own(path)
    target = find_target(path, "")
    assert (target.page, target.item) == (page, item)


@pytest.mark.parametrize(
    ("path", "query", "status"),
    [
        ("/kedge/sessions/", "", 404),
        ("/kedge/sessions/a/b", "", 404),
        ("/kedge/tasks/a/transcript", "", 404),
        ("/kedge/tasks/%00", "", 400),
        ("/kedge/tasks/%ff", "", 400),
        ("/kedge/tasks/" + "a" * 400, "", 400),
        ("/kedge/tasks", "q=" + "a" * LONGEST, 414),
        ("/kedge/tasks", "q=" + "a" * 400, 400),
        ("/kedge/tasks", "&".join(f"a{n}=1" for n in range(50)), 400),
    ],
)
def test_a_bad_request_is_refused(path: str, query: str, status: int) -> None:
    with pytest.raises(Refused) as refused:
        find_target(path, query)
    assert refused.value.status == status


@pytest.mark.parametrize("value", ["-1", "1e9", "x", "9" * 12])
def test_a_number_is_a_number(value: str) -> None:
    with pytest.raises(Refused):
        find_target("/", f"skip={value}").number("skip")


@pytest.mark.parametrize(
    "path", ["/v1/messages", "/kedge/health", "/kedge/to/x/openai", "/kedge/stop", "/index.html"]
)
def test_other_paths_are_not_the_dashboards(path: str) -> None:
    assert not is_own(path)


@pytest.mark.parametrize(
    "back",
    ["//evil.example", "https://evil.example/", "/\\evil", "/v1/x", "", "/kedge/stop"],
)
def test_a_form_never_leads_elsewhere(back: str) -> None:
    assert not is_safe_return(back)


def test_written_paths_lead_back() -> None:
    path = write_path("sessions", "a/b?c#d", step=3, q="")
    assert path == "/kedge/sessions/a%2Fb%3Fc%23d?step=3"
    target = find_target(*path.split("?"))
    assert (target.item, target.number("step")) == ("a/b?c#d", 3)
    assert is_safe_return(path)


def test_only_its_own_origin_is_let_in() -> None:
    assert is_own_origin(None, "127.0.0.1:4000")
    assert is_own_origin("http://127.0.0.1:4000", "127.0.0.1:4000")
    for other in ("http://127.0.0.1:4001", "https://127.0.0.1:4000", "null", "http://evil"):
        assert not is_own_origin(other, "127.0.0.1:4000")


def test_the_policy_allows_nothing_inline_and_nothing_from_elsewhere() -> None:
    policy = make_headers("127.0.0.1:4000", "/kedge/static/")["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none';")
    assert "script-src http://127.0.0.1:4000/kedge/static/;" in policy
    assert "frame-ancestors 'none'" in policy

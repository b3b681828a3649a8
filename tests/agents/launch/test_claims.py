"""Claims of an agent count in prose, not in code or quotes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.agents.launch.claims import find_stuck_reason, has_promise

DONE = "<promise>COMPLETE</promise>"


@pytest.mark.parametrize(
    "text",
    [
        DONE,
        f"All tests pass.\n\n{DONE}\n",
        f"- done: {DONE}",
        "<promise>\nCOMPLETE\n</promise>",
        f"Run `make test` to see it. {DONE}",
        f"```sh\nmake test\n```\n{DONE}",
        f"~~~\n```\n~~~\n{DONE}",
        f"A tick ` alone.\n\n{DONE} and ` another.",
        f"```not a fence, it has a tick ` in it\n\n{DONE}",
        f"`a` {DONE} `b`",
    ],
)
def test_a_promise_in_prose_counts(text: str) -> None:
    assert has_promise(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "COMPLETE",
        "<promise>INCOMPLETE</promise>",
        "<promise>COMPLETE",
        "<promise>COMPLETE when the tests pass</promise>",
        f"I shall say `{DONE}` when it is done.",
        f"I shall say `` a ` {DONE} `` when it is done.",
        f"```\n{DONE}\n```",
        f"````\n```\n{DONE}\n```\n````",
        f"```md\n{DONE}",
        f"~~~\n{DONE}\n```\n",
        f"  ```\n  {DONE}\n  ```",
        f"- ```\n  {DONE}\n  ```",
        f"`over\n{DONE}\ntwo lines`",
    ],
)
def test_a_quoted_promise_does_not_count(text: str) -> None:
    assert not has_promise(text)


def test_stuck_says_why() -> None:
    assert (
        find_stuck_reason("I tried.\n<stuck>no key\nfor the lock</stuck>\nBye.")
        == "no key\nfor the lock"
    )
    assert find_stuck_reason("<stuck></stuck>") == ""
    assert find_stuck_reason("`<stuck>no</stuck>`") is None
    assert find_stuck_reason("```\n<stuck>no</stuck>\n```") is None
    assert find_stuck_reason("I am <stuck> I think") is None
    assert find_stuck_reason("</stuck> before <stuck>") is None
    assert find_stuck_reason("") is None


@given(st.text(alphabet="`~ \n<>promisetuckCOMPLETE/", max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    assert has_promise(f"{text}\n\n```\n{DONE}\n```\n") == has_promise(f"{text}\n\n```\n```\n")
    has_promise(text)
    find_stuck_reason(text)


def test_hostile_text_is_read_in_linear_time() -> None:
    for text in ("`" * 500_000, "` `` " * 200_000, "<stuck>" * 200_000, "<promise>" * 200_000):
        assert not has_promise(text)
        assert find_stuck_reason(text) is None
    assert not has_promise("".join("`" * n + " " for n in range(1500)))

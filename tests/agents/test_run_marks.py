"""What an agent claims in marks counts where it says it, and not where it quotes it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.agents.run.marks import promise, stuck

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
def test_a_promise(text: str) -> None:
    assert promise(text)


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
def test_no_promise(text: str) -> None:
    assert not promise(text)


def test_stuck_says_why() -> None:
    assert stuck("I tried.\n<stuck>no key\nfor the lock</stuck>\nBye.") == "no key\nfor the lock"
    assert stuck("<stuck></stuck>") == ""
    assert stuck("`<stuck>no</stuck>`") is None
    assert stuck("```\n<stuck>no</stuck>\n```") is None
    assert stuck("I am <stuck> I think") is None
    assert stuck("</stuck> before <stuck>") is None
    assert stuck("") is None


@given(st.text(alphabet="`~ \n<>promisetuckCOMPLETE/", max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    assert promise(f"{text}\n\n```\n{DONE}\n```\n") == promise(f"{text}\n\n```\n```\n")
    promise(text)
    stuck(text)


def test_hostile_text_is_read_in_a_moment() -> None:
    for text in ("`" * 500_000, "` `` " * 200_000, "<stuck>" * 200_000, "<promise>" * 200_000):
        assert not promise(text)
        assert stuck(text) is None
    assert not promise("".join("`" * n + " " for n in range(1500)))

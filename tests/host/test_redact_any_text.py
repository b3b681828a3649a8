"""Secrets in any text: every one is found, in linear time."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from secret_samples import (
    AWS,
    BEFORE,
    BEGIN,
    BY_PLACE,
    BY_SHAPE,
    CODE,
    END,
    GITHUB,
    NAMED,
    PLAIN,
    fill,
    hexa,
    swap,
)
from support import in_time

from kedge.host.redact import redact, scan

PIECES = [
    *(secret for _, secret in BY_SHAPE),
    *(swap(text, secret) for _, text, secret in BY_PLACE + NAMED),
    *CODE, "token", "password", "PASSWORD", "secret", "api_key", "authorization", "curl ", " -u ",
    "Bearer ", "machine ", "login ", "name", "value", "eyJ", "AKIA", "sk-", "SK", BEGIN, END, PLAIN,
    "hunter2", "[redacted:token]", "=", ": ", '"', "'", "`", "\\", "\n", " ", "--", "<", ">", "/",
    "://", "@", "{", "}", "[", "]", ",", "_", "-", ".", "1", "M", "x", "é", "İ",
    "\U0001f511", "\ud800",
]  # fmt: skip
anything = st.one_of(
    st.text(st.characters(codec=None, exclude_categories=())),
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
)


@given(anything)
@example("S" + "K" + hexa(32) + "sk-" + fill(20))
@example(f"{AWS}{GITHUB}")
@settings(max_examples=1500, deadline=None)
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redact(f"{text} {GITHUB}")
    assert GITHUB not in once
    assert redact(once) is once
    found = scan(text)
    assert all(0 <= f.start < f.end <= len(text) for f in found)
    assert all(a.end <= b.start for a, b in pairwise(found))


@given(anything, st.sampled_from(BY_SHAPE), anything)
@settings(max_examples=800, deadline=None)
def test_no_key_is_left_in_any_text(before: str, shaped: tuple[str, str], after: str) -> None:
    rule, secret = shaped
    known = f" {BEFORE.get(rule, '')}{secret} "
    assert known not in redact(before + known + after)


@given(anything, st.sampled_from(BY_PLACE + NAMED), anything)
@settings(max_examples=800, deadline=None)
def test_no_named_secret_is_left_in_any_text(
    before: str, placed: tuple[str, str, str], after: str
) -> None:
    _, text, secret = placed
    line = f"\n{swap(text, secret)}\n"
    assert line not in redact(before + line + after)


@given(st.from_regex(r"[A-Za-z0-9]{36,60}", fullmatch=True), anything, anything)
@settings(max_examples=300, deadline=None)
def test_any_body_of_a_token_is_redacted(body: str, before: str, after: str) -> None:
    secret = "gh" + "p_" + body
    assert secret not in redact(before + secret + after)


@given(st.text(st.sampled_from("abcdefgh XYZ .,\n(){}\U0001f511é")))
def test_text_without_secrets_is_the_same_object(text: str) -> None:
    assert redact(text) is text
    assert redact(f"{text}\n{GITHUB}") != f"{text}\n{GITHUB}"


MEGABYTE = 1_000_000
SIZED: dict[str, Callable[[], str]] = {
    "code": lambda: "\n".join(CODE),
    "log": lambda: "2026-01-02T03:04:05Z INFO GET https://api.test:8443/v1/items?page=2 200 15ms\n",
    "json": lambda: json.dumps(
        {"type": "text", "usage": {"input_tokens": 3}, "text": "\n".join(CODE)}
    ),
    "dense": lambda: "\n".join(
        f"{'x = call(y)  # words ' * 20}\n{secret}" for _, secret in BY_SHAPE
    ),
}
HOSTILE = [
    "a", "_", "-", ".", '"', "'", "\\", "eyJ", "eyJ.", "://", "://a:", "SK", "sk-", "AKIA", "token",
    "password", "pwd", "token=", "token:", "token: ", 'token="', "token='\"", "PASSWORD=",
    "api_key=", "token=abcdefgh1", "password=a1?", "password=1" + "-" * 30 + "!", "a.TOKEN=/$=1",
    "-----BEGIN ", BEGIN, f"{BEGIN}\n", "bearer ", "authorization: ", "machine ", "curl ",
    "curl -u a:", "curl \\\n", "xoxb-12345678901", "_" + PLAIN, "-" + PLAIN, f"SK{hexa(32)}",
]  # fmt: skip


@pytest.mark.parametrize("unit", [*SIZED, *HOSTILE])
def test_a_megabyte_takes_less_than_a_second(unit: str) -> None:
    sample = SIZED[unit]() if unit in SIZED else unit
    text = (sample * (MEGABYTE // len(sample) + 1))[:MEGABYTE]
    with in_time(1):
        assert GITHUB not in redact(f"{text} {GITHUB}")


def test_importing_loads_no_slow_module() -> None:
    script = """
import json, sys
module = {"__name__": "redact"}
exec(open(sys.argv[1], encoding="utf-8").read(), module)
module["redact"]("no secrets here")
print({"typing", "dataclasses", "hashlib"} & set(sys.modules))
print(module["redact"]("password = 'hunter2'"))
"""
    command = [sys.executable, "-I", "-c", script, redact.__code__.co_filename]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["set()", "password = '[redacted:password]'"]

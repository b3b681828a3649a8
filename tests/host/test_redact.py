"""Secrets never reach the output; source code does, unchanged."""

from __future__ import annotations

import json

import pytest
from secret_samples import (
    AWS,
    BEFORE,
    BY_PLACE,
    BY_SHAPE,
    CODE,
    GITHUB,
    JWT,
    NAMED,
    PEM,
    PLAIN,
    fill,
    hexa,
    swap,
)

from kedge.host.redact import Secret, redact, redact_value, scan


@pytest.mark.parametrize(("rule", "secret"), BY_SHAPE)
def test_a_key_with_a_known_shape_is_redacted_everywhere(rule: str, secret: str) -> None:
    for left, right in (("", ""), ("x = '", "'"), ("\n", "\n"), ("(", ")"), ('\\"', '\\"')):
        start = left + BEFORE.get(rule, "")
        assert redact(start + secret + right) == f"{start}[redacted:{rule}]{right}"


@pytest.mark.parametrize(("rule", "text", "secret"), BY_PLACE + NAMED)
def test_only_the_value_is_replaced_and_its_context_stays(
    rule: str, text: str, secret: str
) -> None:
    for left, right in (("", ""), ("one\n  ", "\ntwo"), ("\U0001f511 İ ", "\n")):
        full = left + swap(text, secret) + right
        assert redact(full) == left + swap(text, f"[redacted:{rule}]") + right


@pytest.mark.parametrize("line", CODE)
def test_source_code_is_left_alone(line: str) -> None:
    assert scan(line) == []
    assert redact(line) is line
    assert redact(f"{line}\n{GITHUB}\n{line}") == f"{line}\n[redacted:github-token]\n{line}"


def test_secrets_are_in_order_without_overlap_at_the_right_offsets() -> None:
    text = f"İ\U0001f511ß password: {PLAIN}, {GITHUB} {JWT}\nİ AWS_KEY={AWS}"
    found = scan(text)
    assert [text[f.start : f.end] for f in found] == [PLAIN, GITHUB, JWT, AWS]
    assert [f.rule for f in found] == ["password", "github-token", "jwt", "aws-key"]
    assert all(isinstance(f, Secret) for f in found)


def test_the_longer_of_two_overlapping_secrets_wins_or_else_the_more_specific() -> None:
    assert [f.rule for f in scan(f'password = "{GITHUB}"')] == ["github-token"]
    assert [f.rule for f in scan(f'password = "x9!{GITHUB}"')] == ["password"]
    assert redact(f'password = "x9!{GITHUB}"') == 'password = "[redacted:password]"'


STRIPE = "sk" + "_live_" + fill(24)
FACE = "h" + "f_" + fill(34)
DOCKER = "dckr" + "_pat_" + fill(27)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (STRIPE + FACE, "huggingface-token"),
        (FACE + STRIPE, "huggingface-token"),
        ("r" + STRIPE[1:] + DOCKER, "stripe-key"),  # both match 36 characters
    ],
)
def test_secrets_that_overlap_are_one_named_after_the_longer_or_else_the_first(
    text: str, rule: str
) -> None:
    assert redact(f"x = '{text}'") == f"x = '[redacted:{rule}]'"


def test_secrets_that_touch_are_two() -> None:
    text = "da" + "pi" + hexa(32) + "gl" + "pat-" + fill(20)
    assert [secret.rule for secret in scan(text)] == ["databricks-token", "gitlab-token"]


@pytest.mark.parametrize("before", ["", "x", "one\n", "one\n\ntwo "])
@pytest.mark.parametrize("after", ["", " x", "\n", "\none"])
def test_a_key_that_only_shows_once_another_is_gone_is_redacted(before: str, after: str) -> None:
    hidden = "sk-" + fill(20)
    behind = "S" + "K" + hexa(32)
    text = f"{before} {behind}{hidden}{after}"
    assert [secret.rule for secret in scan(text)] == ["twilio-key"]
    marks = "[redacted:twilio-key][redacted:openai-key]"
    assert redact(text) == f"{before} {marks}{after}"
    assert redact(f"{behind}{hidden}\n{text}") == f"{marks}\n{before} {marks}{after}"


def test_an_id_identifies_a_secret_without_revealing_it() -> None:
    other = GITHUB[:-1] + "Z"
    (first,), (again,), (second,) = scan(GITHUB), scan(f"  token={GITHUB}\n"), scan(other)
    assert first.id == again.id != second.id
    assert first.id.startswith("github-token-")
    digest = first.id.removeprefix("github-token-")
    assert len(digest) == 10
    assert not any(GITHUB[at : at + 4] in digest for at in range(len(GITHUB) - 3))
    assert scan('password = "hunter2"')[0].id != scan("curl -u a:hunter2")[0].id


def test_an_allowed_secret_passes_and_no_other() -> None:
    text = f'{GITHUB} password = "hunter2" {JWT}'
    wanted = next(f.id for f in scan(text) if f.rule == "password")
    assert redact(text, [wanted]) == ('[redacted:github-token] password = "hunter2" [redacted:jwt]')
    everything = {f.id for f in scan(text)}
    assert redact(text, everything) is text
    assert redact('password = "hunter3"', everything) == 'password = "[redacted:password]"'


def test_values_are_tested_decoded_and_under_their_key() -> None:
    before = {
        "password": "hunter2",
        "db": [{"api_key": PLAIN, "port": 5432, "on": None}, ("x", GITHUB)],
        "authorization": "Basic dXNlcjpw" + "YXNz",
        "Proxy-Authorization": f"Bearer {PLAIN}",
        "headers": [{"name": "X-Api-Key", "value": PLAIN}],
        "private_key": PEM,
        "passwords": "hunter2",
        "token": "primary",
        "secret": "${SECRET}",
        "next_token": PLAIN,
        "notes": f"use {GITHUB}\nor not",
        GITHUB: 1,
        "client_secret": ["a1b2c3d4", 7],
    }
    assert redact_value(json.loads(json.dumps({"k": PEM}))) == {"k": "[redacted:private-key]"}
    assert redact_value(before) == {
        "password": "[redacted:password]",
        "db": [
            {"api_key": "[redacted:secret-key]", "port": 5432, "on": None},
            ("x", "[redacted:github-token]"),
        ],
        "authorization": "Basic [redacted:authorization]",
        "Proxy-Authorization": "Bearer [redacted:bearer-token]",
        "headers": [{"name": "X-Api-Key", "value": "[redacted:secret-key]"}],
        "private_key": "[redacted:private-key]",
        "passwords": "hunter2",
        "token": "primary",
        "secret": "${SECRET}",
        "next_token": PLAIN,
        "notes": "use [redacted:github-token]\nor not",
        "[redacted:github-token]": 1,
        "client_secret": ["[redacted:secret]", 7],
    }
    assert before["password"] == "hunter2"


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("token", "abcd1234", True),
        ("token_prod", "abcd1234", False),  # only a random value is one
        ("token_prod", fill(16), True),
        ("token_id", fill(16), False),
        ("auth_token", fill(16), True),
    ],
)
def test_a_value_is_a_secret_by_its_key(name: str, value: str, secret: bool) -> None:
    after = redact_value({name: value})
    assert after == {name: "[redacted:token]" if secret else value}


def test_values_keep_their_types_order_and_entries() -> None:
    other = GITHUB + "0"
    value = {GITHUB: 1, other: 2, 3: b"hunter2", "t": (1, [2.5, (None,)], "a"), "d": {}, "l": []}
    out = redact_value(value)
    assert isinstance(out, dict)
    assert list(out.values()) == list(value.values())
    assert len(out) == len(value)
    assert not any(GITHUB in str(key) for key in out)
    assert redact_value(GITHUB) == "[redacted:github-token]"
    assert redact_value(7) == 7


def test_a_value_can_be_allowed_by_its_id_from_scan() -> None:
    (finding,) = scan('"password": "hunter2"')
    assert redact_value({"password": "hunter2"}, {finding.id}) == {"password": "hunter2"}
    (finding,) = scan(GITHUB)
    assert redact_value({"token": GITHUB}, {finding.id}) == {"token": GITHUB}
    assert redact_value({"token": GITHUB}) == {"token": "[redacted:github-token]"}


def test_a_value_may_be_nested_beyond_the_recursion_limit() -> None:
    value: object = GITHUB
    for _ in range(50_000):
        value = [{"a": value}]
    out = redact_value(value)
    for _ in range(50_000):
        assert isinstance(out, list)
        out = out[0]["a"]
    assert out == "[redacted:github-token]"

"""Values that look like secrets, and values that do not, at the limits between them."""

from __future__ import annotations

from base64 import b64encode

import pytest

from kedge.host.secret_values import is_credentials, is_random, is_real, is_secret_literal


@pytest.mark.parametrize("value", ["hunter2", "s3cr3t-v4lue", "ab", "5f4dcc3b5aa765d6", "a1.b2.c3"])
def test_a_real_value_is_no_placeholder(value: str) -> None:
    assert is_real(value)


@pytest.mark.parametrize(
    "value",
    [
        "${PASSWORD}",
        "$(pass show x)",
        "$password",
        "{{ secret }}",
        "{name}x",
        "x<your key>",
        "prefix-EXAMPLE-key",
        "put-your-key-here",
        "ChangeMe123",
        "********",
        "xxxxxxxx1",
        "abc...",
        "aaaaaaa",
        "[redacted:token]",
        "#section-2",
        "arn:aws:iam::1:role/x",
        "2026-01-31",
        "1.2.3",
        "^1.20",
        "https://x",
        "",
    ],
)
def test_a_placeholder_is_not_real(value: str) -> None:
    assert is_real(value) is (value == "")


@pytest.mark.parametrize(
    ("value", "random"),
    [
        ("a1B2c3D4e5F6g7H8", True),
        ("a1B2c3D4e5F6g7H", False),  # 15 characters
        ("1234567890123456", False),  # no letter
        ("aBcDeFgHiJkLmNoP", False),  # no digit
        ("abcdefghijklmnop1234", False),  # two long runs
        ("abcdef1ghijkl2mnopqr3", True),  # 6 runs in 21 characters
        ("abcdefg1ghijkl2mnopqr3", False),  # 6 runs in 22 characters
        ("user2name-is-long1", False),  # words
        ("xxxx1B2c3D4e5F6g7H8", False),  # a mask
    ],
)
def test_random_values_mix_letters_and_digits(value: str, random: bool) -> None:
    assert is_random(value) is random


def test_the_least_length_of_a_random_value_can_be_set() -> None:
    assert is_random("a1B2c3D4e5F6", 12)
    assert not is_random("a1B2c3D4e5F", 12)


@pytest.mark.parametrize(
    ("value", "secret"),
    [
        ("a1b2c3d4", True),
        ("a1b2c3d", False),  # 7 characters
        ("abcdefgh", False),  # no digit
        ("xq!vb%nmk", False),
        ("xq!vb%nm7", True),
        ("12345678", False),  # no letter
        ("token-value-1", False),  # generic words and one digit
        ("token1value2", False),
        ("t0k3n-v4lu3-9x", True),
        ("some-file/name2", False),  # words
        ("x9 q4 z7 k2 m8", False),  # blanks
        ("${A1B2C3D4}", False),  # a variable
    ],
)
def test_the_value_of_a_token_has_letters_and_digits(value: str, secret: bool) -> None:
    assert is_secret_literal(value, "token") is secret


@pytest.mark.parametrize(
    ("value", "secret"),
    [
        ("abc", False),  # 3 characters
        ("ab1!", True),
        ("hunter2", True),
        ("password1", False),  # generic
        ("pass123", True),  # generic with three digits
        ("pass12", False),
        ("swordfish", True),
        ("sword", False),  # 5 letters
        ("swords", True),  # 6 letters
        ("Swordfish", False),  # an identifier
        ("Sword!fish", True),
        ("mypassw!rt", False),  # names itself
        ("etc/file2", False),  # a path
        ("sword fish", False),  # two words
    ],
)
def test_a_password_may_be_a_word_or_have_signs(value: str, secret: bool) -> None:
    assert is_secret_literal(value, "password") is secret


@pytest.mark.parametrize(
    ("value", "rule", "secret"),
    [
        ("correct horse battery staple", "passphrase", True),
        ("correct horse battery", "passphrase", False),  # three words
        ("Correct horse battery staple", "passphrase", False),  # a sentence
        ("correct horse battery password", "passphrase", False),  # a generic word
        ("correct horse battery staple", "password", False),
    ],
)
def test_a_passphrase_has_four_words(value: str, rule: str, secret: bool) -> None:
    assert is_secret_literal(value, rule) is secret


@pytest.mark.parametrize(
    ("value", "secret"),
    [
        (b64encode(b"ada:hunter2").decode(), True),
        (b64encode(b"ada:hunter2").decode().rstrip("="), True),
        (b64encode(b"adahunter2").decode(), False),  # no colon and no digit
        ("abcdef", False),
        ("a1b2c3", True),
        ("a1b2c", False),  # 5 characters
        ("token", False),
    ],
)
def test_credentials_are_opaque_or_a_pair_in_base64(value: str, secret: bool) -> None:
    assert is_credentials(value) is secret

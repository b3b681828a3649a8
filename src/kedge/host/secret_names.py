"""Find values that are secret because of the name that they have: `password=…`, `API_KEY: …`.

What a name holds must also look like a literal, because most of the text is source code. Hook path:
loaded with `redact`.
"""

from __future__ import annotations

import re

from kedge.host.secret_values import (
    compile_pattern,
    is_random,
    is_secret_literal,
    is_spoken,
    is_wordy,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Words in the names of secrets, as they are in the folded text, and their rules.
WORDS = (
    *("password", "passwort", "passwd", "pwd", "passphrase", "pass", "pw"),
    *("key", "secret", "token", "credentials"),
)
RULES = {
    **dict.fromkeys(("passwort", "passwd", "pwd", "pass", "pw"), "password"),
    "key": "secret-key",
    "credentials": "secret",
}
_SHORT = ("pass", "pw")  # words that are also parts of other words
_BEFORE_SHORT = ("bind", "root", "user", "admin", "require", "store", "key", "db", "my", "smtp")
_KEYS = (
    *("api", "access", "private", "secret", "account", "signing", "encryption", "admin", "auth"),
    *("master", "session", "subscription", "hmac", "shared", "consumer", "preshared"),
    *("application", "app", "client", "server", "deploy", "service"),
)
_BEFORE_KEY = tuple(kind + joint for kind in _KEYS for joint in ("", "_", " "))
_SPOKEN = ("is", "was", "to", "ist")
_NAME_CHARS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
# Names that contain such a word and are not secrets: `next_token`, `token_url`.
_HARMLESS_PREFIX = (
    r"(?i)(?:next|forward|backward|page|pagination|continuation|starting|idempotency|request|lock|"
    r"change|update|client|creation|input|output|public_?(?:key)?|cancel(?:lation)?|sync)[_-]?$"
)
_HARMLESS_SUFFIX = (
    r"(?i)(?:ids?|hash|ur[il]|path|file|name|ref|arn|type|endpoint|version|algorithm|count|"
    r"expir\w*|digest|format|regex|pattern|policy|at|date|used|signature)$"
)
_HARMLESS_KEY = (
    r"(?i)(?:public|primary|foreign|cache|sort|partition|routing|site|index|unique|group|map|row)_$"
)
_ASSIGN = r"""(?x)
    ([\w-]{0,40}+)                                           # the rest of the name
    (?:
        (?:\\{0,3}["'`]\]?)?                                 # the quote that closes it
        (
            [ \t]*+(?::[ \t]*+[A-Za-z][\w.\[\]|? ]{0,40}+=(?!=)|=>|[?|]{0,2}={1,3}|:[-=]?)[ \t]*+
          | [,\s]\s{0,40}["']?value["']?[ \t]*[:=][ \t]*     # name: x, value: y
          | ,[ \t]?
          | >
          | [ \t]{1,4}(?:(?:for|of)[ \t]{1,4}[\w.@-]{1,40}[ \t]{1,4})?(?:is|was|to|ist):?[ \t]{1,4}
          | [ \t]{1,4}                                       # --name value
        )
        (?:
            [bBrRfFuU@]{0,2}(?:
                "([^"\\\n]*+(?:\\.[^"\\\n]*+)*)
              | '([^'\\\n]*+(?:\\.[^'\\\n]*+)*)
              | `([^`\\\n]*+)
              | \\+["']((?:[^"'\\\n]|\\\\)*)
            )
          | (\[redacted:[\w-]+\]|[^\s"'`<>&,;|(){}\[\]\\]{1,64}+)
        )
    )?"""
_BARE = 7  # the last group: a value without quotes, or the part of it that is tested
_BARE_REST = r"""[^\s"'`<>&,;|(){}\[\]\\]*"""
_CODE = r"^(?:[A-Za-z_$][\w$]*(?:\.|::|->|\?\.))+[A-Za-z_]\w*$|^-?\d+$|^:|^/\*|\?"


def find_by_name(text: str, folded: str) -> Iterator[tuple[int, int, str]]:
    """Yield values that are secret because of the name that they are assigned to."""
    assign, digit = compile_pattern(_ASSIGN), compile_pattern(r"\d")
    for word in WORDS:
        rule = RULES.get(word, word)
        pos = folded.find(word)
        while pos >= 0:
            stop = pos + len(word)
            named = is_secret_name(text, folded, pos, stop, rule)
            match = assign.match(text, stop) if named else None
            if match and match[2]:
                start, end = match.span(match.lastindex or 0)
                letters = rule.startswith("pass") and folded.find("passw", start, end) < 0
                secret = letters or digit.search(text, start, end)
                stop = _secret_end(text, pos, match, rule) if secret else 0
                if stop:
                    yield start, stop, rule
                else:  # the value may contain a name; one with many names is tested only once
                    stop = end if folded.count(word, start, end) > 2 else match.end(2)
            elif match:
                stop = match.end()
            pos = folded.find(word, stop)


def is_secret_name(text: str, folded: str, pos: int, end: int, rule: str) -> bool:
    """True if the word at `pos` is part of a secret's name: not `tokens`, not `primary_key`."""
    after, word = text[end : end + 1], text[pos:end]
    if after.islower() and word[-1].islower():
        return False
    if rule == "secret-key":  # any key of the environment may be one
        kind = folded.endswith(_BEFORE_KEY, max(0, pos - 16), pos)
        return kind or (word == "KEY" and text[pos - 1 : pos] == "_")
    if folded[pos:end] in _SHORT:
        before = text[max(0, pos - 1) : pos]
        camel = before.islower() and word[0].isupper()
        known = folded.endswith(_BEFORE_SHORT, max(0, pos - 8), pos)
        return not after.isalpha() and (not before.isalpha() or camel or known)
    return True


def grade_name(prefix: str, word: str, suffix: str, rule: str) -> int:
    """Return 2 if the name's value is a secret, 1 if only a random value is one, 0 if none is."""
    if suffix[:1].isupper() and word[-1].isupper():
        return 0  # another word: TOKENS, TOKENIZER
    if suffix and compile_pattern(_HARMLESS_SUFFIX).search(suffix):
        return 0
    if rule == "token" and compile_pattern(_HARMLESS_PREFIX).search(prefix):
        return 0
    if rule == "secret-key" and not prefix.lower().replace("-", "_").endswith(_BEFORE_KEY):
        return 0 if compile_pattern(_HARMLESS_KEY).search(prefix) else 1
    return 1 if suffix.strip("_-0123456789") else 2


def _secret_end(text: str, pos: int, match: re.Match[str], rule: str) -> int:
    """Return where the value of the name at `pos` ends if it is a secret, else 0."""
    start, end = match.span(match.lastindex or 0)
    value, after, bare = text[start:end], text[end : end + 1], match.lastindex == _BARE
    head = text[max(0, pos - 40) : pos]
    before = head.rstrip(_NAME_CHARS)
    prefix, word, separator = head[len(before) :], text[pos : match.start()], match[2].strip()
    flag, tag, password = prefix.startswith("--"), separator == ">", rule.startswith("pass")
    if (
        before.endswith((":", "/") if separator == ":" else "::")
        or (tag and not (before.endswith("<") and after == "<"))
        or (bare and (separator == "," or after in ("(", "[", "{")))
        or (bare and compile_pattern(_CODE).search(value) and not _ends_at_random(value))
        or (bare and value.isidentifier() and word.lower() in value.lower())
    ):
        return 0
    grade = grade_name(prefix, word, match[1], rule)
    spoken = separator.rstrip(":").endswith(_SPOKEN) or not (separator or flag)
    known = prefix.startswith("-") or prefix.lower().endswith(_BEFORE_SHORT)
    if spoken and not separator and word.lower() in _SHORT and not known:
        return 0  # `pass …`, other than `requirepass …`
    env = match[2] == "=" and word.isupper()
    lead = before.endswith(("?", "&", ";") if password else ("?", "&"))
    sure = not bare or ("." not in prefix and (env or lead or tag or (flag and separator)))
    sure = sure or (password and len(value) > 6 and compile_pattern(r"\d").search(value))
    if password and word.lower() in _SHORT:
        sure = sure and compile_pattern(r"\d|[^\w.:/ -]").search(value)
    if password and not bare and separator == ",":  # define("DB_PASSWORD", …)
        secret = grade == 2 and is_spoken(value)
    elif spoken and password:
        secret = grade == 2 and _is_spoken_password(value, separator, rule, prefix, bare)
    elif grade == 2 and separator != "," and sure and not spoken:
        secret = is_secret_literal(value, rule)
    else:
        secret = grade > 0 and is_random(value, 12 if bare and not spoken else 16)
    if secret and bare:
        rest = compile_pattern(_BARE_REST).match(text, end)
        end = start + len(text[start : rest.end() if rest else end].rstrip("."))
    return end if secret else 0


def _is_spoken_password(value: str, separator: str, rule: str, prefix: str, bare: bool) -> bool:
    """True for a password that follows its name without a sign: `the password is …`."""
    if not bare and rule == "passphrase":
        return is_secret_literal(value, rule)
    named = separator.endswith(("is", "was", "ist")) or prefix.startswith("-") or not bare
    return is_spoken(value) and (named or not is_wordy(value))


def _ends_at_random(value: str) -> bool:
    return is_random(value.rpartition(".")[2], 20)

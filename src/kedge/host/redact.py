"""Find secrets in text and redact them before the text is written anywhere.

Every rule starts from a literal: `str.find` is many times faster than a regular expression over
source code, and a pattern is compiled only once its literal has been seen. A key that a provider
has given a shape is redacted wherever it stands; a value that is secret only by its name
(`password=…`) must also look like a literal, because most of this text is source code.
"""

from __future__ import annotations

import re
from functools import cache

from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from typing import TypeVar

    T = TypeVar("T")

Span = tuple[int, int, str]


class Finding(NamedTuple):
    """A secret at `text[start:end]`; `id` names this very secret without revealing it."""

    rule: str
    start: int
    end: int
    id: str


# A private key, whole or cut off: its lines may be quoted, escaped, numbered or marked as a diff.
_GAP = r"""(?:\n-|\\+[nr]|[\s"'+,>|*#]|\d{1,6}[:\t|→])+"""
_PEM = r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_PEM_LINE = rf"(?:{_GAP}(?:[A-Z][A-Za-z-]+: [^\n\\]{{1,99}}|[A-Za-z0-9+/]{{40,}}={{0,2}}))"
_PEM_LAST = rf"(?:{_GAP}(?:[A-Za-z0-9+/]{{8,}}={{0,2}}|[A-Za-z0-9+/]{{2,}}={{1,2}})(?![\w ]))"
_PEM_WHOLE = (
    r"(?=((?:[^-]++|-(?!----))*-{5,6}END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-{0,5}))"
    r"(?=(?:(?!-----)[\s\S]){0,400}?[A-Za-z0-9+/=]{20})\2"
)
_PRIVATE_KEY = rf"({_PEM}(?:{_PEM_WHOLE}|{_PEM_LINE}+{_PEM_LAST}?|{_PEM_LAST}))|{_PEM}"
_DISCORD_USER = r"(?:(?<=[MNO][\w-]{23}\.)|(?<=[MNO][\w-]{25}\.))"
_OPENAI = r"(?:proj|svcacct|admin|None|or-v1)"
_JWT_BODY = r"(?:eyJ[\w-]{8,}+|[\w-]{16,}+\.[\w-]{8,}+)(?:\.[\w-]*+){0,3}"
_AWS_PAIR = r"""["']?[,:;|\t ]+["']?[A-Za-z0-9/+]{40}(?![\w/+])"""  # as in a credentials file

# rule, literals, pattern at the literal. Group 1, where there is one, is the secret; if it takes no
# part in the match, the match is text to skip. A row without a literal has a pattern that begins
# with one. Patterns take all they can: no second secret may hide in the tail of a first one.
_SHAPES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("anthropic-key", ("sk-ant-",), r"sk-ant-[\w-]{16,}"),
    ("openai-key", ("sk-",), rf"sk-(?:{_OPENAI}-[\w-]{{20,}}|(?<!\wsk-)[A-Za-z0-9]{{20,}})"),
    ("aws-key", ("AKIA",), rf"(AKIA[A-Z0-9]{{16}}(?![A-Za-z0-9])(?:{_AWS_PAIR})?)|AKIA[A-Z0-9]*"),
    ("aws-key", ("ASIA",), rf"(ASIA[A-Z0-9]{{16}}(?![A-Za-z0-9])(?:{_AWS_PAIR})?)|ASIA[A-Z0-9]*"),
    ("google-key", ("AIza",), r"AIza[\w-]{35,}"),
    ("google-oauth", ("GOCSPX-",), r"GOCSPX-[\w-]{20,}"),
    ("github-token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"gh[pousr]_[A-Za-z0-9]{36,}"),
    ("github-token", ("github_pat_",), r"github_pat_\w{22,}"),
    ("gitlab-token", ("glpat-", "gldt-", "glrt-", "glptt-"), r"gl[a-z]+-[\w.-]{20,}"),
    ("slack-token", ("xapp-",), r"xapp-\d[\w-]{10,}"),
    ("slack-token", (*(f"xox{x}-" for x in "abcdeoprs"),), r"xox.-(?=[a-z-]{0,9}\d)[\w%-]{10,}"),
    ("slack-webhook", ("hooks.slack.com/",), r"hooks\.slack\.com/[a-z]+/([\w/-]{20,})"),
    ("discord-webhook", ("/api/webhooks/",), r"/api/webhooks/\d+/([\w-]{40,})"),
    ("discord-token", (), rf"\.{_DISCORD_USER}[\w-]{{6}}\.[\w-]{{27,}}"),
    ("stripe-key", ("sk_live_", "rk_live_"), r"(?<![A-Za-z])[rs]k_live_[A-Za-z0-9]{20,}"),
    ("stripe-key", ("sk_test_", "rk_test_"), r"(?<![A-Za-z])[rs]k_test_[A-Za-z0-9]{20,}"),
    ("webhook-secret", ("whsec_",), r"whsec_[A-Za-z0-9+/]{24,}=*"),
    ("npm-token", ("npm_",), r"npm_[A-Za-z0-9]{36,}"),
    ("pypi-token", ("pypi-",), r"pypi-Ag[\w-]{16,}"),
    ("huggingface-token", ("hf_",), r"hf_[A-Za-z0-9]{30,}"),
    ("sendgrid-key", ("SG.",), r"SG\.[\w-]{16,}\.[\w-]{16,}"),
    ("twilio-key", ("SK",), r"SK[0-9a-f]{32,}"),
    ("digitalocean-token", ("dop_v1_", "doo_v1_", "dor_v1_"), r"do[opr]_v1_[0-9a-f]{40,}"),
    ("databricks-token", ("dapi",), r"dapi[0-9a-f]{32,}(?:-\d+)?"),
    ("telegram-token", (":AA",), r"(?<=\d{8}):(AA[\w-]{33,})"),
    ("shopify-token", ("shpat_", "shpca_", "shppa_", "shpss_"), r"shp[a-z]+_[0-9a-fA-F]{32,}"),
    ("linear-key", ("lin_api_", "lin_oauth_"), r"lin_[a-z]+_[A-Za-z0-9]{32,}"),
    ("groq-key", ("gsk_",), r"gsk_[A-Za-z0-9]{40,}"),
    ("grafana-token", ("glsa_",), r"glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}"),
    ("docker-token", ("dckr_pat_",), r"dckr_pat_[\w-]{20,}"),
    ("vault-token", ("hvs.",), r"hvs\.[\w-]{20,}"),
    ("age-key", ("AGE-SECRET-KEY-",), r"AGE-SECRET-KEY-1[0-9A-Z]{40,}"),
    ("jwt", ("eyJ",), rf"(eyJ[\w-]{{8,}}+\.{_JWT_BODY})|eyJ[\w-]*+"),
    ("private-key", ("-----BEGIN ",), _PRIVATE_KEY),
)
# Literals that end in "_" or "-" are found together, in one pass over that character.
_MARKS = {"_": r"_(?=[A-Za-z0-9+/]{20})", "-": r"-(?=[A-Za-z0-9][\w%-]{9})"}

# What stands in for a secret (a variable, a mask, a placeholder) or is none (a date, a version).
_STAND_INS = """
    ${ $( {{ #{ %( %s <% *** ••• xxxx ... … :// -----begin placeholder redacted dummy undefined
    changeme change_me change-me replaceme replace_me replace-me
"""
_DUMMY = (
    r"\$[a-z_{(]|\[|#[\w-]+$|(.)\1*$|arn:|\d{4}-\d\d-\d\d|[~^]?\d+(?:\.\d+)+$"
    r"|.*?(?:\{[\w.]*\}|<[\w/]|\b(?:example|your))"
)
_WORD = r"(?:[A-Za-z]++(?:\d[a-z]*+)?|\d{1,4}+x?)"
_WORDY = rf"(?:{_WORD}?[-_./:$@#])*{_WORD}?$"
_GENERIC = """
    a abc access admin api app auth bar basic bearer client code current db default demo empty env
    fake false field foo for hidden input invalid is key label login me my name new none not null of
    old optional pass passphrase passwd password private pwd required root sample secret some string
    super test text the to token true type user username value wrong
"""


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


@cache
def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _given(value: str) -> bool:
    """True unless something else stands where a secret would."""
    lower = value.lower()
    for sign in _words(_STAND_INS):
        if sign in lower:
            return False
    return not _compiled(_DUMMY).match(lower)


def _random(value: str, least: int = 16) -> bool:
    """True for letters mixed with digits as no identifier mixes them."""
    if len(value) < least or not _compiled(r"[A-Za-z]").search(value):
        return False
    runs = _compiled(r"[A-Z]?[a-z]+|[A-Z]+|\d+").findall(value)
    mixed = len(runs) * 7 >= len(value) * 2 and any(map(str.isdigit, runs))
    return mixed and not _compiled(_WORDY).match(value) and _given(value)


def _literal(value: str, rule: str = "", least: int = 8) -> bool:
    """True when a literal that is given to a secret's name looks like the secret itself."""
    lower = value.lower()
    words = _compiled(r"[a-z]+").findall(lower)
    digits, generic = len(_compiled(r"\d").findall(value)), _words(_GENERIC)
    if len(value) < 4 or (digits < 3 and generic.issuperset(words)) or not _given(value):
        return False
    if _compiled(r"\s").search(value):
        phrase = rule == "passphrase" and value.islower() and len(words) > 3
        return phrase and generic.isdisjoint(words)
    wordy = _compiled(_WORDY).match(value)
    if rule.startswith("pass"):
        plain = value.isalpha() and value.islower() and len(value) > 5
        special = plain or _compiled(r"[^\w.:/-]").search(value)
        return not (wordy and "/" in value) if digits else bool(special) and "passw" not in lower
    return len(value) >= least and digits > 0 and bool(words) and not wordy


def _credentials(value: str) -> bool:
    """True for an opaque token, and for `user:password` in base64."""
    from binascii import Error, a2b_base64

    try:
        pair = a2b_base64(value + "==")
    except Error:
        pair = b""
    return (b":" in pair and pair.isascii() and _given(value)) or _literal(value, least=6)


_NETRC = r"(?i)machine\s+\S++(?:\s+(?:login|account)\s+\S++){1,2}\s+password\s+(\S+)"
_CURL = (  # one command, which a backslash carries over the end of a line
    r"""(?i)curl(?=\s)(?:(?!\s-u|\s--(?:proxy-)?user[ =])(?:[^\n\\]|\\[\s\S]))*\s--?[a-z-]+"""
    r"""[ =]{0,2}\\?["']?[^\s:"'$\[]*+["']?:["']?([^\s"'\\]+)|curl(?:[^\n\\]|\\[\s\S])*"""
)
_HEADER = (  # Authorization, with or without a scheme
    r"""(?i)(?<![a-z])authorization(?:\\{0,3}["']\]?)?(?:\s*[:=,]|[,\s]\s*["']?value["']?\s*[:=])"""
    r"""\s*(?:\\{0,3}["'])?(?:[a-z][\w-]{2,15}\s+)?([\w.~+/=:-]{6,}+)(?![(\[]|\s+\[redacted)"""
)
# rule, literal in the folded text, pattern at the literal, judge of its group 1: secrets that are
# known by the place where they stand.
_PLACES: tuple[tuple[str, str, str, Callable[[str], bool]], ...] = (
    ("url-password", "://", r"""://[\w.~%+!*-]*+:([^\s/?#"'<>`\\]+)@""", _given),
    ("url-token", "://", r"""://([\w.~%+-]++)(?::[^\s/?#"'<>`\\]*)?@""", _random),
    ("netrc-password", "machine ", _NETRC, _given),
    ("curl-password", "curl", _CURL, _given),
    ("bearer-token", "bearer", r"(?i)bearer(?:\s|%20){1,3}([\w.~+/=-]{6,})", _credentials),
    ("authorization", "authorization", _HEADER, _credentials),
)

# Words that make what they name a secret, as the folded text spells them, and their rules.
_WORDS = ("password", "passwd", "pwd", "passphrase", "key", "secret", "token")
_RULES = {"passwd": "password", "pwd": "password", "key": "secret-key"}
_BEFORE_KEY = (
    *("api", "access", "private", "secret", "account", "signing", "encryption"),
    *("api_", "access_", "private_", "secret_", "account_", "signing_", "encryption_"),
)
_NAME_CHARS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
# What is no secret although the word is in its name: `next_token`, `token_url`.
_HARMLESS_PREFIX = (
    r"(?i)(?:next|forward|backward|page|pagination|continuation|starting|idempotency|request|lock|"
    r"change|update|client|creation|input|output|public_?(?:key)?|cancel(?:lation)?|sync)[_-]?$"
)
_HARMLESS_SUFFIX = (
    r"(?i)(?:ids?|hash|ur[il]|path|file|name|ref|arn|type|endpoint|version|algorithm|count|"
    r"expir\w*|digest|format|regex|pattern|policy|at|date|used|signature)$"
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
_BARE = 7  # the last group: a value without quotes, or as much of it as is judged
_BARE_REST = r"""[^\s"'`<>&,;|(){}\[\]\\]*"""
_CODE = r"^(?:[A-Za-z_$][\w$]*(?:\.|::|->|\?\.))+[A-Za-z_]\w*$|^-?\d+$|^:|^/\*|\?"
_FOLDING = bytes(range(256)).lower().replace(b"-", b"_")


def _fold(text: str) -> str:
    """Lower-case, with "-" as "_" and every offset kept, which `str.lower` does not promise."""
    return text.encode("ascii", "replace").translate(_FOLDING).decode("ascii")


def _each(text: str, literal: str, pattern: str, folded: str = "") -> Iterator[tuple[int, int]]:
    """The secrets that `pattern` finds in `text` at each `literal` of `text`, or of `folded`."""
    find = (folded or text).find
    pos = find(literal)
    while pos >= 0:
        match = _compiled(pattern).match(text, pos)
        if match and match.start(group := min(match.re.groups, 1)) >= 0:
            yield match.span(group)
        pos = find(literal, match.end() if match else pos + len(literal))


@cache
def _family(mark: str) -> dict[str, list[tuple[str, str, str]]]:
    """The literals that end in `mark`, with rule and pattern, by their last three characters."""
    family: dict[str, list[tuple[str, str, str]]] = {}
    for rule, literals, pattern in _SHAPES:
        for literal in literals:
            if literal.endswith(mark):
                family.setdefault(literal[-3:], []).append((literal, rule, pattern))
    return family


def _shaped(text: str) -> Iterator[Span]:
    """Secrets that are known by their own shape."""
    for rule, literals, pattern in _SHAPES:
        for literal in literals:
            if literal[-1] not in _MARKS:
                for start, end in _each(text, literal, pattern):
                    yield start, end, rule
        if not literals:
            for match in _compiled(pattern).finditer(text):
                yield *match.span(), rule
    done: dict[str, int] = {}
    for mark, sign in _MARKS.items():
        family = _family(mark)
        for hit in _compiled(sign).finditer(text):
            end = hit.end()
            for literal, rule, pattern in family.get(text[max(0, end - 3) : end], ()):
                start = end - len(literal)
                if start >= done.get(pattern, 0) and text.startswith(literal, start):
                    found = _compiled(pattern).match(text, start)
                    if found:
                        done[pattern] = found.end()
                        yield *found.span(), rule


def _placed(text: str, folded: str) -> Iterator[Span]:
    """Secrets that are known by the place where they stand."""
    for rule, literal, pattern, judge in _PLACES:
        for start, end in _each(text, literal, pattern, folded):
            if judge(text[start:end]):
                yield start, end, rule


def _named(text: str, folded: str) -> Iterator[Span]:
    """Values that are secret by the name they are given."""
    assign, digit = _compiled(_ASSIGN), _compiled(r"\d")
    for word in _WORDS:
        rule = _RULES.get(word, word)
        pos = folded.find(word)
        while pos >= 0:
            stop = pos + len(word)
            match = assign.match(text, stop) if _names(text, folded, pos, stop, rule) else None
            if match and match[2]:
                start, end = match.span(match.lastindex or 0)
                letters = rule.startswith("pass") and folded.find("passw", start, end) < 0
                secret = letters or digit.search(text, start, end)
                stop = _secret_end(text, pos, match, rule) if secret else 0
                if stop:
                    yield start, stop, rule
                else:  # the value may hold a name itself; one that repeats it is judged only once
                    stop = end if folded.count(word, start, end) > 2 else match.end(2)
            elif match:
                stop = match.end()
            pos = folded.find(word, stop)


def _names(text: str, folded: str, pos: int, end: int, rule: str) -> bool:
    """True when the word at `pos` is one of a secret's name: not `tokens`, not `primary_key`."""
    if text[end : end + 1].islower() and text[end - 1].islower():
        return False
    return rule != "secret-key" or folded.endswith(_BEFORE_KEY, max(0, pos - 12), pos)


def _grade(prefix: str, word: str, suffix: str, rule: str) -> int:
    """How much a name says of its value: 2 secret, 1 secret if it looks random, 0 nothing."""
    if suffix[:1].isupper() and word[-1].isupper():
        return 0  # another word: TOKENS, TOKENIZER
    if suffix and _compiled(_HARMLESS_SUFFIX).search(suffix):
        return 0
    if rule == "token" and _compiled(_HARMLESS_PREFIX).search(prefix):
        return 0
    return 1 if suffix.strip("_-0123456789") else 2


def _secret_end(text: str, pos: int, match: re.Match[str], rule: str) -> int:
    """Where the value of the name at `pos` ends, if it is a secret; else 0."""
    start, end = match.span(match.lastindex or 0)
    found, after, bare = text[start:end], text[end : end + 1], match.lastindex == _BARE
    head = text[max(0, pos - 40) : pos]
    before = head.rstrip(_NAME_CHARS)
    prefix, word, separator = head[len(before) :], text[pos : match.start()], match[2].strip()
    flag, tag, password = prefix.startswith("--"), separator == ">", rule.startswith("pass")
    if (
        before.endswith((":", "/") if separator == ":" else "::")
        or (not separator and not flag)
        or (tag and not (before.endswith("<") and after == "<"))
        or (bare and (separator == "," or after in ("(", "[", "{")))
        or (bare and _compiled(_CODE).search(found))
        or (bare and found.isidentifier() and word.lower() in found.lower())
    ):
        return 0
    grade = _grade(prefix, word, match[1], rule)
    env = match[2] == "=" and word.isupper()
    lead = before.endswith(("?", "&", ";") if password else ("?", "&"))
    sure = not bare or ("." not in prefix and (env or lead or tag or (flag and separator)))
    sure = sure or (password and len(found) > 6 and _compiled(r"\d").search(found))
    if grade == 2 and separator != "," and sure:
        good = _literal(found, rule)
    else:
        good = grade > 0 and _random(found, 12 if bare else 16)
    if good and bare:
        rest = _compiled(_BARE_REST).match(text, end)
        end = start + len(text[start : rest.end() if rest else end].rstrip("."))
    return end if good else 0


def _id(rule: str, secret: str) -> str:
    from hashlib import sha256

    return f"{rule}-{sha256(secret.encode('utf-8', 'surrogatepass')).hexdigest()[:10]}"


def _spans(text: str) -> list[Span]:
    """Where the secrets are, by position. Where two overlap, the longer one names both."""
    if len(text) < 8:
        return []
    folded = _fold(text)
    spans = [*_shaped(text), *_placed(text, folded), *_named(text, folded)]
    spans.sort(key=lambda span: (span[0], -span[1]))
    merged: list[Span] = []
    for start, end, rule in spans:
        if not merged or start >= merged[-1][1]:
            merged.append((start, end, rule))
        elif end > merged[-1][1]:
            first, last, name = merged[-1]
            merged[-1] = first, end, name if last - first >= end - start else rule
    return merged


def scan(text: str) -> list[Finding]:
    """The secrets in `text`, by position, none overlapping."""
    return [
        Finding(rule, start, end, _id(rule, text[start:end])) for start, end, rule in _spans(text)
    ]


def _unwanted(text: str, allow: Collection[str]) -> list[Span]:
    spans = _spans(text)
    return [s for s in spans if _id(s[2], text[s[0] : s[1]]) not in allow] if allow else spans


def redact(text: str, allow: Collection[str] = ()) -> str:
    """`text` with every secret replaced, except those whose id is in `allow`."""
    spans = _unwanted(text, allow)
    while spans:
        parts, done = [], 0
        for start, end, rule in spans:
            parts += [text[done:start], f"[redacted:{rule}]"]
            done = end
        text = "".join([*parts, text[done:]])
        # What stood next to a secret can turn out to be one once that secret is gone.
        spans = _unwanted(text, allow) if _unwanted(_marked_lines(text), allow) else []
    return text


def _marked_lines(text: str) -> str:
    lines = []
    pos = text.find("[redacted:")
    while pos >= 0:
        end = text.find("\n", pos) % (len(text) + 1)  # the end of the text if there is none
        lines.append(text[text.rfind("\n", 0, pos) + 1 : end])
        pos = text.find("[redacted:", end)
    return "\n".join(lines)


def redact_value(value: T, allow: Collection[str] = ()) -> T:
    """A copy of a JSON-like value, redacted; a string is also judged by the key it is under."""
    root: dict[object, object] = {0: value}
    todo: list[tuple[dict[object, object], object, str]] = [(root, 0, "")]
    sequences: list[tuple[dict[object, object], object, dict[object, object], type]] = []
    while todo:
        holder, slot, name = todo.pop()
        item = holder[slot]
        if isinstance(item, str):
            holder[slot] = _redact_under(name, item, allow)
        elif isinstance(item, dict):
            holder[slot] = copy = dict[object, object]()
            for key, inner in item.items():
                known = redact(key, allow) if isinstance(key, str) else key
                while known in copy:  # two keys that look the same now
                    known = f"{known}'"
                copy[known] = inner
                label = item.get("name") if key == "value" else key
                todo.append((copy, known, label if isinstance(label, str) else ""))
        elif isinstance(item, list | tuple):
            copy = dict(enumerate(item))
            todo += [(copy, index, name) for index in copy]
            sequences.append((holder, slot, copy, tuple if isinstance(item, tuple) else list))
    for holder, slot, copy, kind in reversed(sequences):  # the inner ones first
        holder[slot] = kind(copy.values())
    return root[0]  # type: ignore[return-value]


def _redact_under(name: str, text: str, allow: Collection[str]) -> str:
    folded = _fold(name)
    if folded.endswith("authorization"):
        return redact(f"authorization: {text}", allow)[len("authorization: ") :]
    for word in _WORDS:
        pos, rule = folded.rfind(word), _RULES.get(word, word)
        end = pos + len(word)
        if pos >= 0 and _names(name, folded, pos, end, rule):
            grade = _grade(name[:pos], name[pos:end], name[end:], rule)
            secret = _literal(text, rule) if grade == 2 else grade == 1 and _random(text)
            if secret and not any(end - start == len(text) for start, end, _ in _spans(text)):
                return text if _id(rule, text) in allow else f"[redacted:{rule}]"
    return redact(text, allow)

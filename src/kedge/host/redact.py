"""Find secrets in text and redact them before the text is written anywhere.

Every rule starts from a literal: `str.find` is many times faster than a regular expression over
source code, and a pattern is compiled only once its literal has been seen. A key that a provider
has given a shape is redacted wherever it stands; a value that is secret only by its name
(`password=…`) must also look like a literal, because most of this text is source code.
"""

import re
from collections import namedtuple
from collections.abc import Collection, Iterator
from functools import cache

Span = tuple[int, int, str]


# Not `typing.NamedTuple`: importing `typing` would cost more than the rest of this module.
class Finding(namedtuple("Finding", "rule start end id")):
    """A secret at `text[start:end]`; `id` names this very secret without revealing it."""

    __slots__ = ()
    rule: str
    start: int
    end: int
    id: str


# name, literals, pattern matched at the literal. Group 1, where there is one, is the secret; when
# it takes no part in the match, the match is only text to skip.
_PROVIDERS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("anthropic-key", ("sk-ant-",), r"sk-ant-[\w-]{16,}"),
    (
        "openai-key",
        ("sk-",),
        r"sk-(?:(?:proj|svcacct|admin|None|or-v1)-[\w-]{20,}|(?<![A-Za-z0-9]sk-)[A-Za-z0-9]{20,})",
    ),
    (
        "aws-secret-key",
        ("AKIA", "ASIA"),
        r"A[KS]IA[A-Z0-9]{16}\W{1,4}([A-Za-z0-9/+]{40})(?![\w/+])",
    ),
    ("aws-access-key", ("AKIA", "ASIA"), r"A[KS]IA(?!A{8})[A-Z0-9]{16}"),
    ("google-key", ("AIza",), r"AIza[\w-]{35}"),
    ("google-oauth", ("GOCSPX-", "ya29."), r"(?:GOCSPX-|ya29\.)[\w-]{20,}"),
    ("github-token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"gh[pousr]_[A-Za-z0-9]{36,}"),
    ("github-token", ("github_pat_",), r"github_pat_\w{22,}"),
    ("gitlab-token", ("glpat-", "gldt-", "glrt-"), r"gl(?:pat|dt|rt)-[\w.-]{20,}"),
    ("slack-token", ("xox",), r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}"),
    ("slack-token", ("xapp-",), r"xapp-\d-[A-Za-z0-9-]{10,}"),
    ("slack-webhook", ("hooks.slack.com/",), r"hooks\.slack\.com/[a-z]+/([\w/-]{20,})"),
    ("discord-webhook", ("/api/webhooks/",), r"/api/webhooks/\d+/([\w-]{40,})"),
    (
        "stripe-key",
        ("sk_live_", "rk_live_", "sk_test_", "rk_test_"),
        r"(?<![A-Za-z])[rs]k_(?:live|test)_[A-Za-z0-9]{20,}",
    ),
    ("webhook-secret", ("whsec_",), r"whsec_[A-Za-z0-9+/]{24,}=*"),
    ("npm-token", ("npm_",), r"npm_[A-Za-z0-9]{36,}"),
    ("pypi-token", ("pypi-Ag",), r"pypi-Ag[\w-]{16,}"),
    ("huggingface-token", ("hf_",), r"hf_[A-Za-z0-9]{30,}"),
    ("sendgrid-key", ("SG.",), r"SG\.[\w-]{16,}+\.[\w-]{16,}"),
    ("twilio-key", ("SK",), r"(?<![A-Za-z0-9])SK[0-9a-f]{32}"),
    ("digitalocean-token", ("dop_v1_", "doo_v1_", "dor_v1_"), r"do[opr]_v1_[0-9a-f]{40,}"),
    ("databricks-token", ("dapi",), r"dapi[0-9a-f]{32}(?:-\d)?"),
    ("telegram-token", (":AA",), r"(?<=\d{8}):(AA[\w-]{33})"),
    ("shopify-token", ("shpat_", "shpca_", "shppa_", "shpss_"), r"shp\w\w_[0-9a-fA-F]{32,}"),
    ("linear-key", ("lin_api_", "lin_oauth_"), r"lin_[a-z]+_[A-Za-z0-9]{32,}"),
    ("groq-key", ("gsk_",), r"gsk_[A-Za-z0-9]{40,}"),
    ("grafana-token", ("glsa_",), r"glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}"),
    ("docker-token", ("dckr_pat_",), r"dckr_pat_[\w-]{20,}"),
    ("vault-token", ("hvs.", "hvb."), r"hv[sb]\.[\w-]{20,}"),
    ("age-key", ("AGE-SECRET-KEY-1",), r"AGE-SECRET-KEY-1[0-9A-Z]{40,}"),
    (
        "jwt",
        ("eyJ",),
        r"(eyJ[\w-]{8,}+\.(?:eyJ[\w-]{8,}+(?:\.[\w-]*+)?|[\w-]{16,}+(?:\.[\w-]{8,}+){1,3}))"
        r"|eyJ[\w-]*+",
    ),
)

# Literals that end in "_" and go on with 20 or more of these are found in one pass over "_".
_UNDERSCORE = r"_[A-Za-z0-9+/]{20}"
_UNDERSCORED = {
    literal: (name, pattern)
    for name, literals, pattern in _PROVIDERS
    for literal in literals
    if literal.endswith("_")
}

_PEM = (
    r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----"
    r"((?:[^-]++|-(?!----))*+)(-{5,6}END [A-Z0-9 ]{0,40}+-{0,5})?"
)
# A key whose end is missing: header lines, then lines of base64, perhaps quoted, numbered or +/-.
_GAP = r"""(?:\\+[nr]|[\s"'+,>|]|\n-|\d{1,6}[:\t|→])"""
_PEM_START = (
    rf"(?:{_GAP}++(?:[A-Z][A-Za-z-]+: [^\n\\]{{1,99}}|[A-Za-z0-9+/]{{40,}}={{0,2}}))*+"
    rf"(?:{_GAP}++[A-Za-z0-9+/]{{8,}}={{0,2}}(?![\w ]))?"
)

_URL = r"""://([^\s/?#@:"'<>`\\]{0,256}+)(?::([^\s/?#"'<>`\\]{1,256}))?@"""
_NETRC = (
    r"(?:machine\s+\S{1,256}|default)(?:\s+(?:login|account)\s+\S{1,256}){0,2}\s+password\s+(\S+)"
)
_CURL_USER = r""" --?u(?:ser)?[ =]?["']?[^\s:"'$]{1,64}:([^\s"']+)"""
_BEARER = r"""bearer(?:\s|%20|\\t){1,3}([\w.~+/=-]{6,})"""
_AUTHORIZATION = (
    r"""authorization(?:\\{0,3}["'])?\]?(?:\s*[:=,]|[,\s]\s*["']?value["']?\s*[:=])\s*"""
    r"""(?:\\{0,3}["'])?(?:(basic)\s+)?(?:(?:token|bot|apikey|key)\s+)?([\w.~+/=:-]{6,})"""
)

# Names that make a value secret, as they are spelt in folded text.
_NAMES = (
    ("passw", "password"),
    ("passphrase", "password"),
    ("pwd", "password"),
    ("secret", "secret"),
    ("token", "token"),
    ("key", "key"),
)
_KEYS = tuple(
    (word + gap).encode()
    for word in ("api", "access", "private", "account", "signing", "encryption", "master")
    for gap in ("", "_")
)
_ASSIGN = r"""
    ([\w-]{0,40}+)                                  # the rest of the name
    (?:
        ((?:\\{0,3}["'`])?)\]?\)?                   # the quote that closes it
        (?:
            [ \t]*+(?::[ \t]*[\w.\[\]|?<> ]{1,40}=(?!=)|(?::=|=>|[?|]{0,2}={1,3}|:))[ \t]*+
          | [,\s]\s{0,40}["']?[vV]alue["']?[ \t]*[:=][ \t]*   # name: X, value: Y
          | ,[ \t]?
          | ([ \t]{1,4})                            # --name value
        )
    )?"""
_VALUE = r"""
    [bBrRfFuU@]{0,2}(?:
        "([^"\\\n]*+(?:\\.[^"\\\n]*+)*+)
      | '([^'\\\n]*+(?:\\.[^'\\\n]*+)*+)
      | `([^`\\\n]*+)
      | \\+["']((?:[^"'\\\n]|\\\\)*+)
    )
  | ([^\s"'`<>&,;|(){}\[\]\\]{1,300}+)"""
_BARE = r"""[^\s"'`<>&,;|(){}\[\]\\]*+"""
_BENIGN_SUFFIX = (
    r"(?i)[_-]?(?:\w*[_-])?\w*(?:id|ids|hash|url|uri|path|file|name|ref|arn|type|endpoint|version|"
    r"algorithm|count|field|label|hint|class|expir\w*|digest|format|regex|pattern|policy)$"
)
_DUMMY = (
    r"""(?i)^\$[a-z_{(]|\$\{|\$\(|\{\{|\{[\w.]*\}|<[\w%/]|%\(|%s|#\{|^\[|^#[\w-]+$"""
    r"""|\*{3}|•{3}|x{4}|\.{3}|…|^(.)\1*$|://|-----BEGIN|\bexample|placeholder|change.?me"""
    r"""|redacted|\byour|dummy|insert|replace.?me|undefined"""
)
_GENERIC = frozenset(
    "a abc access admin api app auth bar basic bearer client code correct current db default demo"
    " empty env fake false field foo for hidden input invalid is key label login me my name new"
    " none not null of old optional pass passphrase passwd password private pwd required root"
    " sample secret some string super test text the to token true type user username value wrong"
    " my token s".split()
)


@cache
def _compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII | flags)


def _fold(text: str) -> bytes:
    """Lower-case, with "-" as "_", at the same offsets: one byte for each character."""
    return text.encode("ascii", "replace").translate(_FOLDING)


_FOLDING = bytes(range(256)).lower().replace(b"-", b"_")


def _each(text: str, literal: str, pattern: str) -> Iterator[re.Match[str]]:
    pos = text.find(literal)
    while pos >= 0:
        match = _compiled(pattern).match(text, pos)
        if match:
            yield match
        pos = text.find(literal, match.end() if match else pos + len(literal))


def _each_folded(text: str, folded: bytes, word: bytes, pattern: str) -> Iterator[re.Match[str]]:
    pos = folded.find(word)
    while pos >= 0:
        match = _compiled(pattern, re.IGNORECASE).match(text, pos)
        if match:
            yield match
        pos = folded.find(word, match.end() if match else pos + len(word))


def _shaped(text: str) -> Iterator[Span]:
    """Secrets that are known by their own shape."""
    for name, literals, pattern in _PROVIDERS:
        for literal in literals:
            if not literal.endswith("_"):
                for match in _each(text, literal, pattern):
                    start, end = match.span(match.re.groups)
                    if start >= 0:
                        yield start, end, name
    endings = tuple(_UNDERSCORED)
    for hit in _compiled(_UNDERSCORE).finditer(text):
        after = hit.start() + 1
        if text.endswith(endings, max(0, after - 12), after):
            literal = next(e for e in endings if text.endswith(e, 0, after))
            name, pattern = _UNDERSCORED[literal]
            match2 = _compiled(pattern).match(text, after - len(literal))
            if match2:
                yield *match2.span(), name
    for match in _each(text, ".", _DISCORD):
        yield *match.span(), "discord-token"
    for match in _each(text, "-----BEGIN ", _PEM):
        body, end = match.span(1)
        if match[2] and end - body < 32768 and _compiled(r"[A-Za-z0-9+/=]{20}").search(match[1]):
            yield match.start(), match.end(), "private-key"
        else:
            rest = _compiled(_PEM_START).match(text, body)
            if rest and rest.end() > body:
                yield match.start(), rest.end(), "private-key"


_DISCORD = r"(?:(?<=[MNO][\w-]{23})|(?<=[MNO][\w-]{25}))\.[\w-]{6}\.[\w-]{27,}"


def _placed(text: str, folded: bytes) -> Iterator[Span]:
    """Secrets that are known by the place where they stand."""
    for match in _each(text, "://", _URL):
        if match[2] and not _compiled(_DUMMY).search(match[2]):
            yield *match.span(2), "url-password"
        if _random(match[1], 16):
            yield *match.span(1), "url-token"
    for match in _each_folded(text, folded, b"machine ", _NETRC):
        if not _compiled(_DUMMY).search(match[1]):
            yield *match.span(1), "netrc-password"
    for match in _each(text, " -u", _CURL_USER):
        if "curl" in text[max(0, match.start() - 300) : match.start()]:
            if not _compiled(_DUMMY).search(match[1]):
                yield *match.span(1), "curl-password"
    for match in _each_folded(text, folded, b"bearer", _BEARER):
        if _plausible(match[1], "bearer", True):
            yield *match.span(1), "bearer-token"
    for match in _each_folded(text, folded, b"authorization", _AUTHORIZATION):
        if _plausible(match[2], "basic" if match[1] else "bearer", True):
            yield *match.span(2), "authorization"


def _random(value: str, least: int) -> bool:
    """True for letters mixed with digits as no identifier mixes them."""
    if len(value) < least or not _compiled(r"\d").search(value):
        return False
    runs = len(_compiled(r"[A-Z]?[a-z]+|[A-Z]+|\d+").findall(value))
    return runs >= 3 and runs * 3 >= len(value)


def _plausible(value: str, rule: str, sure: bool) -> bool:
    """True when `value` can be a secret; `sure` says that it is a literal, not code."""
    if len(value) < 4 or _compiled(_DUMMY).search(value) or _compiled(r"\s").search(value):
        return False
    words = _compiled(r"[a-z]+").findall(value.lower())
    digits = sum(map(str.isdigit, value))
    if digits < 3 and all(word in _GENERIC for word in words) and value.isidentifier():
        return False
    if not sure:
        return _random(value, 8)
    if rule == "password":
        return True
    return bool(words) and digits > 0 and len(value) >= 6


def _named(text: str, folded: bytes) -> Iterator[Span]:
    """Values that are secret by the name they are given."""
    assign, take = _compiled(_ASSIGN, re.VERBOSE), _compiled(_VALUE, re.VERBOSE)
    for word, rule in _NAMES:
        needle = word.encode()
        pos = folded.find(needle)
        while pos >= 0:
            stop = pos + len(needle)
            if rule != "key" or folded.endswith(_KEYS, max(0, pos - 12), pos):
                match = assign.match(text, stop)
                assert match
                end = match.end()
                value = take.match(text, end) if end > match.end(1) else None
                if value:
                    span = _value(text, pos, stop, match, value, rule)
                    if span:
                        yield span
                        end = span[1]
                stop = max(stop, end)
            pos = folded.find(needle, stop)


def _value(
    text: str, pos: int, stop: int, match: re.Match[str], value: re.Match[str], rule: str
) -> Span | None:
    suffix = match[1]
    if suffix and (suffix[0].islower() and rule == "x"):
        return None
    quoted = value.lastindex != 5
    start, end = value.span(value.lastindex or 0)
    if not _plausible(text[start:end], rule, quoted):
        return None
    return start, end, rule


def scan(text: str) -> list[Finding]:
    """The secrets in `text`, by position, none overlapping."""
    from hashlib import sha256

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
    found = []
    for start, end, rule in merged:
        digest = sha256(text[start:end].encode("utf-8", "surrogatepass")).hexdigest()
        found.append(Finding(rule, start, end, f"{rule}-{digest[:10]}"))
    return found

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
    ("aws-access-key", ("AKIA", "ASIA"), r"A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("google-key", ("AIza",), r"AIza[\w-]{35}"),
    ("google-oauth", ("GOCSPX-", "ya29."), r"(?:GOCSPX-|ya29\.)[\w-]{20,}"),
    ("github-token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"gh[pousr]_[A-Za-z0-9]{36,}"),
    ("github-token", ("github_pat_",), r"github_pat_\w{22,}"),
    ("gitlab-token", ("glpat-", "gldt-", "glrt-"), r"gl(?:pat|dt|rt)-[\w.-]{20,}"),
    ("slack-token", ("xox",), r"xox[abceoprs](?:\.xox[bp])?-(?=[a-z-]{0,9}\d)[\w-]{10,}"),
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

# Literals that end in "_" go on with 20 or more of these: one pass over "_" finds them all.
_UNDERSCORE = r"_[A-Za-z0-9+/]{20}"
_UNDERSCORED = {
    literal: (rule, pattern)
    for rule, literals, pattern in _PROVIDERS
    for literal in literals
    if literal.endswith("_")
}
_DISCORD = r"\.[\w-]{6}\.[\w-]{27,}"
_PEM = (
    r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----"
    r"((?:[^-]++|-(?!----))*+)(-{5,6}END [A-Z0-9 ]{0,40}+-{0,5})?"
)
# A key whose end is missing: header lines, then lines of base64, perhaps quoted, numbered or +/-.
_GAP = r"""(?:\\+[nr]|[\s"'+,>|]|\n-|\d{1,6}[:\t|→])"""
_PEM_CUT = (
    rf"(?:{_GAP}++(?:[A-Z][A-Za-z-]+: [^\n\\]{{1,99}}|[A-Za-z0-9+/]{{40,}}={{0,2}}))*+"
    rf"(?:{_GAP}++[A-Za-z0-9+/]{{8,}}={{0,2}}(?![\w ]))?"
)

_URL = r"""://([\w.~%+!*-]*+)(?::([^\s/?#"'<>`\\]*))?@"""
_NETRC = r"(?i)machine\s+\S++(?:\s+(?:login|account)\s+\S++){1,2}\s+password\s+(\S+)"
_CURL = r"curl\s(?:[^\n\\]++|\\[\s\S])*+"
_CURL_USER = r"""\s(?:-u|-U|--user|--proxy-user)[ =]?\\?["']?[^\s:"'$]+:([^\s"'\\]+)"""
_BEARER = r"(?i)bearer(?:\s|%20){1,3}([\w.~+/=-]{6,})"
_AUTHORIZATION = (
    r"""(?i)(?<![a-z])authorization(?:\\{0,3}["'])?\]?(?:\s*[:=,]|[,\s]\s*["']?value["']?\s*[:=])"""
    r"""\s*(?:\\{0,3}["'])?(?:(basic|token|bot|apikey)\s+)?([\w.~+/=:-]{6,})"""
)

# Words that make what they name a secret, as folded text spells them.
_WORDS = (
    ("password", "password"),
    ("passwd", "password"),
    ("pwd", "password"),
    ("passphrase", "passphrase"),
    ("secret", "secret"),
    ("token", "token"),
    ("key", "secret-key"),  # after one of these only
)
_BEFORE_KEY = tuple(
    word + gap
    for word in ("api", "access", "private", "secret", "account", "signing", "encryption")
    for gap in ("", "_")
)
_NAME_CHARS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
# What is no secret although the word is in its name: `next_token`, `token_url`.
_HARMLESS_PREFIX = (
    r"(?i)(?:next|forward|backward|page|pagination|continuation|starting|idempotency|request|lock|"
    r"change|update|client|creation|input|output|public_?(?:key)?|cancel(?:lation)?|sync)[_-]?$"
)
_HARMLESS_SUFFIX = (
    r"(?i)(?:id|ids|hash|url|uri|path|file|name|ref|arn|type|endpoint|version|algorithm|count|"
    r"expir\w*|digest|format|regex|pattern|policy|at|date|used|signature)$"
)
_ASSIGN = r"""(?x)
    ([\w-]{0,40}+)                                       # the rest of the name
    (?:
        (?:\\{0,3}["'`]\]?)?                             # the quote that closes it
        (
            [ \t]*+(?::[ \t]*[\w.\[\]|? ]{1,40}=(?!=)|:=|=>|[?|]{0,2}={1,3}|:)[ \t]*+
          | [,\s]\s{0,40}["']?value["']?[ \t]*[:=][ \t]*     # name: x, value: y
          | ,[ \t]?
          | >
          | [ \t]{1,4}                                   # --name value
        )
    )?"""
_VALUE = r"""(?x)
    [bBrRfFuU@]{0,2}(?:
        "([^"\\\n]*+(?:\\.[^"\\\n]*+)*+)
      | '([^'\\\n]*+(?:\\.[^'\\\n]*+)*+)
      | `([^`\\\n]*+)
      | \\+["']((?:[^"'\\\n]|\\\\)*+)
    )
  | ([^\s"'`<>&,;|(){}\[\]\\]{1,300}+)"""
_BARE = r"""[^\s"'`<>&,;|(){}\[\]\\]*"""
_CODE = r"(?:[A-Za-z_$][\w$]*(?:\.|::|->|\?\.))+[A-Za-z_]\w*$|-?\d+$|:|.*[^\w.~+/=@!#$%^*:-]"
_DUMMY = (
    r"""(?i)^\$[a-z_{(]|\$\{|\$\(|\{\{|\{[\w.]*\}|<[\w%/]|%\(|%s|#\{|^\[|^#[\w-]+$"""
    r"""|\*{3}|•{3}|x{4}|\.{3}|…|^(.)\1*$|://|-----BEGIN|\bexample|placeholder|change.?me"""
    r"""|redacted|\byour|dummy|replace.?me|undefined|^arn:|^\d{4}-\d\d-\d\d|^[~^]?\d+(?:\.\d+)+$"""
)
_WORDY = r"(?:(?:[A-Za-z]+\d?|\d{1,4}x?)?(?:[-_./:$@#]+|$))+$"
_GENERIC = frozenset(
    "a abc access admin api app auth bar basic bearer client code current db default demo empty env"
    " fake false field foo for hidden input invalid is key label login me my name new none not null"
    " of old optional pass passphrase passwd password private pwd required root sample secret some"
    " string super test text the to token true type user username value wrong".split()
)
_FOLDING = bytes(range(256)).lower().replace(b"-", b"_")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


def _fold(text: str) -> str:
    """Lower-case, with "-" as "_" and every offset kept, which `str.lower` does not promise."""
    return text.encode("ascii", "replace").translate(_FOLDING).decode("ascii")


def _each(text: str, literal: str, pattern: str, folded: str = "") -> Iterator[re.Match[str]]:
    """The matches of `pattern` in `text` at each `literal` in `text`, or in its folded form."""
    find = (folded or text).find
    pos = find(literal)
    while pos >= 0:
        match = _compiled(pattern).match(text, pos)
        if match:
            yield match
        pos = find(literal, match.end() if match else pos + len(literal))


def _shaped(text: str) -> Iterator[Span]:
    """Secrets that are known by their own shape."""
    for rule, literals, pattern in _PROVIDERS:
        for literal in literals:
            if not literal.endswith("_"):
                for match in _each(text, literal, pattern):
                    start, end = match.span(match.re.groups)
                    if start >= 0:
                        yield start, end, rule
    endings = tuple(_UNDERSCORED)
    for hit in _compiled(_UNDERSCORE).finditer(text):
        after = hit.start() + 1
        if text.endswith(endings, max(0, after - 12), after):
            literal = next(ending for ending in endings if text.endswith(ending, 0, after))
            rule, pattern = _UNDERSCORED[literal]
            found = _compiled(pattern).match(text, after - len(literal))
            if found:
                yield *found.span(), rule
    for match in _compiled(_DISCORD).finditer(text):
        at = match.start()
        head = _compiled(r"[MNO][\w-]{23,27}$").search(text, max(0, at - 28), at)
        if head:
            yield head.start(), match.end(), "discord-token"
    for match in _each(text, "-----BEGIN ", _PEM):
        body, end = match.span(1)
        if match[2] and end - body < 32768 and _compiled(r"[A-Za-z0-9+/=]{20}").search(match[1]):
            yield match.start(), match.end(), "private-key"
        else:
            cut = _compiled(_PEM_CUT).match(text, body)
            if cut and cut.end() > body:
                yield match.start(), cut.end(), "private-key"


def _placed(text: str, folded: str) -> Iterator[Span]:
    """Secrets that are known by the place where they stand."""
    for match in _each(text, "://", _URL):
        if match[2] and not _dummy(match[2]):
            yield *match.span(2), "url-password"
        if _random(match[1], 16):
            yield *match.span(1), "url-token"
    for match in _each(text, "machine ", _NETRC, folded):
        if not _dummy(match[1]):
            yield *match.span(1), "netrc-password"
    for command in _each(text, "curl", _CURL):
        for match in _compiled(_CURL_USER).finditer(text, *command.span()):
            if not _dummy(match[1]) and not match[1].isdigit():
                yield *match.span(1), "curl-password"
    for match in _each(text, "bearer", _BEARER, folded):
        if _literal(match[1], "bearer-token"):
            yield *match.span(1), "bearer-token"
    for match in _each(text, "authorization", _AUTHORIZATION, folded):
        if _literal(match[2], "authorization") if match[1] else _random(match[2], 16):
            yield *match.span(2), "authorization"


def _named(text: str, folded: str) -> Iterator[Span]:
    """Values that are secret by the name they are given."""
    for word, rule in _WORDS:
        pos = folded.find(word)
        while pos >= 0:
            resume = pos + len(word)
            if rule != "secret-key" or folded.endswith(_BEFORE_KEY, max(0, pos - 12), pos):
                name = _compiled(_ASSIGN).match(text, resume)
                assert name  # it matches the empty string
                resume = name.end()
                value = _compiled(_VALUE).match(text, resume) if name[2] else None
                end = _secret_end(text, pos, name, value, rule) if value else 0
                if value and end:
                    yield value.start(value.lastindex or 0), end, rule
                    resume = end
            pos = folded.find(word, resume)


def _secret_end(
    text: str, pos: int, name: re.Match[str], value: re.Match[str], rule: str
) -> int:
    """Where the secret value of the name at `pos` ends; 0 if the value is none."""
    head = text[max(0, pos - 40) : pos]
    before = head.rstrip(_NAME_CHARS)
    prefix, word, separator = head[len(before) :], text[pos : name.start()], name[2].strip()
    grade = _grade(prefix, word, name[1], rule)
    flag = prefix.startswith("--")
    if not grade or before.endswith(("::", "/")) or (separator == ":" and before.endswith(":")):
        return 0
    if not separator and not flag:
        return 0
    sort = value.lastindex or 0
    start, end = value.span(sort)
    found = text[start:end]
    strict = grade == 1 or separator == ","
    if sort < 5:
        return end if (_random(found, 16) if strict else _literal(found, rule)) else 0
    if separator == "," or text[end : end + 1] in ("(", "[", "{") or _compiled(_CODE).match(found):
        return 0
    if separator == ">" and not (before.endswith("<") and text[end : end + 1] == "<"):
        return 0
    if found.isidentifier() and word.lower() in found.lower():
        return 0
    env = name[2] == "=" and word.isupper() and "." not in prefix
    sure = env or flag or separator == ">" or before.endswith(("?", "&"))
    if sure and separator and not strict and "." not in prefix:
        good = _literal(found, rule)
    else:
        good = _random(found, 12) or (
            rule == "password" and not strict and len(found) >= 7 and _literal(found, rule)
            and bool(_compiled(r"\d").search(found))
        )
    if not good:
        return 0
    rest = _compiled(_BARE).match(text, end)
    return rest.end() if rest else end


def _grade(prefix: str, word: str, suffix: str, rule: str) -> int:
    """How much a name says of its value: 2 secret, 1 secret if it looks random, 0 nothing."""
    if suffix[:1].isalpha() and suffix[0].islower() == word[-1].islower():
        return 0  # another word: tokens, TOKENIZER
    if _compiled(_HARMLESS_SUFFIX).search(suffix):
        return 0
    if rule == "token" and _compiled(_HARMLESS_PREFIX).search(prefix):
        return 0
    return 1 if suffix.strip("_-0123456789") else 2


def _dummy(value: str) -> bool:
    return bool(_compiled(_DUMMY).search(value))


def _random(value: str, least: int) -> bool:
    """True for letters mixed with digits as no identifier mixes them."""
    if len(value) < least or not _compiled(r"\d").search(value) or _dummy(value):
        return False
    runs = len(_compiled(r"[A-Z]?[a-z]+|[A-Z]+|\d+").findall(value))
    return runs >= 3 and runs * 3 >= len(value)


def _literal(value: str, rule: str) -> bool:
    """True when a literal that is given to a secret's name looks like the secret itself."""
    if len(value) < 4 or _dummy(value) or _compiled(r"\s").search(value):
        return False
    words = _compiled(r"[a-z]+").findall(value.lower())
    digits = sum(map(str.isdigit, value))
    if digits < 3 and all(word in _GENERIC for word in words):
        return False
    if rule in ("password", "passphrase"):
        if digits:
            return True
        if "passw" in value.lower():
            return False
        return bool(_compiled(r"[^\w.:/-]").search(value)) or (value.islower() and len(value) >= 8 and value.isalpha())
    return len(value) >= 8 and digits > 0 and bool(words) and not _compiled(_WORDY).match(value)


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


def redact(text: str, allow: Collection[str] = ()) -> str:
    """`text` with every secret replaced, except those whose id is in `allow`."""
    found = [finding for finding in scan(text) if finding.id not in allow]
    if not found:
        return text
    parts, end, touching = [], 0, False
    for finding in found:
        parts += text[end : finding.start], f"[redacted:{finding.rule}]"
        end = finding.end
        around = text[max(0, finding.start - 1) : finding.start] + text[end : end + 1]
        touching = touching or bool(_compiled(r"[\w+/-]").search(around))
    redacted = "".join([*parts, text[end:]])
    return redact(redacted, allow) if touching else redacted

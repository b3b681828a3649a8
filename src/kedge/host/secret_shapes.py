"""Keys and tokens that can be recognised by their own shape, wherever they are.

Hook path: plain data, loaded with `redact`.
"""

from __future__ import annotations

# A private key, complete or cut off: its lines may be quoted, escaped, numbered or part of a diff.
_GAP = r"""(?:\n-|\\+[nr]|[\s"'+,>|*#]|\d{1,6}[:\t|→])+"""
_PEM = r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_PEM_LINE = rf"(?:{_GAP}(?:[A-Z][A-Za-z-]+: [^\n\\]{{1,99}}|[A-Za-z0-9+/]{{40,}}={{0,2}}))"
_PEM_LAST = rf"(?:{_GAP}(?:[A-Za-z0-9+/]{{8,}}={{0,2}}|[A-Za-z0-9+/]{{2,}}={{1,2}})(?![\w ]))"
_PEM_WHOLE = (
    r"(?=((?:[^-]++|-(?!----))*-{5,6}END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-{0,5}))"
    r"(?=(?:(?!-----)[\s\S]){0,400}?[A-Za-z0-9+/=]{20})\2"
)
_PRIVATE_KEY = rf"({_PEM}(?:{_PEM_WHOLE}|{_PEM_LINE}+{_PEM_LAST}?|{_PEM_LAST}))|{_PEM}"
_SSH2_KEY = rf"(---- BEGIN SSH2 [A-Z ]{{0,20}}PRIVATE KEY ----{_PEM_LINE}+{_PEM_LAST}?)"
_PUTTY_KEY = rf"Private-Lines: \d+({_PEM_LINE}+{_PEM_LAST}?)"
_OPENVPN_KEY = r"-----BEGIN OpenVPN Static key V1-----((?:\s{1,4}[0-9a-f]{32})+)"
_BASE64_PEM = r"LS0tLS1CRUdJTi(?!BDRVJU|BQVUJM)[A-Za-z0-9+/=]{40,}"  # no certificate or public key
_DISCORD_USER = r"(?:(?<=[MNO][\w-]{23}\.)|(?<=[MNO][\w-]{25}\.))"
_OPENAI = r"(?:proj|svcacct|admin|None|or-v1)"
_JWT_BODY = r"(?:eyJ[\w-]{8,}+|[\w-]{16,}+\.[\w-]{8,}+)(?:\.[\w-]*+){0,3}"
_AWS_PAIR = r"""["']?[,:;|\t ]+["']?[A-Za-z0-9/+]{40}(?![\w/+])"""  # as in a credentials file

# Rule, literals, and the pattern that matches at a literal. Group 1, if the pattern has one, is the
# secret; if it takes no part in the match, the match is skipped. A row without literals has a
# pattern that starts with a fixed character. Patterns are greedy: no second secret may hide in the
# tail of a first one.
_PATTERNS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("openai-key", ("sk-",), rf"sk-(?:{_OPENAI}-[\w-]{{20,}}|(?<!\wsk-)[A-Za-z0-9]{{20,}})"),
    ("aws-key", ("AKIA",), rf"(AKIA[A-Z0-9]{{16}}(?![A-Za-z0-9])(?:{_AWS_PAIR})?)|AKIA[A-Z0-9]*"),
    ("aws-key", ("ASIA",), rf"(ASIA[A-Z0-9]{{16}}(?![A-Za-z0-9])(?:{_AWS_PAIR})?)|ASIA[A-Z0-9]*"),
    ("slack-token", ("xapp-",), r"xapp-\d[\w-]{10,}"),
    ("slack-token", (*(f"xox{x}-" for x in "abcdeoprs"),), r"xox.-(?=[a-z-]{0,9}\d)[\w%-]{10,}"),
    ("slack-token", ("xoxe.xox",), r"xoxe\.xox[a-z]-[\w-]{10,}"),
    ("slack-webhook", ("hooks.slack.com/",), r"hooks\.slack\.com/[a-z]+/([\w/-]{20,})"),
    ("discord-webhook", ("/api/webhooks/",), r"/api/webhooks/\d+/([\w-]{40,})"),
    ("discord-token", (), rf"\.{_DISCORD_USER}[\w-]{{6}}\.[\w-]{{27,}}"),
    ("stripe-key", ("sk_live_", "rk_live_"), r"(?<![A-Za-z])[rs]k_live_[A-Za-z0-9]{20,}"),
    ("stripe-key", ("sk_test_", "rk_test_"), r"(?<![A-Za-z])[rs]k_test_[A-Za-z0-9]{20,}"),
    ("sendgrid-key", ("SG.",), r"SG\.[\w-]{16,}\.[\w-]{16,}"),
    ("databricks-token", ("dapi",), r"dapi[0-9a-f]{32,}(?:-\d+)?"),
    ("telegram-token", (":AA",), r"(?<=\d{8}):(AA[\w-]{33,})"),
    ("grafana-token", ("glsa_",), r"glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}"),
    ("asana-token", (), r":(?<=/\d{16}:)[0-9a-f]{32}"),
    ("airtable-token", (), r"\.(?<=pat\w{14}\.)[0-9a-f]{64}"),
    ("azure-secret", ("8Q~",), r"8Q~(?<=\w{3}8Q~)[\w.~-]{31,}"),
    ("braintree-token", ("access_token$production$",), r"access_token\$production\$[\w$]{30,}"),
    ("mapbox-token", ("sk.eyJ",), r"sk\.eyJ[\w-]{20,}\.[\w-]{16,}"),
    ("harness-token", ("pat.", "sat."), r"(?<!\w)[ps]at\.[\w-]{20,}\.[0-9a-f]{24}\.\w{16,}"),
    ("dynatrace-token", ("dt0c01.", "dt0s16."), r"dt0[cs]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{60,}"),
    ("jwt", ("eyJ",), rf"(eyJ[\w-]{{8,}}+\.{_JWT_BODY})|eyJ[\w-]*+"),
    ("private-key", ("LS0tLS1CRUdJTi",), _BASE64_PEM),
    ("private-key", ("---- BEGIN SSH2 ",), _SSH2_KEY),
    ("private-key", ("Private-Lines: ",), _PUTTY_KEY),
    ("private-key", ("-----BEGIN OpenVPN",), _OPENVPN_KEY),
    ("private-key", ("-----BEGIN ",), _PRIVATE_KEY),
)

_ALPHABETS = {
    "a": "[A-Za-z0-9]",
    "b": r"[\w+/=-]",
    "d": r"[\w.%-]",
    "h": "[0-9a-f]",
    "H": "[0-9a-fA-F]",
    "U": "[A-Z0-9]",
    "w": r"[\w-]",
}
# Rule, the alphabet of what follows the prefix with its least length, and prefixes.
_PREFIXES = """
anthropic-key w16 sk-ant-
google-key w35 AIza
google-oauth w20 GOCSPX- ya29.
github-token a36 ghp_ gho_ ghu_ ghs_ ghr_
github-token w22 github_pat_
gitlab-token d20 glpat- gldt- glrt- glptt- glcbt- glft- glagent- gloas-
gitlab-token d20 glffct- glimt- glsoat- GR1348941
webhook-secret b24 whsec_
npm-token a36 npm_
pypi-token w16 pypi-Ag
gem-token h40 rubygems_
huggingface-token a30 hf_ api_org_
groq-key a40 gsk_
twilio-key H32 SK
digitalocean-token h40 dop_v1_ doo_v1_ dor_v1_
shopify-token H32 shpat_ shpca_ shppa_ shpss_
api-token h60 s-s4t2ud- s-s4t2af-
linear-key a32 lin_api_ lin_oauth_
docker-token w20 dckr_pat_ dckr_oat_
vault-token w20 hvs. hvb. hvr.
age-key U40 AGE-SECRET-KEY-1
atlassian-token b60 ATATT3 ATCTT3
api-token h32 sntryu_ sbp_ squ_ sqp_ sqa_ bkua_ pul-
api-token d40 dp.st.
api-token a36 pnu_ ntn_ xai-
api-token w40 figd_ .atlasv1. dp.pt. dp.ct. dp.sa.
api-token w30 sb_secret_ tskey- PMAK-
api-token b40 fm2_ fm1_ ops_eyJ glc_eyJ sntrys_eyJ
"""
# The same for prefixes that occur in words and names: what follows them must look random.
_SHORT_PREFIXES = """
google-oauth w40 1//0
mailgun-key h32 key-
clojars-token a50 CLOJARS_
replicate-token a36 r8_
crates-token a32 cio
atlassian-token a32 ATBB
brevo-key w60 xkeysib- xsmtpsib-
api-token w22 sha256~ sq0atp- sq0csp- CFPAT- FLWSECK_TEST- FLWSECK-
api-token w22 v1.0- EAAA access-sandbox-
api-token w35 sdk- api- pat-na1- pat-eu1- access-production- CCIPAT_
api-token a14 rzp_live_ rzp_test_
api-token a14 sm_aat_ sm_pat_ sm_sat_
api-token b60 ABSK eyJrIjoi
clickhouse-key a38 4b1d
api-token w30 tk-us-
api-token w24 re_ fw_ ico- p8e-
api-token a17 LTAI AKID SCW
api-token U26 API- NRAK-
api-token a60 EAAC EAAE
api-token a54 AKCp cmVmdGtu EZAK EZTK
"""
_SPECIAL = str.maketrans({sign: "\\" + sign for sign in ".$/"})


def _read(table: str) -> tuple[tuple[str, tuple[str, ...], str], ...]:
    rows = []
    for line in table.strip().splitlines():
        rule, body, *prefixes = line.split()
        start = "|".join(prefixes).translate(_SPECIAL)
        pattern = f"(?:{start}){_ALPHABETS[body[0]]}{{{body[1:]},}}"
        rows.append((rule, tuple(prefixes), pattern))
    return tuple(rows)


SHAPES = (*_read(_PREFIXES), *_PATTERNS)
RANDOM_SHAPES = _read(_SHORT_PREFIXES)
# Literals that end in "_" or "-" are searched together, in one pass over that character.
MARKS = {
    "_": r"_(?<=[A-Za-z0-9]_)(?=[\w-][\w+/-]{13})",
    "-": r"-(?<=[A-Za-z0-9]-)(?=[\w-][\w%-]{9})",
}

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
_DISCORD_USER = r"(?:(?<=[MNO][\w-]{23}\.)|(?<=[MNO][\w-]{25}\.))"
_OPENAI = r"(?:proj|svcacct|admin|None|or-v1)"
_JWT_BODY = r"(?:eyJ[\w-]{8,}+|[\w-]{16,}+\.[\w-]{8,}+)(?:\.[\w-]*+){0,3}"
_AWS_PAIR = r"""["']?[,:;|\t ]+["']?[A-Za-z0-9/+]{40}(?![\w/+])"""  # as in a credentials file

# Rule, literals, and the pattern that matches at a literal. Group 1, if the pattern has one, is the
# secret; if it takes no part in the match, the match is skipped. A row without literals has a
# pattern that starts with a fixed character. Patterns are greedy: no second secret may hide in the
# tail of a first one.
SHAPES: tuple[tuple[str, tuple[str, ...], str], ...] = (
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
# Literals that end in "_" or "-" are searched together, in one pass over that character.
MARKS = {"_": r"_(?=[A-Za-z0-9+/]{20})", "-": r"-(?=[A-Za-z0-9][\w%-]{9})"}

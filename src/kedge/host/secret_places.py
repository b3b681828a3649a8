"""Find secrets by their surroundings: in URLs, headers, files of credentials and commands.

Hook path: loaded with `redact`.
"""

from __future__ import annotations

from kedge.host.secret_values import (
    compile_pattern,
    is_cookie,
    is_credentials,
    is_pair,
    is_random,
    is_real,
    is_secret_literal,
    is_spoken,
    match_at,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def _is_password(value: str) -> bool:
    return is_secret_literal(value, "password")


def _is_login(pair: str) -> bool:
    return _is_password(pair.partition(":")[2])


def _has_random_part(path: str) -> bool:
    return any(is_random(part, 20) for part in path.split("/"))


_NETRC = r"(?i)machine\s+\S++(?:\s+(?:login|account)\s+\S++){1,2}\s+password\s+(\S+)"
_CURL = (  # one command, which a backslash continues on the next line
    r"""(?i)curl(?=\s)(?:(?!\s-u|\s--(?:proxy-)?user[ =])(?:[^\n\\]|\\[\s\S]))*"""
    r"""\s-(?:u|-(?:proxy-)?user)[ =]{0,2}\\?["']?[^\s:"'$\[]*+["']?:["']?([^\s"'\\]+)"""
    r"""|curl(?:[^\n\\]|\\[\s\S])*"""
)
_HEADER = (  # Authorization, with or without a scheme
    r"""(?i)(?<![a-z])authorization(?:\\{0,3}["']\]?)?(?:\s*[:=,]|[,\s]\s*["']?value["']?\s*[:=])"""
    r"""\s*(?:\\{0,3}["'])?(?:[a-z][\w-]{2,15}\s+)?([\w.~+/=:-]{6,}+)(?![(\[]|\s+\[redacted)"""
)
_COOKIE = r"""(?i)cookie2?(?:\\{0,3}["']\]?)?\s{0,4}[:=,]\s{0,4}(?:\\{0,3}["'])?([^\n"'\\]{8,})"""
_ACCOUNT = r"""(?i)password for [^\s=]{1,80}\s{0,4}=\s{0,4}(?:password\()?["']([^"'\n]+)["']"""
_LOGIN = (
    r"""(?i)(?:credentials|log ?in|logs in|logged in):?\s(?:[a-z]{2,6}\s){0,3}"""
    r"""[\w.@-]{2,40}\s?[/:]\s?([^\s/,;"'`()]{6,})"""
)
# Rule, literal in the folded text, pattern that matches at the literal, and the test for its
# group 1.
_PLACES: tuple[tuple[str, str, str, Callable[[str], bool]], ...] = (
    ("url-password", "://", r"""://[\w.~%+!*-]*+:([^\s/?#"'<>`\\]+)@""", is_real),
    ("url-token", "://", r"""://([\w.~%+-]++)(?::[^\s/?#"'<>`\\]*)?@""", is_random),
    ("url-password", "jdbc:oracle:", r"""(?i)jdbc:oracle:\w+:\w+/([^\s/@"']+)@""", is_real),
    ("url-signature", "sig=", r"(?i)sig=([\w%+/.~-]{20,}=*)", is_random),
    ("url-signature", "signature=", r"(?i)signature=([\w%+/.~-]{20,}=*)", is_random),
    ("url-code", "code=", r"(?i)(?<=[?&])code=([\w%+/.~-]{20,})", is_random),
    ("webhook", "webhook", r"(?i)webhook[\w.]{0,40}/([\w./@-]{30,})", _has_random_part),
    ("netrc-password", "machine ", _NETRC, is_real),
    ("pgpass-password", ":5432:", r":5432:[^\s:]+:[^\s:]+:([^\s:]+)$", _is_password),
    ("curl-password", "curl", _CURL, is_real),
    ("bearer-token", "bearer", r"(?i)bearer(?:\s|%20){1,3}([\w.~+/=-]{6,})", is_credentials),
    ("authorization", "authorization", _HEADER, is_credentials),
    ("authorization", 'auth"', r'(?i)auth"\s{0,4}:\s{0,4}"([A-Za-z0-9+/]{8,}={0,2})"', is_pair),
    ("authorization", "_auth", r"(?i)_auth\s?=\s?\"?([A-Za-z0-9+/]{8,}={0,2})", is_pair),
    ("authorization", "response=", r"(?i)response=\"?([0-9a-f]{32})", is_random),
    ("private-key", '"d"', r'(?i)"d"\s{0,4}:\s{0,4}"([\w-]{40,})"', is_random),
    ("cookie", "cookie", _COOKIE, is_cookie),
    ("password", "identified by ", r"""(?i)identified by\s{1,4}["']([^"'\n]+)""", _is_password),
    ("password", "password for ", _ACCOUNT, _is_password),
    ("password", "credentials", _LOGIN, is_spoken),
    ("password", "log", _LOGIN, is_spoken),
    ("password", "echo ", r"(?i)echo ([^\s|]+)\s{0,4}\|\s{0,4}sudo\s+-S", _is_password),
    (
        "password",
        "echo ",
        r"""(?i)echo ["']?([\w.-]+:[^\s|"']+)["']?\s{0,4}\|\s{0,4}chpasswd""",
        _is_login,
    ),
)

_VALUE = r"""\\?["']?([^\s"'\\]+)"""
# Programs that take a password from their command line: literal in the folded text, and what
# stands before the password.
_COMMANDS = (
    ("mysql", r"\s-p"),
    ("mariadb", r"\s-p"),
    ("7z", r"\s-p"),
    ("sshpass", r"\s-p\s?"),
    ("mongo", r"\s-p\s+"),
    (" login ", r"\s-p\s+"),
    ("redis_cli", r"\s-a\s+"),
    ("ldap", r"\s-w\s+"),
    ("sqlcmd", r"\s-P\s+"),
    ("zip ", r"\s-P\s+"),
    ("ssh_keygen", r"\s-[NP]\s+"),
    ("openssl", r"\s-(?:k|pass(?:in|out)?\spass:)\s?"),
    ("smbclient", r"\s-U\s*[\w.-]+%"),
    ("lftp", r"\s-u\s+[\w.-]+,"),
    ("plink", r"\s-pw\s+"),
    ("pscp", r"\s-pw\s+"),
    ("freerdp", r"\s/p:"),
    ("htpasswd", r"\s-[a-zA-Z]*b[a-zA-Z]*\s+\S+\s+\S+\s+"),
    ("vault login", r"login\s+"),
    ("mysqladmin", r"\spassword\s+"),
    ("net use", r"\s/user:\S+\s+"),
    ("snmp", r"\s-[AX]\s+"),
    ("http ", r"\s(?:-a|--auth)\s+[\w.-]+:"),
)
_COMMAND = r"(?:[^\n\\]|\\[\s\S]){0,2000}+"  # to its end, also on the next line
_CURL_COOKIE = r"""\s(?:-b|--cookie)[\s=]\\?["']?([^\n"'\\]{8,})"""


def find_by_place(text: str, folded: str) -> Iterator[tuple[int, int, str]]:
    """Yield secrets that are recognised by their surroundings."""
    for rule, literal, pattern, is_secret in _PLACES:
        for start, end in match_at(text, literal, pattern, folded):
            if is_secret(text[start:end]):
                yield start, end, rule
    for literal, before in _COMMANDS:
        if literal in folded:
            yield from _find_in_commands(text, folded, literal, before + _VALUE, _is_password)
    if "curl" in folded:
        yield from _find_in_commands(text, folded, "curl", _CURL_COOKIE, is_cookie)


def _find_in_commands(
    text: str, folded: str, literal: str, pattern: str, is_secret: Callable[[str], bool]
) -> Iterator[tuple[int, int, str]]:
    command, flag = compile_pattern(_COMMAND), compile_pattern(pattern)
    pos = folded.find(literal)
    while pos >= 0:
        match = command.match(text, pos)
        end = match.end() if match else pos
        for found in flag.finditer(text, pos, end):
            if is_secret(found[1]):
                yield *found.span(1), "password"
        pos = folded.find(literal, max(end, pos + 1))

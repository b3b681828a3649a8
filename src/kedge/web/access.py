"""Who may read the dashboard and act in it, and the headers that keep its pages to themselves.

The key is in a private file of the user. A link with it sets a cookie that only this server gets
back; a form needs the cookie, the page's own token, and an Origin that is this server's.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from pathlib import Path

from kedge.host import files
from kedge.host.daemon import KEY

PARAMETER = "key"  # of the link that signs in
_KEY = re.compile(rb"[\w-]{20,100}\Z")


def read_key(home: Path) -> str:
    """Return the key of the repository's dashboard; without one, make it."""
    known = files.read_bytes(home / KEY)
    if known is not None and _KEY.match(known):
        return known.decode()
    key = secrets.token_urlsafe(24)
    files.write_atomic(home / KEY, key.encode(), mode=0o600)
    return key


def make_link(home: Path, url: str) -> str:
    """Return the address that opens the dashboard."""
    return f"{url}/?{PARAMETER}={read_key(home)}"


def name_cookie(port: int) -> str:
    """Return the cookie's name: ports share cookies, so each has its own."""
    return f"kedge-{port}"


def derive(key: str, purpose: str) -> str:
    """Return a value that proves the key for one purpose without holding it."""
    return hmac.new(key.encode(), purpose.encode(), hashlib.sha256).hexdigest()[:40]


def is_same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def is_own_origin(origin: str | None, host: str) -> bool:
    """True for a request without an Origin, or with that of the server it was sent to."""
    return origin is None or origin.lower() == f"http://{host.lower()}"


def make_headers(host: str, static: str) -> dict[str, str]:
    """Return the headers of a page: nothing from elsewhere, nothing inline, no frame around it."""
    files_of = f"http://{host}{static}"
    policy = (
        f"default-src 'none'; script-src {files_of}; style-src {files_of}; img-src {files_of};"
        " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    return {
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "same-origin",  # none at all would make a form's Origin null
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
    }

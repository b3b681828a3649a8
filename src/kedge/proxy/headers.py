"""Which headers are forwarded, and whose requests are answered."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from kedge.proxy.routes import OWN_SESSION

# RFC 9110, 7.6.1: what concerns one connection is not forwarded
_HOP = {
    "connection", "expect", "keep-alive", "proxy-authenticate", "proxy-authorization",
    "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
}  # fmt: skip
_HOSTS = ("127.0.0.1", "localhost", "[::1]")


def is_own_host(host: str, port: int, *, beyond: bool = False) -> bool:
    """True if a Host header names this server; a page that rebinds its name does not.

    A server that listens `beyond` loopback is named by any address, and still by no other name.
    """
    if host.lower() in {name for own in _HOSTS for name in (own, f"{own}:{port}")}:
        return True
    return beyond and is_address(host.removesuffix(f":{port}").strip("[]"))


def is_address(text: str) -> bool:
    """True for an IP address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """True if nobody but this machine reaches a host."""
    return host == "localhost" or (is_address(host) and ipaddress.ip_address(host).is_loopback)


def select_headers(raw: Sequence[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    """Return the headers that are forwarded, in their order and case.

    A repeated one gets the case of the first: of two cases, aiohttp would send the last alone.
    """
    cases: dict[bytes, str] = {}
    headers = [
        (cases.setdefault(name.lower(), _decode(name)), _decode(value)) for name, value in raw
    ]
    left_out = (
        _HOP
        | {OWN_SESSION}
        | {
            name.strip().lower()
            for key, value in headers
            if key.lower() == "connection"
            for name in value.split(",")
        }
    )
    return [(name, value) for name, value in headers if name.lower() not in left_out]


def _decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")

"""Build HTML; every text in it is escaped."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from kedge.host.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterable


_VOID = frozenset(("input", "meta"))
# characters that change the direction of text, and lone surrogates
_TRICKS = re.compile("[\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class Html(str):
    """Markup; any other string is plain text."""

    __slots__ = ()


def escape_text(value: str) -> Html:
    """Escape a text, and make characters visible that hide or reorder text."""
    plain = _TRICKS.sub(lambda match: f"\\u{ord(match.group()):04x}", clean(value))
    return Html(escape(plain))


def join(parts: Iterable[str]) -> Html:
    """Concatenate markup and texts."""
    return Html("".join(part if isinstance(part, Html) else escape_text(part) for part in parts))


def tag(name: str, /, *inside: str, **attributes: str | float | bool | None) -> Html:
    """Return an element; `class_` is the attribute class, `aria_label` is aria-label."""
    written = "".join(_render_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{join(inside)}</{name}>")


def _render_attribute(key: str, value: str | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    return f' {name}="{escape_text(value if isinstance(value, str) else f"{value:g}")}"'

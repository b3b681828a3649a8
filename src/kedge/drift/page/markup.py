"""HTML in which every text is escaped by how it is made."""

from __future__ import annotations

import re
from html import escape

from kedge.host.text import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_VOID = frozenset(("input", "meta"))
# characters that turn the direction of what follows, and halves of characters
_TRICKS = re.compile("[\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class Html(str):
    """Markup. Any other string is text."""

    __slots__ = ()


def text(value: str) -> Html:
    """A text as markup: escaped, and with nothing in it that hides or reorders what is shown."""
    plain = _TRICKS.sub(lambda found: f"\\u{ord(found.group()):04x}", clean(value))
    return Html(escape(plain))


def join(parts: Iterable[str]) -> Html:
    """Markup and texts, one after the other."""
    return Html("".join(part if isinstance(part, Html) else text(part) for part in parts))


def tag(name: str, /, *inside: str, **attributes: str | float | bool | None) -> Html:
    """An element. `class_` is the attribute class, `aria_label` is aria-label."""
    given = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Html(f"<{name}{given}>")
    return Html(f"<{name}{given}>{join(inside)}</{name}>")


def _attribute(key: str, value: str | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    return f' {name}="{text(value if isinstance(value, str) else f"{value:g}")}"'

"""Templates and static files. Every text in a template is escaped and made visible."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from datetime import datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kedge.host.text import clean, count_noun, shorten
from kedge.web.routes import STATIC, write_path

if TYPE_CHECKING:
    from jinja2 import Environment

_HERE = Path(__file__).parent
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNITS = ((86400 * 365, "y"), (86400, "d"), (3600, "h"), (60, "m"))


class StaticFile(NamedTuple):
    """A file of the dashboard; its hash is in its path, so that it can be cached for ever."""

    path: str
    kind: str
    data: bytes
    integrity: str


@cache
def read_static() -> dict[str, StaticFile]:
    """Return the static files by name."""
    found = {}
    for path in sorted((_HERE / "static").iterdir()):
        data = path.read_bytes()
        digest = hashlib.sha256(data)
        integrity = f"sha256-{b64encode(digest.digest()).decode()}"
        where = f"{STATIC}{digest.hexdigest()[:16]}/{path.name}"
        found[path.name] = StaticFile(where, _TYPES[path.suffix], data, integrity)
    return found


def render(template: str, **values: Any) -> bytes:
    """Render a template as a page."""
    text = make_environment().get_template(template).render(**values)
    return text.encode("utf-8", "replace")


@lru_cache(maxsize=1)
def make_environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=show_text,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {
        "ago": describe_age,
        "clock": lambda at: str(at or "")[11:19],
        "day": lambda at: f"{str(at)[:10]} {str(at)[11:16]}",
        "short": shorten,
        "plural": count_noun,
        "number": lambda value: f"{value:,}",
        "compact": write_compact,
    }
    environment.globals |= {"link": write_path, "static": read_static()}
    return environment


def show_text(value: Any) -> Any:
    """Make characters visible that hide or reorder text; markup passes."""
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return _SURROGATE.sub("\ufffd", clean(value))
    return value


def describe_age(at: str | None, now: str) -> str:
    """Return how long ago a time was, in one unit: 12s, 4m, 3h, 2d."""
    try:
        seconds = (datetime.fromisoformat(now) - datetime.fromisoformat(str(at))).total_seconds()
    except (ValueError, TypeError):
        return "–"
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds // size:.0f}{unit}"
    return f"{max(0, seconds):.0f}s"


def write_compact(value: float) -> str:
    """Return a number in at most four characters and a unit: 950, 12.3k, 1.2M."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.0f}"

"""docs/design/architecture.md names every room, and only modules that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs/design/architecture.md").read_text(encoding="utf-8")
SOURCE = ROOT / "src/kedge"
# A row of the table names modules relative to its room.
PLACES = (ROOT, SOURCE, *sorted(path.parent for path in SOURCE.glob("*/__init__.py")))


def test_every_module_it_names_exists() -> None:
    named = set(re.findall(r"`([a-z_/]+(?:\.py|/))`", PAGE))
    assert len(named) > 50
    missing = [
        name for name in sorted(named) if not any((place / name).exists() for place in PLACES)
    ]
    assert missing == []


def test_it_names_every_room() -> None:
    rooms = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    modules = {path.name for path in SOURCE.glob("*.py")} - {"__init__.py", "__main__.py"}
    missing = [
        name
        for name in sorted(rooms | modules)
        if f"`{name}/`" not in PAGE and f"`{name}`" not in PAGE
    ]
    assert missing == []

"""An entry as plain values."""

from __future__ import annotations

from kedge.knowledge import values
from kedge.knowledge.entries import Entry
from kedge.knowledge.fields import CHALLENGED, CONFIDENCE, CONFIRMED, COUNT, LAST, PROVENANCE


def data(entry: Entry) -> dict[str, object]:
    last, count = entry.field(LAST), entry.field(COUNT)
    seen = values.seen(last.value if last else None)
    return {
        "name": plain(entry.name),
        "type": entry.type,
        "code": entry.code or None,
        "file": entry.file,
        "line": entry.line + 1,
        "section": plain(entry.section) or None,
        "text": plain(entry.text),
        "provenance": plain(entry.value(PROVENANCE)) or None,
        "confidence": plain(entry.value(CONFIDENCE)) or None,
        "last_observed": {
            "kind": seen.kind,
            "value": plain(last.value) if last else None,
            "refs": list(seen.refs),
            "day": seen.day or None,
        },
        "count": values.count(count.value) if count else None,
        "confirmed": [plain(field.value) for field in entry.all(CONFIRMED)],
        "challenged": [plain(field.value) for field in entry.all(CHALLENGED)],
    }


def plain(text: str) -> str:
    """With what is no text made visible."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def places(entry: Entry) -> tuple[str, str]:
    """Where the entry stands: from the root of the project, and by the file's name alone."""
    place = f"{entry.file}:{entry.line + 1}"
    return place, place.rpartition("/")[2]

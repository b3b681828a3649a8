"""An entry for its readers: as JSON data, as text for an agent, and where it is."""

from __future__ import annotations

from kedge.knowledge.bank import titles, values
from kedge.knowledge.bank.entries import Entry
from kedge.knowledge.bank.fields import CHALLENGED, CONFIDENCE, CONFIRMED, COUNT, LAST, PROVENANCE


def entry_data(entry: Entry) -> dict[str, object]:
    """Return the entry as JSON data."""
    last, count = entry.field(LAST), entry.field(COUNT)
    occasion = values.parse_occasion(last.value if last else None)
    return {
        "name": printable(entry.name),
        "type": entry.type,
        "code": entry.code or None,
        "file": entry.file,
        "line": entry.line + 1,
        "section": printable(entry.section) or None,
        "text": printable(entry.text),
        "provenance": printable(entry.value(PROVENANCE)) or None,
        "confidence": printable(entry.value(CONFIDENCE)) or None,
        "last_observed": {
            "kind": occasion.kind,
            "value": printable(last.value) if last else None,
            "refs": list(occasion.refs),
            "day": occasion.day or None,
        },
        "count": values.parse_count(count.value) if count else None,
        "confirmed": [printable(field.value) for field in entry.all(CONFIRMED)],
        "challenged": [printable(field.value) for field in entry.all(CHALLENGED)],
    }


def format_entry(entry: Entry) -> str:
    """Format the entry as a list item for an agent."""
    count = values.parse_count(entry.value(COUNT))
    notes = [
        f"confidence {entry.value(CONFIDENCE)}" if entry.value(CONFIDENCE) else "",
        f"observed {count}×" if count else "",
        f"last in {entry.value(LAST)}" if entry.value(LAST) else "",
    ]
    note = ", ".join(filter(None, notes))
    head = f"**{titles.LABELS[entry.type]}: {entry.name}**" + (f" ({note})" if note else "")
    body = entry.text.splitlines()
    body += [f"Challenged: {field.value}" for field in entry.all(CHALLENGED)]
    return "\n".join([f"- {head}", *(f"  {line}" if line.strip() else "" for line in body)])


def printable(text: str) -> str:
    """Replace bytes that are not UTF-8 by the replacement character."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def locations(entry: Entry) -> tuple[str, str]:
    """Return `file:line` with the path from the project's root, and with the file name alone."""
    place = f"{entry.file}:{entry.line + 1}"
    return place, place.rpartition("/")[2]

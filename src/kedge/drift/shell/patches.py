"""Patches in Codex's format and in that of `diff -u`: what they do to each file."""

from __future__ import annotations

from kedge.host.record import NamedTuple

MOST_LINES = 50_000
_ADD, _UPDATE, _DELETE, _MOVE = (
    "*** Add File: ",
    "*** Update File: ",
    "*** Delete File: ",
    "*** Move to: ",
)


class FilePatch(NamedTuple):
    """`kind` is add, update or delete; `target` is the new path of a file that is moved."""

    kind: str
    path: str
    target: str
    added: str
    removed: str


def parse_patch(text: str) -> list[FilePatch]:
    """Return what a patch of either format does to each file; nothing if it is not a patch."""
    lines = text.splitlines()[:MOST_LINES]
    if any(line.startswith((_ADD, _UPDATE, _DELETE)) for line in lines):
        return _parse_codex(lines)
    return _parse_unified(lines)


def _parse_codex(lines: list[str]) -> list[FilePatch]:
    files: list[FilePatch] = []
    kind = path = target = ""
    added: list[str] = []
    removed: list[str] = []

    def close() -> None:
        if path:
            files.append(FilePatch(kind, path, target, "\n".join(added), "\n".join(removed)))
        added.clear()
        removed.clear()

    for line in lines:
        head = next((each for each in (_ADD, _UPDATE, _DELETE) if line.startswith(each)), None)
        if head:
            close()
            kind = {_ADD: "add", _UPDATE: "update", _DELETE: "delete"}[head]
            path, target = line[len(head) :].strip(), ""
        elif line.startswith(_MOVE):
            target = line[len(_MOVE) :].strip()
        elif line.startswith("*** End Patch"):
            break
        elif line.startswith("+"):
            added.append(line[1:])
        elif line.startswith("-"):
            removed.append(line[1:])
    close()
    return files


def _parse_unified(lines: list[str]) -> list[FilePatch]:
    files: list[FilePatch] = []
    old = new = ""
    added: list[str] = []
    removed: list[str] = []

    def close() -> None:
        if old or new:
            kind = "add" if old in ("", "/dev/null") else "update"
            kind = "delete" if new == "/dev/null" else kind
            path = old if kind != "add" else new
            target = new if kind == "update" and new != old else ""
            files.append(FilePatch(kind, path, target, "\n".join(added), "\n".join(removed)))
        added.clear()
        removed.clear()

    inside = False
    for place, line in enumerate(lines):
        follows = lines[place + 1] if place + 1 < len(lines) else ""
        if line.startswith("--- ") and follows.startswith("+++ "):
            close()
            old, new, inside = _name(line), _name(follows), False
        elif line.startswith("@@"):
            inside = True
        elif line.startswith(("diff ", "index ")):
            inside = False
        elif inside and line.startswith("+"):
            added.append(line[1:])
        elif inside and line.startswith("-"):
            removed.append(line[1:])
    close()
    return files


def _name(line: str) -> str:
    name = line[4:].partition("\t")[0].strip().strip('"')
    return name[2:] if name.startswith(("a/", "b/")) else name

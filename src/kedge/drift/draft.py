"""An action while the input of its tool call is being read."""

from __future__ import annotations

from kedge.drift.shell.effects import EffectsBuilder
from kedge.drift.shell.paths import project_paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

PATHS = ("file_path", "filePath", "path", "notebook_path", "absolute_path", "filename", "file",
         "relative_path", "target_file", "uri", "pathInProject")  # fmt: skip
_TEXTS = ("_string", "String", "_str", "Text", "_text")


class ActionDraft:
    """An action while its input is being read."""

    __slots__ = ("command", "cwd", "effects", "input", "paths", "texts", "tool")

    def __init__(
        self, tool: str, given: Mapping[str, Any], root: str, cwd: str, texts: Mapping[str, str]
    ) -> None:
        self.tool = tool
        self.texts = texts
        self.input = given
        self.paths = project_paths(root)
        self.cwd = self.paths.absolute(cwd or ".", self.paths.root)
        self.effects = EffectsBuilder()
        self.command = ""

    def text(self, *names: str) -> str:
        """Return the first of the named inputs that is a non-empty string."""
        for name in names:
            value = self.input.get(name)
            if isinstance(value, str) and value:
                return value
        return ""

    def add(self, kind: str, path: str) -> str:
        """Record an effect on a path; return the displayed path, or "" if it is not known."""
        shown = self.paths.display(path.removeprefix("file://"), self.cwd) if path else None
        if shown is None:
            return ""
        path, outside = shown
        self.effects.add(kind, path)
        if outside:
            self.effects.add("outside", path)
        return path

    def add_edit(self, path: str) -> str:
        """Record a change of a file that exists; return the displayed path."""
        shown = self.add("existing", path)
        if shown:
            self.effects.add("written", shown)
        return shown

    def add_edits(self, shown: str) -> None:
        """Record the texts of several edits of one file."""
        for edit in list_values(self.input.get("edits")):
            if is_mapping(edit):
                old, new = pair_texts(edit)
                self.effects.add_change(shown, new, old)

    def move(self, source: str, target: str) -> str:
        """Record that a path moves; return the displayed new path, or "" if it is not known."""
        old, new = self.paths.display(source, self.cwd), self.paths.display(target, self.cwd)
        if not old or not new:
            return ""
        self.effects.add("moved", (old[0], new[0]))
        for path, outside in (old, new):
            if outside:
                self.effects.add("outside", path)
        return new[0]

    def fetch(self) -> None:
        """Record an address or a search on the network."""
        from kedge.drift.shell.call import strip_secrets

        self.command = self.text("url", "query", "prompt", "q")
        url = self.text("url")
        self.effects.add("network", strip_secrets(url) if url else "web search")


def pair_texts(edit: Mapping[str, Any]) -> tuple[str, str]:
    """Return the old and the new text of an edit."""
    old, new = ([edit.get(side + tail) for tail in _TEXTS] for side in ("old", "new"))
    return next(list_strings(old), ""), next(list_strings(new), "")


def is_mapping(value: object) -> bool:
    return hasattr(value, "get") and hasattr(value, "keys")


def list_strings(value: object) -> Iterator[str]:
    """Yield the strings of a list."""
    return (each for each in list_values(value) if isinstance(each, str))


def list_values(value: object) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else ()

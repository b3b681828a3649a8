"""The knowledge bank of a project: its files, read whole and written under a lock."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from kedge.errors import FileError, InvalidValue
from kedge.host import files
from kedge.host.project import Project
from kedge.host.record import NamedTuple
from kedge.knowledge import anchors, entries, finished, observe, titles, values
from kedge.knowledge.anchors import Anchor
from kedge.knowledge.entries import Entry, Page
from kedge.knowledge.fields import ANCHOR
from kedge.knowledge.finished import Clock
from kedge.knowledge.view import places, plain
from kedge.settings import Settings
from kedge.tasks import documents

DIRECTORIES = ("docs/knowledge-bank", ".kedge/knowledge")
_MOST = 8 << 20  # bytes of a file


class Found(NamedTuple):
    """An entry, by the page it is on and its place there."""

    page: Page
    at: int

    @property
    def entry(self) -> Entry:
        return self.page.entries[self.at]


class Bank:
    def __init__(self, project: Project, settings: Settings) -> None:
        self.project = project
        self.settings = settings
        self.warnings: list[str] = []

    @property
    def stale_after(self) -> int:
        return self.settings.knowledge.stale_after

    def pages(self) -> list[Page]:
        """The files that are there; one that cannot be read is a warning."""
        found = []
        for folder in DIRECTORIES:
            for name in titles.FILES.values():
                try:
                    page = self.page(f"{folder}/{name}")
                except FileError as error:
                    self.warnings.append(error.message)
                    continue
                if page is not None:
                    found.append(page)
        return found

    def found(self) -> list[Found]:
        return [Found(page, at) for page in self.pages() for at in range(len(page.entries))]

    def find(self, named: str) -> Found:
        """The entry of that name, whatever its case and signs; or the one at `file:line`."""
        every = self.found()
        key = titles.key(titles.read(named).name)
        found = [one for one in every if titles.key(one.entry.name) == key] if key else []
        found = found or [one for one in every if one.entry.code and one.entry.code == named]
        found = found or [one for one in every if named in places(one.entry)]
        if len(found) == 1:
            return found[0]
        if found:
            where = ", ".join(places(one.entry)[0] for one in found)
            raise InvalidValue(f"{named!r} is there more than once: {where}", hint="name the place")
        from difflib import get_close_matches

        names = {titles.key(one.entry.name): plain(one.entry.name) for one in every}
        near = get_close_matches(key, list(names), n=1, cutoff=0.4)
        hint = f"did you mean {names[near[0]]!r}?" if near else "kedge knowledge list shows them"
        raise InvalidValue(f"no entry {named!r} in the knowledge bank", hint=hint)

    @cached_property
    def clock(self) -> Clock:
        """What was finished, with what the entries need to be placed in it."""
        seen = [
            values.seen(field.value)
            for one in self.found()
            for field in one.entry.fields
            if field.known
        ]
        kinds = {one.kind for one in seen}
        clock = finished.read(self.project, self.settings.tasks, tasks=values.TASK in kinds)
        if values.DATE in kinds and not clock.folders and not clock.tasks:
            clock = finished.read(self.project, self.settings.tasks, tasks=True)
        refs = [ref for one in seen if one.kind == values.FEATURE for ref in one.refs]
        if any(finished.find(ref, clock.folders) is None for ref in refs):
            clock = finished.with_renames(clock, self.project)
        self.warnings += clock.warnings
        return clock

    def states(self, entry: Entry) -> list[tuple[Anchor, str]]:
        """What the entry is anchored at, each with whether it is as it was."""
        found = [anchors.parse(field.value) for field in entry.all(ANCHOR)]
        return [(anchor, anchors.state(self.project, anchor)) for anchor in found]

    def is_orphaned(self, entry: Entry) -> bool:
        """Whether nothing is left of what the entry is about."""
        states = [state for _, state in self.states(entry)]
        return bool(states) and all(state == anchors.ORPHANED for state in states)

    def where(self, named: str) -> str:
        """A feature or a task as an entry names it; refused where there is none."""
        bare = re.sub(r"(?i)^(?:feature|task)s?[ :]*", "", named.strip())
        is_task = re.match(r"(?i)task\b", named.strip()) is not None
        clock = finished.read(self.project, self.settings.tasks, tasks=True)
        folder = finished.find(bare.lstrip("#"), clock.folders)
        if folder is not None and not is_task:
            return observe.label(folder)
        if bare in clock.open_tasks or any(one.id == bare for one in clock.tasks):
            return f"Task {bare}"
        if not clock.folders and re.fullmatch(r"#?[0-9]{1,6}", bare):
            self.warnings.append(f"there is no docs/features here to look for feature {bare} in")
            return f"Feature #{bare.lstrip('#')}"
        raise InvalidValue(
            f"no feature or task {named!r}",
            hint="ls docs/features and kedge task list show what there is",
        )

    def target(self, type_: str) -> tuple[str, Page | None]:
        """The file for entries of a type: where there is one, else where others are."""
        name = titles.FILES[type_]
        places = [f"{folder}/{name}" for folder in DIRECTORIES]
        for place in places:
            page = self.page(place)
            if page is not None:
                return place, page
        folder = next((f for f in DIRECTORIES if self._path(f).is_dir()), DIRECTORIES[0])
        return f"{folder}/{name}", None

    def _path(self, file: str) -> Path:
        own = file.removeprefix(".kedge/")
        return self.project.own(*own.split("/")) if own != file else self.project.path(file)

    def page(self, file: str) -> Page | None:
        data = files.read_bytes(self._path(file))
        if data is None:
            return None
        if len(data) > _MOST:
            raise FileError(f"{file} has more than {_MOST >> 20} MiB", hint="split it")
        return entries.read(data, file)

    def write(self, changes: list[tuple[Page | None, Page]]) -> None:
        documents.write_all(
            (self._path(new.file), old.data if old else None, new.data) for old, new in changes
        )

    @contextmanager
    def locked(self) -> Iterator[None]:
        path = self.project.own("locks", "knowledge.lock")
        with files.lock(path, timeout=self.settings.tasks.lock_timeout):
            yield

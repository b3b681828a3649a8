"""The knowledge bank of a project: read its pages, write them under a lock, or stage changes."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path

from kedge.errors import FileError, InvalidValue
from kedge.host import documents, files
from kedge.host.project import Project
from kedge.knowledge.bank import DIRECTORIES, anchors, entries, titles, values
from kedge.knowledge.bank.anchors import CodeAnchor
from kedge.knowledge.bank.completions import Completions, read_completions, read_renames
from kedge.knowledge.bank.entries import BankPage, Entry
from kedge.knowledge.bank.fields import ANCHOR
from kedge.knowledge.bank.view import locations, printable
from kedge.knowledge.feature_folders import feature_label, match_folder
from kedge.settings import Settings

_MAX_BYTES = 8 << 20  # of a page


@dataclass(frozen=True, slots=True)
class PageEntry:
    """An entry, by its page and its index there."""

    page: BankPage
    index: int

    @property
    def entry(self) -> Entry:
        return self.page.entries[self.index]


class Bank:
    def __init__(self, project: Project, settings: Settings) -> None:
        self.project = project
        self.settings = settings
        self.warnings: list[str] = []

    @property
    def stale_after(self) -> int:
        return self.settings.knowledge.stale_after

    def pages(self) -> list[BankPage]:
        """Return the pages that exist; one that cannot be read becomes a warning."""
        pages = []
        for folder in DIRECTORIES:
            for name in titles.FILES.values():
                try:
                    page = self.page(f"{folder}/{name}")
                except FileError as error:
                    self.warnings.append(error.message)
                    continue
                if page is not None:
                    pages.append(page)
        return pages

    def entries(self) -> list[PageEntry]:
        return [PageEntry(page, n) for page in self.pages() for n in range(len(page.entries))]

    def find(self, named: str) -> PageEntry:
        """Return the entry by its name in any spelling, its code, or its `file:line`."""
        every = self.entries()
        key = titles.name_key(titles.parse_title(named).name)
        found = [one for one in every if titles.name_key(one.entry.name) == key] if key else []
        found = found or [one for one in every if one.entry.code and one.entry.code == named]
        found = found or [one for one in every if named in locations(one.entry)]
        if len(found) == 1:
            return found[0]
        if found:
            where = ", ".join(locations(one.entry)[0] for one in found)
            raise InvalidValue(
                f"{len(found)} entries match {named!r}: {where}", hint="name one as FILE:LINE"
            )
        names = {titles.name_key(one.entry.name): printable(one.entry.name) for one in every}
        near = get_close_matches(key, list(names), n=1, cutoff=0.4)
        hint = f"did you mean {names[near[0]]!r}?" if near else "kedge knowledge list shows them"
        raise InvalidValue(f"no entry {named!r} in the knowledge bank", hint=hint)

    @cached_property
    def completions(self) -> Completions:
        """What was finished; former names of features only if an entry may refer to one."""
        found = read_completions(self.project, self.settings.tasks)
        fields = [field for one in self.entries() for field in one.entry.fields]
        occasions = [values.parse_occasion(field.value) for field in fields]
        refs = [ref for one in occasions if one.kind == values.FEATURE for ref in one.refs]
        if any(match_folder(ref, found.folders) is None for ref in refs):
            found = replace(found, renamed=read_renames(self.project, found.folders))
        self.warnings += found.warnings
        return found

    def anchor_states(self, entry: Entry) -> list[tuple[CodeAnchor, str]]:
        """Return the entry's anchors, each with its state."""
        found = [anchors.parse(field.value) for field in entry.all(ANCHOR)]
        return [(anchor, anchors.check(self.project, anchor)) for anchor in found]

    def is_orphaned(self, entry: Entry) -> bool:
        """True if the entry has anchors and all of them are gone."""
        states = [state for _, state in self.anchor_states(entry)]
        return bool(states) and all(state == anchors.ORPHANED for state in states)

    def label(self, named: str) -> str:
        """Return how entries refer to a feature or task; refuse one that does not exist."""
        bare = re.sub(r"(?i)^(?:feature|task)s?[ :]*", "", named.strip())
        is_task = re.match(r"(?i)task\b", named.strip()) is not None
        known = read_completions(self.project, self.settings.tasks)
        folder = match_folder(bare.lstrip("#"), known.folders)
        if folder is not None and not is_task:
            return feature_label(folder)
        if bare in known.open_tasks or any(one.id == bare for one in known.tasks):
            return f"Task {bare}"
        if not known.folders and re.fullmatch(r"#?[0-9]{1,6}", bare):
            self.warnings.append(f"feature {bare} cannot be verified: there is no docs/features")
            return f"Feature #{bare.lstrip('#')}"
        raise InvalidValue(
            f"no feature or task {named!r}",
            hint="ls docs/features and kedge task list show what there is",
        )

    def target_page(self, type_: str) -> tuple[str, BankPage | None]:
        """Return the file for new entries of a type, and its page if the file exists."""
        name = titles.FILES[type_]
        for folder in DIRECTORIES:
            page = self.page(f"{folder}/{name}")
            if page is not None:
                return f"{folder}/{name}", page
        folder = next((f for f in DIRECTORIES if self._path(f).is_dir()), DIRECTORIES[0])
        return f"{folder}/{name}", None

    def page(self, file: str) -> BankPage | None:
        data = files.read_bytes(self._path(file))
        if data is None:
            return None
        if len(data) > _MAX_BYTES:
            raise FileError(f"{file} is larger than {_MAX_BYTES >> 20} MiB", hint="split it")
        return entries.decode_page(data, file)

    def write(self, changes: list[tuple[BankPage | None, BankPage]]) -> None:
        """Write pages; each change is the page as it was read, None for a new one, and after."""
        documents.write_all(
            self.project.root,
            ((self._path(new.file), old.data if old else None, new.data) for old, new in changes),
        )

    def lock(self) -> AbstractContextManager[None]:
        path = self.project.own("locks", "knowledge.lock")
        return files.lock(path, timeout=self.settings.tasks.lock_timeout)

    def _path(self, file: str) -> Path:
        own = file.removeprefix(".kedge/")
        return self.project.own(*own.split("/")) if own != file else self.project.path(file)


class StagedBank(Bank):
    """A bank whose changes are visible to later reads, but written only by the caller.

    The caller holds the lock of the real bank; `label` is that of the work all changes refer to.
    """

    def __init__(self, bank: Bank, label: str) -> None:
        super().__init__(bank.project, bank.settings)
        self._label = label
        self._originals: dict[str, BankPage | None] = {}
        self._staged: dict[str, BankPage] = {}

    def page(self, file: str) -> BankPage | None:
        if file in self._staged:
            return self._staged[file]
        if file not in self._originals:
            self._originals[file] = super().page(file)
        return self._originals[file]

    def write(self, changes: list[tuple[BankPage | None, BankPage]]) -> None:
        self._staged.update({new.file: new for _, new in changes})

    def label(self, named: str) -> str:  # noqa: ARG002 - the signature of Bank
        return self._label

    def lock(self) -> AbstractContextManager[None]:
        return nullcontext()

    def changes(self) -> list[tuple[BankPage | None, BankPage]]:
        """Return each page that differs: as it was read, and as it would be written."""
        pairs = [(self._originals.get(file), page) for file, page in sorted(self._staged.items())]
        return [(old, new) for old, new in pairs if old is None or old.data != new.data]

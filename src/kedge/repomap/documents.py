"""First phase of a map: read the words of every source file, without parsing it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from kedge.repomap import files
from kedge.repomap.files import File
from kedge.repomap.imports import find_import_keys, find_own_keys
from kedge.repomap.index import DEFINED, IMPORTED, MOST, Document
from kedge.repomap.languages import PROSE, refine
from kedge.repomap.progress import Tick, no_tick
from kedge.repomap.words import find_words

_STEP = 50  # files between two progress reports
_DEFINITION = 4  # a definition counts as this many more uses
_SHORTEST_DEFINED = 4  # a shorter name is defined everywhere
_SCRIPTS = (".kts", ".gradle")  # build scripts: no other file can use what they define
_PATH_WORD = re.compile(r"\w{3,}", re.ASCII)


def read_document(file: File, root: Path) -> Document | None:
    """The names in a file with their counts; None for a generated or unreadable file."""
    if file.language is None:
        return None
    names: dict[str, int] = {}
    if file.language.name not in PROSE:
        data = files.read(root, file.path)
        if not data or files.is_generated(data):
            return None
        language = file.language
        if language.name == "objc":  # or MATLAB
            language = refine(language, file.path, data)
        names, defined, imported = find_words(language.name, data)
        is_used = not file.path.endswith(_SCRIPTS)
        for name in defined if is_used else ():
            count = min(names[name] + _DEFINITION, MOST)
            names[name] = count | DEFINED if len(name) >= _SHORTEST_DEFINED else count
        for key in find_import_keys(file.path, imported):
            if key.isascii():  # lower case must have the same length
                names[key] = IMPORTED
        for key in find_own_keys(file.path) if is_used else ():
            if key.isascii():
                names[key] = names.get(key, 0) | DEFINED
    for word in _PATH_WORD.findall(file.path):
        names[word] = MOST | names.get(word, 0) & DEFINED
    return names


def read_documents(
    wanted: Sequence[File], root: Path, progress: Tick = no_tick
) -> list[Document | None]:
    """The document of each file."""
    found = []
    for done, file in enumerate(wanted):
        if not done % _STEP:
            progress(done, len(wanted))
        found.append(read_document(file, root))
    return found

"""The yardstick: only parse every source file that has a grammar, in two processes.

python benchmarks/map/parse_only.py ROOT
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path

from tree_sitter import Language, Parser

from kedge.host import project
from kedge.repomap import files
from kedge.repomap.listing import list_files


def main() -> None:
    tree = project.find(Path(sys.argv[1]))
    listed = [file for file in list_files(tree).files if file.language and file.language.grammar]
    child = os.fork()
    parsers: dict[str, Parser] = {}
    for file in listed[0 if child else 1 :: 2]:
        language = file.language
        data = files.read(tree.root, file.path)
        if language is None or data is None:
            continue
        if language.name not in parsers:
            module = import_module(str(language.grammar))
            parsers[language.name] = Parser(Language(getattr(module, language.function)()))
        parsers[language.name].parse(data)
    if not child:
        os._exit(0)
    os.waitpid(child, 0)


if __name__ == "__main__":
    main()

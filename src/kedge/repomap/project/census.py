"""How much code there is, in which language and where, judged by file names alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import cached_property, lru_cache

_LANGUAGES = {
    ("Python", "python"): "py pyi pyx",
    ("TypeScript", "node"): "ts tsx mts cts",
    ("JavaScript", "node"): "js jsx mjs cjs",
    ("Vue", "node"): "vue",
    ("Svelte", "node"): "svelte",
    ("Astro", "node"): "astro",
    ("Rust", "rust"): "rs",
    ("Go", "go"): "go",
    ("Java", "jvm"): "java",
    ("Kotlin", "jvm"): "kt",
    ("Scala", "scala"): "scala sc",
    ("Groovy", "jvm"): "groovy",
    ("Clojure", "clojure"): "clj cljs cljc",
    ("Ruby", "ruby"): "rb",
    ("PHP", "php"): "php",
    ("C#", "dotnet"): "cs",
    ("F#", "dotnet"): "fs",
    ("Visual Basic", "dotnet"): "vb",
    ("C", "c"): "c",
    ("C++", "c"): "cc cpp cxx hpp hh hxx cu",
    ("Objective-C", "swift"): "m mm",
    ("Swift", "swift"): "swift",
    ("Elixir", "elixir"): "ex exs",
    ("Erlang", "erlang"): "erl hrl",
    ("Dart", "dart"): "dart",
    ("Haskell", "haskell"): "hs",
    ("OCaml", "ocaml"): "ml mli",
    ("Zig", "zig"): "zig",
    ("Nim", "nim"): "nim",
    ("Crystal", "crystal"): "cr",
    ("Julia", "julia"): "jl",
    ("R", "r"): "r",
    ("Lua", "lua"): "lua",
    ("Perl", "perl"): "pl pm",
    ("Shell", "shell"): "sh bash zsh fish",
    ("PowerShell", "shell"): "ps1 psm1",
    ("Tcl", "tcl"): "tcl",
    ("Solidity", "solidity"): "sol",
    ("Terraform", "terraform"): "tf",
    ("Nix", "nix"): "nix",
    ("Emacs Lisp", "elisp"): "el",
    ("Vim script", "vim"): "vim",
    ("SQL", "sql"): "sql",
}
_BY_EXTENSION = {
    extension: both for both, names in _LANGUAGES.items() for extension in names.split()
}
# counted for the directory that they are in, but not as a language of their own
_HEADERS = {"h": ("C", "c")}

_TESTS = frozenset(
    ["test", "tests", "spec", "specs", "__tests__", "__test__", "e2e", "testdata", "test-data", "test_data", "cypress", "fixtures", "__fixtures__", "__mocks__", "mocks", "snapshots", "integration-tests", "integration_tests", "integrationtest", "inttest", "functional_tests", "unittests", "unit_tests", "testsuite", "test-suite", "androidtest", "testfixtures", "jvmtest", "commontest", "js_tests", "testutil", "testutils", "test_utils", "testscripts", "system-test", "playwright", "smoke-test", "smoke-tests"]
)
_ASIDE = _TESTS | frozenset(
    ["doc", "docs", "documentation", "example", "examples", "sample", "samples", "demo", "demos", "playground", "playgrounds", "benchmark", "benchmarks", "bench", "benches", "template", "templates", "third_party", "third-party", "thirdparty", "vendor", "external", "extern", "node_modules", "website", "www", "site", "contrib-docs", "docs_src", "tutorials", "tutorial", "boilerplate", "boilerplates", "starters", "cookbook", "recipes", "templates-dev", "evals"]
)
# Harbour.Api.Tests, core-tests
_TEST_ENDINGS = (".tests", ".test", "-tests", "_tests", ".unittests")
_TEST_NAME = re.compile(
    r"(?:^test_.*\.py|_test\.(?:py|go|rb|exs|dart|cc|cpp|ts|js|c)|_spec\.rb|"
    r"[.-](?:test|spec|e2e-spec|cy|stories)\.[cm]?[jt]sx?|(?:Test|Tests|Spec|IT)\.(?:java|kt|scala|"
    r"cs|php|swift|groovy)|^conftest\.py)$"
)


@lru_cache(maxsize=4096)
def _is_part_aside(part: str) -> bool:
    lower = part.lower()
    if lower in _ASIDE:
        return True
    return lower.endswith(_TEST_ENDINGS)


@lru_cache(maxsize=4096)
def is_test_directory(directory: str) -> bool:
    return any(
        part.lower() in _TESTS or part.lower().endswith(_TEST_ENDINGS)
        for part in directory.split("/")
    )


def is_aside(directory: str) -> bool:
    """Whether what is in the directory is a test, a document or an example, not the product."""
    return any(_is_part_aside(part) for part in directory.split("/"))


def is_test_name(name: str) -> bool:
    return _TEST_NAME.search(name) is not None


def language_of(path: str) -> tuple[str, str] | None:
    """The language of a file, and the family of tools that build it."""
    extension = path.rpartition(".")[2].lower()
    return _BY_EXTENSION.get(extension) or _HEADERS.get(extension)


class Census:
    """Files of code by directory and language. Tests and examples are counted apart."""

    def __init__(self, paths: Iterable[str]) -> None:
        counts: Counter[tuple[str, str]] = Counter()
        tests: Counter[tuple[str, str]] = Counter()
        every: Counter[tuple[str, str]] = Counter()
        known = _BY_EXTENSION | _HEADERS
        aside: dict[str, bool] = {}
        for path in paths:
            directory, _, name = path.rpartition("/")
            extension = name.rpartition(".")[2]
            if extension not in known and (extension := extension.lower()) not in known:
                continue
            if directory not in aside:
                aside[directory] = bool(directory) and is_aside(directory)
            key = (directory, extension)
            if extension != "h":
                every[key] += 1
            if aside[directory]:
                continue
            (tests if is_test_name(name) else counts)[key] += 1
        self._every = every
        # a repository of examples or of tests is still a repository
        self._counts = counts or every
        self._known = known

    @cached_property
    def _directories(self) -> dict[str, int]:
        """How many files of code there are in a directory and all below it."""
        own: Counter[str] = Counter()
        for (directory, _), number in self._counts.items():
            own[directory] += number
        found: Counter[str] = Counter()
        for directory, number in own.items():
            found[""] += number
            while directory:
                found[directory] += number
                directory = directory.rpartition("/")[0]
        return dict(found)

    @property
    def total(self) -> int:
        return self._directories.get("", 0)

    def files_in(self, directory: str) -> int:
        return self._directories.get(directory, 0)

    def subdirectories(self, directory: str) -> list[str]:
        """The directories right below that hold code."""
        return self._children.get(directory, [])

    @cached_property
    def _children(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name in sorted(self._directories):
            if name:
                found.setdefault(name.rpartition("/")[0], []).append(name)
        return found

    def files_right_in(self, directory: str) -> int:
        below = sum(self.files_in(name) for name in self.subdirectories(directory))
        return self.files_in(directory) - below

    @cached_property
    def _cells(self) -> list[tuple[str, str, str, int]]:
        """Directory, language, family, files."""
        return [
            (directory, *self._known[extension], number)
            for (directory, extension), number in self._counts.items()
        ]

    def languages(self, family: str | None = None, directory: str = "") -> Counter[str]:
        found: Counter[str] = Counter()
        prefix = f"{directory}/" if directory else ""
        for where, language, its_family, number in self._cells:
            if family in (None, its_family) and (
                not prefix or where == directory or where.startswith(prefix)
            ):
                found[language] += number
        return found

    def weight(self, family: str, directory: str = "") -> int:
        return sum(self.languages(family, directory).values())

    def share(self, family: str, directory: str = "") -> float:
        """The part of all code that is of this family and in this directory, 0 to 1."""
        everything = sum(number for *_, number in self._cells)
        return self.weight(family, directory) / everything if everything else 0.0

    @cached_property
    def families(self) -> list[str]:
        """The families that there are, the largest first."""
        found: Counter[str] = Counter()
        for _, _, family, number in self._cells:
            found[family] += number
        return sorted(found, key=lambda name: (-found[name], name))

    def test_files(self, family: str) -> int:
        return sum(
            number
            for (_, extension), number in self._every.items()
            if self._known[extension][1] == family
        )

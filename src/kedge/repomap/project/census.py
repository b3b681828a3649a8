"""How much code there is, in which language and where, judged by file names alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
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
    ("Groovy", "jvm"): "groovy",
    ("Scala", "scala"): "scala sc",
    ("Clojure", "clojure"): "clj cljs cljc",
    ("Ruby", "ruby"): "rb",
    ("PHP", "php"): "php",
    ("C#", "dotnet"): "cs",
    ("F#", "dotnet"): "fs",
    ("Visual Basic", "dotnet"): "vb",
    ("C", "c"): "c h",
    ("C++", "c"): "cc cpp cxx hpp hh hxx cu",
    ("Swift", "swift"): "swift",
    ("Objective-C", "swift"): "m mm",
    ("Elixir", "elixir"): "ex exs",
    ("Erlang", "erlang"): "erl hrl",
    ("Dart", "dart"): "dart",
    ("Haskell", "haskell"): "hs",
    ("OCaml", "ocaml"): "ml mli",
    ("Zig", "zig"): "zig",
    ("Nim", "nim"): "nim",
    ("Crystal", "crystal"): "cr",
    ("Julia", "julia"): "jl",
    ("R", "r"): "r R",
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
}
_BY_EXTENSION = {
    extension: both for both, names in _LANGUAGES.items() for extension in names.split()
}
_ASIDE_NAMES = {
    "tests": """test tests spec specs __tests__ __test__ e2e testdata test-data test_data cypress
        fixtures __fixtures__ __mocks__ mocks snapshots integration integration-tests inttest
        integration_tests integration_test integrationtest integrationtests functional_tests
        unittests unit_tests testsuite test-suite androidtest testfixtures js_tests testutil
        testutils test_utils testscripts system-test playwright smoke-test smoke-tests""",
    "others": """doc docs documentation example examples sample samples demo demos playground
        playgrounds benchmark benchmarks bench benches template templates third_party third-party
        thirdparty vendor external extern node_modules website www docs_src tutorials tutorial
        boilerplate boilerplates starters cookbook evals fuzz fuzzing""",
}
_TESTS = frozenset(_ASIDE_NAMES["tests"].split())
_ASIDE = _TESTS | frozenset(_ASIDE_NAMES["others"].split())
# Harbour.Api.Tests, core-tests
_TEST_ENDINGS = (".tests", ".test", "-tests", "_tests", ".unittests")
_TEST_NAME = re.compile(
    r"^test_.*\.py$|^conftest\.py$|_test\.(?:py|go|rb|exs|dart|cc|cpp|ts|js|c)$|_spec\.rb$|"
    r"[.-](?:test|spec|e2e-spec|cy|stories)\.[cm]?[jt]sx?$|"
    r"(?:Test|Tests|Spec|IT)\.(?:java|kt|scala|cs|php|swift|groovy)$"
)
_MAY_BE_TEST = re.compile(r"[tT]est|[sS]pec|IT\.|\.cy\.|stories")
# the source sets of Gradle and Maven: main, jvmMain, test, commonTest, integrationTest
_SOURCE_SET = re.compile(r"main|test|[a-z]\w*(?:Main|Test)|testFixtures")
MAX_DEPTH = 40


@lru_cache(maxsize=4096)
def _is_part_aside(part: str) -> bool:
    lower = part.lower()
    return lower in _ASIDE or lower.endswith(_TEST_ENDINGS) or lower.startswith((".", "tests-"))


@lru_cache(maxsize=1 << 15)
def _state(directory: str) -> bool | None:
    """True for what is aside, False below the sources of a product, None where it is open."""
    above, _, part = directory.rpartition("/")
    if above:
        known = _state(above)
        if known is not None:
            return known
        # below src/main the parts are names of packages, whatever they say
        if above.endswith("src") and _SOURCE_SET.fullmatch(part):
            return "est" in part
    return _is_part_aside(part) or None


def is_aside(directory: str) -> bool:
    """Whether what is in the directory is a test, a document or an example, not the product."""
    if not directory:
        return False
    return directory.count("/") > MAX_DEPTH or _state(directory) is True


def is_test_directory(part: str) -> bool:
    lower = part.lower()
    return lower in _TESTS or lower.endswith(_TEST_ENDINGS)


def is_test_name(name: str) -> bool:
    return _MAY_BE_TEST.search(name) is not None and _TEST_NAME.search(name) is not None


class Census:
    """Files of code by directory and language, without tests, documents and examples."""

    def __init__(self, by_directory: Mapping[str, Iterable[str]]) -> None:
        product: Counter[tuple[str, str]] = Counter()
        every: Counter[tuple[str, str]] = Counter()
        for directory, paths in by_directory.items():
            is_product = not is_aside(directory)
            for path in paths:
                extension = path.rpartition(".")[2]
                if extension not in _BY_EXTENSION:
                    continue
                every[directory, extension] += 1
                if is_product and not is_test_name(path[path.rfind("/") + 1 :]):
                    product[directory, extension] += 1
        # a repository of examples or of tests is still a repository
        self._own = _without_bundled(product) or every
        self._languages: Counter[tuple[str, str]] = Counter()
        self._totals: Counter[str] = Counter()
        for (directory, extension), number in self._own.items():
            language = _BY_EXTENSION[extension][0]
            where = directory
            while True:
                self._languages[where, language] += number
                self._totals[where] += number
                if not where:
                    break
                where = where.rpartition("/")[0]

    @property
    def total(self) -> int:
        return self._totals[""]

    def files_in(self, directory: str) -> int:
        """How many files of code there are in a directory and all below it."""
        return self._totals.get(directory, 0)

    def files_right_in(self, directory: str) -> int:
        return self._right_in.get(directory, 0)

    @cached_property
    def _right_in(self) -> dict[str, int]:
        found: Counter[str] = Counter()
        for (directory, _), number in self._own.items():
            found[directory] += number
        return found

    def subdirectories(self, directory: str) -> list[str]:
        """The directories right below that hold code."""
        return self._children.get(directory, [])

    @cached_property
    def _children(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name in sorted(self._totals):
            if name:
                found.setdefault(name.rpartition("/")[0], []).append(name)
        return found

    def languages(self, family: str, directory: str = "") -> Counter[str]:
        """The languages of a family with their files, the largest first."""
        found: Counter[str] = Counter()
        for language, its_family in _LANGUAGES:
            if its_family == family and (number := self._languages.get((directory, language))):
                found[language] = number
        return found

    def weight(self, family: str, directory: str = "") -> int:
        return self.languages(family, directory).total()

    def share(self, family: str, directory: str = "") -> float:
        """The part of all code that is of this family and in this directory, 0 to 1."""
        return self.weight(family, directory) / self.total if self.total else 0.0

    @cached_property
    def families(self) -> list[str]:
        """The families that there are, the largest first."""
        names = {family for _, family in _LANGUAGES if self.weight(family)}
        return sorted(names, key=lambda name: (-self.weight(name), name))


def _without_bundled(counts: Counter[tuple[str, str]]) -> Counter[tuple[str, str]]:
    """Without `deps/`, where that only holds other projects."""
    if any(directory == "deps" for directory, _ in counts):
        return counts
    return Counter({key: n for key, n in counts.items() if not key[0].startswith("deps/")})

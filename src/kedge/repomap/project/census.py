"""How much code there is, by language and directory, judged by file names."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache

from kedge.repomap.project.parts import ancestors

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
    ("Common Lisp", "lisp"): "lisp lsp",
    ("Racket", "racket"): "rkt",
    ("D", "d"): "d di",
    ("Elm", "elm"): "elm",
    ("Gleam", "gleam"): "gleam",
    ("Pony", "pony"): "pony",
    ("Vim script", "vim"): "vim",
}
_BY_EXTENSION = {
    extension: language
    for (language, _), names in _LANGUAGES.items()
    for extension in names.split()
}
_FAMILIES: dict[str, list[str]] = {}
for _language, _family in _LANGUAGES:
    _FAMILIES.setdefault(_family, []).append(_language)

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
# the source sets of Gradle and Maven: main, jvmMain, test, commonTest, integrationTest
_SOURCE_SETS = ("main", "test", "Main", "Test", "testFixtures")
_MIGRATIONS = ("migrations", "migrate")
_PLATFORMS = ("android", "ios", "linux", "macos", "web", "windows")

_SCRIPT_TESTS = (".test", ".spec", "_test", "-test", ".e2e-spec", "-spec", ".cy", ".stories")
_CLASS_TESTS = ("Test", "Tests", "Spec", "IT")
# prefixes and suffixes of test files, by extension
_TEST_STEMS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "py": (("test_",), ("_test",)),
    "go": ((), ("_test",)),
    "rb": (("test_",), ("_spec", "_test")),
    "exs": ((), ("_test",)),
    "dart": ((), ("_test",)),
    "lua": ((), ("_spec", "_test")),
    **dict.fromkeys(["ts", "tsx", "js", "jsx", "mjs", "cjs", "mts", "cts"], ((), _SCRIPT_TESTS)),
    **dict.fromkeys(["java", "kt", "groovy", "cs", "fs", "php", "swift"], ((), _CLASS_TESTS)),
    "scala": ((), (*_CLASS_TESTS, "Suite")),
    **dict.fromkeys(["c", "cc", "cpp"], (("test_", "test-", "unit-"), ("_test", "-test"))),
}


def family_of(name: str) -> str:
    """The language family of a source file, by its extension."""
    language = _BY_EXTENSION[name.rpartition(".")[2]]
    return next(family for known, family in _LANGUAGES if known == language)


def test_style(name: str) -> str | None:
    """The pattern of a test's name, such as `test_*.py`; None if the name is not a test's."""
    stem, _, extension = name.rpartition(".")
    known = _TEST_STEMS.get(extension)
    if known is None:
        return None
    starts, ends = known
    if stem.endswith(ends):
        end = next(filter(stem.endswith, ends))
        before = stem[-len(end) - 1 : -len(end)]
        # AUDIT is not a test
        return f"*{end}.{extension}" if before and (end != "IT" or not before.isupper()) else None
    if starts and stem.startswith(starts):
        start = next(start for start in starts if stem.startswith(start))
        return f"{start}*.{extension}" if len(stem) > len(start) else None
    return None


@lru_cache(maxsize=1 << 15)
def is_aside(directory: str) -> bool:
    """True if the directory is for tests, documents or examples, not for the product."""
    above = ""
    for part in directory.split("/"):
        if above.endswith("src") and part.endswith(_SOURCE_SETS):
            # below src/main all parts are names of packages
            return "est" in part
        lower = part.lower()
        if lower in _ASIDE or lower.endswith(_TEST_ENDINGS) or lower.startswith((".", "tests-")):
            return True
        above = part
    return False


def is_test_directory(part: str) -> bool:
    lower = part.lower()
    return lower in _TESTS or lower.endswith(_TEST_ENDINGS)


def has_tests(directory: str) -> bool:
    """True if the directory is one of tests, or inside one."""
    return any(map(is_test_directory, directory.split("/")))


class Census:
    """Counts of source files by directory and language, without tests, documents and examples."""

    def __init__(self, homes: Mapping[str, Sequence[str]]) -> None:
        """`homes` has the directories of each file name."""
        self.tests: dict[str, list[str]] = {}  # the directories of tests, by pattern
        self._every: defaultdict[str, Counter[str]] = defaultdict(Counter)
        product: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for name, places in homes.items():
            language = _BY_EXTENSION.get(name.rpartition(".")[2])
            if language is None:
                continue
            for place in places:
                self._every[place][language] += 1
            style = test_style(name)
            if style:
                self.tests.setdefault(style, []).extend(places)
                # `test_case.rb` may be part of the product
                if style[0] == "*" or language == "Python":
                    continue
            for place in places:
                # migrations are history, not size
                is_migration = name[0].isdigit() and place.endswith(_MIGRATIONS)
                if name != "conftest.py" and not is_migration:
                    product[place][language] += 1
        foreign = _platform_directories(homes)
        if "deps" not in product:
            # it only contains other projects
            foreign.add("deps")
        own = {
            place: counts
            for place, counts in product.items()
            if not is_aside(place) and foreign.isdisjoint((place, *ancestors(place)))
        }
        # a repository that only has examples or tests
        self._own = own or self._every
        self._sums: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for place, counts in self._own.items():
            for directory in {place, *ancestors(place), ""}:
                self._sums[directory].update(counts)

    def in_tests(self) -> dict[str, Counter[str]]:
        """Counts of files in test directories, by pattern and directory."""
        found: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for place, counts in self._every.items():
            if has_tests(place):
                for language, number in counts.items():
                    found[language][place] += number
        forms = {language: extension for extension, language in reversed(_BY_EXTENSION.items())}
        return {f"*.{forms[language]}": places for language, places in found.items()}

    @property
    def total(self) -> int:
        return self.files_in("")

    def files_in(self, directory: str) -> int:
        """The number of source files in a directory and below."""
        return self._sums.get(directory, Counter()).total()

    def files_right_in(self, directory: str) -> int:
        return self._own.get(directory, Counter()).total()

    def subdirectories(self, directory: str) -> list[str]:
        """The direct subdirectories with code."""
        return self._children.get(directory, [])

    @cached_property
    def _children(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name in sorted(self._sums):
            if name:
                found.setdefault(name.rpartition("/")[0], []).append(name)
        return found

    def languages(self, family: str, directory: str = "") -> Counter[str]:
        """The languages of a family, with the number of their files."""
        counts = self._sums.get(directory, Counter())
        return Counter({name: counts[name] for name in _FAMILIES[family] if name in counts})

    def weight(self, family: str, directory: str = "") -> int:
        return self.languages(family, directory).total()

    def share(self, family: str, directory: str = "") -> float:
        """The share of all code that is in this family and directory, 0 to 1."""
        return self.weight(family, directory) / self.total if self.total else 0.0

    @cached_property
    def families(self) -> list[str]:
        """The language families, largest first."""
        names = [family for family in _FAMILIES if self.weight(family)]
        return sorted(names, key=lambda name: (-self.weight(name), name))


def _platform_directories(homes: Mapping[str, Sequence[str]]) -> set[str]:
    """The directories that Flutter generates for each platform."""
    found = set()
    for home in homes.get("pubspec.yaml", ()):
        found |= {f"{home}/{name}".lstrip("/") for name in _PLATFORMS}
    return found

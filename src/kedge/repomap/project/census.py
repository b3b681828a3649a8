"""How much code there is, by language and directory, judged by file names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
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
MAX_DEPTH = 40

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


@lru_cache(maxsize=4096)
def _is_part_aside(part: str) -> bool:
    lower = part.lower()
    return lower in _ASIDE or lower.endswith(_TEST_ENDINGS) or lower.startswith((".", "tests-"))


@lru_cache(maxsize=1 << 15)
def _state(directory: str) -> bool | None:
    """True for tests, documents and examples, False inside product sources, None if undecided."""
    above, _, part = directory.rpartition("/")
    if above:
        known = _state(above)
        if known is not None:
            return known
    return _state_of_part(above, part)


def _state_of_part(above: str, part: str) -> bool | None:
    # below src/main all parts are names of packages
    if above.endswith("src") and part.endswith(_SOURCE_SETS):
        return "est" in part
    return _is_part_aside(part) or None


def is_aside(directory: str) -> bool:
    """True if the directory is for tests, documents or examples, not for the product."""
    if not directory:
        return False
    return directory.count("/") > MAX_DEPTH or _state(directory) is True


def is_test_directory(part: str) -> bool:
    lower = part.lower()
    return lower in _TESTS or lower.endswith(_TEST_ENDINGS)


class Census:
    """Counts of source files by directory and language, without tests, documents and examples."""

    def __init__(self, homes: Mapping[str, Sequence[str]]) -> None:
        """`homes` has the directories of each file name."""
        self._homes = homes
        self.tests: dict[str, list[str]] = {}
        product: dict[str, dict[str, int]] = {}
        for name, places in homes.items():
            language = _BY_EXTENSION.get(name[name.rfind(".") + 1 :])
            if language is None:
                continue
            style = test_style(name)
            if style:
                self.tests.setdefault(style, []).extend(places)
                # `test_case.rb` may be part of the product
                if style[0] == "*" or language == "Python":
                    continue
            own: Iterable[str] = places
            if name[0].isdigit():
                # migrations are history, not size
                own = [place for place in places if not place.endswith(_MIGRATIONS)]
            if name != "conftest.py":
                _count(product, language, own)
        foreign = _platform_directories(homes)
        if "deps" not in product:
            # it only contains other projects
            foreign.add("deps")
        kept = _product_directories(product, foreign)
        # a repository that only has examples or tests
        self._own = {name: product[name] for name in kept} or self._every
        self._sums = _sum_up(self._own)

    @cached_property
    def _every(self) -> dict[str, dict[str, int]]:
        """Counts of all source files, tests and examples too."""
        found: dict[str, dict[str, int]] = {}
        for name, places in self._homes.items():
            if language := _BY_EXTENSION.get(name.rpartition(".")[2]):
                _count(found, language, places)
        return found

    def in_tests(self) -> dict[str, Counter[str]]:
        """Counts of files in test directories, by pattern and directory."""
        found: dict[str, Counter[str]] = {}
        for place, counts in self._every.items():
            if any(map(is_test_directory, place.split("/"))):
                for language, number in counts.items():
                    found.setdefault(language, Counter())[place] += number
        forms = {language: extension for extension, language in reversed(_BY_EXTENSION.items())}
        return {f"*.{forms[language]}": places for language, places in found.items()}

    @property
    def total(self) -> int:
        return self.files_in("")

    def files_in(self, directory: str) -> int:
        """The number of source files in a directory and below."""
        return sum(self._sums.get(directory, {}).values())

    def files_right_in(self, directory: str) -> int:
        return sum(self._own.get(directory, {}).values())

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
        counts = self._sums.get(directory, {})
        return Counter({name: counts[name] for name in _FAMILIES[family] if name in counts})

    def weight(self, family: str, directory: str = "") -> int:
        counts = self._sums.get(directory)
        return sum(counts.get(name, 0) for name in _FAMILIES[family]) if counts else 0

    def share(self, family: str, directory: str = "") -> float:
        """The share of all code that is in this family and directory, 0 to 1."""
        return self.weight(family, directory) / self.total if self.total else 0.0

    @cached_property
    def families(self) -> list[str]:
        """The language families, largest first."""
        names = [family for family in _FAMILIES if self.weight(family)]
        return sorted(names, key=lambda name: (-self.weight(name), name))


def _count(counts: dict[str, dict[str, int]], language: str, places: Iterable[str]) -> None:
    for place in places:
        if place in counts:
            here = counts[place]
            here[language] = here.get(language, 0) + 1
        else:
            counts[place] = {language: 1}


def _parents(places: Iterable[str]) -> dict[str, str]:
    """These directories and all of their ancestors, each with its parent."""
    found: dict[str, str] = {}
    for name in places:
        place = name
        while place and place not in found:
            found[place] = place.rpartition("/")[0]
            place = found[place]
    return found


def _product_directories(places: Iterable[str], foreign: set[str]) -> list[str]:
    """The directories of the product."""
    states: dict[str, bool | None] = {"": None}
    parents = _parents(places)
    # an ancestor is shorter than its descendants
    for name in sorted(parents, key=len):
        above = parents[name]
        known = states[above]
        if known is None:
            part = name[len(above) + 1 :] if above else name
            known = True if name in foreign else _state_of_part(above, part)
        states[name] = known
    return [name for name in places if states[name] is not True]


def _sum_up(counts: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """Add the counts of all subdirectories to each directory."""
    sums = {place: dict(own) for place, own in counts.items()}
    parents = _parents(counts)
    for place in sorted(parents, key=len, reverse=True):
        above = sums.setdefault(parents[place], {})
        for language, number in sums[place].items():
            above[language] = above.get(language, 0) + number
    return sums


def _platform_directories(homes: Mapping[str, Sequence[str]]) -> set[str]:
    """The directories that Flutter generates for each platform."""
    found = set()
    for home in homes.get("pubspec.yaml", ()):
        found |= {f"{home}/{name}".lstrip("/") for name in _PLATFORMS}
    return found

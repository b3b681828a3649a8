"""How much code there is, in which language and where, judged by file names alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
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
_PLATFORMS = ("android", "ios", "linux", "macos", "web", "windows")
MAX_DEPTH = 40

_SCRIPT_TESTS = (".test", ".spec", "_test", "-test", "-spec", ".e2e-spec", ".cy", ".stories")
_CLASS_TESTS = ("Test", "Tests", "Spec", "IT")
# how the names of tests begin and end, by extension
_TEST_STEMS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "py": (("test_",), ("_test",)),
    "go": ((), ("_test",)),
    "rb": (("test_",), ("_spec", "_test")),
    "exs": ((), ("_test",)),
    "dart": ((), ("_test",)),
    "lua": ((), ("_spec", "_test")),
    **dict.fromkeys("ts tsx js jsx mjs cjs mts cts".split(), ((), _SCRIPT_TESTS)),
    **dict.fromkeys("java kt groovy cs fs php swift".split(), ((), _CLASS_TESTS)),
    "scala": ((), (*_CLASS_TESTS, "Suite")),
    **dict.fromkeys("c cc cpp".split(), (("test_", "test-", "unit-"), ("_test", "-test"))),
}


def family_of(name: str) -> str:
    """The family of a file of code, by its extension."""
    language = _BY_EXTENSION[name.rpartition(".")[2]]
    return next(family for known, family in _LANGUAGES if known == language)


def test_style(name: str) -> str | None:
    """The form of a test's name, such as `test_*.py`; None for what is no test by its name."""
    stem, _, extension = name.rpartition(".")
    known = _TEST_STEMS.get(extension)
    if known is None:
        return None
    starts, ends = known
    if stem.endswith(ends):
        end = max((end for end in ends if stem.endswith(end)), key=len)
        before = stem[: -len(end)][-1:]
        # AUDIT is no test
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
    """True for what is aside, False below the sources of a product, None where it is open."""
    above, _, part = directory.rpartition("/")
    if above:
        known = _state(above)
        if known is not None:
            return known
        # below src/main the parts are names of packages, whatever they say
        if above.endswith("src") and part.endswith(_SOURCE_SETS):
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


class Census:
    """Files of code by directory and language, without tests, documents and examples."""

    def __init__(self, homes: Mapping[str, Sequence[str]]) -> None:
        """`homes` has the directories that each name of a file is in."""
        product: dict[str, dict[str, int]] = {}
        every: dict[str, dict[str, int]] = {}
        self.tests: dict[str, list[str]] = {}
        for name, directories in homes.items():
            language = _BY_EXTENSION.get(name[name.rfind(".") + 1 :])
            if language is None:
                continue
            style = test_style(name)
            if style:
                self.tests.setdefault(style, []).extend(directories)
            kinds = [every.setdefault(language, {})]
            # `test_case.rb` may well be a part of the product
            is_test = style is not None and (style[0] == "*" or language == "Python")
            if not is_test and name != "conftest.py":
                kinds.append(product.setdefault(language, {}))
            for counts in kinds:
                for directory in directories:
                    counts[directory] = counts.get(directory, 0) + 1
        self._every = every
        made = _made_directories(homes)
        kept = {
            directory
            for directory in {name for counts in product.values() for name in counts}
            if not is_aside(directory) and not (made and _is_below(directory, made))
        }
        # a repository of examples or of tests is still a repository
        self._own = _only(product, _without_bundled(kept)) or every
        self._sums: dict[str, dict[str, int]] = {}
        self._totals: dict[str, int] = {"": 0}
        for language, counts in self._own.items():
            sums = self._sums[language] = {}
            for directory, number in counts.items():
                where = directory
                while True:
                    sums[where] = sums.get(where, 0) + number
                    self._totals[where] = self._totals.get(where, 0) + number
                    if not where:
                        break
                    where = where.rpartition("/")[0]

    def in_tests(self) -> dict[str, Counter[str]]:
        """Code below directories for tests, whatever its name: by form, and by directory."""
        found: dict[str, Counter[str]] = {}
        for language, counts in self._every.items():
            own = {
                name: n
                for name, n in counts.items()
                if any(map(is_test_directory, name.split("/")))
            }
            if own:
                form = next(form for form, known in _BY_EXTENSION.items() if known == language)
                found[f"*.{form}"] = Counter(own)
        return found

    @property
    def total(self) -> int:
        return self._totals[""]

    def files_in(self, directory: str) -> int:
        """How many files of code there are in a directory and all below it."""
        return self._totals.get(directory, 0)

    def files_right_in(self, directory: str) -> int:
        return sum(counts.get(directory, 0) for counts in self._own.values())

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
        """The languages of a family with their files."""
        found: Counter[str] = Counter()
        for language in _FAMILIES[family]:
            if number := self._sums.get(language, {}).get(directory):
                found[language] = number
        return found

    def weight(self, family: str, directory: str = "") -> int:
        sums = self._sums
        return sum(
            sums[language].get(directory, 0) for language in _FAMILIES[family] if language in sums
        )

    def share(self, family: str, directory: str = "") -> float:
        """The part of all code that is of this family and in this directory, 0 to 1."""
        return self.weight(family, directory) / self.total if self.total else 0.0

    @cached_property
    def families(self) -> list[str]:
        """The families that there are, the largest first."""
        names = [family for family in _FAMILIES if self.weight(family)]
        return sorted(names, key=lambda name: (-self.weight(name), name))


def _only(counts: dict[str, dict[str, int]], kept: set[str]) -> dict[str, dict[str, int]]:
    found = {}
    for language, by_directory in counts.items():
        own = {name: number for name, number in by_directory.items() if name in kept}
        if own:
            found[language] = own
    return found


def _without_bundled(directories: set[str]) -> set[str]:
    """Without `deps/`, where that only holds other projects."""
    if "deps" in directories:
        return directories
    return {name for name in directories if not name.startswith("deps/")}


def _made_directories(homes: Mapping[str, Sequence[str]]) -> set[str]:
    """Where Flutter puts what it makes for each platform."""
    found = set()
    for home in homes.get("pubspec.yaml", ()):
        found |= {f"{home}/{name}".lstrip("/") for name in _PLATFORMS}
    return found


def _is_below(directory: str, tops: set[str]) -> bool:
    while directory:
        if directory in tops:
            return True
        directory = directory.rpartition("/")[0]
    return False

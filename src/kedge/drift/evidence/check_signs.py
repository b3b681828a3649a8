"""What a check looks like: the names of test files, and lines of tests, linters and CI.

Every pattern is searched in one line of bounded length, and compiled on first use: a hook has no
time to compile them all.
"""

from __future__ import annotations

import re
from posixpath import basename, splitext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Pattern:
    """A pattern of several alternatives; every matching line contains one of the `hints`."""

    __slots__ = ("_compiled", "_hints", "_source")

    def __init__(self, *parts: str, hints: str = "") -> None:
        self._source = "|".join(parts)
        self._hints = hints.split()
        self._compiled: re.Pattern[str] | None = None

    def find(self, line: str) -> re.Match[str] | None:
        if not self.may_be_in(line):
            return None
        if self._compiled is None:
            self._compiled = re.compile(self._source)
        return self._compiled.search(line)

    def may_be_in(self, text: str) -> bool:
        """True if any line of the text could match, judged by the hints alone."""
        low = text.lower()
        return not self._hints or any(hint in low for hint in self._hints)

    def __call__(self, line: str) -> bool:
        return self.find(line) is not None

    def count(self, lines: Iterable[str]) -> int:
        return sum(map(self, lines))


is_test_head = Pattern(
    r"^(?:async\s+)?def\s+test\w*\s*\(",
    r"^class\s+Test\w*\b",
    r"^func\s+(?:\([^)]{0,60}\)\s*)?Test\w+\s*\(",
    r"^[xf]?(?:it|test|describe|context|specify|scenario)(?:\.\w{1,20}){0,3}\s*\(\s*[\"'`]",
    r"^[xf]?(?:it|test|describe|context|specify|scenario)\s+[\"']",
    r"^#\[(?:\w+::)?test\b",
    r"^@(?:Test|ParameterizedTest)\b",
    r"^\[(?:Test|Fact|Theory|TestMethod)\b",
    r"^(?:public\s+)?function\s+test\w+",
    r"^(?:override\s+)?func\s+test\w+\s*\(",
    r"^@test\s+[\"']",
    r"^TEST(?:_F|_P)?\(",
    r"^(?:public\s+)?void\s+test\w+\s*\(",
    hints="test it describe context specify scenario fact theory",
)
skips = Pattern(
    r"@pytest\.mark\.(?:skip|skipif|xfail)\b",
    r"\bpytest\.(?:skip|xfail|importorskip)\(",
    r"\bmark\.(?:skip|xfail)\b",
    r"@(?:unittest\.)?skip(?:If|Unless)?\b",
    r"\.skipTest\(",
    r"\bSkipTest\b",
    r"\b(?:it|test|describe|context|suite|specify)"
    r"\.(?:skip|todo|failing|fails|only|skipIf|runIf|fixme)\b",
    r"(?<![.\w])(?:xit|xdescribe|xtest|xcontext|xspecify|fit|fdescribe)\s*[(\"']",
    r"\bthis\.skip\(\)",
    r"\b[tb]\.Skip(?:f|Now)?\(",
    r"#\[ignore\b",
    r"#\[cfg_attr\([^]]{0,100}ignore",
    r"@(?:Disabled|Ignore)\b",
    r"\[(?:Ignore|Skip)\b",
    r"\bSkip\s*=\s*\"",
    r"\bmarkTest(?:Skipped|Incomplete)\(",
    r"\bXCTSkip",
    r"@tag :skip",
    r"\bskip:\s*true",
    r"^skip\s+[\"']",
    r"^pending\s*(?:[\"'(]|do\b|$)",
    r"\bassume(?:True|False|That)\(",
    r"\bGTEST_SKIP",
    r"\bDISABLED_\w{1,80}\)",
    hints="skip xfail todo fail only xit xdescribe xtest xcontext xspecify fit fdescribe runif "
    "ignore disabled incomplete pending assume fixme",
)
is_conditional = Pattern(
    r"skip[_-]?[Ii]f|skipUnless|importorskip|runIf|sys\.platform|platform\.|os\.name|cfg_attr",
    r"runtime\.GO(?:OS|ARCH)|testing\.Short\(\)|process\.(?:platform|env)|target_os|OnOs|win32",
    r"LookPath|which\(|os\.(?:environ|[Gg]etenv)|sys\.version_info|\bWindows\b|\bif\b|assume",
)
suppresses = Pattern(
    r"#\s*(?:type|pyright|mypy):\s*ignore",
    r"#\s*(?:ruff:\s*|flake8:\s*)?noqa\b",
    r"#\s*pylint:\s*disable",
    r"(?:eslint|stylelint|oxlint)-disable|tslint:disable|biome-ignore",
    r"@ts-(?:ignore|nocheck|expect-error)",
    r"//\s*nolint|NOLINT",
    r"#!?\[allow\(",
    r"@Suppress(?:Warnings)?\b|@psalm-suppress",
    r"(?:rubocop|swiftlint|credo|shellcheck)[: ]disable",
    r"#\s*pragma:\s*no\s*cover|#pragma warning disable",
    r"(?:istanbul|[cv]8) ignore",
    r"#\s*nosec\b",
    r"@phpstan-ignore|phpcs:ignore",
    hints="ignore noqa disable nocheck expect-error nolint allow( suppress pragma nosec",
)
suppresses_file = Pattern(
    r"@ts-nocheck|#\s*(?:ruff|flake8):\s*noqa|mypy:\s*ignore-errors|#!\[allow\(",
    r"eslint-disable(?!-(?:next-)?line)|pylint:\s*disable=all",
)
is_empty = Pattern(
    r"^assert\s+(?:True|1)\s*(?:$|[,#])|^assert!\(true\)|assertTrue\(\s*[Tt]rue\s*[,)]",
    r"expect\(true\)\.to(?:Be|Equal)\(true\)|assert\.ok\(true\)|assert\.True\(t,\s*true\)",
    hints="assert expect(true)",
)
is_off = Pattern(
    r"[:,\[]\s*[\"']off[\"']",
    r"\b(?:strict\w*|noImplicit\w*|noUnused\w*|disallow_\w+|warn_\w+|check_untyped_defs)[\"']?"
    r"\s*[:=]\s*[\"']?[Ff]alse",
    r"\bignore_errors\s*=\s*[Tt]rue|failOnError\s*[:=]\s*false",
    hints="off false ignore_errors",
)
leaves_out = Pattern(
    r"-k[ =][\"'\\]{0,3}not\s|--deselect[ =]|--ignore(?:-glob)?[ =]\S{0,40}tests?\b",
    r"collect_ignore|testPathIgnorePatterns|-DskipTests|-x\s+test\b|--passWithNoTests",
    r"maven\.test\.skip",
)
is_step = Pattern(
    r"(?:^|[\s\"':&|;@])(?:pytest|py\.test|tox|nox|mypy|ruff|flake8|pylint|black|isort|pyright|jest"
    r"|vitest|mocha|eslint|tsc|prettier|stylelint|playwright|cypress|rspec|rubocop|phpunit|phpstan"
    r"|ctest|golangci-lint|staticcheck|shellcheck|pre-commit|codecov|bandit|semgrep|coverage)"
    r"(?=$|[\s\"':;&|])",
    r"\b(?:go|cargo|npm|pnpm|yarn|bun|make|mix|dotnet|gradlew?|mvnw?|swift|rake|deno|mise|just|task)"
    r"\s+(?:run\s+)?(?:-\w{1,20}\s+)?(?:test|vet|lint|check|clippy|typecheck|type-check|verify)\b",
    r"^-\s+(?:name|id):\s.{0,60}(?i:test|lint|check|coverage|ruff|mypy|eslint|flake8|audit)",
)
ignores = Pattern(
    r"\|\|\s*(?:true|exit 0|echo)\b|\|\|\s*:\s*(?:$|[\"'])|;\s*true\s*$|--exit-zero",
    hints="|| true --exit-zero",
)
allows = Pattern(
    r"continue-on-error:\s*true|allow_failure:\s*true|continueOnError:\s*true",
    r"^if:\s*(?:\$\{\{\s*)?false|ignore_outcome\s*=\s*true",
    hints="true false",
)
_asserts = Pattern(
    r"^assert\b|\bassert\w*!?\s*[.(]|\bassert_\w+|\bself\.fail\w*\(|\b[Aa]ssert\.\w+\(",
    r"\bexpect(?:TypeOf|Async)?\s*[.(]|\.should\b|\bshould[.(]|\.to(?:Be|Equal|Have|Throw)\w*\(",
    r"\bt\.(?:Error|Fatal)f?\(|\brequire\.\w+\(t\b|\b(?:EXPECT|ASSERT)_\w+\(|\bXCTAssert",
    r"pytest\.raises|\bmust_\w|\brefute\b",
    hints="assert expect should .to t.error t.fatal require. raises must_ refute fail",
)
_compares = Pattern(
    r"[=!]=| (?:not )?in | is (?:True|False|None)\b|[<>]|isinstance|\beq\b",
    r"[Ee]qual|assert_eq|_EQ\(|assertI[sn]\b|assertDict|assertList|assertRaises|raises|[Tt]hrows?\b",
    r"\.toBe\(|\.toMatch|\.toThrow|\.toHave|\.toContain|Contains|Regex",
)
_limit = Pattern(
    r"(?i)((?:cov-)?fail[_-]under|min(?:imum)?[_-]coverage|max-?warnings|max-complexity"
    r"|coverage[_-]?threshold|min[_-]score)"
    r"[\"']?\s{0,4}[:=, ]?\s{0,4}[\"']?(\d{1,6}(?:\.\d{1,4})?)",
)
_js_limit = Pattern(
    r"^[\"']?(branches|functions|lines|statements|target)[\"']?\s*:\s*[\"']?(\d{1,3}(?:\.\d{1,4})?)"
)
is_version = Pattern(r":\s*[\"'](?:[\^~>=]|\d|workspace:|\*)")

_TEXT = {
    "tests": """test tests __tests__ spec specs e2e integration_test integration_tests
        integration-tests unittests androidTest testsuite cypress""",
    "code": """.py .js .jsx .ts .tsx .mjs .cjs .mts .cts .go .rs .java .kt .kts .rb .php .cs .swift
        .scala .ex .exs .dart .c .cc .cpp .sh .bats .clj .hs .lua .vue .svelte .m .mm .groovy
        .feature .robot""",
    "leftovers": """__pycache__ .pytest_cache node_modules __snapshots__ tmp temp output outputs
        results .cache coverage screenshots""",
    "ci": """Jenkinsfile .travis.yml bitbucket-pipelines.yml .drone.yml .pre-commit-config.yaml
        lefthook.yml lefthook.yaml Makefile GNUmakefile justfile tox.ini noxfile.py Taskfile.yml
        Taskfile.yaml appveyor.yml cloudbuild.yaml package.json mise.toml""",
    "tails": """_test _spec .test .tests .spec .e2e -test -spec Test Tests Spec IT TestCase""",
    "config": """.toml .cfg .ini .yml .yaml .json .json5 .jsonc .config .xml .gradle .kts .mk rc
        rc.js rc.cjs config.js config.ts config.mjs config.cjs config.mts Makefile justfile
        Rakefile conftest.py noxfile.py spec_helper.rb Jenkinsfile""",
}
_TEST_DIRECTORIES = frozenset(_TEXT["tests"].split())
_CODE = frozenset(_TEXT["code"].split())
_LEFTOVERS = frozenset(_TEXT["leftovers"].split())
_CI = frozenset(_TEXT["ci"].split())
_TAILS = tuple(_TEXT["tails"].split())
_CONFIG_TAILS = tuple(_TEXT["config"].split())
_CI_PLACES = (".github/workflows/", ".github/actions/", ".circleci/", ".buildkite/", ".husky/")


def is_test(path: str) -> bool:
    """True for a test file, and for anything in a test directory."""
    return any(part in _TEST_DIRECTORIES for part in path.split("/")) or is_test_file(path)


def is_test_folder(path: str) -> bool:
    """True for a folder in which projects keep tests."""
    return not _TEST_DIRECTORIES.isdisjoint(path.split("/"))


def is_test_file(path: str) -> bool:
    """True for code with tests, judged by its name and directory."""
    *directories, name = path.split("/")
    stem, tail = splitext(name)
    if tail not in _CODE:
        return "*" in name and any(part in _TEST_DIRECTORIES for part in directories)
    if stem.startswith("test_") or stem.endswith(_TAILS) or stem in ("conftest", "test", "tests"):
        return True
    helpers = name in ("__init__.py", "setup.py", "helpers.py", "utils.py")
    return not helpers and any(part in _TEST_DIRECTORIES for part in directories)


def is_leftover(path: str) -> bool:
    """True for caches, logs and output, which can be deleted without loss."""
    parts = path.split("/")
    tails = (".pyc", ".log", ".tmp", ".out", ".snap", ".bak", ".orig")
    return path.endswith(tails) or any(part in _LEFTOVERS for part in parts)


def is_ci(path: str) -> bool:
    """True for a file that defines which checks run: CI, hooks, make, package scripts."""
    name = basename(path)
    if name in _CI or name.startswith((".gitlab-ci", "azure-pipelines")):
        return True
    return any(path.startswith(place) or f"/{place}" in path for place in _CI_PLACES)


def is_config(path: str) -> bool:
    return path.endswith(_CONFIG_TAILS)


def is_assertion(line: str) -> bool:
    """True for an assertion; in Go, giving up when the set-up fails does not count."""
    if line.startswith(("#", "//", "import ", "from ", "* ")):
        return False
    return _asserts(line) and not (line.startswith("t.Fatal") and line.endswith("err)"))


def is_strict(line: str) -> bool:
    """True if the assertion compares with something, rather than accept any value."""
    return "is not None" not in line and _compares(line)


def is_minimum(name: str) -> bool:
    return not name.startswith("max")


def find_thresholds(path: str, lines: Sequence[str]) -> dict[str, tuple[float, str]]:
    """Return the thresholds in lines by name, each with its line."""
    found: dict[str, tuple[float, str]] = {}
    name = basename(path)
    js = name == "package.json" or name.startswith(
        ("jest.", "vitest.", "vite.", ".nycrc", ".c8rc", "codecov", ".codecov", "karma.")
    )
    for line in lines:
        limit = _limit.find(line) or (_js_limit.find(line) if js else None)
        if limit:
            found.setdefault(limit[1].lower(), (float(limit[2]), line))
    return found


def deselects(command: Sequence[str]) -> bool:
    """True if a run of a check leaves tests out."""
    for place, word in enumerate(command):
        follows = command[place + 1] if place + 1 < len(command) else ""
        if word == "-k" and follows.startswith("not "):
            return True
        if word.startswith(("-knot ", "-k=not ", "--deselect", "-skip=", "--skip=", "-DskipTests")):
            return True
        if word in ("-skip", "--skip", "--passWithNoTests"):
            return True
        if word.startswith("--ignore=") and "test" in word:
            return True
    return False

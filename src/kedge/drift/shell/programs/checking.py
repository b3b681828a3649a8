"""Test runners, linters, type checkers and formatters: which of them write, and what."""

from __future__ import annotations

from posixpath import basename

from kedge.drift.shell.call import ProgramCall, Value
from kedge.drift.shell.options import Options
from kedge.drift.shell.values import pattern_under
from kedge.host.record import NamedTuple

_JS = """-c --config --ext --ignore-path --rulesdir --plugin --parser -f --format -o --output-file
--max-warnings --cache-location --stdin-filename --stdin-filepath --log-level --loglevel"""
_PY = """-l --line-length -t --target-version -c --config --exclude --include --extend-exclude
--select --ignore --extend-select --output-format --settings-path --profile -p --sp --cache-dir"""


class Formatter(NamedTuple):
    """The flags that make it write (none: always) or not write, and the files that it handles."""

    writes: str
    spares: str
    suffixes: str
    takes: str = ""
    verbs: str = ""  # the verbs that write; others check


_FORMATTERS = {
    "black": Formatter("", "--check --diff", ".py", _PY),
    "isort": Formatter("", "--check --check-only -c --diff", ".py", _PY),
    "autopep8": Formatter("-i --in-place", "--diff", ".py", "--max-line-length --select"),
    "yapf": Formatter("-i --in-place", "--diff", ".py", "--style"),
    "autoflake": Formatter("-i --in-place", "--check", ".py", "--imports --exclude"),
    "docformatter": Formatter("-i --in-place", "--check", ".py"),
    "pyupgrade": Formatter("", "", ".py"),
    "prettier": Formatter("--write -w", "--check -c -l", "", _JS),
    "eslint": Formatter("--fix", "--fix-dry-run", "", _JS),
    "stylelint": Formatter("--fix", "", ".css", _JS),
    "oxlint": Formatter("--fix", "", "", _JS),
    "xo": Formatter("--fix", "", "", _JS),
    "standard": Formatter("--fix", "", ".js", _JS),
    "biome": Formatter("--write --apply --fix --apply-unsafe", "", "", "--config-path"),
    "gofmt": Formatter("-w", "", ".go", "-r"),
    "goimports": Formatter("-w", "", ".go", "-local"),
    "gofumpt": Formatter("-w", "", ".go", "-lang -modpath"),
    "golangci-lint": Formatter("--fix", "", ".go", "-c --config --timeout -E -D"),
    "rustfmt": Formatter("", "--check", ".rs", "--edition --config"),
    "clang-format": Formatter("-i", "--dry-run -n", "", "--style -style"),
    "shfmt": Formatter("-w --write", "-d", ".sh", "-i -ln"),
    "rubocop": Formatter("-a -A --autocorrect --auto-correct --autocorrect-all -x", "", ".rb",
                         "-c --config --only --format -f"),
    "standardrb": Formatter("--fix", "", ".rb"),
    "php-cs-fixer": Formatter("", "--dry-run", ".php", "--config --rules", "fix"),
    "phpcbf": Formatter("", "", ".php"),
    "pint": Formatter("", "--test", ".php"),
    "swiftformat": Formatter("", "--lint", ".swift", "--config --swiftversion"),
    "swiftlint": Formatter("--fix --autocorrect", "", ".swift"),
    "ktlint": Formatter("-F --format", "", ".kt"),
    "stylua": Formatter("", "--check", ".lua"),
    "taplo": Formatter("", "--check --diff", ".toml", "", "fmt format"),
    "dprint": Formatter("", "", "", "", "fmt"),
    "markdownlint": Formatter("--fix -f", "", ".md", "-c --config"),
    "markdownlint-cli2": Formatter("--fix", "", ".md", "--config"),
    "sqlfluff": Formatter("", "", ".sql", "--dialect", "fix format"),
    "djlint": Formatter("--reformat", "--check", ".html"),
    "codespell": Formatter("-w --write-changes", "", "", "-L -S --skip"),
    "buf": Formatter("-w --write", "-d", ".proto"),
}  # fmt: skip
_TEST_TAKES = """-k -m -n -p -o -c -W -t -r --maxfail --tb --ignore --deselect --cov --cov-report
--junitxml --junit-xml --timeout --rootdir --config --config-file --reporter --outputFile
--project -g --grep --testNamePattern --testPathPattern --max-line-length --durations --seed
--cov-fail-under --cov-config --basetemp --color --dist --randomly-seed --shard --workers"""


def read_formatter(call: ProgramCall) -> None:
    rules = _FORMATTERS[call.name]
    options = call.parse_options(rules.takes)
    paths = options.rest
    writes = _writes(options, rules)
    if call.name in ("biome", "golangci-lint", "buf") or rules.verbs:
        verb, paths = options.verb, paths[1:]
        writes = writes and (not rules.verbs or verb in rules.verbs.split())
        writes = writes or (call.name == "golangci-lint" and verb == "fmt")
    _format(call, options, paths, writes, rules.suffixes)


def _writes(options: Options, rules: Formatter) -> bool:
    if options.any(*rules.spares.split()):
        return False
    return not rules.writes or options.any(*rules.writes.split())


def _format(
    call: ProgramCall, options: Options, paths: list[Value], writes: bool, suffix: str
) -> None:
    if not writes:
        call.add_check()
        call.read(*paths)
    elif paths[:1] != [Value("-")]:
        call.edit(expand_targets(paths, suffix))
    call.write(*options.get("-o", "--output-file"))


def expand_targets(paths: list[Value], suffix: str) -> list[Value]:
    """Return the files that a formatter writes: all of its kind below a directory."""
    found = []
    tail = f"**/*{suffix}" if suffix else "**"
    for path in paths or [Value(".")]:
        name = basename(path.text.rstrip("/"))
        if path.text.endswith("/...") or path.text == "...":
            found.append(pattern_under(path.text.removesuffix("...").rstrip("/"), tail))
        elif path.glob or "*" in path.text or "." in name.strip("."):
            found.append(Value(path.text, path.glob or "*" in path.text))
        else:
            found.append(pattern_under(path.text, tail))
    return found


def read_ruff(call: ProgramCall) -> None:
    options = call.parse_options(_PY + " --fixable --unfixable --per-file-ignores -o --output-file")
    words = options.words
    verb = words[0] if words[:1] in (["check"], ["format"], ["rule"], ["config"], ["clean"]) else ""
    paths = options.rest[1:] if verb else options.rest
    spared = options.any("--diff", "--check", "--show-files", "--show-settings")
    if verb == "format":
        writes = not spared
    else:
        writes = options.any("--fix", "--fix-only", "--add-noqa") and not options.any("--diff")
    if verb in ("", "check", "format"):
        _format(call, options, paths, writes, ".py")


def read_test(call: ProgramCall) -> None:
    options = call.parse_options(_TEST_TAKES)
    call.add_check(runs=True)
    if call.name in ("pytest", "py.test"):
        call.read(*(Value(word.text.partition("::")[0], word.glob) for word in options.rest))
        call.write(*options.get("--junitxml", "--junit-xml"))
    elif call.name in ("jest", "vitest"):
        if options.any("-u", "--update", "--updateSnapshot"):
            call.edit([Value("**/__snapshots__/**", True)])
        call.write(*options.get("--outputFile"))
    elif call.name in ("mypy", "flake8", "pylint", "pyright", "shellcheck", "bandit"):
        call.read(*options.rest)


_DROPS = frozenset(("flush", "db:drop", "db:reset", "db:wipe", "migrate:fresh", "migrate:reset"))


def read_framework(call: ProgramCall) -> None:
    """`manage.py`, `artisan`, `rails`: verbs that run tests, create files or change data."""
    verb = next((word for word in call.words if not word.startswith("-")), "")
    if verb in ("test", "test:system", "spec"):
        call.add_check()
    elif verb == "makemigrations":
        call.write(Value("**/migrations/*.py", True))
    elif verb in ("startapp", "startproject"):
        names = [each for each in call.parse_options("--template").rest if each.text != verb]
        call.make_directory(*names[:1])
    elif verb in ("generate", "g") or verb.startswith("make:"):
        call.add_unread(f"{verb} creates files that are not read")
    elif verb in _DROPS:
        call.add_vcs(f"{call.name} {verb}", call.words[1:], destructive=True)
    call.add_run(f"{call.name} {verb}".strip())

"""The options of `kedge drift limit add`, and the limits that they stand for.

--only PATH   only_under    --no ACT     see ACTS      --except PATH  exceptions
--forbid PATH no_touch      --keep-api   keep_api      --ask-first    ask_first
--no-read PATH no_read      --target X   only_target
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from typing import Any, NamedTuple

from kedge.drift.limits.limit import PASSING, Limit
from kedge.drift.limits.paths import is_path
from kedge.errors import InvalidValue


class Act(NamedTuple):
    """What an act stands for as a limit, and what it means to who reads it."""

    kind: str
    subject: tuple[str, ...]
    meaning: str


ACTS = {
    "changes": Act("read_only", (), "change no file at all"),
    "push": Act("no_push", (), "push to a remote"),
    "force-push": Act("no_vcs", ("force push",), "push with force"),
    "commit": Act("no_commit", (), "make commits"),
    "amend": Act("no_vcs", ("amend",), "amend commits"),
    "branch": Act("no_branch", (), "make or switch branches"),
    "merge": Act("no_vcs", ("merge",), "merge"),
    "rebase": Act("no_vcs", ("rebase",), "rebase"),
    "discard": Act("no_vcs", ("discard",), "drop uncommitted work"),
    "pr": Act("no_pr", (), "open a pull request"),
    "install": Act("no_install", (), "install packages"),
    "dependencies": Act("no_new_dependencies", (), "add dependencies"),
    "new-files": Act("no_new_files", (), "create files"),
    "delete": Act("no_delete", (), "delete files"),
    "rename": Act("no_rename", (), "rename or move files"),
    "format": Act("no_format", (), "reformat code"),
    "tests": Act("no_tests", (), "write tests"),
    "test-changes": Act("keep_tests", (), "change, skip or remove existing tests"),
    "refactor": Act("no_refactor", (), "refactor"),
    "network": Act("no_network", (), "use the network"),
    "run": Act("no_run", (), "run any command"),
}
_WITH_NAME = {"run": "no_run", "tool": "no_tool"}  # run:COMMAND, tool:NAME
# the options of the command and the fields of `LimitOptions`
_VALUED = {
    "--only": "only",
    "--forbid": "forbid",
    "--no-read": "no_read",
    "--no": "acts",
    "--target": "targets",
    "--except": "exceptions",
    "--quote": "",
}
_FLAGS = {"--keep-api": "keep_api", "--ask-first": "ask_first"}
PATHS = {"only_under": "--only", "no_touch": "--forbid", "no_read": "--no-read"}
_BY_PATH = ("no_delete", "no_rename", "no_new_files", "no_refactor", "no_commit")
_TARGETS = "only_target"
_BRACES = re.compile(r"([^{}]{0,300})\{([^{}]{0,300})\}(.{0,300})\Z", re.DOTALL)
_MOST_PATTERNS = 32  # that one path with braces stands for
_MOST_VALUES = 40  # of one command
_LONGEST_VALUE = 300  # characters


@dataclass(frozen=True, slots=True)
class LimitOptions:
    """What was given to `kedge drift limit add`."""

    only: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()
    no_read: tuple[str, ...] = ()
    acts: tuple[str, ...] = ()
    keep_api: bool = False
    targets: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()
    ask_first: bool = False


def parse_options(words: Sequence[str]) -> tuple[LimitOptions, str]:
    """Read the words of a command line; return the options and the quote.

    Raise InvalidValue for an option that is not known.
    """
    values: dict[str, list[str]] = {name: [] for name in (*_VALUED, *_FLAGS)}
    left = list(words)
    while left:
        name, equals, value = left.pop(0).partition("=")
        if name in _FLAGS and not equals:
            values[name].append(name)
        elif name in _VALUED and (equals or (left and _is_value(name, left[0]))):
            values[name].append(value if equals else left.pop(0))
        elif name in _VALUED:
            raise InvalidValue(f"{name} needs a value")
        else:
            raise InvalidValue(f"{name[:40]!r} is not an option of a limit")
    given: dict[str, Any] = {field: tuple(values[name]) for name, field in _VALUED.items() if field}
    given |= {field: bool(values[name]) for name, field in _FLAGS.items()}
    return LimitOptions(**given), "".join(values["--quote"][-1:])


def _is_value(name: str, word: str) -> bool:
    return name == "--quote" or word.partition("=")[0] not in (*_VALUED, *_FLAGS)


def list_kinds() -> list[dict[str, str]]:
    """Return every option with its value and meaning, for programs that write options."""
    rows = [
        ("--only", "PATH", "change nothing outside of these files, folders or globs"),
        ("--forbid", "PATH", "do not change, delete or move these"),
        ("--no-read", "PATH", "do not even read these"),
        *(("--no", name, f"do not: {act.meaning}") for name, act in ACTS.items()),
        ("--no", "run:COMMAND", "do not run this program or command"),
        ("--no", "tool:NAME", "do not use this tool of the agent"),
        ("--keep-api", "", "exported names and signatures stay as they are"),
        ("--target", "NAME", "act only on this environment, branch, bucket, host or namespace"),
        ("--except", "PATH", "exceptions to the paths or packages of this limit"),
        ("--ask-first", "", "allowed, but only after asking the user"),
    ]
    return [dict(zip(("option", "value", "meaning"), row, strict=True)) for row in rows]


def build_limits(
    options: LimitOptions, quote: str, source: str, *, root: str, cwd: str
) -> list[Limit]:
    """Return the limits that the options stand for. Raise InvalidValue if they stand for none."""
    _check_values(options)
    kinds: list[tuple[str, tuple[str, ...]]] = []
    for kind, paths in (
        ("only_under", options.only),
        ("no_touch", options.forbid),
        ("no_read", options.no_read),
    ):
        if paths:
            kinds.append((kind, read_paths(paths, root=root, cwd=cwd)))
    kinds += _read_acts(options.acts)
    if options.keep_api:
        kinds.append(("keep_api", ()))
    if options.targets:
        kinds.append((_TARGETS, tuple(dict.fromkeys(options.targets))))
    if not kinds:
        raise InvalidValue(
            "the options name no limit",
            hint="kedge drift limit add --help lists --only, --forbid, --no-read, --no and others",
        )
    exceptions = tuple(
        path
        for each in options.exceptions
        for path in ((each,) if _is_package(each) else read_paths((each,), root=root, cwd=cwd))
    )
    return [_make(*kind, quote, exceptions, source, options.ask_first) for kind in kinds]


def _check_values(options: LimitOptions) -> None:
    """Refuse values that are empty, too long or too many to be a person's words."""
    given = (value for value in astuple(options) if isinstance(value, tuple))
    values = [value for group in given for value in group]
    if len(values) > _MOST_VALUES:
        raise InvalidValue(f"more than {_MOST_VALUES} values", hint="record several limits")
    for value in values:
        if not value.strip() or len(value) > _LONGEST_VALUE:
            raise InvalidValue(
                f"{value[:40]!r} must have 1 to {_LONGEST_VALUE} characters",
                hint="name fewer paths, or a folder",
            )


def _make(
    kind: str,
    subject: tuple[str, ...],
    quote: str,
    exceptions: tuple[str, ...],
    source: str,
    ask_first: bool,
) -> Limit:
    standing = kind not in PASSING
    if ask_first:
        kind, subject = "ask_first", (kind, *subject)
    return Limit(kind, subject, quote, exceptions, standing=standing, source=source)


def _read_acts(acts: Iterable[str]) -> list[tuple[str, tuple[str, ...]]]:
    kinds: dict[tuple[str, tuple[str, ...]], None] = {}
    for act in acts:
        name, colon, what = act.strip().partition(":")
        what = " ".join(what.split())
        if colon and name in _WITH_NAME and what:
            kinds[_WITH_NAME[name], (what,)] = None
        elif not colon and name in ACTS:
            kinds[ACTS[name].kind, ACTS[name].subject] = None
        else:
            known = ", ".join((*ACTS, "run:COMMAND", "tool:NAME"))
            raise InvalidValue(f"--no {act[:80]!r} is not an act", hint=f"ACT is one of: {known}")
    return list(kinds)


def read_paths(paths: Iterable[str], *, root: str, cwd: str) -> tuple[str, ...]:
    """Return the paths and patterns relative to the project, as limits compare them.

    A path that exists below the current directory is meant there; any other is the project's.
    """
    found: dict[str, None] = {}
    for given in paths:
        for path in _expand_braces(given.strip()):
            found[_read_path(path, root, cwd)] = None
            if "/**/" in path:  # no folder in between matches as well
                found[_read_path(path.replace("/**/", "/", 1), root, cwd)] = None
    return tuple(found)


def _read_path(given: str, root: str, cwd: str) -> str:
    path = given.removeprefix("./")
    if path.startswith(root.rstrip("/") + "/"):
        path = path[len(root.rstrip("/")) + 1 :]
    elif not path.startswith(("/", "~")) and cwd != root:
        near = os.path.normpath(f"{cwd}/{path}")
        if os.path.lexists(near) and near.startswith(root.rstrip("/") + "/"):
            tail = "/" if path.endswith("/") else ""
            path = os.path.relpath(near, root) + tail
    path = path.removeprefix("**/")
    if path.strip("/.*") == "" or "\n" in path or "\0" in path:
        raise InvalidValue(
            f"{given[:80]!r} names no path below the project",
            hint="name files, folders or globs; --no changes rules out every change",
        )
    return path if is_path(path) else path.rstrip("/") + "/"


def _expand_braces(path: str) -> list[str]:
    """Return the patterns that `src/{a,b}` stands for."""
    todo, done = [path], list[str]()
    while todo and len(todo) + len(done) <= _MOST_PATTERNS:
        found = _BRACES.match(todo[0])
        if found is None:
            done.append(todo.pop(0))
            continue
        todo[:1] = [found[1] + part + found[3] for part in found[2].split(",")]
    return done + todo


def _is_package(text: str) -> bool:
    """True for a name that is not a path: a package such as `zod` or `@types/node`."""
    return text.startswith("@") or not (is_path(text) or text.endswith("/"))


def describe(limit: Limit) -> dict[str, object]:
    """Return the paths and acts of a limit, as the options of the command name them."""
    kind, subject = limit.meant
    acts = [
        name
        for name, act in ACTS.items()
        if act.kind == kind and (set(act.subject) <= set(subject) if act.subject else not subject)
    ]
    for prefix, other in _WITH_NAME.items():
        if kind == other:
            acts += [f"{prefix}:{word}" for word in subject]
    if not acts and kind not in PATHS and kind != _TARGETS:
        acts = [kind.removeprefix("no_").replace("_", "-")]
    return {
        "kind": kind,
        "paths": list(subject) if kind in PATHS or kind in _BY_PATH else [],
        "acts": acts,
        "targets": list(subject) if kind == _TARGETS else [],
        "ask_first": limit.kind == "ask_first",
    }


def write_options(options: LimitOptions) -> str:
    """Return the options as a person would say them, for a limit without a quote."""
    parts = [
        *(f"only {path}" for path in options.only),
        *(f"not {path}" for path in options.forbid),
        *(f"do not read {path}" for path in options.no_read),
        *(f"no {act}" for act in options.acts),
        *(["keep the public API"] if options.keep_api else []),
        *(f"only on {name}" for name in options.targets),
    ]
    text = ", ".join(parts)
    if options.exceptions:
        text += f", except {', '.join(options.exceptions)}"
    return f"ask first: {text}" if options.ask_first else text

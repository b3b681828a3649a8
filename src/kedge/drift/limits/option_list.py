"""Limits as a list of options, such as `["--forbid", "src/auth/", "--no", "push"]`."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.drift.limits.limit import PASSING, Limit
from kedge.drift.limits.paths import is_path

MOST_VALUES = 20  # options of one limit
LONGEST_VALUE = 300  # characters

ACTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "changes": ("read_only", ()),
    "push": ("no_push", ()),
    "force-push": ("no_vcs", ("force push",)),
    "commit": ("no_commit", ()),
    "amend": ("no_vcs", ("amend",)),
    "branch": ("no_branch", ()),
    "merge": ("no_vcs", ("merge",)),
    "rebase": ("no_vcs", ("rebase",)),
    "discard": ("no_vcs", ("discard",)),
    "pr": ("no_pr", ()),
    "install": ("no_install", ()),
    "dependencies": ("no_new_dependencies", ()),
    "new-files": ("no_new_files", ()),
    "delete": ("no_delete", ()),
    "rename": ("no_rename", ()),
    "format": ("no_format", ()),
    "tests": ("no_tests", ()),
    "test-changes": ("keep_tests", ()),
    "refactor": ("no_refactor", ()),
    "network": ("no_network", ()),
    "run": ("no_run", ()),
}
MEANINGS = {
    "changes": "change no file at all",
    "push": "push to a remote",
    "force-push": "push with force",
    "commit": "make commits",
    "amend": "amend commits",
    "branch": "make or switch branches",
    "merge": "merge",
    "rebase": "rebase",
    "discard": "drop uncommitted work",
    "pr": "open a pull request",
    "install": "install packages",
    "dependencies": "add dependencies",
    "new-files": "create files",
    "delete": "delete files",
    "rename": "rename or move files",
    "format": "reformat code",
    "tests": "write tests",
    "test-changes": "change, skip or remove existing tests",
    "refactor": "refactor",
    "network": "use the network",
    "run": "run any command",
}
_PATHS = {"--only": "only_under", "--forbid": "no_touch", "--no-read": "no_read"}
_PREFIXES = {"run": "no_run", "tool": "no_tool"}
_FLAGS = ("--keep-api", "--ask-first")
_VALUED = (*_PATHS, "--no", "--target", "--except")


def list_kinds() -> list[dict[str, str]]:
    """Return every option with its value and meaning, for programs that write options."""
    rows = [
        ("--only", "PATH", "change nothing outside of these files, folders or globs"),
        ("--forbid", "PATH", "do not change, delete or move these"),
        ("--no-read", "PATH", "do not even read these"),
        *(("--no", act, f"do not: {meaning}") for act, meaning in MEANINGS.items()),
        ("--no", "run:COMMAND", "do not run this program or command"),
        ("--no", "tool:NAME", "do not use this tool of the agent"),
        ("--keep-api", "", "exported names and signatures stay as they are"),
        ("--target", "NAME", "act only on this environment, branch, bucket, host or namespace"),
        ("--except", "PATH", "exceptions to the paths or packages of this limit"),
        ("--ask-first", "", "allowed, but only after asking the user"),
    ]
    return [dict(zip(("option", "value", "meaning"), row, strict=True)) for row in rows]


def parse_options(
    options: Sequence[str], quote: str, source: str, *, root: str = ""
) -> list[Limit]:
    """Return the limits that the options set. Raise ValueError if an option is not known.

    Paths are relative to the project; absolute ones below `root` are made so.
    """
    values = _group_values(options)
    exceptions = tuple(_shorten_path(path, root) for path in values["--except"])
    kinds = [
        (kind, tuple(_parse_path(path, root) for path in values[option]))
        for option, kind in _PATHS.items()
        if values[option]
    ]
    kinds += [_parse_act(act) for act in values["--no"]]
    if values["--keep-api"]:
        kinds.append(("keep_api", ()))
    if values["--target"]:
        kinds.append(("only_target", tuple(values["--target"])))
    if not kinds:
        raise ValueError("the options set no limit")
    ask = bool(values["--ask-first"])
    return [
        Limit(
            kind="ask_first" if ask else kind,
            subject=(kind, *subject) if ask else subject,
            quote=quote,
            exceptions=exceptions,
            standing=kind not in PASSING,
            source=source,
        )
        for kind, subject in dict.fromkeys(kinds)
    ]


def _group_values(options: Sequence[str]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {name: [] for name in (*_VALUED, *_FLAGS)}
    left = list(options)
    if len(left) > MOST_VALUES * 2:
        raise ValueError(f"more than {MOST_VALUES} options")
    while left:
        name, equals, value = left.pop(0).partition("=")
        if name in _FLAGS and not equals:
            values[name].append(name)
            continue
        if name not in _VALUED:
            raise ValueError(f"unknown option {name[:40]!r}")
        if not equals:
            value = left.pop(0) if left else ""
        if not value.strip() or value.startswith("--") or len(value) > LONGEST_VALUE:
            raise ValueError(f"{name} needs a value of at most {LONGEST_VALUE} characters")
        values[name].append(value.strip())
    return values


def _parse_act(act: str) -> tuple[str, tuple[str, ...]]:
    if act in ACTS:
        return ACTS[act]
    prefix, _, rest = act.partition(":")
    if prefix not in _PREFIXES or not rest.strip():
        raise ValueError(f"unknown act {act[:40]!r}")
    name = rest.strip()
    return _PREFIXES[prefix], (name.lower() if prefix == "tool" else name,)


def _parse_path(given: str, root: str) -> str:
    path = _shorten_path(given, root)
    if not path.strip("/.*") or "\n" in path:
        raise ValueError(f"{given[:40]!r} names no path in the project")
    return path if is_path(path) else path.rstrip("/") + "/"


def _shorten_path(path: str, root: str) -> str:
    path = path.removeprefix(root.rstrip("/") + "/") if root else path
    return path.removeprefix("./").removeprefix("**/")

"""git: commands that change the tree, the index, refs and remotes; destroy; or go outward."""

from __future__ import annotations

import re

from kedge.drift.shell.call import ANYTHING, NOTHING, Output, ProgramCall, Value
from kedge.drift.shell.options import Options, parse_options
from kedge.drift.shell.programs.files import pair_targets
from kedge.drift.shell.values import pattern_under
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    # records what a command does besides; True if it destroys work, None if it changes nothing
    Effect: TypeAlias = Callable[[ProgramCall, Options, list[Value]], bool | None]

_GLOBAL = "-C -c --git-dir --work-tree --namespace --exec-path --config-env --super-prefix"
# a name that can only be a file, not a branch or tag
_FILE = re.compile(r"(?:.*[/\w-])?\.[A-Za-z_][A-Za-z0-9_]{0,9}")
_READS = """status log diff show blame annotate ls-files ls-tree ls-remote rev-parse rev-list
describe shortlog grep cat-file merge-base name-rev for-each-ref show-ref show-branch check-ignore
check-attr count-objects diff-tree diff-index diff-files whatchanged var version help fsck bisect
range-diff cherry archive verify-commit verify-tag hash-object merge-tree column interpret-trailers
get-tar-commit-id patch-id write-tree format-patch bundle difftool request-pull daemon instaweb
credential stripspace check-mailmap check-ref-format symbolic-ref mktree unpack-file"""
_READING = frozenset(_READS.split())


class Verb(NamedTuple):
    """A git command: its options with a value, those with which it only lists or tries, and those
    with which it destroys."""

    takes: str = ""
    spares: str = ""
    destroys: str = ""


_DISCARDS = ("filter-branch", "filter-repo", "prune")
_FETCH = "--depth --jobs -j -s -X --strategy --deepen --shallow-since"
_FORCE = "-f --force"
_TRIES = "-n --dry-run"
_VERBS = {
    "add": Verb("", _TRIES),
    "commit": Verb("-m -F -C -c -t --message --file --author --date", "--dry-run"),
    "push": Verb("-o --push-option --repo --receive-pack --exec", "",
                 _FORCE + " --force-with-lease --force-if-includes --mirror -d --delete --prune"),
    "pull": Verb(_FETCH, "", _FORCE),
    "fetch": Verb(_FETCH),
    "clone": Verb("-b -o -u -c --branch --depth --origin --config --reference -j --jobs"),
    "reset": Verb("", "", "--hard --merge --keep"),
    "checkout": Verb("-b -B --orphan --conflict --pathspec-from-file", "", _FORCE),
    "switch": Verb("-c -C --create --force-create --orphan", "",
                   _FORCE + " --discard-changes -C --force-create"),
    "restore": Verb("-s --source --conflict --pathspec-from-file"),
    "clean": Verb("-e --exclude", _TRIES, _FORCE),
    "branch": Verb("-u --set-upstream-to --contains --no-contains --merged --no-merged --sort "
                   "--format --points-at", "", _FORCE + " -D -M"),
    "tag": Verb("-m -F -u -n --message --file --sort --format --contains --points-at",
                "-l --list -n --sort --contains --points-at -v --format", _FORCE + " -d --delete"),
    "rebase": Verb("-x -s -X --onto --exec --strategy"),
    "rm": Verb("--pathspec-from-file", _TRIES),
    "mv": Verb("", _TRIES),
    "apply": Verb("-p -C --directory --exclude --include --whitespace"),
    "am": Verb("-p -C --directory --exclude --include --whitespace"),
    "worktree": Verb("-b -B --reason", "", _FORCE),
    "config": Verb("-f --file --type --default --blob"),
    "update-ref": Verb("-m", "", "-d"),
    "init": Verb("-b --initial-branch --template --separate-git-dir"),
}  # fmt: skip


def read_git(call: ProgramCall) -> Output:
    options = call.parse_options(_GLOBAL, stop=True)
    call = call.in_directory(*options.get("-C"), *options.get("--work-tree")[:1])
    for value in options.get("-c"):
        if value.text.lower().startswith("core.hookspath="):
            call.add_vcs("config", [value.text])
    if not options.rest:
        return ANYTHING
    verb, args = options.verb, options.rest[1:]
    if verb in _READING:
        return _read(call, verb, args)
    if not any(each.text in ("-h", "--help") for each in args):
        _change(call, "add" if verb == "stage" else verb, args)
    return NOTHING


def _change(call: ProgramCall, verb: str, args: list[Value]) -> None:
    takes, spares, destroys = _VERBS.get(verb, Verb())
    options = parse_options(args, takes)
    if options.any(*spares.split()) or (verb == "tag" and not options.rest):
        return
    if verb == "clean":
        call.delete(*options.rest)
    elif verb == "init":
        call.make_directory(*options.rest[:1])
    effect = _EFFECTS.get(verb)
    destructive = effect(call, options, args) if effect else verb in _DISCARDS
    if destructive is not None:
        destructive = destructive or options.any(*destroys.split())
        outward = verb in ("push", "send-email")
        words = [value.text for value in args]
        call.add_vcs(verb, words, destructive, outward, _find_discarded(verb, options, args))


def _find_discarded(verb: str, options: Options, args: list[Value]) -> list[Value]:
    """Return the paths that a command discards, as far as it names them."""
    if verb == "checkout":
        return _find_checked_out(options, args)
    if verb == "worktree" and options.verb == "remove":
        return options.rest[1:2]
    return options.rest if verb in ("restore", "clean") else []


def _read(call: ProgramCall, verb: str, args: list[Value]) -> Output:
    words = [value.text for value in args]
    options = parse_options(args, "-o --output -C -n --format -S -G -L -U")
    if verb in ("archive", "format-patch", "diff", "bundle"):
        call.write(*options.get("-o", "--output"))
        if verb == "format-patch" and not options.any("-o", "--stdout"):
            call.write(Value("*.patch", True))
    if verb == "rev-parse" and "--show-toplevel" in words:
        return Output((Value(call.shell.paths.root),))
    if (verb == "symbolic-ref" and len(options.rest) > 1) or (
        verb == "hash-object" and "-w" in words
    ):
        call.add_vcs(verb, words)
    lists = verb == "ls-files" or (verb == "grep" and options.any("-l", "--files-with-matches"))
    paths = _after_dashes(args) if "--" in words or verb != "ls-files" else options.rest
    if verb in ("diff", "show", "log", "blame", "grep", "ls-files"):
        call.read(*paths)
    if not lists and "--name-only" not in words:
        return ANYTHING
    return Output(tuple(_below(path) for path in paths) or (Value("**", True),))


def _below(path: Value) -> Value:
    """Turn a pathspec into a pattern: `*.py` matches anywhere, a directory matches its contents."""
    text = path.text
    if "*" in text and "/" not in text:
        return Value(f"**/{text}", True)
    if path.glob or "*" in text or _FILE.fullmatch(text):
        return path
    return pattern_under(text, "**")


def _after_dashes(args: list[Value]) -> list[Value]:
    """Return the words after `--`."""
    place = next((at for at, value in enumerate(args) if value.text == "--"), len(args))
    return args[place + 1 :]


def _push(call: ProgramCall, options: Options, _args: list[Value]) -> bool | None:
    _fetch(call, options, _args)
    if options.any("-n", "--dry-run"):
        return None
    return any(word.startswith(("+", ":")) for word in options.words[1:])


def _fetch(call: ProgramCall, options: Options, _args: list[Value]) -> bool:
    call.add_network(options.verb or "origin")
    return False


def _clone(call: ProgramCall, options: Options, _args: list[Value]) -> bool | None:
    if not options.rest:
        return None
    source = options.verb
    name = source.rstrip("/").removesuffix(".git").rpartition("/")[2].rpartition(":")[2]
    if ":" in source:
        call.add_network(source)
    call.make_directory(options.rest[1] if len(options.rest) > 1 else Value(name))
    return False


def _checkout(call: ProgramCall, options: Options, args: list[Value]) -> bool:
    paths = _find_checked_out(options, args)
    call.edit(paths)
    return bool(paths) and not options.any("--ours", "--theirs", "-m", "--merge")


def _find_checked_out(options: Options, args: list[Value]) -> list[Value]:
    paths = _after_dashes(args)
    creates = options.any("-b", "-B", "--orphan", "--track", "-t")
    if not paths and Value("--") not in args and not creates:
        # one name may be a branch or a file: only what looks like a file is one
        operands = options.rest
        if operands and (len(operands) > 1 or _is_path(operands[0].text)):
            paths = operands if _is_path(operands[0].text) else operands[1:]
    return paths


def _is_path(text: str) -> bool:
    plain = text == "." or text.endswith("/") or text.startswith("./") or "*" in text
    return plain or _FILE.fullmatch(text[:300]) is not None


def _restore(call: ProgramCall, options: Options, _args: list[Value]) -> bool:
    tree = options.any("-W", "--worktree") or not options.any("-S", "--staged")
    if tree:
        call.edit(options.rest)
    return tree


def _stash(call: ProgramCall, _options: Options, args: list[Value]) -> bool | None:
    verb = args[0].text if args else "push"
    if verb in ("pop", "apply"):
        call.add_unread(f"the files that stash {verb} changes are not read")
    return None if verb in ("list", "show") else verb in ("drop", "clear")


def _branch(_call: ProgramCall, options: Options, _args: list[Value]) -> bool | None:
    lists = options.any("-l", "--list", "-a", "--all", "-r", "--remotes", "--show-current", "-v",
                        "-vv", "--contains", "--no-contains", "--merged", "--no-merged",
                        "--points-at", "--sort", "--format")  # fmt: skip
    changes = options.any("-d", "-D", "--delete", "-m", "-M", "-c", "-C", "-f", "-u", "--move",
                          "--set-upstream-to", "--unset-upstream", "--force")  # fmt: skip
    return False if changes or (options.rest and not lists) else None


def _rebase(_call: ProgramCall, options: Options, _args: list[Value]) -> bool:
    return not options.any("--abort", "--continue", "--quit", "--edit-todo", "--show-current-patch")


def _rm(call: ProgramCall, options: Options, _args: list[Value]) -> bool:
    if not options.any("--cached"):
        call.delete(*options.rest)
    return False


def _mv(call: ProgramCall, options: Options, _args: list[Value]) -> bool | None:
    for source, target in pair_targets(call, options):
        call.move(source, target)
    return False if len(options.rest) > 1 else None


def _apply(call: ProgramCall, options: Options, _args: list[Value]) -> bool | None:
    """Record what `git apply` and `git am` do to files, if the text of the patch is known."""
    from kedge.drift.shell.programs.editing import apply_patch

    call.read(*options.rest)
    if options.any("--check", "--stat", "--numstat", "--summary", "--abort", "--quit"):
        return None
    if options.any("--cached"):
        return False
    texts = [call.find_text(each) for each in options.rest] or [call.stdin.text]
    if not all(text and apply_patch(call, text) for text in texts):
        call.edit([pattern_under(each.text, "**") for each in options.get("--directory")])
        call.add_unread("the files that the patch changes are not read")
    return False


def _worktree(call: ProgramCall, options: Options, _args: list[Value]) -> bool | None:
    if options.verb == "add":
        call.make_directory(*options.rest[1:2])
    elif options.verb == "remove":
        call.delete(*options.rest[1:2])
    return None if options.verb in ("", "list") else False


def _config(call: ProgramCall, options: Options, _args: list[Value]) -> bool | None:
    reads = options.any("-l", "--list", "--get", "--get-all", "--get-regexp", "--get-urlmatch",
                        "--show-origin", "--name-only")  # fmt: skip
    changes = options.any("--unset", "--unset-all", "--add", "--replace-all", "--edit", "-e",
                          "--remove-section", "--rename-section")  # fmt: skip
    if options.verb in ("get", "list") or not (changes or (len(options.rest) > 1 and not reads)):
        return None
    if options.any("--global", "--system"):
        call.write(Value("~/.gitconfig" if options.any("--global") else "/etc/gitconfig"))
    return False


def _remote(call: ProgramCall, options: Options, _args: list[Value]) -> bool | None:
    verb = options.verb
    if verb in ("", "show", "get-url", "list", "status", "summary", "exists"):
        return None
    if verb in ("add", "set-url") and len(options.rest) > 2 and "://" in options.words[-1]:
        call.add_network(options.words[-1])
    return verb in ("expire", "delete", "deinit")


def _gc(_call: ProgramCall, _options: Options, args: list[Value]) -> bool:
    return any(each.text in ("--prune=now", "--prune=all", "--aggressive") for each in args)


_EFFECTS: dict[str, Effect] = {
    "push": _push, "fetch": _fetch, "pull": _fetch, "clone": _clone, "checkout": _checkout,
    "restore": _restore, "stash": _stash, "branch": _branch, "rebase": _rebase, "rm": _rm,
    "mv": _mv, "am": _apply, "apply": _apply, "worktree": _worktree, "config": _config,
    "remote": _remote, "reflog": _remote, "submodule": _remote, "notes": _remote, "gc": _gc,
}  # fmt: skip

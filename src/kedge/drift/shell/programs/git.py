"""git: commands that change the tree, the index, refs and remotes; destroy; or go outward."""

from __future__ import annotations

import re

from kedge.drift.shell.call import ANYTHING, NOTHING, Output, ProgramCall, Value
from kedge.drift.shell.options import parse_options
from kedge.drift.shell.paths import pattern_under

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from kedge.drift.shell.call import Reader

    Verb: TypeAlias = Callable[[ProgramCall, list[Value]], Output | None]

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


def _git(call: ProgramCall) -> Output:
    options = parse_options(call.args, _GLOBAL, stop=True)
    for place in options.get("-C"):
        call = call.in_directory(place)
    trees = options.get("--work-tree")
    if trees:
        call = call.in_directory(trees[0])
    for value in options.get("-c"):
        if value.text.lower().startswith("core.hookspath="):
            call.add_vcs("config", [value.text])
    if not options.rest:
        return ANYTHING
    verb, args = options.rest[0].text, options.rest[1:]
    if verb in _READING:
        return _read(call, verb, args)
    if any(each.text in ("-h", "--help") for each in args):
        return NOTHING
    reader = _VERBS.get(verb)
    if reader:
        return reader(call, args) or NOTHING
    call.add_vcs(verb, _words(args))
    return NOTHING


def _words(args: list[Value]) -> list[str]:
    return [value.text for value in args]


def _read(call: ProgramCall, verb: str, args: list[Value]) -> Output:
    words = _words(args)
    options = parse_options(args, "-o --output -C -n --format -S -G -L -U")
    if verb in ("archive", "format-patch", "diff", "bundle"):
        call.write(*options.get("-o", "--output"))
        if verb == "format-patch" and not options.any("-o", "--stdout"):
            call.write(Value("*.patch", True))
    if verb == "rev-parse" and "--show-toplevel" in words:
        return Output((Value(call.shell.paths.root),))
    if verb == "symbolic-ref" and len(options.rest) > 1:
        call.add_vcs(verb, words)
    if verb == "hash-object" and "-w" in words:
        call.add_vcs(verb, words)
    lists = verb == "ls-files" or (verb == "grep" and options.any("-l", "--files-with-matches"))
    paths = _paths(args) if "--" in words or verb != "ls-files" else options.rest
    if verb in ("diff", "show", "log", "blame", "grep", "ls-files") and paths:
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
    return Value(pattern_under(text, "**"), True)


def _paths(args: list[Value]) -> list[Value]:
    """Return the words after `--`."""
    for place, value in enumerate(args):
        if value.text == "--":
            return args[place + 1 :]
    return []


def _add(call: ProgramCall, args: list[Value]) -> None:
    if not parse_options(args).any("-n", "--dry-run"):
        call.add_vcs("add", _words(args))


def _commit(call: ProgramCall, args: list[Value]) -> None:
    if not parse_options(args, "-m -F -C -c -t --message --file --author --date").any("--dry-run"):
        call.add_vcs("commit", _words(args))


def _push(call: ProgramCall, args: list[Value]) -> None:
    options = parse_options(args, "-o --push-option --repo --receive-pack --exec")
    force = options.any("-f", "--force", "--force-with-lease", "--force-if-includes", "--mirror",
                      "-d", "--delete", "--prune")  # fmt: skip
    force = force or any(word.startswith(("+", ":")) for word in options.words[1:])
    call.add_network(options.words[0] if options.rest else "origin")
    if not options.any("-n", "--dry-run"):
        call.add_vcs("push", _words(args), destructive=force, outward=True)


def _fetch(call: ProgramCall, args: list[Value], verb: str) -> None:
    options = parse_options(args, "--depth --jobs -j -s -X --strategy --deepen --shallow-since")
    call.add_network(options.words[0] if options.rest else "origin")
    call.add_vcs(verb, _words(args), destructive=verb == "pull" and options.any("-f", "--force"))


def _clone(call: ProgramCall, args: list[Value]) -> None:
    options = parse_options(
        args, "-b -o -u -c --branch --depth --origin --config --reference -j --jobs"
    )
    if not options.rest:
        return
    source = options.words[0]
    name = source.rstrip("/").removesuffix(".git").rpartition("/")[2].rpartition(":")[2]
    if ":" in source:
        call.add_network(source)
    call.add_vcs("clone", _words(args))
    call.make_directory(options.rest[1] if len(options.rest) > 1 else Value(name))


def _reset(call: ProgramCall, args: list[Value]) -> None:
    options = parse_options(args)
    call.add_vcs("reset", _words(args), destructive=options.any("--hard", "--merge", "--keep"))


def _checkout(call: ProgramCall, args: list[Value]) -> None:
    words = _words(args)
    options = parse_options(args, "-b -B --orphan --conflict --pathspec-from-file")
    paths = _paths(args)
    if not paths and "--" not in words and not options.any("-b", "-B", "--orphan", "--track", "-t"):
        # one name may be a branch or a file: only what looks like a file is one
        operands = options.rest
        if operands and (len(operands) > 1 or _is_path(operands[0].text)):
            paths = operands if _is_path(operands[0].text) else operands[1:]
    sides = options.any("--ours", "--theirs", "-m", "--merge")
    thrown = (bool(paths) and not sides) or options.any("-f", "--force")
    call.write(*paths)
    call.add_vcs("checkout", words, destructive=thrown)


def _is_path(text: str) -> bool:
    return text in (".", "./") or text.endswith("/") or text.startswith("./") or bool(
        _FILE.fullmatch(text[:300])
    ) or "*" in text  # fmt: skip


def _switch(call: ProgramCall, args: list[Value]) -> None:
    options = parse_options(args, "-c -C --create --force-create --orphan")
    thrown = options.any("-f", "--force", "--discard-changes", "-C", "--force-create")
    call.add_vcs("switch", _words(args), destructive=thrown)


def _restore(call: ProgramCall, args: list[Value]) -> None:
    options = parse_options(args, "-s --source --conflict --pathspec-from-file")
    tree = options.any("-W", "--worktree") or not options.any("-S", "--staged")
    if tree:
        call.write(*options.rest)
    call.add_vcs("restore", _words(args), destructive=tree)


def _clean(call: ProgramCall, args: list[Value]) -> None:
    options = parse_options(args, "-e --exclude")
    if options.any("-n", "--dry-run"):
        return
    call.delete(*options.rest)
    call.add_vcs("clean", _words(args), destructive=options.any("-f", "--force"))


def _stash(call: ProgramCall, args: list[Value]) -> None:
    verb = args[0].text if args else "push"
    if verb not in ("list", "show"):
        call.add_vcs("stash", _words(args), destructive=verb in ("drop", "clear"))


def _branch(call: ProgramCall, args: list[Value]) -> None:
    takes = "-u --set-upstream-to --contains --no-contains --merged --no-merged --sort --format "
    options = parse_options(args, takes + "--points-at")
    lists = options.any("-l", "--list", "-a", "--all", "-r", "--remotes", "--show-current", "-v",
                      "-vv", "--contains", "--no-contains", "--merged", "--no-merged",
                      "--points-at", "--sort", "--format")  # fmt: skip
    changes = options.any("-d", "-D", "--delete", "-m", "-M", "-c", "-C", "-f", "-u", "--move",
                        "--set-upstream-to", "--unset-upstream", "--force")  # fmt: skip
    if changes or (options.rest and not lists):
        thrown = options.any("-D", "-M", "-f", "--force")
        call.add_vcs("branch", _words(args), destructive=thrown)


def _tag(call: ProgramCall, args: list[Value]) -> None:
    options = parse_options(
        args, "-m -F -u -n --message --file --sort --format --contains --points-at"
    )
    lists = options.any(
        "-l", "--list", "-n", "--sort", "--contains", "--points-at", "-v", "--format"
    )
    if options.rest and not lists:
        call.add_vcs(
            "tag", _words(args), destructive=options.any("-d", "--delete", "-f", "--force")
        )


def _rebase(call: ProgramCall, args: list[Value]) -> None:
    options = parse_options(args, "-x -s -X --onto --exec --strategy")
    over = options.any("--abort", "--continue", "--quit", "--edit-todo", "--show-current-patch")
    call.add_vcs("rebase", _words(args), destructive=not over)


def _rm(call: ProgramCall, args: list[Value]) -> None:
    options = parse_options(args, "--pathspec-from-file")
    if options.any("-n", "--dry-run"):
        return
    if not options.any("--cached"):
        call.delete(*options.rest)
    call.add_vcs("rm", _words(args))


def _mv(call: ProgramCall, args: list[Value]) -> None:
    options = parse_options(args)
    if options.any("-n", "--dry-run") or len(options.rest) < 2:
        return
    *sources, target = options.rest
    for source in sources:
        name = source.text.rstrip("/").rpartition("/")[2]
        inside = len(sources) > 1 or call.is_directory(target)
        call.move(
            source, Value(pattern_under(target.text, name), source.glob) if inside else target
        )
    call.add_vcs("mv", _words(args))


def _apply(call: ProgramCall, args: list[Value], verb: str) -> None:
    options = parse_options(args, "-p -C --directory --exclude --include --whitespace")
    if options.any("--check", "--stat", "--numstat", "--summary"):
        call.read(*options.rest)
        return
    call.read(*options.rest)
    call.add_vcs(verb, _words(args))
    if verb == "apply" and not options.any("--cached"):
        from kedge.drift.shell.programs.editing import apply_patch

        if not (call.stdin.text and apply_patch(call, call.stdin.text)):
            call.edit(
                [Value(pattern_under(each.text, "**"), True) for each in options.get("--directory")]
            )
            call.add_unread("the files that the patch changes are not read")


def _worktree(call: ProgramCall, args: list[Value]) -> None:
    options = parse_options(args, "-b -B --reason")
    verb = options.words[0] if options.rest else "list"
    if verb == "add":
        call.make_directory(*options.rest[1:2])
    elif verb == "remove":
        call.delete(*options.rest[1:2])
    if verb != "list":
        call.add_vcs("worktree", _words(args), destructive=options.any("-f", "--force"))


def _config(call: ProgramCall, args: list[Value]) -> None:
    options = parse_options(args, "-f --file --type --default --blob")
    reads = options.any("-l", "--list", "--get", "--get-all", "--get-regexp", "--get-urlmatch",
                      "--show-origin", "--name-only")  # fmt: skip
    changes = options.any("--unset", "--unset-all", "--add", "--replace-all", "--edit", "-e",
                        "--remove-section", "--rename-section")  # fmt: skip
    verb = options.words[0] if options.rest else ""
    if verb in ("get", "list") or (reads and not changes):
        return
    if changes or len(options.rest) > 1:
        call.add_vcs("config", _words(args))
        if options.any("--global", "--system"):
            call.write(Value("~/.gitconfig" if options.any("--global") else "/etc/gitconfig"))


def _remote(call: ProgramCall, args: list[Value], verb: str) -> None:
    words = _words(args)
    first = next((word for word in words if not word.startswith("-")), "")
    if first in ("", "show", "get-url", "list", "status", "summary", "exists"):
        return
    call.add_vcs(verb, words, destructive=first in ("expire", "delete", "deinit"))
    if first in ("add", "set-url") and len(words) > 2 and "://" in words[-1] and verb != "notes":
        call.add_network(words[-1])


def _discard(call: ProgramCall, args: list[Value], verb: str) -> None:
    call.add_vcs(verb, _words(args), destructive=True)


def _gc(call: ProgramCall, args: list[Value], verb: str) -> None:
    thrown = any(word in ("--prune=now", "--prune=all", "--aggressive") for word in _words(args))
    call.add_vcs(verb, _words(args), destructive=thrown)


def _update_ref(call: ProgramCall, args: list[Value]) -> None:
    call.add_vcs("update-ref", _words(args), destructive=parse_options(args, "-m").any("-d"))


def _send_email(call: ProgramCall, args: list[Value]) -> None:
    call.add_vcs("send-email", _words(args), outward=True)


def _init(call: ProgramCall, args: list[Value]) -> None:
    options = parse_options(args, "-b --initial-branch --template --separate-git-dir")
    call.make_directory(*options.rest[:1])
    call.add_vcs("init", _words(args))


def _with_verb(reader: Callable[[ProgramCall, list[Value], str], None], verb: str) -> Verb:
    return lambda call, args: reader(call, args, verb)


_VERBS: dict[str, Verb] = {
    "add": _add, "stage": _add, "commit": _commit, "push": _push, "clone": _clone,
    "reset": _reset, "checkout": _checkout, "switch": _switch, "restore": _restore,
    "clean": _clean, "stash": _stash, "branch": _branch, "tag": _tag, "rebase": _rebase,
    "rm": _rm, "mv": _mv, "worktree": _worktree, "config": _config, "init": _init,
    "update-ref": _update_ref, "send-email": _send_email,
    "fetch": _with_verb(_fetch, "fetch"), "pull": _with_verb(_fetch, "pull"),
    "apply": _with_verb(_apply, "apply"), "am": _with_verb(_apply, "am"),
    "filter-branch": _with_verb(_discard, "filter-branch"),
    "filter-repo": _with_verb(_discard, "filter-repo"), "prune": _with_verb(_discard, "prune"),
    "gc": _with_verb(_gc, "gc"), "reflog": _with_verb(_remote, "reflog"),
    "remote": _with_verb(_remote, "remote"), "submodule": _with_verb(_remote, "submodule"),
    "notes": _with_verb(_remote, "notes"),
}  # fmt: skip

READERS: dict[str, Reader] = {"git": _git}

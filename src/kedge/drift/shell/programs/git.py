"""git: what changes the tree, the index, refs and remotes; what destroys; what goes out."""

from __future__ import annotations

import re

from kedge.drift.shell.call import ANYTHING, NOTHING, Call, Output, Value
from kedge.drift.shell.options import options
from kedge.drift.shell.paths import under

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from kedge.drift.shell.call import Reader

    Verb: TypeAlias = Callable[[Call, list[Value]], Output | None]

_GLOBAL = "-C -c --git-dir --work-tree --namespace --exec-path --config-env --super-prefix"
# a name that is that of a file and of no branch or tag
_FILE = re.compile(r"(?:.*[/\w-])?\.[A-Za-z_][A-Za-z0-9_]{0,9}")
_READS = """status log diff show blame annotate ls-files ls-tree ls-remote rev-parse rev-list
describe shortlog grep cat-file merge-base name-rev for-each-ref show-ref show-branch check-ignore
check-attr count-objects diff-tree diff-index diff-files whatchanged var version help fsck bisect
range-diff cherry archive verify-commit verify-tag hash-object merge-tree column interpret-trailers
get-tar-commit-id patch-id write-tree format-patch bundle difftool request-pull daemon instaweb
credential stripspace check-mailmap check-ref-format symbolic-ref mktree unpack-file"""
_READING = frozenset(_READS.split())


def _git(call: Call) -> Output:
    found = options(call.args, _GLOBAL, stop=True)
    for place in found.get("-C"):
        call = call.elsewhere(place)
    trees = found.get("--work-tree")
    if trees:
        call = call.elsewhere(trees[0])
    for value in found.get("-c"):
        if value.text.lower().startswith("core.hookspath="):
            call.vcs("config", [value.text])
    if not found.rest:
        return ANYTHING
    verb, args = found.rest[0].text, found.rest[1:]
    if verb in _READING:
        return _reads(call, verb, args)
    if any(each.text in ("-h", "--help") for each in args):
        return NOTHING
    reader = _VERBS.get(verb)
    if reader:
        return reader(call, args) or NOTHING
    call.vcs(verb, _words(args))
    return NOTHING


def _words(args: list[Value]) -> list[str]:
    return [value.text for value in args]


def _reads(call: Call, verb: str, args: list[Value]) -> Output:
    words = _words(args)
    found = options(args, "-o --output -C -n --format -S -G -L -U")
    if verb in ("archive", "format-patch", "diff", "bundle"):
        call.write(*found.get("-o", "--output"))
        if verb == "format-patch" and not found.any("-o", "--stdout"):
            call.write(Value("*.patch", True))
    if verb == "rev-parse" and "--show-toplevel" in words:
        return Output((Value(call.run.places.root),))
    if verb == "symbolic-ref" and len(found.rest) > 1:
        call.vcs(verb, words)
    if verb == "hash-object" and "-w" in words:
        call.vcs(verb, words)
    lists = verb == "ls-files" or (verb == "grep" and found.any("-l", "--files-with-matches"))
    paths = _paths(args) if "--" in words or verb != "ls-files" else found.rest
    if verb in ("diff", "show", "log", "blame", "grep", "ls-files") and paths:
        call.read(*paths)
    if not lists and "--name-only" not in words:
        return ANYTHING
    return Output(tuple(_below(path) for path in paths) or (Value("**", True),))


def _below(path: Value) -> Value:
    """A pathspec as a pattern: `*.py` matches in any directory, a directory all that is in it."""
    text = path.text
    if "*" in text and "/" not in text:
        return Value(f"**/{text}", True)
    if path.glob or "*" in text or _FILE.fullmatch(text):
        return path
    return Value(under(text, "**"), True)


def _paths(args: list[Value]) -> list[Value]:
    """What comes after `--`."""
    for place, value in enumerate(args):
        if value.text == "--":
            return args[place + 1 :]
    return []


def _add(call: Call, args: list[Value]) -> None:
    if not options(args).any("-n", "--dry-run"):
        call.vcs("add", _words(args))


def _commit(call: Call, args: list[Value]) -> None:
    if not options(args, "-m -F -C -c -t --message --file --author --date").any("--dry-run"):
        call.vcs("commit", _words(args))


def _push(call: Call, args: list[Value]) -> None:
    found = options(args, "-o --push-option --repo --receive-pack --exec")
    force = found.any("-f", "--force", "--force-with-lease", "--force-if-includes", "--mirror",
                      "-d", "--delete", "--prune")  # fmt: skip
    force = force or any(word.startswith(("+", ":")) for word in found.words[1:])
    call.network(found.words[0] if found.rest else "origin")
    if not found.any("-n", "--dry-run"):
        call.vcs("push", _words(args), destructive=force, outward=True)


def _fetch(call: Call, args: list[Value], verb: str) -> None:
    found = options(args, "--depth --jobs -j -s -X --strategy --deepen --shallow-since")
    call.network(found.words[0] if found.rest else "origin")
    call.vcs(verb, _words(args), destructive=verb == "pull" and found.any("-f", "--force"))


def _clone(call: Call, args: list[Value]) -> None:
    found = options(args, "-b -o -u -c --branch --depth --origin --config --reference -j --jobs")
    if not found.rest:
        return
    source = found.words[0]
    name = source.rstrip("/").removesuffix(".git").rpartition("/")[2].rpartition(":")[2]
    if ":" in source:
        call.network(source)
    call.vcs("clone", _words(args))
    call.make_directory(found.rest[1] if len(found.rest) > 1 else Value(name))


def _reset(call: Call, args: list[Value]) -> None:
    found = options(args)
    call.vcs("reset", _words(args), destructive=found.any("--hard", "--merge", "--keep"))


def _checkout(call: Call, args: list[Value]) -> None:
    words = _words(args)
    found = options(args, "-b -B --orphan --conflict --pathspec-from-file")
    paths = _paths(args)
    if not paths and "--" not in words and not found.any("-b", "-B", "--orphan", "--track", "-t"):
        # one name may be a branch or a file: only what looks like a file is one
        operands = found.rest
        if operands and (len(operands) > 1 or _is_path(operands[0].text)):
            paths = operands if _is_path(operands[0].text) else operands[1:]
    sides = found.any("--ours", "--theirs", "-m", "--merge")
    thrown = (bool(paths) and not sides) or found.any("-f", "--force")
    call.write(*paths)
    call.vcs("checkout", words, destructive=thrown)


def _is_path(text: str) -> bool:
    return text in (".", "./") or text.endswith("/") or text.startswith("./") or bool(
        _FILE.fullmatch(text[:300])
    ) or "*" in text  # fmt: skip


def _switch(call: Call, args: list[Value]) -> None:
    found = options(args, "-c -C --create --force-create --orphan")
    thrown = found.any("-f", "--force", "--discard-changes", "-C", "--force-create")
    call.vcs("switch", _words(args), destructive=thrown)


def _restore(call: Call, args: list[Value]) -> None:
    found = options(args, "-s --source --conflict --pathspec-from-file")
    tree = found.any("-W", "--worktree") or not found.any("-S", "--staged")
    if tree:
        call.write(*found.rest)
    call.vcs("restore", _words(args), destructive=tree)


def _clean(call: Call, args: list[Value]) -> None:
    found = options(args, "-e --exclude")
    if found.any("-n", "--dry-run"):
        return
    call.delete(*found.rest)
    call.vcs("clean", _words(args), destructive=found.any("-f", "--force"))


def _stash(call: Call, args: list[Value]) -> None:
    verb = args[0].text if args else "push"
    if verb not in ("list", "show"):
        call.vcs("stash", _words(args), destructive=verb in ("drop", "clear"))


def _branch(call: Call, args: list[Value]) -> None:
    takes = "-u --set-upstream-to --contains --no-contains --merged --no-merged --sort --format "
    found = options(args, takes + "--points-at")
    lists = found.any("-l", "--list", "-a", "--all", "-r", "--remotes", "--show-current", "-v",
                      "-vv", "--contains", "--no-contains", "--merged", "--no-merged",
                      "--points-at", "--sort", "--format")  # fmt: skip
    changes = found.any("-d", "-D", "--delete", "-m", "-M", "-c", "-C", "-f", "-u", "--move",
                        "--set-upstream-to", "--unset-upstream", "--force")  # fmt: skip
    if changes or (found.rest and not lists):
        thrown = found.any("-D", "-M", "-f", "--force")
        call.vcs("branch", _words(args), destructive=thrown)


def _tag(call: Call, args: list[Value]) -> None:
    found = options(args, "-m -F -u -n --message --file --sort --format --contains --points-at")
    lists = found.any("-l", "--list", "-n", "--sort", "--contains", "--points-at", "-v", "--format")
    if found.rest and not lists:
        call.vcs("tag", _words(args), destructive=found.any("-d", "--delete", "-f", "--force"))


def _rebase(call: Call, args: list[Value]) -> None:
    found = options(args, "-x -s -X --onto --exec --strategy")
    over = found.any("--abort", "--continue", "--quit", "--edit-todo", "--show-current-patch")
    call.vcs("rebase", _words(args), destructive=not over)


def _rm(call: Call, args: list[Value]) -> None:
    found = options(args, "--pathspec-from-file")
    if found.any("-n", "--dry-run"):
        return
    if not found.any("--cached"):
        call.delete(*found.rest)
    call.vcs("rm", _words(args))


def _mv(call: Call, args: list[Value]) -> None:
    found = options(args)
    if found.any("-n", "--dry-run") or len(found.rest) < 2:
        return
    *sources, target = found.rest
    for source in sources:
        name = source.text.rstrip("/").rpartition("/")[2]
        inside = len(sources) > 1 or call.is_directory(target)
        call.move(source, Value(under(target.text, name), source.glob) if inside else target)
    call.vcs("mv", _words(args))


def _apply(call: Call, args: list[Value], verb: str) -> None:
    found = options(args, "-p -C --directory --exclude --include --whitespace")
    if found.any("--check", "--stat", "--numstat", "--summary"):
        call.read(*found.rest)
        return
    call.read(*found.rest)
    call.vcs(verb, _words(args))
    if verb == "apply" and not found.any("--cached"):
        from kedge.drift.shell.programs.editing import apply_patch

        if not (call.stdin.text and apply_patch(call, call.stdin.text)):
            call.edit([Value(under(each.text, "**"), True) for each in found.get("--directory")])
            call.unclear("the files that the patch changes are not read")


def _worktree(call: Call, args: list[Value]) -> None:
    found = options(args, "-b -B --reason")
    verb = found.words[0] if found.rest else "list"
    if verb == "add":
        call.make_directory(*found.rest[1:2])
    elif verb == "remove":
        call.delete(*found.rest[1:2])
    if verb != "list":
        call.vcs("worktree", _words(args), destructive=found.any("-f", "--force"))


def _config(call: Call, args: list[Value]) -> None:
    found = options(args, "-f --file --type --default --blob")
    reads = found.any("-l", "--list", "--get", "--get-all", "--get-regexp", "--get-urlmatch",
                      "--show-origin", "--name-only")  # fmt: skip
    changes = found.any("--unset", "--unset-all", "--add", "--replace-all", "--edit", "-e",
                        "--remove-section", "--rename-section")  # fmt: skip
    verb = found.words[0] if found.rest else ""
    if verb in ("get", "list") or (reads and not changes):
        return
    if changes or len(found.rest) > 1:
        call.vcs("config", _words(args))
        if found.any("--global", "--system"):
            call.write(Value("~/.gitconfig" if found.any("--global") else "/etc/gitconfig"))


def _remote(call: Call, args: list[Value], verb: str) -> None:
    words = _words(args)
    first = next((word for word in words if not word.startswith("-")), "")
    if first in ("", "show", "get-url", "list", "status", "summary", "exists"):
        return
    call.vcs(verb, words, destructive=first in ("expire", "delete", "deinit"))
    if first in ("add", "set-url") and len(words) > 2 and "://" in words[-1] and verb != "notes":
        call.network(words[-1])


def _thrown(call: Call, args: list[Value], verb: str) -> None:
    call.vcs(verb, _words(args), destructive=True)


def _gc(call: Call, args: list[Value], verb: str) -> None:
    thrown = any(word in ("--prune=now", "--prune=all", "--aggressive") for word in _words(args))
    call.vcs(verb, _words(args), destructive=thrown)


def _update_ref(call: Call, args: list[Value]) -> None:
    call.vcs("update-ref", _words(args), destructive=options(args, "-m").any("-d"))


def _email(call: Call, args: list[Value]) -> None:
    call.vcs("send-email", _words(args), outward=True)


def _init(call: Call, args: list[Value]) -> None:
    found = options(args, "-b --initial-branch --template --separate-git-dir")
    call.make_directory(*found.rest[:1])
    call.vcs("init", _words(args))


def _named(reader: Callable[[Call, list[Value], str], None], verb: str) -> Verb:
    return lambda call, args: reader(call, args, verb)


_VERBS: dict[str, Verb] = {
    "add": _add, "stage": _add, "commit": _commit, "push": _push, "clone": _clone,
    "reset": _reset, "checkout": _checkout, "switch": _switch, "restore": _restore,
    "clean": _clean, "stash": _stash, "branch": _branch, "tag": _tag, "rebase": _rebase,
    "rm": _rm, "mv": _mv, "worktree": _worktree, "config": _config, "init": _init,
    "update-ref": _update_ref, "send-email": _email,
    "fetch": _named(_fetch, "fetch"), "pull": _named(_fetch, "pull"),
    "apply": _named(_apply, "apply"), "am": _named(_apply, "am"),
    "filter-branch": _named(_thrown, "filter-branch"),
    "filter-repo": _named(_thrown, "filter-repo"), "prune": _named(_thrown, "prune"),
    "gc": _named(_gc, "gc"), "reflog": _named(_remote, "reflog"),
    "remote": _named(_remote, "remote"), "submodule": _named(_remote, "submodule"),
    "notes": _named(_remote, "notes"),
}  # fmt: skip

READERS: dict[str, Reader] = {"git": _git}

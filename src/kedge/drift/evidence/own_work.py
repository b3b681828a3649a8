"""What the session itself created and changed, which it may delete, move or restore freely.

Where the working tree can be asked, a path is the session's own if it did not exist before.
Otherwise a path counts as new if nothing of the session so far has read or edited it; and what it
runs is its own if the project never had it, as the map can tell.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from kedge.drift.evidence.memory import TEMPORARY, find_changed_files, record_own_work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeAlias

    from kedge.drift.actions import Action, Change
    from kedge.drift.evidence.distance import CodeMap
    from kedge.drift.evidence.memory import SessionMemory
    from kedge.drift.evidence.work_tree import WorkTree

    Exists: TypeAlias = Callable[[str], bool]

_SCRIPT = 5_000  # characters of one script
SCRIPTS = (".py", ".sh", ".bash", ".zsh", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php",
         ".patch", ".diff")  # fmt: skip
_LIKELY = "/"  # ends an entry that is probably the session's own: enough to delete it, no more
_MOST_LIKELY = 20  # names in one script
_NAME = re.compile(r"""["']((?:[\w-]{1,60}/){0,6}[\w-]{1,60}\.[a-z][a-z0-9]{1,7})["']""")
_NO_PATH = re.compile(
    r"^[-/~]|[\s*?]|^\.*$"
)  # matches what is not the name of a file in the project
STASH = ".git/refs/stash"
_BRANCH = ".git/refs/heads/"
_TAG = ".git/refs/tags/"
_NEW_BRANCH = ("-b", "-B", "-c", "-C", "--create", "--orphan")


def is_own(memory: SessionMemory, path: str) -> bool:
    """True if the session created the path, or a folder that it is in."""
    return any(each in memory.made for each in _with_parents(path))


def may_delete(memory: SessionMemory, path: str) -> bool:
    """True if the session created the path, or very likely did."""
    return any(each in memory.made or each + _LIKELY in memory.made for each in _with_parents(path))


def has_changed(memory: SessionMemory, path: str) -> bool:
    """True if the session changed the file or something in the folder, or created it."""
    if is_own(memory, path):
        return True
    return any(
        _is_in(each, path) or ("*" in each and _is_in(path, each)) for each in memory.changed
    )


def has_own_copy(memory: SessionMemory, path: str) -> bool:
    """True if the session created a file of that name in another place."""
    name = path.rpartition("/")[2]
    written = {*memory.files, *(each for step in memory.window for each in step.files)}
    return any(
        each != path and each.rpartition("/")[2] == name and is_own(memory, each)
        for each in written
    )


def find_own_deletions(
    memory: SessionMemory,
    action: Action,
    exists: Exists | None = None,
    tree: WorkTree | None = None,
    code_map: CodeMap | None = None,
) -> frozenset[str]:
    """Return the deleted paths that are the session's own.

    Where the tree cannot be asked, a folder is the session's own if most of what was seen in it is.
    What was never seen before is, too, if a script of the session names it, if it is removed from
    the same folder together with own files, or if a subagent may have made it; but not the tests of
    the project. With a map, so is what is removed together with own files of any folder and never
    was in the project.
    """
    deleted = action.effects.deleted
    patterns = action.effects.patterns if tree is not None else ()
    own = {path for path in deleted if path not in patterns and may_delete(memory, path)}
    if tree is not None:
        for path in {*patterns}.intersection(deleted):
            found = tree.expand(path)
            if found is not None and all(may_delete(memory, each) for each in found):
                own.add(path)
    if exists is None and len(own) < len(deleted):
        own.update(_guess_own(memory, deleted, own))
        if own and code_map is not None:
            own.update(path for path in deleted if _is_unmapped(path, code_map))
    return frozenset(own)


def find_missing(action: Action, exists: Exists | None) -> frozenset[str]:
    """Return the deleted paths that are not there, so that nothing is lost."""
    if exists is None:
        return frozenset()
    patterns = action.effects.patterns
    return frozenset(
        path for path in action.effects.deleted if path not in patterns and not exists(path)
    )


def _guess_own(memory: SessionMemory, paths: Iterable[str], own: set[str]) -> Iterator[str]:
    from kedge.drift.evidence.check_signs import is_test_folder

    known = _list_known(memory)
    folders = {path.rpartition("/")[0] for path in own}
    for path in paths:
        folder = path.rpartition("/")[0]
        if _is_mostly_own(memory, path, known):
            yield path
        elif is_test_folder(folder) or any(_is_in(each, path) for each in known):
            continue
        elif (
            folder in folders
            or memory.delegated
            or any(_names(text, path) for text in memory.scripts.values())
        ):
            yield path


def _is_mostly_own(memory: SessionMemory, path: str, known: Iterable[str]) -> bool:
    """True if most of what was seen in a folder, or of what a pattern matches, is the session's.

    The session reads the output of its own scripts, too; a file that it edited is another's.
    """
    own = sum(_is_in(each, path) for each in memory.made if not each.endswith(_LIKELY))
    if not own or any(_is_in(each, path) for each in memory.changed):
        return False
    return own > sum(_is_in(each, path) for each in known)


def _names(text: str, path: str) -> bool:
    """True if a script has the path as a string of its own, or as the beginning of one."""
    return any(mark + path + end in text for mark in "\"'" for end in (mark, "/"))


def record_action(
    memory: SessionMemory,
    before: SessionMemory,
    action: Action,
    exists: Exists | None = None,
    code_map: CodeMap | None = None,
) -> SessionMemory:
    """Return the memory with what the action creates and changes; `before` is the one before it."""
    if action.kind == "agent":
        return memory._replace(delegated=True)
    created = find_created(before, action, exists)
    if exists is None and code_map is not None:
        created += tuple(_find_unmapped(before, action, code_map))
    likely = [each for each in _find_likely(before, action, exists) if each not in memory.made]
    touched = find_changed_files(action)
    others = [path for path in action.effects.existing if not is_own(before, path)]
    if any(_is_refuted(each, others) for each in memory.made):
        kept = {each: None for each in memory.made if not _is_refuted(each, others)}
        memory = memory._replace(made=kept)
    new = (*likely, *created)
    own = memory._replace(made={**memory.made, **dict.fromkeys(created)})
    changed = [path for path in touched if not is_own(own, path)]
    return record_own_work(memory, new, changed, _record_scripts(memory.scripts, action))


def find_created(memory: SessionMemory, action: Action, exists: Exists | None) -> tuple[str, ...]:
    """Return the paths that the action creates: the topmost new folder of each."""
    effects = action.effects
    known = None if exists is not None else _list_known(memory)
    existing = {*effects.existing, *effects.patterns}
    found: dict[str, None] = dict.fromkeys(_find_created_refs(action))
    for path in (*effects.directories, *effects.written, *_find_move_targets(memory, action)):
        if path in existing or path in found or path in (".", "..") or is_own(memory, path):
            continue
        if path.startswith(TEMPORARY):
            continue
        if exists is not None:
            if not exists(path):
                found[_find_topmost(path, exists)] = None
        elif known is not None and path not in known and path not in memory.changed:
            found[path] = None
            if action.kind == "write" or path in effects.directories:
                found.update(dict.fromkeys(_guess_folders(path, known)))
    return tuple(found)


def _find_unmapped(memory: SessionMemory, action: Action, code_map: CodeMap) -> Iterator[str]:
    """Yield what is run, was not seen before and never was in the project: its creation was missed.

    A recorded session does not always have the call that made a script or a test.
    """
    checked = (path for path in _list_checked_files(action) if path.endswith(SCRIPTS))
    run = (*action.effects.runs, *checked)
    known = _list_known(memory) if run else set()
    for path in run:
        if path not in known and not is_own(memory, path) and _is_unmapped(path, code_map):
            yield path


def _is_unmapped(path: str, code_map: CodeMap) -> bool:
    return not _NO_PATH.search(path) and not code_map.has_path(path)


def _find_topmost(path: str, exists: Exists) -> str:
    """Return the highest folder above a new path that is new as well, or the path itself."""
    while "/" in path.strip("/"):
        parent = path.rpartition("/")[0]
        if exists(parent):
            break
        path = parent
    return path


def _guess_folders(path: str, known: set[str]) -> Iterator[str]:
    """Yield the folders above a new path of which nothing was seen, as likely new.

    Where a project keeps its tests is not: a session often adds a test before it has read any.
    """
    from kedge.drift.evidence.check_signs import is_test_folder

    for folder in _with_parents(path):
        if folder != path:
            if is_test_folder(folder) or any(_is_in(each, folder) for each in known):
                return
            yield folder + _LIKELY


def _find_move_targets(memory: SessionMemory, action: Action) -> Iterator[str]:
    """Yield where the session moves its own files; other files stay what they are."""
    outside = action.effects.outside
    made = {*action.effects.written, *action.effects.directories}
    for old, new in action.effects.moved:
        if old in outside or old in made or is_own(memory, old):
            yield new


def _find_created_refs(action: Action) -> Iterator[str]:
    """Yield the branches, tags and stashes that git commands create, as paths below `.git`."""
    for act in action.effects.vcs:
        args = act.args
        if act.verb == "stash" and (not args or args[0] in ("push", "save") or args[0][:1] == "-"):
            yield STASH
        elif act.verb in ("checkout", "switch"):
            at = next((at for at, word in enumerate(args) if word in _NEW_BRANCH), len(args))
            yield from (_BRANCH + name for name in args[at + 1 : at + 2])
        elif act.verb in ("branch", "tag") and args and not args[0].startswith("-"):
            yield (_BRANCH if act.verb == "branch" else _TAG) + args[0]


def list_refs(verb: str, args: tuple[str, ...]) -> list[str]:
    """Return the refs that `git branch -D`, `git tag -d` and `git stash drop` remove."""
    if verb == "stash":
        return [STASH]
    place = {"branch": _BRANCH, "tag": _TAG}.get(verb)
    return [place + word for word in args if not word.startswith("-")] if place else []


def _find_likely(memory: SessionMemory, action: Action, exists: Exists | None) -> Iterator[str]:
    """Yield files that the session's own scripts name and that do not exist: they may make them."""
    known = _list_known(memory) if exists is None and _may_make(action) else set()
    if exists is None:  # a script that is run and was never read: its creation was not seen
        for each in (*action.effects.runs, *_list_checked_files(action)):
            if _is_unseen_script(each, known):
                yield each + _LIKELY
    for change in action.changes:
        if not change.whole or not _is_script(change):
            continue
        for name in list(dict.fromkeys(_NAME.findall(change.added[:_SCRIPT])))[:_MOST_LIKELY]:
            if not (exists(name) if exists is not None else name in known):
                yield name + _LIKELY


def _may_make(action: Action) -> bool:
    effects = action.effects
    return bool(effects.runs or effects.checks) or any(change.whole for change in action.changes)


def _list_checked_files(action: Action) -> Iterator[str]:
    """Yield the files that a test runner is given by name."""
    for check in action.effects.checks:
        yield from (word.partition("::")[0] for word in check.command[1:])


def _is_unseen_script(run: str, known: set[str]) -> bool:
    if not run.endswith(SCRIPTS) or run in known or run.startswith(("/", "~")):
        return False
    from kedge.drift.evidence.check_signs import is_test_folder

    return not is_test_folder(run.rpartition("/")[0])


def _is_refuted(entry: str, existing: Iterable[str]) -> bool:
    """True if a file of others is in a folder that was taken for the session's own."""
    return entry.endswith(_LIKELY) and any(_is_in(path, entry.rstrip(_LIKELY)) for path in existing)


def _record_scripts(scripts: dict[str, str], action: Action) -> dict[str, str]:
    """Return the texts of the scripts that the session wrote, the oldest first."""
    effects = action.effects
    gone = {*effects.deleted, *(old for old, _ in effects.moved)}
    touched = {*effects.written, *gone, *(new for _, new in effects.moved)}
    if not touched:
        return scripts
    kept = {path: text for path, text in scripts.items() if path not in gone}
    seen = set()
    for change in action.changes:
        if change.path in touched and change.path not in gone:
            seen.add(change.path)
            text = _apply_change(kept.pop(change.path, ""), change)
            if text and len(text) <= _SCRIPT:
                kept[change.path] = text
    for path in touched - seen:  # changed in a way that is not known
        kept.pop(path, None)
    return kept


def _apply_change(text: str, change: Change) -> str:
    """Return the text after a change; "" if it is not known or not a script."""
    if change.whole:
        return change.added if _is_script(change) else ""
    if text and change.removed and text.count(change.removed) == 1:
        return text.replace(change.removed, change.added)
    return ""


def _is_script(change: Change) -> bool:
    return change.path.endswith(SCRIPTS) or change.added.startswith("#!")


def _list_known(memory: SessionMemory) -> set[str]:
    """Return the paths that the session read or changed, and did not create."""
    known = {*memory.files, *memory.reading.read_files, *memory.changed, *memory.gone}
    for step in memory.window:
        known.update(step.files, step.read_files)
    return {each for each in known if not is_own(memory, each)}


def _with_parents(path: str) -> Iterator[str]:
    """Yield the path, and each folder that it is in."""
    path = path.rstrip("/")
    while path:
        yield path
        path = path.rpartition("/")[0]


def _is_in(path: str, place: str) -> bool:
    """True if the path is the place, in it, or matches it as a pattern."""
    if place in (".", "**"):
        return True
    if "*" in place or "?" in place:
        return fnmatchcase(path, place.replace("**/", "*"))
    return path == place or path.startswith(place.rstrip("/") + "/")

"""Whether an action breaks a limit, and how.

A subject that names no path cannot be checked against paths, and so never counts as broken.
"""

from __future__ import annotations

from kedge.drift.limits import manifests, vcs_rules
from kedge.drift.limits.action_view import ActionView
from kedge.drift.limits.paths import WEAK, covers, is_path, is_test, is_within
from kedge.drift.limits.roles import word_set
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from kedge.drift.limits.action_view import Exists, Hit, IsTest, ReadFile
    from kedge.drift.limits.limit import Limit

_BUILD_OUTPUT = word_set(
    """node_modules dist build __pycache__ .pytest_cache .mypy_cache .ruff_cache coverage .coverage
    target out .next .nuxt .cache htmlcov .tox .turbo"""
)
_MOST_BREACHES = 50  # of one limit by one action
_CHANGING = word_set("""commit push merge rebase reset revert cherry-pick rm mv am restore clean""")
_CHECKING = ("assert", "expect", "should", "require", "verify", "raises")
_TOOLS = {
    "subagent": ("task", "agent", "spawn_agent"), "subagents": ("task", "agent", "spawn_agent"),
    "agents": ("task", "agent"), "task": ("task", "agent"), "bash": ("bash", "shell"),
    "websearch": ("websearch", "google_web_search", "web_search"),
    "webfetch": ("webfetch", "web_fetch"),
}  # fmt: skip


class Breach(NamedTuple):
    """`evidence` is the path, command or act; `weight` says how sure it is, from 0 to 1."""

    limit: Limit
    evidence: str
    reason: str
    weight: float


def find_breach(
    limit: Limit,
    action: Any,
    *,
    tests: IsTest = is_test,
    exists: Exists | None = None,
    read: ReadFile | None = None,
) -> Breach | None:
    """Return how an action breaks the limit, or None if it does not.

    `action` is an action, its effects, or an `ActionView`. `tests` tells which paths are tests.
    Without `exists`, a file that is written as a whole counts as a new file. `read` returns a
    file as it is before the action; without it, what a file exports is not known.
    """
    kind, subject = limit.meant
    rule = _RULES.get(kind)
    if rule is None and (kind != "keep_api" or read is None):
        return None
    view = action if isinstance(action, ActionView) else ActionView(action)
    if limit.exceptions:
        view = view.without(lambda path: bool(_coverage(limit.exceptions, path, tests)))
    if rule is not None:
        hit = rule(limit._replace(kind=kind, subject=subject), view, tests, exists)
    else:
        hit = _keep_api(subject, view, tests, read) if read is not None else None
    if hit is None or hit[0] in limit.exceptions:
        return None
    evidence, reason, weight = hit
    return Breach(limit, evidence[:200], reason, round(weight * limit.strength, 2))


def find_all_breaches(limit: Limit, action: Any, **more: Any) -> list[Breach]:
    """Return the breaches of a limit by an action, each path or act once."""
    found: list[Breach] = []
    while len(found) < _MOST_BREACHES:
        breach = find_breach(limit, action, **more)
        if breach is None:
            break
        found.append(breach)
        limit = limit._replace(exceptions=(*limit.exceptions, breach.evidence))
    return found


def _no_touch(each: Limit, action: ActionView, tests: IsTest, _: Exists | None) -> Hit:
    best: Hit = None
    for path, act in action.changed:
        weight = _coverage(each.subject, path, tests)
        if not weight and act != "changes":
            weight = 1.0 if any(_above(path, subject) for subject in each.subject) else 0.0
        if weight and (best is None or weight > best[2]):
            best = (path, f"{act} {path}", weight)
    return best


def _only_under(each: Limit, action: ActionView, tests: IsTest, _: Exists | None) -> Hit:
    subjects = (*each.subject, *each.exceptions)
    for path, act in action.changed:
        known = [one for one in subjects if path not in action.patterns or is_within(one, path)]
        if not _coverage(tuple(known), path, tests):
            return path, f"{act} {path}, outside of {', '.join(each.subject)}", 1.0
    return None


def _no_new_dependencies(each: Limit, action: ActionView, _: IsTest, __: Exists | None) -> Hit:
    allowed = {name.lower() for name in each.exceptions}
    for install in action.installs:
        new = [name for name in _packages(install) if name.lower() not in allowed]
        if new:
            return " ".join(new), f"adds {', '.join(new)} with {install.manager}", 1.0
    for change in action.changes:
        new = [
            name for name in manifests.find_added_packages(change) if name.lower() not in allowed
        ]
        if new:
            return change.path, f"adds {', '.join(new)} to {change.path}", 1.0
    return None


def _no_install(each: Limit, action: ActionView, _: IsTest, __: Exists | None) -> Hit:
    for install in action.installs:
        if getattr(install, "removes", False):
            continue
        names = tuple(install.packages)
        if not each.subject or set(names) & set(each.subject):
            shown = f"{install.manager} install {' '.join(names)}".strip()
            return shown, f"runs {shown}", 1.0
    return None


def _no_new_files(each: Limit, action: ActionView, tests: IsTest, exists: Exists | None) -> Hit:
    whole = {change.path for change in action.changes if getattr(change, "whole", False)}
    touched = any(program.name == "touch" for program in action.programs)
    for path in action.written:
        if exists is not None:
            new = not exists(path)
        else:
            new = path in whole or touched or (action.kind == "write")
        if new and (not each.subject or _coverage(each.subject, path, tests)):
            return path, f"creates {path}", 1.0
    return None


def _no_delete(each: Limit, action: ActionView, tests: IsTest, _: Exists | None) -> Hit:
    for path in action.deleted:
        if each.subject:
            weight = _coverage(each.subject, path, tests)
            if any(_above(path, subject) for subject in each.subject):
                weight = 1.0
            if not weight and not any(_resolvable(subject) for subject in each.subject):
                weight = 0.6  # "the old ones": the words do not say which files
        else:
            weight = WEAK if _BUILD_OUTPUT & set(path.split("/")) else 1.0
        if weight:
            return path, f"deletes {path}", weight
    return None if each.subject else _cleans(action)


def _cleans(action: ActionView) -> Hit:
    """`git clean` deletes files, too, though the command does not say which."""
    for act in action.vcs:
        if act.verb == "clean" and act.destructive:
            return "git clean", "deletes what git does not know", 1.0
    return None


def _no_rename(each: Limit, action: ActionView, tests: IsTest, _: Exists | None) -> Hit:
    for old, new in action.moved:
        if not each.subject or _coverage(each.subject, old, tests):
            return old, f"moves {old} to {new}", 1.0
    return None


def _no_run(each: Limit, action: ActionView, _: IsTest, __: Exists | None) -> Hit:
    if not each.subject:
        busy = action.runs or action.checks or action.installs or action.vcs
        return (action.command[:80], f"runs {action.command[:80]}", 1.0) if busy else None
    for program in action.programs:
        for what in each.subject:
            if program.matches(what):
                return program.shown, f"runs {program.shown}", 1.0
    return None


def _no_network(_: Limit, action: ActionView, __: IsTest, ___: Exists | None) -> Hit:
    far = [place for place in action.network if not _local(place)]
    if far:
        return far[0], f"reaches {far[0]}", 1.0
    for install in action.installs:
        if _packages(install):
            return install.manager, f"downloads packages with {install.manager}", 0.8
    return None


def _read_only(_: Limit, action: ActionView, __: IsTest, ___: Exists | None) -> Hit:
    for path, act in action.changed:
        if not action.is_output(path):
            return path, f"{act} {path}", 1.0
    for vcs in action.vcs:
        if vcs.verb == "restore" and vcs.destructive:
            continue  # the files that it restores are judged above
        if vcs.verb in _CHANGING or vcs.verb in ("gh pr create", "gh pr merge"):
            return f"git {vcs.verb}", f"runs git {vcs.verb}", 1.0
    for install in action.installs:
        if _packages(install):
            return install.manager, f"installs packages with {install.manager}", 0.8
    return None


def _no_format(_: Limit, action: ActionView, __: IsTest, ___: Exists | None) -> Hit:
    for program in action.programs:
        if program.formats_files:
            return program.shown, f"runs {program.shown}", 1.0
    return None


def _no_tests(_: Limit, action: ActionView, tests: IsTest, exists: Exists | None) -> Hit:
    for path in action.written:
        if tests(path):
            new = exists is None or not exists(path) or action.kind == "write"
            return path, f"writes {path}", 1.0 if new else 0.8
    return None


def _keep_tests(_: Limit, action: ActionView, tests: IsTest, __: Exists | None) -> Hit:
    for path in action.deleted:
        if tests(path):
            return path, f"deletes {path}", 1.0
    if not action.changes:
        return None
    for change in action.changes:
        if tests(change.path) and _changes_checks(change):
            return change.path, f"changes what {change.path} checks", 1.0
    from kedge.drift.evidence.weakened_checks import find_weakened_checks

    for sign in find_weakened_checks(action.action):
        if sign.severity > 1 and (tests(sign.path) or "test" in sign.rule):
            return sign.path, f"weakens tests: {sign.rule}: {sign.evidence}"[:160], 1.0
    return None


def _changes_checks(change: Any) -> bool:
    """True if a line of the old text that checks something is not in the new one."""
    added = {line.strip() for line in change.added.split("\n")}
    removed = (line.strip() for line in change.removed.split("\n"))
    return any(
        any(word in line.lower() for word in _CHECKING) for line in removed if line not in added
    )


def _no_refactor(each: Limit, action: ActionView, tests: IsTest, _: Exists | None) -> Hit:
    for old, new in action.moved:
        if not each.subject or _coverage(each.subject, old, tests):
            return old, f"moves {old} to {new}", 1.0
    return None


def _no_tool(each: Limit, action: ActionView, _: IsTest, __: Exists | None) -> Hit:
    wanted = {name.lower() for name in each.subject}
    for program in action.programs:
        if program.name in wanted:
            return program.shown, f"uses {program.name}", 1.0
    for install in action.installs:
        names = {name.lower() for name in install.packages} & wanted
        if names:
            return install.manager, f"installs {', '.join(sorted(names))}", 1.0
    for name in wanted:
        if action.tool.lower() in _TOOLS.get(name, ()):
            return action.tool, f"uses {action.tool}", 1.0
    return None


def _no_read(each: Limit, action: ActionView, tests: IsTest, _: Exists | None) -> Hit:
    for path in action.read:
        if _is_at(each.subject, path) or _coverage(each.subject, path, tests):
            return path, f"reads {path}", 1.0
    return _no_touch(each, action, tests, None)


def _only_target(each: Limit, action: ActionView, _: IsTest, __: Exists | None) -> Hit:
    from kedge.drift.limits.targets import find_other_target

    for program in action.programs:
        other = find_other_target(program, each.subject)
        if other is not None:
            named = ", ".join(each.subject)
            return other, f"acts on {other}, not on {named}: {program.shown}"[:160], 1.0
    return None


def _keep_api(subject: tuple[str, ...], action: ActionView, tests: IsTest, read: ReadFile) -> Hit:
    if not action.changes and not action.deleted:
        return None
    from kedge.drift.limits.api_changes import find_api_change

    def is_covered(path: str) -> bool:
        return not tests(path) and (not subject or bool(_coverage(subject, path, tests)))

    changes = [each for each in action.changes if is_covered(each.path)]
    found = find_api_change(changes, filter(is_covered, action.deleted), read)
    return (found.path, found.reason, 1.0) if found else None


_RULES: dict[str, Callable[[Limit, ActionView, IsTest, Exists | None], Hit]] = {
    "no_touch": _no_touch,
    "only_under": _only_under,
    "no_new_dependencies": _no_new_dependencies,
    "no_install": _no_install,
    "no_new_files": _no_new_files,
    "no_delete": _no_delete,
    "no_rename": _no_rename,
    "no_commit": vcs_rules.find_commit,
    "no_push": vcs_rules.find_push,
    "no_branch": vcs_rules.find_branch,
    "no_pr": vcs_rules.find_pull_request,
    "no_vcs": vcs_rules.find_git_act,
    "no_run": _no_run,
    "no_network": _no_network,
    "read_only": _read_only,
    "no_format": _no_format,
    "no_tests": _no_tests,
    "keep_tests": _keep_tests,
    "no_refactor": _no_refactor,
    "no_tool": _no_tool,
    "no_read": _no_read,
    "only_target": _only_target,
}


def _coverage(subjects: tuple[str, ...], path: str, tests: IsTest) -> float:
    return max((covers(subject, path, tests) for subject in subjects), default=0.0)


def _is_at(subjects: tuple[str, ...], path: str) -> bool:
    """True for a path outside the project that is a subject, or below it."""
    return path.startswith(("/", "~")) and any(
        path == subject.rstrip("/") or path.startswith(subject.rstrip("/") + "/")
        for subject in subjects
    )


def _above(folder: str, subject: str) -> bool:
    """True if deleting or moving the folder takes along the path that the subject names."""
    return subject.lower().startswith(f"{folder.lower().rstrip('/')}/")


def _resolvable(subject: str) -> bool:
    from kedge.drift.limits.paths import role

    words = subject.split()
    return is_path(subject) or (bool(words) and role(words[-1]) is not None)


def _packages(install: Any) -> list[str]:
    """Return the packages that an install adds; the project itself does not count."""
    if getattr(install, "removes", False):
        return []
    return [name for name in install.packages if name[:1] not in (".", "/", "-", "")]


def _local(place: str) -> bool:
    host = place.partition("://")[2] or place
    return host.startswith(("localhost", "127.", "0.0.0.0", "[::1]"))  # noqa: S104 - only named

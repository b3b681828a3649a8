"""Whether an action breaks a constraint, and by what.

Where a subject names no path, nothing can be said, and nothing is.
"""

from __future__ import annotations

from kedge.drift import manifests
from kedge.drift.constraints import Constraint, Violation
from kedge.drift.deeds import Done
from kedge.drift.roles import word_set
from kedge.drift.subjects import WEAK, covers, is_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    Tests: TypeAlias = Callable[[str], bool]
    Exists: TypeAlias = Callable[[str], bool]
    Found: TypeAlias = "tuple[str, str, float] | None"

_MADE = word_set(
    """node_modules dist build __pycache__ .pytest_cache .mypy_cache .ruff_cache coverage .coverage
    target out .next .nuxt .cache htmlcov .tox .turbo"""
)
_DISCARDING = word_set("checkout restore reset clean stash switch")
_CHANGING = word_set("""commit push merge rebase reset revert cherry-pick rm mv am restore clean""")
_TOOLS = {
    "subagent": ("task", "agent", "spawn_agent"), "subagents": ("task", "agent", "spawn_agent"),
    "agents": ("task", "agent"), "task": ("task", "agent"), "bash": ("bash", "shell"),
    "websearch": ("websearch", "google_web_search", "web_search"),
    "webfetch": ("webfetch", "web_fetch"),
}  # fmt: skip


def breach(
    constraint: Constraint, action: Any, tests: Tests, exists: Exists | None
) -> Violation | None:
    meant = constraint
    if constraint.kind == "ask_first":
        if not constraint.subject:
            return None
        meant = constraint._replace(kind=constraint.subject[0], subject=constraint.subject[1:])
    rule = _RULES.get(meant.kind)
    if rule is None:
        return None
    done = action if isinstance(action, Done) else Done(action)
    found = rule(meant, done, tests, exists)
    if found is None:
        return None
    evidence, reason, weight = found
    return Violation(constraint, evidence[:200], reason, round(weight * constraint.strength, 2))


def _no_touch(each: Constraint, done: Done, tests: Tests, _: Exists | None) -> Found:
    best: Found = None
    for path, act in done.changed:
        weight = _covered(each.subject, path, tests)
        if not weight and act != "changes":
            weight = 1.0 if any(_above(path, subject) for subject in each.subject) else 0.0
        free = not weight or _covered(each.exceptions, path, tests)
        if not free and (best is None or weight > best[2]):
            best = (path, f"{act} {path}", weight)
    return best


def _only_under(each: Constraint, done: Done, tests: Tests, _: Exists | None) -> Found:
    subjects = (*each.subject, *each.exceptions)
    for path, act in done.changed:
        if not _covered(subjects, path, tests):
            return path, f"{act} {path}, outside of {', '.join(each.subject)}", 1.0
    return None


def _no_new_dependencies(each: Constraint, done: Done, _: Tests, __: Exists | None) -> Found:
    allowed = {name.lower() for name in each.exceptions}
    for install in done.installs:
        new = [name for name in _packages(install) if name.lower() not in allowed]
        if new:
            return " ".join(new), f"{install.manager} adds {', '.join(new)}", 1.0
    for change in done.changes:
        new = [name for name in manifests.added(change) if name.lower() not in allowed]
        if new:
            return change.path, f"adds {', '.join(new)} to {change.path}", 1.0
    return None


def _no_install(each: Constraint, done: Done, _: Tests, __: Exists | None) -> Found:
    for install in done.installs:
        if getattr(install, "removes", False):
            continue
        names = tuple(install.packages)
        if not each.subject or set(names) & set(each.subject):
            shown = f"{install.manager} install {' '.join(names)}".strip()
            return shown, f"runs {shown}", 1.0
    return None


def _no_new_files(each: Constraint, done: Done, tests: Tests, exists: Exists | None) -> Found:
    whole = {change.path for change in done.changes if getattr(change, "whole", False)}
    touched = any(program.name == "touch" for program in done.programs)
    for path in done.written:
        if exists is not None:
            new = not exists(path)
        else:
            new = path in whole or touched or (done.kind == "write")
        if new and (not each.subject or _covered(each.subject, path, tests)):
            return path, f"creates {path}", 1.0
    return None


def _no_delete(each: Constraint, done: Done, tests: Tests, _: Exists | None) -> Found:
    for path in done.deleted:
        if each.subject:
            weight = _covered(each.subject, path, tests)
            if any(_above(path, subject) for subject in each.subject):
                weight = 1.0
            if not weight and not any(_resolvable(subject) for subject in each.subject):
                weight = 0.6  # "the old ones": which they are is not known
        else:
            weight = WEAK if _MADE & set(path.split("/")) else 1.0
        if weight and not _covered(each.exceptions, path, tests):
            return path, f"deletes {path}", weight
    return None if each.subject else _cleans(done)


def _cleans(done: Done) -> Found:
    """What git throws away by itself is deleted, too; which files that are is not known."""
    for act in done.vcs:
        if act.verb == "clean" and act.destructive:
            return "git clean", "deletes what git does not know", 1.0
    return None


def _no_rename(each: Constraint, done: Done, tests: Tests, _: Exists | None) -> Found:
    for old, new in done.moved:
        if not each.subject or _covered(each.subject, old, tests):
            return old, f"moves {old} to {new}", 1.0
    return None


def _no_commit(each: Constraint, done: Done, _: Tests, __: Exists | None) -> Found:
    for act in done.vcs:
        if act.verb in ("commit", "add") and each.subject:
            paths = [arg for arg in act.args for one in each.subject if covers(one, arg)]
            if paths:
                return paths[0], f"git {act.verb} {paths[0]}", 1.0
        elif act.verb == "commit" and not each.subject:
            return "git commit", "commits", 1.0
    return None


def _no_push(each: Constraint, done: Done, _: Tests, __: Exists | None) -> Found:
    for act in done.vcs:
        if act.verb == "push":
            targets = {arg.rpartition(":")[2] for arg in act.args}
            if not each.subject or targets & set(each.subject):
                return " ".join(("git push", *act.args)), "pushes", 1.0
    return None


def _no_branch(_: Constraint, done: Done, __: Tests, ___: Exists | None) -> Found:
    for act in done.vcs:
        new = {"-b", "-B", "--orphan", "-c", "-C", "--create"} & set(act.args)
        shown = f"git {act.verb} {' '.join(act.args)}".strip()
        if act.verb in ("checkout", "switch") and new:
            return shown, "makes a branch", 1.0
        if act.verb == "switch" or (act.verb == "branch" and act.args):
            return shown, "changes branches", 1.0
        if act.verb == "checkout" and len(act.args) == 1 and not act.destructive:
            return shown, "changes branches", 0.8
    return None


def _no_pr(_: Constraint, done: Done, __: Tests, ___: Exists | None) -> Found:
    for act in done.vcs:
        if act.verb in ("gh pr create", "glab mr create", "hub pull-request", "gh pr new"):
            return act.verb, "opens a pull request", 1.0
    return None


def _no_vcs(each: Constraint, done: Done, _: Tests, __: Exists | None) -> Found:
    for act in done.vcs:
        force = act.verb == "push" and act.destructive
        amends = act.verb == "commit" and "--amend" in act.args
        squashes = act.verb == "merge" and "--squash" in act.args
        for what in each.subject:
            if (
                act.verb in (what, f"gh pr {what}")
                or (what == "force push" and force)
                or (what == "amend" and amends)
                or (what == "squash" and squashes)
                or (what == "discard" and act.destructive and act.verb in _DISCARDING)
                or (what == "rebase" and act.verb == "pull" and "--rebase" in act.args)
            ):
                return f"git {act.verb} {' '.join(act.args)}".strip(), f"git {what}", 1.0
    return None


def _no_run(each: Constraint, done: Done, _: Tests, __: Exists | None) -> Found:
    if done.kind in ("read", "edit", "write", "agent", "plan"):
        return None
    if not each.subject:
        busy = done.runs or done.checks or done.installs or done.vcs
        return (done.command[:80], f"runs {done.command[:80]}", 1.0) if busy else None
    for program in done.programs:
        for what in each.subject:
            if program.runs(what):
                return program.shown, f"runs {program.shown}", 1.0
    return None


def _no_network(_: Constraint, done: Done, __: Tests, ___: Exists | None) -> Found:
    far = [place for place in done.network if not _local(place)]
    if far:
        return far[0], f"reaches {far[0]}", 1.0
    if done.kind == "network":
        return done.tool, f"uses {done.tool}", 1.0
    for install in done.installs:
        if _packages(install):
            return install.manager, f"{install.manager} downloads packages", 0.8
    return None


def _read_only(each: Constraint, done: Done, tests: Tests, _: Exists | None) -> Found:
    for path, act in done.changed:
        if not _covered(each.exceptions, path, tests) and not _MADE & set(path.split("/")):
            return path, f"{act} {path}", 1.0
    for vcs in done.vcs:
        if vcs.verb in _CHANGING or vcs.verb in ("gh pr create", "gh pr merge"):
            return f"git {vcs.verb}", f"git {vcs.verb}", 1.0
    for install in done.installs:
        if _packages(install):
            return install.manager, f"{install.manager} installs packages", 0.8
    return None


def _no_format(_: Constraint, done: Done, __: Tests, ___: Exists | None) -> Found:
    for program in done.programs:
        if program.formats:
            return program.shown, f"runs {program.shown}", 1.0
    return None


def _no_tests(_: Constraint, done: Done, tests: Tests, exists: Exists | None) -> Found:
    for path in done.written:
        if tests(path):
            new = exists is None or not exists(path) or done.kind == "write"
            return path, f"writes {path}", 1.0 if new else 0.8
    return None


def _keep_tests(_: Constraint, done: Done, tests: Tests, __: Exists | None) -> Found:
    for path in done.deleted:
        if tests(path):
            return path, f"deletes {path}", 1.0
    if not done.changes:
        return None
    from kedge.drift.weaken import weakened

    for sign in weakened(done.action):
        if sign.severity > 1 and (tests(sign.path) or "test" in sign.rule):
            return sign.path, f"{sign.rule}: {sign.evidence}"[:160], 1.0
    return None


def _no_refactor(each: Constraint, done: Done, tests: Tests, _: Exists | None) -> Found:
    for old, new in done.moved:
        if not each.subject or _covered(each.subject, old, tests):
            return old, f"moves {old} to {new}", 1.0
    return None


def _no_tool(each: Constraint, done: Done, _: Tests, __: Exists | None) -> Found:
    wanted = {name.lower() for name in each.subject}
    for program in done.programs:
        if program.name in wanted:
            return program.shown, f"uses {program.name}", 1.0
    for install in done.installs:
        names = {name.lower() for name in install.packages} & wanted
        if names:
            return install.manager, f"installs {', '.join(sorted(names))}", 1.0
    for name in wanted:
        if done.tool.lower() in _TOOLS.get(name, ()):
            return done.tool, f"uses {done.tool}", 1.0
    return None


_RULES: dict[str, Callable[[Constraint, Done, Tests, Exists | None], Found]] = {
    "no_touch": _no_touch,
    "only_under": _only_under,
    "no_new_dependencies": _no_new_dependencies,
    "no_install": _no_install,
    "no_new_files": _no_new_files,
    "no_delete": _no_delete,
    "no_rename": _no_rename,
    "no_commit": _no_commit,
    "no_push": _no_push,
    "no_branch": _no_branch,
    "no_pr": _no_pr,
    "no_vcs": _no_vcs,
    "no_run": _no_run,
    "no_network": _no_network,
    "read_only": _read_only,
    "no_format": _no_format,
    "no_tests": _no_tests,
    "keep_tests": _keep_tests,
    "no_refactor": _no_refactor,
    "no_tool": _no_tool,
}


def _covered(subjects: tuple[str, ...], path: str, tests: Tests) -> float:
    return max((covers(subject, path, tests) for subject in subjects), default=0.0)


def _above(folder: str, subject: str) -> bool:
    """Whether a folder that goes away holds the path that is spoken of."""
    return is_path(subject) and subject.lower().startswith(f"{folder.lower().rstrip('/')}/")


def _resolvable(subject: str) -> bool:
    from kedge.drift.subjects import role

    return is_path(subject) or role(subject.rsplit(maxsplit=1)[-1]) is not None


def _packages(install: Any) -> list[str]:
    """What an install adds to what is there; the project itself is no package."""
    if getattr(install, "removes", False):
        return []
    return [name for name in install.packages if name[:1] not in (".", "/", "-", "")]


def _local(place: str) -> bool:
    host = place.partition("://")[2] or place
    return host.startswith(("localhost", "127.", "0.0.0.0", "[::1]"))  # noqa: S104 - only named

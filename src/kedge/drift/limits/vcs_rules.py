"""Whether an action breaks a limit on version control: commits, pushes, branches, pull requests."""

from __future__ import annotations

from kedge.drift.limits.paths import covers
from kedge.drift.limits.roles import word_set

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kedge.drift.limits.action_view import ActionView, Exists, Hit, IsTest
    from kedge.drift.limits.limit import Limit

_DISCARDING = word_set("checkout restore reset clean stash switch")


def find_commit(each: Limit, action: ActionView, _: IsTest, __: Exists | None) -> Hit:
    for act in action.vcs:
        if act.verb in ("commit", "add") and each.subject:
            paths = [arg for arg in act.args for one in each.subject if covers(one, arg)]
            if paths:
                return paths[0], f"runs git {act.verb} {paths[0]}", 1.0
        elif act.verb == "commit" and not each.subject:
            return "git commit", "commits", 1.0
    return None


def find_push(each: Limit, action: ActionView, _: IsTest, __: Exists | None) -> Hit:
    for act in action.vcs:
        if act.verb == "push":
            targets = {arg.rpartition(":")[2] for arg in act.args}
            if not each.subject or targets & set(each.subject):
                return " ".join(("git push", *act.args)), "pushes", 1.0
    return None


def find_branch(_: Limit, action: ActionView, __: IsTest, ___: Exists | None) -> Hit:
    for act in action.vcs:
        new = {"-b", "-B", "--orphan", "-c", "-C", "--create"} & set(act.args)
        shown = f"git {act.verb} {' '.join(act.args)}".strip()
        if act.verb in ("checkout", "switch") and new:
            return shown, "makes a branch", 1.0
        if act.verb in ("switch", "branch"):
            return shown, "changes branches", 1.0
        if act.verb == "checkout" and len(act.args) == 1 and not act.destructive:
            return shown, "changes branches", 0.8
    return None


def find_pull_request(_: Limit, action: ActionView, __: IsTest, ___: Exists | None) -> Hit:
    for act in action.vcs:
        if act.verb in ("gh pr create", "glab mr create", "hub pull-request", "gh pr new"):
            return act.verb, "opens a pull request", 1.0
    return None


def find_git_act(each: Limit, action: ActionView, _: IsTest, __: Exists | None) -> Hit:
    for act in action.vcs:
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
                shown = f"git {act.verb} {' '.join(act.args)}".strip()
                return shown, f"runs {shown}", 1.0
    return None

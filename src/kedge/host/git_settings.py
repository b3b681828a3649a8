"""How git is called so that the user's setup changes no answer: a scrubbed environment, and every
setting that matters on the command line."""

from __future__ import annotations

import os
from collections.abc import Mapping

from kedge.host import plain_repo

# The location of the user's own settings, where safe.directory trusts a repository.
_SETTINGS = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_COUNT")
_KEPT = ("GIT_EXEC_PATH", *plain_repo.LIMITS, *_SETTINGS)
_KEPT_PREFIXES = ("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_")
_SET = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_FLUSH": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_PAGER": "cat",
    "LC_ALL": "C.UTF-8",
    "LANGUAGE": "",
}
_CONFIG = {
    "advice.detachedHead": "false",
    "color.branch": "false",
    "color.diff": "false",
    "color.grep": "false",
    "color.status": "false",
    "color.ui": "false",
    "column.ui": "never",
    "core.abbrev": "auto",
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "core.quotePath": "false",
    "diff.algorithm": "default",
    "diff.context": "3",
    "diff.interHunkContext": "0",
    "diff.mnemonicPrefix": "false",
    "diff.noprefix": "false",
    "diff.orderFile": os.devnull,
    "diff.relative": "false",
    "diff.renames": "true",
    "diff.submodule": "short",
    "diff.suppressBlankEmpty": "false",
    "format.pretty": "medium",
    "gc.auto": "0",
    "i18n.logOutputEncoding": "UTF-8",
    "log.decorate": "false",
    "log.showRoot": "true",
    "log.showSignature": "false",
    "maintenance.auto": "false",
    "status.branch": "false",
    "status.relativePaths": "true",
    "status.renames": "true",
    "status.short": "false",
    "status.showStash": "false",
    "status.showUntrackedFiles": "normal",
    "submodule.recurse": "false",
}
OPTIONS = [word for key, value in _CONFIG.items() for word in ("-c", f"{key}={value}")]


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment for git: no variables of a surrounding git, and `extra` on top."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name in _KEPT or name.startswith(_KEPT_PREFIXES)
    }
    return {**kept, **_SET, **(extra or {})}

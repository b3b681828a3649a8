"""The commands that there are, by what they are for; each is `kedge.cli.<name>.command`."""

from __future__ import annotations

from kedge.cli import syntax

SECTIONS: dict[str, dict[str, str]] = {
    "Set up": {
        "init": "Set up the repository: managed sections, constitution, map, hooks.",
        "update": "Refresh the managed sections, the map and the hooks.",
        "uninstall": "Take out what kedge wrote, and leave what is yours.",
        "doctor": "See that what was set up reaches the agents.",
        "config": "Show and change settings.",
    },
    "Tell": {
        "map": "Write a ranked map of the code within a budget of tokens.",
        "anchor": "Print what matters for a task, within a budget of tokens.",
        "prompt": "Print the prompt that an agent gets for a task.",
        "task": "List, add, claim and close tasks.",
    },
    "Work": {
        "run": "Let an agent work on tasks until they are shown to be done.",
        "context": "Hand a task from agent to agent, with nothing committed in between.",
    },
    "Watch": {
        "drift": "Watch what agents do against what was asked.",
        "hook": "Answer an agent's hook; agents call this.",
    },
    "Learn": {
        "log": "Show what was tried; keep what implementers report.",
        "review": "Record reviews, and tell the next reviewer what came of them.",
        "retro": "Gather what finished work teaches, and apply the answer.",
        "feature": "Scope a feature's documents to one task.",
        "knowledge": "Keep lessons, confirm, challenge and retire them.",
    },
    "Try": {"demo": "Show kedge at work in a scratch repository."},
}


class _Root(syntax.Group):
    """The `kedge` command. A subcommand's module is imported when that command is used."""

    def names(self) -> list[str]:
        return [name for section in SECTIONS.values() for name in section]

    def find(self, name: str) -> syntax.Command | syntax.Group | None:
        if name not in self.names():
            return None
        from importlib import import_module

        found: syntax.Command | syntax.Group = import_module(f"kedge.cli.{name}").command
        return found


root = _Root(
    "Keep AI coding agents on course: tell them what matters, watch what they do, prove what "
    "was handed over.",
    syntax.option(
        "-C",
        "directory",
        metavar="DIR",
        type=syntax.Path(),
        help="Work in DIR instead of the current directory.",
    ),
)

"""The commands that there are, by what they are for; each is `kedge.cli.<name>.command`."""

from __future__ import annotations

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

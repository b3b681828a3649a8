"""Hook events of agents that do not speak like Claude Code, translated to its events and back.

A module for each agent: `read_event` returns Claude Code's event with the fields that kedge uses
and no others, so that nothing else of the input can be kept; `write_answer` returns the agent's
form of an answer; `has_lost_context` tells that the agent compacted its conversation since kedge
last spoke, where no event says so in time. Hook path: standard library, no `typing`.
"""

from __future__ import annotations

# How the reason begins for which kedge makes an agent go on: it comes back as a prompt.
OWN_WORDS = "[kedge] "

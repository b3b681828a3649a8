"""A fake model server: it plays a script to agents, and records their requests.

    with FakeModel([{"tool": "Bash", "input": {"command": "ls"}}, "That is all."]) as model:
        ...  # run an agent with model.url as its base URL
        assert "the goal" in model.requests[0].given

It speaks the Anthropic Messages API, OpenAI's Responses and chat completions, and the Gemini API
on 127.0.0.1. Standard library only.
As a command: `python -m kedge.testing.fake_model PORT SCRIPT.json LOGDIR`.
"""

from kedge.agents.scripted_model.request import Request, Text
from kedge.agents.scripted_model.script import Script, Step, Thinking, Tool, Turn
from kedge.agents.scripted_model.server import ScriptedModel as FakeModel

__all__ = ["FakeModel", "Request", "Script", "Step", "Text", "Thinking", "Tool", "Turn"]

"""A fake coding agent: it plays a script instead of asking a model, and records its calls.

    agent = FakeAgent(tmp_path / "agent", "claude", [
        {"write": {"hello.py": "print('hello')\\n"}, "say": "It is written."},
        {"fault": "rate-limit", "resets_in": 60},
    ])
    ...  # run a loop with agent.path in front of PATH, or agent.program as the agent's program
    assert "hello.py" in agent.calls[0].prompt

Each call of the program plays the next part of the script; after the last part it says "Done.".
Its output is that of Claude Code (`claude`), Codex (`codex`), Gemini CLI (`gemini`), opencode
(`opencode`) or of any program (`plain`), and it accepts their arguments. `Part` lists what a part
can do. Standard library only; nothing leaves the machine.

As a command: `python -m kedge.testing.fake_agent --dialect claude --script SCRIPT.json …`.
"""

from kedge.testing.fake_agent.agent import Call, FakeAgent
from kedge.testing.fake_agent.script import DIALECTS, FAULTS, Denial, Part, Replacement

__all__ = ["DIALECTS", "FAULTS", "Call", "Denial", "FakeAgent", "Part", "Replacement"]

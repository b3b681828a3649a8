"""What an agent is told: managed sections, anchor, task prompt, the sections that a task needs."""

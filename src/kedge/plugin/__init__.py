"""The plugin for Claude Code: its prompts as files, and the same prompts for any other agent."""

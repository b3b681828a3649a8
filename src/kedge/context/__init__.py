"""What an agent is told, and the files through which it is told.

In reading order:

- `workspace`: the project, its settings, tasks and git, each read once.
- `budget`: fit texts into a token budget.
- `anchor_sources`, `git_state`, `anchor`: what an agent reads again before it goes on.
- `prompt`: the prompt for one task.
- `managed_section`, `instruction_files`: kedge's section in `AGENTS.md` and `CLAUDE.md`.
- `default_files`, `ignore_file`, `diff`: the other files that kedge writes.
- `setup_plan`, `agent_hooks`, `plugin_files`, `installation`: install, refresh, uninstall.
- `session`: what a starting session is told; `mapfile`: `.kedge/map.md`.
- `doctor_checks`, `probe`, `doctor`: whether all of it works.
"""

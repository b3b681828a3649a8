"""The machine: git, processes, files and locks, redaction, tokens, the clock."""

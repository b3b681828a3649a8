"""The project's own checks: run them, read their logs, compare two runs.

In reading order: `runner` runs a command and keeps its `output`, `log_parser` hands the log to the
readers in `logs/`, which make a `summary` for each tool, `check_result` is one run with its
summaries, and `comparison` says what differs from a baseline.
"""

"""The project's own checks: run them, take in their logs, read what those say, compare two runs."""

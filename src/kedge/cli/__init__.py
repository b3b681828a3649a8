"""The command line: one file per command group, which parses, calls and prints."""

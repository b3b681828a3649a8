"""Running a coding agent: how each is started, and what it says while it works."""

"""The repository map: what the code holds, which of it matters, and how it is shown."""

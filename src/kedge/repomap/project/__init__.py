"""What a repository's file names and its own configuration say about it."""

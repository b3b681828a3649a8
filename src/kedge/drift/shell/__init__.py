"""What a shell command does to the tree: read as a shell reads it, and never run."""

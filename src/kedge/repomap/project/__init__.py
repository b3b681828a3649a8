"""The structure of a repository, from its file names and configuration files."""

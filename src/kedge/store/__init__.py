"""The database of a repository: one SQLite file, shared by all its work trees."""

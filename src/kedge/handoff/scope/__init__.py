"""The paths that a task may change.

`scopes` decides whether a path is in scope; `macros` are a project's own names for sets of paths.
"""

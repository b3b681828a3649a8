"""Coding agents: settings and hooks of each, what it has recorded, and how it is run."""

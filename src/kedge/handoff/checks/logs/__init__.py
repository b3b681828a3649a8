"""Readers of the logs of checks: `reader` has their base classes, and each tool a module."""

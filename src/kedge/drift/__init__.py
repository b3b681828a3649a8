"""Drift: what an agent does, set against what was asked."""

"""Drift: compares what an agent does with what was asked."""

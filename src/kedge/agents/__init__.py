"""Coding agents: where each keeps its settings, and kedge's hooks in them."""

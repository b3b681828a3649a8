"""Coding agents: their settings, how they are launched and followed, and their transcripts."""

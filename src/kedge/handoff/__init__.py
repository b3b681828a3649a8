"""Handing work from one agent to the next: task contexts, exact snapshots, checks, evidence."""

"""Limits that the user set, and whether an action breaks one."""

"""The prompt reader: finds what a user's message forbids and allows."""

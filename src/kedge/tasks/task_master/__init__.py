"""The backend of Taskmaster's `tasks.json`: `document` reads it, `edit` changes it in place."""

"""The backend for `tasks/*.task.yaml`: `fields` reads a file, `write` edits it in place."""

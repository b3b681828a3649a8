"""Tasks in `docs/features/*/tasks.md`: `text` reads a document, `backend` keeps the state in it."""

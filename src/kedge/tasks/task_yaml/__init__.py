"""Tasks in `tasks/*.task.yaml`: `fields` reads them, `write` changes them, byte by byte."""

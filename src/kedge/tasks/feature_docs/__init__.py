"""Tasks in `docs/features/*/tasks.md`.

markdown    which lines are text and headings
forms       lines that may be a task; `choice` decides which are
fields      the fields of a task; `tables` the rows
text        what a task's part of the document says; `backend` keeps the state in it
scan        references to the other documents, by `ids` and titles; `reading` puts it together
"""

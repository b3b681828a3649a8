"""Text formats and words, each with one reader. Nothing here reads or writes files.

- `fences` finds fenced code in Markdown, and `markdown` its headings, sections and prose;
- `tables` reads the rows of Markdown tables;
- `globs` matches path patterns;
- `words` splits names and texts into search terms, and `bm25` ranks documents by them.
"""

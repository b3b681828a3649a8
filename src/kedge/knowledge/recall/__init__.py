"""Recall: the lessons of the bank that matter for a task or a change.

In reading order:

- `synonyms`: terms of software that are related
- `relevance`: rank entries for a query by paths, identifiers and words
- `selection`: the lessons for a task within a token budget
- `reminder`: the same for callers that must load quickly
"""

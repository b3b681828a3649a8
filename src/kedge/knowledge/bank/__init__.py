"""The knowledge bank: lessons in Markdown pages, parsed and edited in place.

In reading order:

- `titles`, `fields`, `values`: parse a heading, the metadata below it, and metadata values
- `entries`: parse a page into entries
- `anchors`: the code that an entry is about, and whether it has changed
- `view`: an entry as JSON data and as text
- `completions`, `staleness`: finished features and tasks, and which entries are stale by them
- `edits`, `drafts`, `observations`: change a page: its metadata, a new entry, an observation
- `similarity`: entries that say the same
- `bank`: the `Bank` of a project: its pages, its lock, staged changes
- `operations`: add, confirm, challenge, keep, retire, backfill
- `check`: what is wrong with a bank
"""

DIRECTORIES = ("docs/knowledge-bank", ".kedge/knowledge")

"""Hand work from one agent to the next: task contexts, exact snapshots, checks, evidence.

In reading order:

- `task_context`: the values of a context; `transitions`: what may follow what.
- `immutable_block`: what a context freezes, gathered from `scope/` and `standards/`;
  `canonical_form` makes its text, JSON and seal; `repo_files` reads the files it names.
- `snapshot/`: the working tree as an exact git tree; `verification`: how it differs from one.
- `context_store`: contexts on the disk; `artifacts`: bytes stored by hash.
- `operations`: begin, snapshot, verify, resolve and the other commands on one context.
- `evidence`, `checks/`, `evidence_records`: what was proven, and where a context records it.
- `role_views`: what each role gets to read; `lifecycle`: archive and purge.
"""

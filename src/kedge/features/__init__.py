"""A feature's documents: its tasks, their references, and the sections that each task needs.

In order of reading:

- `layouts` lists where features are kept: kedge's own folders, spec-kit's and Kiro's. `folders`
  finds them and reads their files; `task_numbers` compares numbers.
- `fields`, `markers`, `task_forms` and `task_lines` find the tasks in `tasks.md`, and `tasks_file`
  reads and writes them as text. `task_entries` makes tasks of kedge's model from them.
- `section_ids` and `references` say what a section's id and a reference are. `reference_tokens`
  and `reference_parser` read references from text. `artifact` finds the passages of a document
  that can be referenced, and `resolve` those that a reference means.
- `feature_tasks` reads tasks with their references, `criteria` the acceptance criteria that these
  name, and `feature` a folder with all documents.
- `relevance`, `prd` and `scope` select what a task needs, and `render` prints it.
- `brief` makes a project's brief, and `lint` checks references.

Other rooms use `layouts`, `folders`, `feature`, `task_numbers`, `tasks_file`, `task_entries`,
`render`, `brief` and `lint`.
"""

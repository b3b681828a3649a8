"""The standards a task must follow: `citations` by file and heading, `sections` of Markdown files,
and the `first_sentence` of each."""

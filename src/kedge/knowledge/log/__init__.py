"""The implementation log: parse an implementer's report, check it, and append it to the log.

In reading order:

- `headings`: the field of a report that a heading names
- `labels`: where the fields of a report begin: headings, bold leads, tags, table rows
- `paths`: the files that a report names
- `report`: parse a report
- `file_check`: compare the reported files with those that changed
- `log_entry`: one entry of the log as Markdown
- `implementation_log`: append to, read and archive the log
"""

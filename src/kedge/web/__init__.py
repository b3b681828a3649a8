"""The dashboard: what agents do, while they do it, as pages that `kedge serve` answers.

In reading order:

- `routes`: which page a path names; what a request may ask for.
- `access`: who may read and act: host, origin, key; the headers of every answer.
- `dashboard`: one request from the socket to its answer, with all work in threads.
- `pages/`: one module per page: `load` reads, the rest are functions of what was read.
- `source`: what the pages read from: the project, its settings, its database.
- `rendering`, `shapes`: templates and drawings; every text is escaped.
- `live`: tells open pages that something changed.
- `acts`: the few things that a person can do here, each recorded with its actor.
"""

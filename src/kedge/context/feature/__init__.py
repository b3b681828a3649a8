"""A feature's documents, scoped to one task: `scope`, `brief`, `lint`."""

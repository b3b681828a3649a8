"""The live watch: judges, records and answers the hook events of agents."""

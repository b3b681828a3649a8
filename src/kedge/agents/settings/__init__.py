"""The settings files of agents, and kedge's hooks in them."""

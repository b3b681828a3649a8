"""Tasks: the board's rules, the backends that keep them, and the ledger of attempts."""

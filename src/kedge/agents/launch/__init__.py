"""Launch an agent without a terminal, and follow what it prints as one vocabulary of events."""

"""The report on sessions: one page that needs nothing but itself."""

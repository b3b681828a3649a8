"""Reports on recorded sessions: the account of a session, and the HTML page."""

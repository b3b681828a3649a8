"""Transcripts that agents keep of their sessions, read as one small vocabulary of events."""

"""Fakes and conformance suites for those who build on kedge."""

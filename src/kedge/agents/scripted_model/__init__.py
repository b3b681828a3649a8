"""A model server that answers agents from a script, on 127.0.0.1: for `doctor` and for tests."""

"""Judging calls outside sessions: with the rules of settings or files, and by the reviewer. Uses `app` and `policy`."""

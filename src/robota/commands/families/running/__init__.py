"""Verbs about sessions that run now: ps, inbox, stop."""

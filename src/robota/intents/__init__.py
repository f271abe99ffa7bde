"""Intents: what an agent works on and where it may write, from `.orchestration/`; and the trace of what it changed."""

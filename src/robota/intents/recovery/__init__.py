"""Finds calls whose changes did not get into the trace, because they were cut off, and traces them. May use intents."""

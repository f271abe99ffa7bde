"""Replays a recorded session: reads it from a log, stands in for the model and tools, and compares the two runs."""

"""Robota, a coding agent for the terminal: one engine, many thin clients, one log."""

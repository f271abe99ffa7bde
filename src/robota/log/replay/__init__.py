"""Rebuilds state from a log: `session.replay` gives tasks, rows, turns, queue and modes; `context` the model's view."""

"""Replay of a log: `session.replay` gives tasks, rows, turns, queue, modes; `context` what the model is shown."""

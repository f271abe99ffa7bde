"""From the records of a log back to tasks, rows, turns and model context."""

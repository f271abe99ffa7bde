"""The task loop, subtasks, and what the parts of one task share."""

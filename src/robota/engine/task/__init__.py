"""The task loop, subtasks, and what the services of one task share."""

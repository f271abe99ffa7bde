"""The task loop, and the runner that takes a task and its subtasks through interruptions to the end."""

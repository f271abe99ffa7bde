"""`robota intents` and `robota trace`."""

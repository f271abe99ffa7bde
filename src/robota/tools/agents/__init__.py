"""Tools that start agents and steer them: start, send, wait, stop. What they ask for, the engine does."""

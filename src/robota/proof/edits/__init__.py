"""An index of the file changes of calls, built from logs and checkpoints; it can be rebuilt at any time."""

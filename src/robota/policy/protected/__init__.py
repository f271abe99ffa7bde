"""Protected paths, and what a path leads to."""

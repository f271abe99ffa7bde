"""Permission modes and task modes."""

"""Builds checkpoints and rewinding for sessions, `robota rewind` and `robota bisect`."""

"""Checkpoints and rewinding, put together for a session, for `robota rewind` and for `robota bisect`."""

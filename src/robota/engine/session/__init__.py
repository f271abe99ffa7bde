"""The session: commands in, events out."""

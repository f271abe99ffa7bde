"""The session: commands in, events out; the bus, asks and the message queue."""

"""The connection between a client and a session: lines of a stream, forms of events, events of the client itself."""

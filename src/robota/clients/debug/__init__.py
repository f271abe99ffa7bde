"""The debug log of `-d`: what a client can derive from the event stream, for authors of clients. May use protocol."""

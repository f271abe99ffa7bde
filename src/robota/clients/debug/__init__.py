"""The debug log of `-d`: what clients can derive from the event stream, for their authors. May use protocol."""

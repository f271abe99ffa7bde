"""Print mode: one prompt in, one answer or a stream of JSON out. May use protocol and clients.view."""

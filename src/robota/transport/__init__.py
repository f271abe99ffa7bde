"""The protocol as lines of JSON over a byte stream, for both ends, and the sockets of running sessions."""

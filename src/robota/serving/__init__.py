"""Sessions for clients in other processes: over standard streams and sockets. Uses everything below `cli`."""

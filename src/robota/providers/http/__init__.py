"""HTTP to model servers: the client, the transport, the connection, faults."""

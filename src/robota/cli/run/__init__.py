"""`robota` and `robota -p`: from the parsed command line to a client that runs a session."""

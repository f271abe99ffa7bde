"""Programs that serve us from inside the sandbox for a whole session. May use processes."""

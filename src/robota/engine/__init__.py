"""How a session and its tasks run. May use everything below; knows no client."""

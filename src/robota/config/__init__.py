"""Settings, provider profiles and paths. May use protocol."""

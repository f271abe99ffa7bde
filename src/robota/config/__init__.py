"""Settings in layers, provider profiles, API keys, workspace trust, paths. May use protocol."""

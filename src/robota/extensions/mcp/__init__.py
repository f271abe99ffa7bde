"""Tools of MCP servers: who is configured, what each offers, what of it a person has seen, and how it is called.

Only `sdk`, `results` and `http_client` load the SDK, which takes long; they are imported when a server is started.
"""

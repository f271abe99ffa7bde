"""MCP servers: their configuration, connections, tools, prompts and resources, and the pinning of tool definitions.

Only `sdk`, `results`, `sign_in`, `served_tools` and `http_client` load the SDK or HTTP, which is slow; they are
imported when a server starts.
"""

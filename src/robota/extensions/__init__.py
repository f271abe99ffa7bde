"""What others add to Robota: tools of MCP servers.

May use contracts, log, providers, workspace, config, protocol; never tools, policy or hooks.
"""

"""Extensions by others: MCP servers and plugins.

May use contracts, log, providers, workspace, config, protocol; never tools, policy or hooks.
"""

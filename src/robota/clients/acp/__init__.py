"""The Agent Client Protocol, version 1: an editor drives sessions over lines of JSON-RPC."""

"""Model providers: definitions, wire formats, the HTTP client, faults, the scripted model.

May use config and protocol.
"""

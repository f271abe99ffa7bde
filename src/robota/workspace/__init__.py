"""The only door to the machine: files, paths, processes.

Knows nothing of models or tasks. May use config and protocol.
"""

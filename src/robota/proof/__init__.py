"""What logs and checkpoints prove: who wrote a line and why, whether a session runs again as it ran, what was allowed.

May use log, providers, contracts, workspace and what is below.
"""

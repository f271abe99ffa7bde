"""Evidence from logs and checkpoints: the origin of lines, the replay of sessions, and audits.

May use log, providers, contracts, workspace and what is below.
"""

"""Workspace trust: the configuration that a workspace contains, and the user's decision about it."""

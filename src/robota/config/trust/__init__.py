"""Workspace trust: what a workspace brings along, and what the person decided about it."""

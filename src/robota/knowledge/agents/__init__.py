"""Agents that can be started: their files, and those that are built in."""

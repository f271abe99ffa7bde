"""Slash commands that only make sense in a conversation."""

"""Hooks of the user: commands and HTTP handlers around tool calls and the life of a session.

May use contracts and what is below; decides nothing that policy forbids.
"""

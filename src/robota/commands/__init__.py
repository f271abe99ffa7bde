"""Slash commands: one registry for every client, the built-in commands, and the session that runs them.

Uses the engine and everything below it; clients reach it only through the protocol.
"""

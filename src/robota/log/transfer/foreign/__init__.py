"""Imports transcripts of other agents as sessions, tolerating unknown lines."""

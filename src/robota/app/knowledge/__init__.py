"""Builds the knowledge services of a session: instructions, skills, memory, mentions, output styles."""

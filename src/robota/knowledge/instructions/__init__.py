"""Instruction files and rules: finding and loading them, their imports, and their section of the system prompt."""
